/**
 * What comparing commits costs: `npm run bench:diff -- --rows 1000000 --runs 7`; with `--identity`, of a pool whose records
 * have one, so that what went and came of a record is one change, as a FULL JOIN has it.
 *
 * Two branches of one pool each replace a thousand records all over it, and one that all are replaced on; beside DuckDB
 * (if Python has it), which joins the same rows as tables. What counts is the processor time of the process (Linux), as
 * the machine may have other work. It reports, and asserts nothing of times.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { startBuiltService } from '../../support/service/built.ts';
import { type Client, clientOf } from '../../support/service/client.ts';
import { median } from '../../support/figures.ts';
import { lacksDuckdb } from '../../support/queries/duckdb.ts';
import { python } from '../../support/python.ts';

const kinds = ['click', 'view', 'order', 'refund', 'login'];
const recordOf = (id: number, version: number): string =>
  JSON.stringify({
    id,
    name: `customer ${(id * 7919) % 100_003}`,
    kind: kinds[id % kinds.length],
    amount: ((id * 31) % 10_007) + 0.25 + version,
    at: new Date(1_700_000_000_000 + id * 1000).toISOString(),
  });

const batchRows = 100_000;
const load = async (client: Client, branch: string, ids: readonly number[], version: number): Promise<void> => {
  for (let at = 0; at < ids.length; at += batchRows)
    await client.load(
      'records',
      ids
        .slice(at, at + batchRows)
        .map((id) => recordOf(id, version))
        .join('\n'),
      branch,
    );
};
const post = async (client: Client, path: string, body: unknown): Promise<void> => {
  const { status, body: answer } = await client.ask('POST', path, {
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  });
  if (status !== 200) throw new Error(answer);
};
const compact = async (client: Client, branch: string): Promise<void> => {
  const ids = await client.query<{ readonly id: string }>(`from records@${branch}:objects | values {id}`);
  if (ids.length > 1)
    await post(client, `/pool/records/branch/${branch}/compact`, { object_ids: ids.map((o) => o.id) });
};

/** Milliseconds of processor time that a process has taken, all threads together. */
const processorMs = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    try {
      return sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
    } catch {
      // The thread has ended meanwhile.
      return sum;
    }
  }, 0);

const duckdbScript = `
import duckdb, json, os, resource, sys
job = json.load(open('job.json'))
con = duckdb.connect()
con.execute("set threads to 2")
for name in ('before', 'after'):
    con.execute(f"create table {name} as select id::bigint id, 'customer ' || ((id * 7919) % 100003) as name, "
                f"['click','view','order','refund','login'][1 + id % 5] as kind, "
                f"((id * 31) % 10007) + 0.25::double + (case when {'true' if name == 'after' and job['all'] else 'false'} or id % {job['step']} = {job['places'][name]} then 1 else 0 end) as amount, "
                f"to_timestamp(1700000000 + id) as at from range({job['rows']}) t(id)")
times = []
for run in range(job['runs']):
    began = resource.getrusage(resource.RUSAGE_SELF)
    rows = con.execute("select count(*) from (select b, a from before b full join after a on b.id = a.id where b is distinct from a)").fetchall()
    ended = resource.getrusage(resource.RUSAGE_SELF)
    times.append((ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime) * 1000)
json.dump({'rows': rows[0][0], 'times': times}, open('result.json', 'w'))
`;
const besideDuckdb = (ownMs: number, rows: number, step: number, isAll: boolean, runs: number): string => {
  if (lacksDuckdb()) return 'no DuckDB here';
  const job = { rows, step, all: isAll, runs, places: { before: 0, after: Math.floor(step / 2) } };
  const run = python(duckdbScript, { 'job.json': Buffer.from(JSON.stringify(job)) });
  try {
    const { times, rows: pairs } = JSON.parse(run.file('result.json').toString('utf8')) as {
      readonly times: readonly number[];
      readonly rows: number;
    };
    const ms = median([...times]);
    return `DuckDB's FULL JOIN ${ms.toFixed(0)} ms, ${pairs} pairs: ${(ownMs / ms).toFixed(2)} times that`;
  } finally {
    run.close();
  }
};

const measure = async (rows: number, runs: number): Promise<void> => {
  const service = await startBuiltService({ asShipped: true });
  const client = clientOf(service.address);
  const pid = service.process.pid!;
  const ids = Array.from({ length: rows }, (_, id) => id);
  const step = Math.max(2, Math.floor(rows / 1000));
  try {
    const identity = process.argv.includes('--identity') ? { identity: [['id']] } : {};
    await post(client, '/pool', { name: 'records', layout: { keys: [['id']] }, ...identity });
    await load(client, 'main', ids, 0);
    await compact(client, 'main');
    const tip = await client.tip('records');
    for (const branch of ['trial', 'all']) await post(client, '/pool/records', { name: branch, commit: tip });
    for (const [branch, rest] of [
      ['main', 0],
      ['trial', Math.floor(step / 2)],
    ] as const) {
      await post(client, `/pool/records/branch/${branch}/delete`, { where: `id % ${step} == ${rest}` });
      await load(
        client,
        branch,
        ids.filter((id) => id % step === rest),
        1,
      );
    }
    await post(client, '/pool/records/branch/all/delete', { where: 'id >= 0' });
    await load(client, 'all', ids, 1);
    for (const [title, source, duck] of [
      ['a thousand records on each side', 'from records@trial:diff (base main)', [step, false]],
      ['a thousand on one side', 'from records@trial:diff', [step, false]],
      ['all records', 'from records@all:diff (base trial)', [step, true]],
      ['the same commit', 'from records@main:diff (base main)', undefined],
    ] as const) {
      for (const ending of [' | count()', '']) {
        const times: number[] = [];
        let answered = 0;
        for (let run = -3; run < runs; run++) {
          const began = processorMs(pid);
          answered = (await client.query(source + ending)).length;
          if (run >= 0) times.push(processorMs(pid) - began);
        }
        const other = ending !== '' && duck ? besideDuckdb(median([...times]), rows, duck[0], duck[1], runs) : '';
        console.log(`${median(times).toFixed(1).padStart(8)} ms  ${title}${ending}: ${answered} rows  ${other}`);
      }
    }
  } finally {
    client.close();
    await service.stop();
  }
};

const option = (name: string, usual: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? usual : Number(process.argv[at + 1]);
};
await measure(option('rows', 1_000_000), option('runs', 7));
