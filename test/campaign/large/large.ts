/**
 * Part `large`: bodies that are large in one piece, of every format, are sent to a built service with default options,
 * a service of its own for each. Its resident memory stays within `-memory` and 256 MiB, whatever the body looks like:
 * the load is committed whole, or refused with an error that names a limit. Afterwards the memory is given back, and
 * the service answers a query, and gives the rows back in one format or another, within the same memory: whole, or
 * broken off or refused for want of it. A seed is a body: modules of bodies take turns, their numbers vary with the
 * seed.
 */
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { residentMib } from '../../support/resident.ts';
import { type Service, startBuiltService } from '../../support/service/built.ts';
import { clientOf } from '../../support/service/client.ts';
import { randomOf } from '../../support/random.ts';
import { largeBinaries } from './binaries.ts';
import { largeTexts } from './texts.ts';
import type { LargeBodies, LargeBody } from './types.ts';
import type { PartRun } from '../part.ts';

/**
 * MiB of resident memory: `-memory` of 256 and 256 beside it. Beyond the second the process is ended, so that the
 * machine lives on.
 */
const residentMax = 512;
const residentEnd = 1500;
/**
 * A load that takes longer hangs, and so does a query after it: of the processor's time, for the machine may be busy,
 * and by the clock.
 */
const cpuMsMax = 150_000;
const loadMsMax = 1_200_000;
const queryMsMax = 120_000;
/** Memory has been given back after so long. */
const restMsUsual = 4000;
const watchMs = 50;
const unwaited = { ref: false };

/** What became of a body. MiB and milliseconds. */
interface LargeOutcome {
  readonly name: string;
  readonly what: string;
  readonly status: number;
  readonly answer: string;
  readonly peak: number;
  readonly rest: number;
  readonly ms: number;
  readonly cpuMs: number;
  readonly readBack: 'whole' | 'not whole' | undefined;
  readonly fault: string | undefined;
}

const modules: readonly LargeBodies[] = [largeTexts, largeBinaries];
/** All bodies by name, those of the modules in turn. */
export const largeBodies: LargeBodies = (() => {
  const lists = modules.map((bodies) => Object.entries(bodies));
  const longest = Math.max(...lists.map((list) => list.length));
  return Object.fromEntries(
    Array.from({ length: longest }, (_, i) => lists.flatMap((list) => list.slice(i, i + 1))).flat(),
  );
})();

/** Sends a body; what the service answered, also if it did so before the end of the body. */
const send = (
  address: string,
  { type, coding, chunks }: LargeBody,
): Promise<{ readonly status: number; readonly body: string }> =>
  new Promise((resolve) => {
    const sent = request(
      `${address}/pool/p/branch/main`,
      {
        method: 'POST',
        headers: {
          'content-type': type,
          accept: 'application/json',
          ...(coding !== undefined && { 'content-encoding': coding }),
        },
      },
      (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        response.on('close', () => {
          resolve({ status: response.statusCode ?? 0, body });
        });
      },
    );
    sent.on('error', (error) => {
      setTimeout(() => {
        resolve({ status: 0, body: error.message });
      }, 1000);
    });
    Readable.from(chunks())
      .on('error', () => undefined)
      .pipe(sent);
  });

/** Processor time of a process so far; clock ticks are hundredths of a second. */
const cpuMsOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

/** Watches a process until told to stop; ends it where it takes far too much, of memory or of time. */
const watch = (pid: number): { readonly stop: () => { readonly peak: number; readonly cpuMs: number } } => {
  let peak = 0;
  let cpuMs = 0;
  const began = cpuMsOf(pid);
  const look = (): void => {
    try {
      peak = Math.max(peak, residentMib(pid, 'VmHWM') ?? 0);
      cpuMs = cpuMsOf(pid) - began;
      if (cpuMs > cpuMsMax || (residentMib(pid, 'VmRSS') ?? 0) > residentEnd) process.kill(pid, 'SIGKILL');
    } catch {
      /* It has ended. */
    }
  };
  const timer = setInterval(look, watchMs);
  return {
    stop: () => {
      look();
      clearInterval(timer);
      return { peak, cpuMs };
    },
  };
};

