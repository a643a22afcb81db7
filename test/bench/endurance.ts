/**
 * What a service holds over time: `npm run endurance -- -minutes 15 -seed 1`. Mixed work of some clients on the built
 * program, a table a minute, then a rest; `-flags '-memory 64MiB'` are the service's.
 *
 * Asserted at the end: memory that is the process's own is back to 1.3 times what it was after the first minute,
 * descriptors and disk to what is in use.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBuiltService } from '../support/service/built.ts';
import { type EnduranceWork, beginEndurance } from '../support/service/endurance-work.ts';
import {
  descriptorsOf,
  diskBytesOf,
  filesOf,
  memoryOf,
  processorSecondsOf,
  threadsOf,
} from '../support/service/process-figures.ts';

/** One look at the service. Sizes in MB. */
interface Sample {
  readonly minute: number;
  readonly at: string;
  readonly anonymous: number;
  readonly file: number;
  readonly heap: number;
  readonly external: number;
  readonly workerHeaps: number;
  readonly workerExternal: number;
  readonly snapshots: number;
  readonly columns: number;
  readonly descriptors: number;
  readonly objects: number;
  readonly deleted: number;
  readonly threads: number;
  readonly disk: number;
  readonly tables: number;
  readonly log: number;
  readonly spilled: number;
  readonly files: number;
  /** Seconds of processors. */
  readonly cpu: number;
  readonly asked: number;
}
export interface EnduranceFigures {
  readonly samples: readonly Sample[];
  readonly statuses: EnduranceWork['statuses'];
  readonly faults: readonly string[];
}

interface Service {
  readonly address: string;
  readonly lake: string;
  readonly pid: number;
}

/** Figures of /metrics by name; those with labels are added up. */
export const metricsOf = async (address: string): Promise<Readonly<Record<string, number>>> => {
  const found: Record<string, number> = {};
  for (const [, name, value] of (await (await fetch(`${address}/metrics`)).text()).matchAll(
    /^(\w+)(?:\{[^\n]*\})? ([-\d.e+]+)$/gm,
  )) {
    found[name!] = (found[name!] ?? 0) + Number(value);
  }
  return found;
};

const mb = (bytes: number | undefined): number => (bytes ?? 0) / (1 << 20);

const look = async (
  { address, lake, pid }: Service,
  minute: number,
  at: string,
  work: EnduranceWork,
): Promise<Sample> => {
  const metrics = await metricsOf(address);
  const { anonymous, file, shared } = memoryOf(pid);
  const { all, objects, deleted } = descriptorsOf(pid);
  return {
    minute,
    at,
    anonymous: anonymous + shared,
    file,
    heap: mb(metrics['nodejs_heap_size_used_bytes']),
    external: mb(metrics['nodejs_external_memory_bytes']),
    workerHeaps: mb(metrics['lake_worker_heap_bytes']),
    workerExternal: mb(metrics['lake_worker_buffer_bytes']),
    snapshots: mb(metrics['lake_snapshot_cache_bytes']),
    columns: mb(metrics['lake_column_cache_bytes']),
    descriptors: all,
    objects,
    deleted,
    threads: threadsOf(pid),
    disk: mb(diskBytesOf(lake)),
    tables: mb(diskBytesOf(join(lake, 'tables'))),
    log: mb(diskBytesOf(join(lake, 'log'))),
    spilled: filesOf(join(lake, 'spill')).length,
    files: filesOf(join(lake, 'objects')).length,
    cpu: processorSecondsOf(pid),
    asked: Object.values(work.statuses).reduce((sum, n) => sum + n, 0),
  };
};

