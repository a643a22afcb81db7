/**
 * Runs schemathesis, a property-based tester of APIs, against the real service and a lake with data: every check that
 * it has, no answer but those of /openapi.json.
 *
 * `npm run test:api -- -requests 5000 -seed 7`; SCHEMATHESIS names the program where it is not on the PATH. Rounds with
 * growing seeds are run until so many requests were sent; the figures and the seeds are printed. With `-access` the
 * service asks for keys.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { fillLake } from './lake.ts';

const candidates = process.env['SCHEMATHESIS'] === undefined ? ['schemathesis', 'st'] : [process.env['SCHEMATHESIS']];
let found: string | undefined;
/** To ask it takes more than a second. */
const schemathesis = (): string | undefined =>
  (found ??= candidates.find((name) => spawnSync(name, ['--version']).status === 0));
/** Whether tests that need it are to be left out (never with NO_SKIPS). */
export const lacksSchemathesis = (): boolean => process.env['NO_SKIPS'] === undefined && schemathesis() === undefined;

interface TesterOptions {
  readonly requests: number;
  readonly seed: number;
  /** With access control. */
  readonly guarded?: boolean;
  /** Phases of the tester; default: all. */
  readonly phases?: string;
  /** Cases of an endpoint in the first round. */
  readonly examples: number;
}
interface Figures {
  readonly requests: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly operations: Readonly<Record<string, Readonly<Record<string, number>>>>;
}
/** `failures`: what schemathesis says of them; empty if there are none. */
interface Outcome extends Figures {
  readonly seeds: readonly number[];
  readonly failures: string;
}

/** Tests a service of its own. */
export const testApi = async ({
  requests,
  seed,
  guarded = false,
  phases,
  examples,
}: TesterOptions): Promise<Outcome> => {
  const program = schemathesis();
  if (program === undefined) throw new Error('schemathesis is not installed (python3 -m pip install schemathesis)');
  const folder = mkdtempSync(join(tmpdir(), 'api-tester-'));
  const service = await startBuiltService({ flags: ['-defaultfmt', 'json', ...(guarded ? ['-auth.keys'] : [])] });
  const seeds: number[] = [];
  let total: Figures = { requests: 0, statuses: {}, operations: {} };
  let failures = '';
  try {
    const key = guarded ? newKey(service) : undefined;
    const files = { lake: join(folder, 'lake.json'), counts: join(folder, 'counts.json') };
    for (let round = seed; total.requests < requests && failures === ''; round++) {
      // What a round deleted is there again.
      writeFileSync(files.lake, JSON.stringify(await fillLake(service.address, { round, key })));
      seeds.push(round);
      const { status, output } = await run(
        program,
        [
          '--config-file',
          fileURLToPath(new URL('schemathesis.toml', import.meta.url)),
          'run',
          `${service.address}/openapi.json`,
          '--url',
          service.address,
          '--seed',
          String(round),
          '--max-examples',
          String(examples),
          '--no-color',
          '--checks',
          'all',
          ...(phases === undefined ? [] : ['--phases', phases]),
          ...(key === undefined ? [] : ['--header', `Authorization: Bearer ${key}`]),
        ],
        folder,
        { LAKE_TESTER: files.lake, LAKE_TESTER_COUNTS: files.counts },
      );
      if (!existsSync(files.counts)) throw new Error(output);
      total = sum(total, JSON.parse(readFileSync(files.counts, 'utf8')) as Figures);
      if (status !== 0) failures = output;
    }
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return { ...total, seeds, failures };
};

const newKey = (service: Service): string => {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [service.process.spawnargs[1]!, 'key', 'add', '-lake', service.lake, '-role', 'admin', 'tester'],
    { encoding: 'utf8' },
  );
  const key = /lake_[0-9a-f]{12}_\S{43}/.exec(stdout)?.[0];
  if (key === undefined) throw new Error(`no key (${status}): ${stdout}${stderr}`);
  return key;
};

/** In a folder of its own: it leaves files where it runs. */
const run = (
  program: string,
  args: readonly string[],
  folder: string,
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly status: number | null; readonly output: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: folder,
      env: {
        ...process.env,
        ...environment,
        SCHEMATHESIS_HOOKS: fileURLToPath(new URL('hooks.py', import.meta.url)),
        PYTHONDONTWRITEBYTECODE: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    child.on('error', reject);
    child.on('close', (status) => {
      resolve({ status, output });
    });
  });

const sum = (a: Figures, b: Figures): Figures => ({
  requests: a.requests + b.requests,
  statuses: added(a.statuses, b.statuses),
  operations: Object.fromEntries(
    [...new Set([...Object.keys(a.operations), ...Object.keys(b.operations)])].map((name) => [
      name,
      added(a.operations[name] ?? {}, b.operations[name] ?? {}),
    ]),
  ),
});
const added = (
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])].sort().map((name) => [name, (a[name] ?? 0) + (b[name] ?? 0)]),
  );

const main = async (): Promise<void> => {
  const option = (name: string, fallback: number): number => {
    const at = process.argv.indexOf(`-${name}`);
    return at < 0 ? fallback : Number(process.argv[at + 1]);
  };
  const seed = option('seed', Math.floor(Math.random() * 1e6));
  console.log(`seed ${seed}`);
  const { failures, seeds, requests, statuses, operations } = await testApi({
    requests: option('requests', 5000),
    seed,
    guarded: process.argv.includes('-access'),
    examples: option('examples', 85),
  });
  const never = Object.entries(operations)
    .filter(([, by]) => !Object.keys(by).some((status) => status.startsWith('2')))
    .map(([name]) => name);
  console.log(
    `${requests} requests to ${Object.keys(operations).length} endpoints, seeds ${seeds.join(', ')}: ${Object.entries(
      statuses,
    )
      .map(([status, count]) => `${count} x ${status}`)
      .join(', ')}`,
  );
  if (never.length > 0) console.log(`without a success: ${never.join(', ')}`);
  if (failures === '') return;
  console.log(failures);
  process.exitCode = 1;
};
if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
