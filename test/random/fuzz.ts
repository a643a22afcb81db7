/**
 * Fuzzes the readers. `npm run fuzz` gives each 100,000 hostile inputs (test/random/hostile-inputs.ts); `npm run fuzz
 * -- -targets csup,parquet -count 5000 -seed 7` some of them; `-index 123` with one target writes that input to
 * standard output instead. Each must end in values or in a LakeError, within time and memory.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { contentCodings } from '../../src/formats/codings/encoding.ts';
import { formatTable, ingestNames } from '../../src/formats/formats.ts';
import { seedOf } from '../support/random.ts';
import { scriptArguments } from '../support/script.ts';
import type { Work } from './fuzz-child.ts';
import { hostileInputs } from './hostile-inputs.ts';

/** Everything that reads bytes, and the compiler of queries. */
export const fuzzTargets: readonly string[] = [
  ...Object.values(formatTable)
    .filter((f) => f.reader)
    .map((f) => f.name),
  ...ingestNames,
  'auto',
  ...contentCodings,
  'query',
];

interface FuzzOptions {
  readonly targets: readonly string[];
  readonly count: number;
  readonly seed: number;
  readonly processes: number;
  readonly told?: (line: string) => void;
}
interface Fault {
  readonly target: string;
  readonly index: number;
  readonly text: string;
}

const limits = { cpuMsMax: 3_000, residentBytesMax: 900 << 20 };
/** Without a sign for this long, a third of it at work, the process hangs. */
const silenceMsMax = 30_000;
const heapMegabytesMax = 300;
const fewInputs = 5_000;
/** A reader that is this broken needs no more inputs. */
const faultsMax = 20;

type Job = Work['jobs'][number];

/** Runs the inputs; what went wrong. */
export const fuzz = async ({ targets, count, seed, processes, told }: FuzzOptions): Promise<readonly Fault[]> => {
  const waiting: Job[] = targets.map((target) => ({ target, start: 0, end: count }));
  const faults: Fault[] = [];
  const next = async (): Promise<void> => {
    // Small runs share a process: starting one takes longer than reading.
    const most = count > fewInputs ? 1 : Math.ceil(targets.length / processes / 2);
    for (let jobs = waiting.splice(0, most); jobs.length > 0; jobs = waiting.splice(0, most)) {
      for (let rest: readonly Job[] = jobs; rest.length > 0; ) {
        const end = await runChild(seed, rest);
        faults.push(...end.faults);
        for (const fault of end.faults) told?.(`${fault.target} ${fault.index}: ${fault.text}`);
        rest = end.rest.filter((job) => faults.filter((f) => f.target === job.target).length < faultsMax);
      }
      told?.(`${jobs.map((job) => job.target).join(', ')}: done`);
    }
  };
  await Promise.all(Array.from({ length: processes }, next));
  return faults;
};

interface ChildEnd {
  readonly faults: readonly Fault[];
  readonly rest: readonly Job[];
}

/** Runs jobs in a fresh process until they are done or it is gone; the input that it was at is a fault then. */
const runChild = (seed: number, jobs: readonly Job[]): Promise<ChildEnd> =>
  new Promise((resolve, reject) => {
    const work: Work = { seed, jobs, ...limits };
    const child = spawn(
      process.execPath,
      [
        `--max-old-space-size=${heapMegabytesMax}`,
        ...scriptArguments(new URL('fuzz-child.ts', import.meta.url)),
        JSON.stringify(work),
      ],
      { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] },
    );
    const faults: Fault[] = [];
    let at: { readonly target: string; readonly index: number } | undefined;
    let done = false;
    let hung = false;
    let told = '';
    let complaints = '';
    let watch = setTimeout(() => undefined, 0);
    const alive = (): void => {
      clearTimeout(watch);
      const cpuMs = cpuMsOf(child.pid);
      const began = performance.now();
      const look = (): void => {
        // Where the machine has no time for it, a process is silent without a fault of its own.
        if (cpuMsOf(child.pid) - cpuMs < silenceMsMax / 3 && performance.now() - began < silenceMsMax * 20) {
          watch = setTimeout(look, silenceMsMax);
          return;
        }
        hung = true;
        child.kill('SIGKILL');
      };
      watch = setTimeout(look, silenceMsMax);
    };
    alive();
    child.stdio[3]!.on('data', (data: Buffer) => {
      alive();
      const lines = (told + data.toString()).split('\n');
      told = lines.pop()!;
      for (const line of lines) {
        const [word, target, index, ...text] = line.split(' ');
        if (word === 'START') at = { target, index: Number(index) };
        else if (word === 'FAULT')
          faults.push({ target, index: Number(index), text: JSON.parse(text.join(' ')) as string });
        else done = word === 'DONE';
      }
    });
    child.stderr!.on('data', (data: Buffer) => {
      complaints = (complaints + data.toString()).slice(-2000);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(watch);
      if (done) return resolve({ faults, rest: [] });
      if (!at) return reject(new Error(`the fuzz process ended before its first input: ${complaints}`));
      const { target, index } = at;
      if (code !== 4)
        faults.push({
          target,
          index,
          text: hung
            ? `no end within ${silenceMsMax} ms`
            : `the process ended (${signal ?? code}): ${complaints.trim().split('\n').slice(0, 3).join(' ')}`,
        });
      const k = jobs.findIndex((job) => job.target === target);
      const rest = [{ ...jobs[k], start: index + 1 }, ...jobs.slice(k + 1)].filter((job) => job.start < job.end);
      resolve({ faults, rest });
    });
  });

/** Processor time of a process so far, where the system tells; else as if it had used all there is. */
const cpuMsOf = (pid: number | undefined): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return performance.now();
  }
};

const main = async (argv: readonly string[]): Promise<number> => {
  const option = (name: string, fallback: string): string => {
    const at = argv.indexOf(`-${name}`);
    return at < 0 ? fallback : (argv[at + 1] ?? fallback);
  };
  const targets = option('targets', fuzzTargets.join(',')).split(',');
  const seed = Number(option('seed', String(seedOf(1))));
  const index = option('index', '');
  if (index !== '') {
    process.stdout.write(hostileInputs(targets[0], seed)(Number(index)));
    return 0;
  }
  const count = Number(option('count', '100000'));
  const began = performance.now();
  const faults = await fuzz({
    targets,
    count,
    seed,
    processes: Number(option('processes', String(availableParallelism()))),
    told: (line) => {
      console.log(line);
    },
  });
  console.log(
    `seed ${seed}: ${count} inputs for each of ${targets.length} readers in ${Math.round((performance.now() - began) / 1000)} s, ${faults.length} faults`,
  );
  for (const f of faults)
    console.log(
      `  npm run fuzz -- -targets ${f.target} -seed ${seed} -index ${f.index} > input   # ${f.text.slice(0, 200)}`,
    );
  return faults.length === 0 ? 0 : 1;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
