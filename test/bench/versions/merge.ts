/**
 * What a merge by identity costs: `npm run bench:merge -- --rows 1000000 --changed 1000 --memory 256 --only everywhere,
 * together,upserts,all`. Two branches each
 * replace records all over the pool, or a run of them, or change all records, each another field; and what an upsert of
 * as many records costs, all over the pool or of a run. What counts is the processor time of the process (Linux), as the
 * machine may have other work. It reports, and asserts nothing of times.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { residentMib } from '../../support/resident.ts';
import { startBuiltService } from '../../support/service/built.ts';
import { clientOf } from '../../support/service/client.ts';

const option = (name: string, usual: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? usual : Number(process.argv[at + 1]);
};
const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1]!.split(',') : undefined;
const wants = (part: string): boolean => only?.includes(part) ?? true;
const rows = option('rows', 1_000_000);
const changed = option('changed', 1000);
const recordOf = (id: number, version: number): string =>
  JSON.stringify({ id, name: `customer ${(id * 7919) % 100_003}`, amount: ((id * 31) % 10_007) + 0.25 + version });

const processorMs = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    try {
      return sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
    } catch {
      // The thread has ended meanwhile.
      return sum;
    }
  }, 0);

/** The most memory that the process ever had, in MB. */
const peakOf = (pid: number): number => residentMib(pid, 'VmHWM') ?? 0;

const memory = option('memory', 0);
const service = await startBuiltService({ asShipped: true, flags: memory === 0 ? [] : ['-memory', `${memory}MB`] });
const client = clientOf(service.address);
const pid = service.process.pid!;
const post = async (path: string, body: unknown): Promise<string> => {
  const { status, body: answer } = await client.ask('POST', path, {
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  });
  if (status !== 200) throw new Error(answer);
  return answer;
};
const load = async (branch: string, ids: readonly number[], version: number): Promise<void> => {
  for (let at = 0; at < ids.length; at += 100_000)
    await client.load(
      'records',
      ids
        .slice(at, at + 100_000)
        .map((id) => recordOf(id, version))
        .join('\n'),
      branch,
    );
};
const measured = async (title: string, [ours, theirs]: readonly [string, string], more = ''): Promise<void> => {
  for (const query of ['dryrun=T', 'dryrun=T', '']) {
    const [began, at] = [processorMs(pid), performance.now()];
    const path = `/pool/records/branch/${encodeURIComponent(ours)}/merge/${encodeURIComponent(theirs)}`;
    await post(`${path}?${[query, more].filter((part) => part !== '').join('&')}`, {});
    const cpu = processorMs(pid) - began;
    console.log(`${cpu.toFixed(0).padStart(7)} ms CPU, ${(performance.now() - at).toFixed(0)} ms  ${title} ${query}`);
  }
};
const upserted = async (title: string, ids: readonly number[]): Promise<void> => {
  await post('/pool/records', { name: `upsert.${title}`, commit: await client.tip('records') });
  for (const version of [3, 4, 5]) {
    const [began, at] = [processorMs(pid), performance.now()];
    const path = `/pool/records/branch/${encodeURIComponent(`upsert.${title}`)}?upsert=T`;
    const { status, body } = await client.ask('POST', path, {
      headers: { 'content-type': 'application/x-ndjson' },
      body: ids.map((id) => recordOf(id, version)).join('\n'),
    });
    if (status !== 200) throw new Error(body);
    const cpu = processorMs(pid) - began;
    console.log(
      `${cpu.toFixed(0).padStart(7)} ms CPU, ${(performance.now() - at).toFixed(0)} ms  upsert of ${ids.length} ${title}`,
    );
  }
};
const all = Array.from({ length: rows }, (_, id) => id);
const step = Math.max(2, Math.floor(rows / changed));
try {
  await post('/pool', { name: 'records', layout: { keys: [['id']] }, identity: [['id']], thresh: option('thresh', 0) });
  await load('main', all, 0);
  const tip = await client.tip('records');
  const run = Math.floor(rows / 2);
  const [scattered, placeOfRun] = [
    (id: number): number => id % step,
    (id: number): number => (id < run || id >= run + 2 * changed ? -1 : Math.floor((id - run) / changed)),
  ];
  for (const [title, placeOf, where] of [
    ['everywhere', scattered, (n: number): string => `id % ${step} == ${n}`],
    ['together', placeOfRun, (n: number): string => `id >= ${run + n * changed} and id < ${run + (n + 1) * changed}`],
  ] as const) {
    if (!wants(title) || (title === 'together' && 2 * changed > rows - run)) continue;
    const [ours, theirs] = [`${title}.ours`, `${title}.theirs`];
    for (const [n, branch] of [ours, theirs].entries()) {
      await post('/pool/records', { name: branch, commit: tip });
      await post(`/pool/records/branch/${encodeURIComponent(branch)}/delete`, { where: where(n) });
      await load(
        branch,
        all.filter((id) => placeOf(id) === n),
        1 + n,
      );
    }
    await measured(title, [ours, theirs]);
  }
  if (wants('upserts')) {
    await upserted(
      'everywhere',
      all.filter((id) => scattered(id) === 0),
    );
    await upserted(
      'together',
      all.filter((id) => placeOfRun(id) === 0),
    );
  }
  // Both sides change every record, each another field of it.
  if (wants('all')) {
    for (const [n, branch] of ['all.ours', 'all.theirs'].entries()) {
      await post('/pool/records', { name: branch, commit: tip });
      const put = n === 0 ? 'amount:=amount+1.' : 'name:=f"{name}!"';
      await post(`/pool/records/branch/${branch}/update`, { where: 'true', put });
    }
    await measured('all', ['all.ours', 'all.theirs'], 'fields=T');
    console.log(`${peakOf(pid).toFixed(0).padStart(7)} MB at most${memory > 0 ? `, -memory ${memory}MB` : ''}`);
  }
} finally {
  client.close();
  await service.stop();
}