const columns: readonly (readonly [title: string, name: keyof Sample])[] = [
  ['min', 'minute'],
  ['at', 'at'],
  ['RssAnon', 'anonymous'],
  ['RssFile', 'file'],
  ['heap', 'heap'],
  ['extern', 'external'],
  ['w.heaps', 'workerHeaps'],
  ['w.extern', 'workerExternal'],
  ['snaps', 'snapshots'],
  ['columns', 'columns'],
  ['fds', 'descriptors'],
  ['fd obj', 'objects'],
  ['fd del', 'deleted'],
  ['threads', 'threads'],
  ['disk', 'disk'],
  ['tables', 'tables'],
  ['log', 'log'],
  ['spill', 'spilled'],
  ['files', 'files'],
  ['cpu s', 'cpu'],
  ['asked', 'asked'],
];
const cell = (value: number | string): string =>
  (typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(1) : String(value)).padStart(8);
const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** Works for so many minutes, rests for `restMs`, ends the clients' pools and rests again. */
export const runEndurance = async (options: {
  readonly minutes: number;
  readonly seed: number;
  readonly clients: number;
  readonly baseRows: number;
  readonly largeRows: number;
  readonly restMs: number;
  readonly minuteMs?: number;
  readonly flags?: readonly string[];
  readonly report: (line: string) => void;
}): Promise<EnduranceFigures> => {
  const { minutes, seed, clients, baseRows, largeRows, restMs, minuteMs = 60_000, report } = options;
  const service = await startBuiltService({ asShipped: true, ...(options.flags && { flags: options.flags }) });
  const samples: Sample[] = [];
  const of: Service = { address: service.address, lake: service.lake, pid: service.process.pid! };
  try {
    const work = await beginEndurance({ address: service.address, clients, seed, baseRows, largeRows });
    const note = async (minute: number, at: string): Promise<void> => {
      const sample = await look(of, minute, at, work);
      samples.push(sample);
      report(columns.map(([, name]) => cell(sample[name])).join(' '));
    };
    report(columns.map(([title]) => cell(title)).join(' '));
    await note(0, 'begin');
    for (let minute = 1; minute <= minutes; minute++) {
      await work.run({ ms: minuteMs });
      await note(minute, 'work');
    }
    await rested(restMs);
    await note(minutes, 'rest');
    await work.end();
    await rested(restMs);
    await note(minutes, 'end');
    report(`statuses ${JSON.stringify(work.statuses)}`);
    report(`kinds ${JSON.stringify(work.kinds)}`);
    for (const fault of work.faults.slice(0, 10)) report(`fault: ${fault}`);
    return { samples, statuses: work.statuses, faults: work.faults };
  } finally {
    await service.stop();
  }
};
const rested = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** What does not hold of a run. */
const verdictOf = ({ samples, faults }: EnduranceFigures): readonly string[] => {
  const first = samples.find(({ minute, at }) => minute === 1 && at === 'work')!;
  const rest = samples.find(({ at }) => at === 'rest')!;
  return [
    ...(rest.anonymous > first.anonymous * 1.3
      ? [`memory: ${rest.anonymous.toFixed(0)} MB after the rest, ${first.anonymous.toFixed(0)} after the first minute`]
      : []),
    ...(rest.deleted > 0 ? [`${rest.deleted} descriptors of files that are gone`] : []),
    ...(rest.spilled > 0 ? [`${rest.spilled} files in spill/`] : []),
    ...(faults.length > 0 ? [`${faults.length} answers of 500`] : []),
  ];
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name: string, standard: string): string => {
    const at = process.argv.findIndex((argument) => argument === `-${name}` || argument === `--${name}`);
    return at < 0 ? standard : (process.argv[at + 1] ?? standard);
  };
  const flags = option('flags', '')
    .split(' ')
    .filter((flag) => flag !== '');
  const seed = Number(option('seed', '1'));
  print(`seed ${seed}`);
  const figures = await runEndurance({
    minutes: Number(option('minutes', '15')),
    seed,
    clients: Number(option('clients', '6')),
    baseRows: Number(option('rows', '400000')),
    largeRows: 100_000,
    restMs: Number(option('rest', '60')) * 1000,
    flags,
    report: print,
  });
  const verdict = verdictOf(figures);
  for (const fault of verdict) print(`NOT: ${fault}`);
  if (verdict.length === 0) print('memory, descriptors and disk are back');
  process.exitCode = verdict.length === 0 ? 0 : 1;
}