/** Loads one body into a service of its own. */
export const loadLarge = async (
  name: string,
  { seed, size, restMs = restMsUsual }: { readonly seed: number; readonly size: number; readonly restMs?: number },
): Promise<LargeOutcome> => {
  const body = await largeBodies[name]!(randomOf(seed), size);
  const service = await startBuiltService({ asShipped: true });
  const client = clientOf(service.address);
  try {
    await client.createPool('p');
    const { pid } = service.process;
    const watched = watch(pid!);
    const began = performance.now();
    const answer = await Promise.race([
      send(service.address, body),
      sleep(loadMsMax, { status: 0, body: 'no answer' }, unwaited),
      service.ended.then((status) => ({ status: 0, body: `the service ended: ${status}` })),
    ]);
    const ms = performance.now() - began;
    await sleep(restMs);
    const rest =
      service.process.exitCode === null && service.process.signalCode === null ? (residentMib(pid!, 'VmRSS') ?? 0) : 0;
    const after = await Promise.race([
      faultAfter(service, client, body, answer),
      sleep(queryMsMax, 'no answer to a query', unwaited),
    ]);
    const readBack =
      answer.status === 200
        ? await Promise.race([
            readAll(service.address, readTypes[seed % readTypes.length]!),
            sleep(queryMsMax, undefined, unwaited),
          ])
        : undefined;
    const { peak, cpuMs } = watched.stop();
    const tooLarge = peak > residentMax ? `${peak.toFixed(0)} MiB of memory` : undefined;
    const tooLong = cpuMs > cpuMsMax ? `${cpuMs} ms of processor time` : undefined;
    const tooSlow = answer.status === 200 && readBack === undefined ? 'no answer to a query of all rows' : undefined;
    const fault =
      [tooLarge, tooLong, faultOf(body, answer), after, tooSlow].filter((text) => text !== undefined).join('; ') ||
      undefined;
    return {
      name,
      what: body.what,
      status: answer.status,
      answer: answer.body.slice(0, 300),
      peak,
      rest,
      ms,
      cpuMs,
      readBack,
      fault,
    };
  } finally {
    client.close();
    await service.end('SIGKILL');
    await service.stop();
  }
};

const readTypes = ['application/vnd.apache.arrow.stream', 'application/x-ndjson', 'application/x-bsup'];
/** Reads all rows; formats that cannot hold them refuse. */
const readAll = (address: string, accept: string): Promise<'whole' | 'not whole'> =>
  new Promise((resolve) => {
    const asked = request(
      `${address}/query`,
      { method: 'POST', headers: { 'content-type': 'application/json', accept } },
      (response) => {
        response.on('close', () => {
          resolve(response.complete && response.statusCode === 200 ? 'whole' : 'not whole');
        });
        response.on('error', () => undefined).resume();
      },
    );
    asked.on('error', () => {
      resolve('not whole');
    });
    asked.end(JSON.stringify({ query: 'from p' }));
  });

const faultOf = (
  { rows }: LargeBody,
  { status, body }: { readonly status: number; readonly body: string },
): string | undefined => {
  if (status === 200) return rows === 0 ? 'a broken body was committed' : undefined;
  if (status >= 400 && status < 500 && (rows === 0 || /option -[a-z.]+|limit|more than \d+|exceeds maximum/.test(body)))
    return undefined;
  return `answer ${status}: ${body.slice(0, 200)}`;
};
/** What is wrong after the load: all rows are there, or none. */
const faultAfter = async (
  service: Service,
  client: ReturnType<typeof clientOf>,
  { rows }: LargeBody,
  { status }: { readonly status: number },
): Promise<string | undefined> => {
  if (service.process.exitCode !== null || service.process.signalCode !== null) return 'the service has ended';
  try {
    const found = await client.query<{ count?: number }>('from p | count()');
    const count = found[0]?.count ?? Number(found[0] ?? 0);
    const wanted = status === 200 ? rows : 0;
    return wanted === undefined || count === wanted ? undefined : `${count} rows of ${wanted}`;
  } catch (error) {
    return `query: ${error instanceof Error ? error.message : String(error)}`;
  }
};

export const large: PartRun = async ({ seeds, count, failed }) => {
  const names = Object.keys(largeBodies);
  for (const seed of seeds) {
    const { name, what, status, peak, rest, cpuMs, readBack, fault } = await loadLarge(names[seed % names.length]!, {
      seed,
      size: 1,
    });
    count('bodies');
    count(status === 200 ? 'committed' : 'refused');
    if (readBack !== undefined) count(readBack === 'whole' ? 'read back' : 'not read back');
    count('peak MiB', Math.ceil(peak), 'max');
    count('afterwards MiB', Math.ceil(rest), 'max');
    count('processor ms', cpuMs, 'max');
    if (fault !== undefined) failed(seed, `${name} (${what}): ${fault}`);
  }
};
