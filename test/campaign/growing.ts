/**
 * Part `growing`: queries whose values grow, against the built service. A seed is a service with a pool and so many
 * queries, one after the other; the memory of its process is read from /proc. A fault: more than `-memory` and 256 MB,
 * a status that blames the service, an answer that does not come, or a service that answers no more.
 */
import { writeFileSync } from 'node:fs';
import { residentMib } from '../support/resident.ts';
import { growingQuery } from '../random/queries/growing.ts';
import { startBuiltService } from '../support/service/built.ts';
import { type Random, randomOf } from '../support/random.ts';
import type { PartRun } from './part.ts';

const queriesOfSeed = 50;
/** The service ends a query after so long; an answer must come within twice that. */
const querySeconds = 20;
/** What the service may take besides `-memory`, and where it is ended lest it takes the machine along. */
const besidesMb = 256;
const deadlyMb = 1500;
const rows = 8000;

interface Growing {
  readonly address: string;
  readonly pid: number;
  readonly memoryMb: number;
}
export interface GrowingFigures {
  readonly query: string;
  readonly status: string;
  readonly peakMb: number;
  readonly seconds: number;
  readonly fault: string | undefined;
}

/** Where a query goes, and in what form: most are run, some are only looked at, some choose the rows of a delete. */
const requestOf = (
  query: string,
  random: Random,
): { readonly path: string; readonly accept: string; readonly body: unknown } => {
  const accept = random.pick([
    'application/x-sup',
    'application/x-sup',
    'application/json',
    'application/x-ndjson',
    'application/x-bsup',
    'text/csv',
    'application/vnd.apache.arrow.stream',
    'application/x-parquet',
  ]);
  const path = random.pick([
    '/query',
    '/query',
    '/query',
    '/query',
    '/query',
    '/query',
    '/query',
    '/query/describe',
    '/compile',
    '/pool/p/branch/main/delete',
  ]);
  const grown = /^from p \| .*?values (.*)$/s.exec(query)?.[1] ?? 's';
  return {
    path,
    accept,
    body: path.endsWith('/delete')
      ? { where: `len((${grown.split(' | ')[0]!.replaceAll('this', 's')})::string) < 0` }
      : { query },
  };
};

const send = async ({ address }: Growing, query: string, random: Random): Promise<string> => {
  const { path, accept, body } = requestOf(query, random);
  try {
    const answer = await fetch(address + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(querySeconds * 2000),
    });
    let text = '';
    for await (const chunk of answer.body!) if (text.length < 1000) text += Buffer.from(chunk as Uint8Array).toString();
    return answer.ok ? String(answer.status) : `${answer.status} ${text.slice(0, 300)}`;
  } catch (error) {
    // A failure behind the first byte ends the connection.
    return error instanceof Error && error.name === 'TimeoutError' ? 'no answer' : 'cut off';
  }
};

/** `1`, if the service answers. */
const one = ({ address }: Growing): Promise<string> =>
  fetch(`${address}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/x-sup' },
    body: '{"query":"values 1"}',
    signal: AbortSignal.timeout(querySeconds * 1000),
  })
    .then((answer) => answer.text())
    .catch(() => '');

const oneQuery = async (service: Growing, query: string, random: Random): Promise<GrowingFigures> => {
  writeFileSync(`/proc/${service.pid}/clear_refs`, '5');
  const began = performance.now();
  const guard = setInterval(() => {
    if ((residentMib(service.pid, 'VmRSS') ?? NaN) > deadlyMb) process.kill(service.pid, 'SIGKILL');
  }, 50);
  try {
    const status = await send(service, query, random);
    const seconds = (performance.now() - began) / 1000;
    // An answer that failed behind its first byte may take the connection along, and with it the next request on it.
    const alive = (await one(service)) || (await one(service));
    if (alive !== '1\n')
      return { query, status, seconds, peakMb: NaN, fault: `the service answers no more, after ${status}` };
    const peakMb = residentMib(service.pid, 'VmHWM') ?? NaN;
    const allowed = service.memoryMb + besidesMb;
    const fault =
      peakMb > allowed
        ? `${peakMb.toFixed(0)} MB, ${allowed} allowed`
        : /^(500|no answer)/.test(status)
          ? status
          : undefined;
    return { query, status, peakMb, seconds, fault };
  } finally {
    clearInterval(guard);
  }
};

/**
 * So many queries of a seed against a service of its own, with a rest of some seconds at the end: `restMb` is what it
 * has then.
 */
export const growQueries = async (
  seed: number,
  count: number,
  told: (figures: GrowingFigures) => void,
  memoryMb = randomOf(seed).pick([64, 128, 256]),
): Promise<number> => {
  const random = randomOf(seed * 7919 + 1);
  const start = () => startBuiltService({ flags: ['-memory', `${memoryMb}MiB`, '-query.time', `${querySeconds}s`] });
  let running = await start();
  const filled = async (): Promise<Growing> => {
    const post = (path: string, type: string, body: string) =>
      fetch(running.address + path, { method: 'POST', headers: { 'content-type': type }, body });
    await post('/pool', 'application/json', '{"name":"p","layout":{"keys":[["k"]]}}');
    await post(
      '/pool/p/branch/main',
      'application/x-ndjson',
      Array.from({ length: rows }, (_, k) => JSON.stringify({ k, s: `abab${k}`, l: [k, 'a', { b: k }] })).join('\n'),
    );
    return { address: running.address, pid: running.process.pid!, memoryMb };
  };
  try {
    let service = await filled();
    for (let i = 0; i < count; i++) {
      const figures = await oneQuery(service, growingQuery(random), random);
      told(figures);
      if (!Number.isNaN(figures.peakMb)) continue;
      await running.stop();
      running = await start();
      service = await filled();
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 3000);
    });
    return residentMib(service.pid, 'VmRSS') ?? NaN;
  } finally {
    await running.stop();
  }
};

export const growing: PartRun = async ({ seeds, count, failed }) => {
  for (const seed of seeds) {
    let i = 0;
    const restMb = await growQueries(seed, queriesOfSeed, ({ query, status, peakMb, seconds, fault }) => {
      if (fault) failed(seed, `query ${i}: ${fault}: ${query.slice(0, 2000)}`);
      i++;
      count('queries');
      count(
        status.startsWith('2')
          ? 'answered'
          : status.startsWith('413')
            ? 'refused for memory'
            : status.startsWith('503')
              ? 'ended for time'
              : 'ended with another error',
      );
      if (peakMb > 0) count('peak MB', Math.round(peakMb), 'max');
      count('slowest ms', Math.round(seconds * 1000), 'max');
    });
    count('rest MB', Math.round(restMb), 'max');
  }
};
