/**
 * Replays the recorded exchanges of $EXCHANGES_DIR against the real service, one for each way in which the recorded
 * server was started. Most of the time goes into pauses of the recording and waits for events that must not come: the
 * scenarios, which know nothing of each other, are dealt to services side by side.
 *
 * A step that does not match is either listed in exchanges.departures with its reason, or needs a format that has no
 * reader or writer yet. A listed step that matches after all must leave the list. Matches a server must not fall below
 * exchanges.floors.json; `UPDATE_FLOORS=1` raises them.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatTable } from '../src/formats/formats.ts';
import { watchAnswers } from './openapi/contract.ts';
import { startService } from './support/service/server.ts';

const servers = {
  default: [],
  cors: ['-cors.origin=http://a', '-cors.origin=http://*.b'],
  defaultfmt: ['-defaultfmt=json'],
  defaultndjson: ['-defaultfmt=ndjson'],
  auth: ['-auth.domain', 'https://testdomain', '-auth.audience', 'a', '-auth.clientid', 'c'],
} as const satisfies Record<string, readonly string[]>;

interface Step {
  readonly scenario: string;
  readonly step: number;
  readonly server?: string;
  readonly pause_before_s?: number;
  readonly stream?: object;
  readonly events?: Readonly<Record<string, readonly unknown[]>>;
  readonly request: { readonly headers?: Readonly<Record<string, string>> } | null;
}
interface Result {
  readonly scenario: string;
  readonly step: number;
  readonly result: string;
}

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const directory = process.env['EXCHANGES_DIR'];
const missing = !directory
  ? 'EXCHANGES_DIR is not set'
  : spawnSync('python3', ['--version']).status !== 0
    ? 'python3 is not installed'
    : undefined;

/** Reasons by `scenario#step`. Lines: `scenario#1,3-5 reason`; # at the start is a comment. */
const departures = (): Map<string, string> => {
  const out = new Map<string, string>();
  for (const line of readFileSync(file('exchanges.departures'), 'utf8').split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, scenario, steps, reason] = /^(\S+)#([\d,-]+)\s+(\S.*)$/.exec(line) ?? [];
    if (!scenario || !steps || !reason) throw new Error(`exchanges.departures: cannot read ${JSON.stringify(line)}`);
    for (const part of steps.split(',')) {
      const [from, to = from] = part.split('-').map(Number) as [number, number?];
      for (let step = from; step <= to; step++) out.set(`${scenario}#${step}`, reason);
    }
  }
  return out;
};

/** Media types of formats that cannot be read or written yet. */
const later = new Set(
  Object.values(formatTable)
    .filter((f) => !f.writer || (!f.reader && !f.readAs))
    .flatMap((f) => f.mediaTypes),
);
const needsLater = ({ request }: Step): boolean =>
  Object.entries(request?.headers ?? {}).some(
    ([name, value]) =>
      /^(?:accept|content-type)$/i.test(name) &&
      value.split(',').some((v) => later.has(v.split(';')[0]!.trim().toLowerCase())),
  );

interface Replayed {
  readonly output: string;
  readonly results: readonly Result[];
}

/** Services that share the scenarios of one server: the longest scenario waits as long as a fifth of them all. */
const services = 5;

/**
 * How long the player waits at a step, in seconds, about: what it was told to, half a second for a stream, and a
 * quarter for events that must not come.
 */
const waitOf = ({ pause_before_s: pause = 0, stream, events = {} }: Step): number =>
  0.01 + pause + (stream ? 0.5 : 0) + 0.25 * Object.values(events).filter((some) => some.length === 0).length;

/** The scenarios of a server, dealt to so many hands that wait about as long; no hand is empty. */
const dealt = (all: readonly Step[], server: string): readonly (readonly Step[])[] => {
  const waits = new Map<string, { readonly steps: Step[]; wait: number }>();
  for (const step of all.filter((one) => (one.server ?? 'default') === server)) {
    if (!waits.has(step.scenario)) waits.set(step.scenario, { steps: [], wait: 0 });
    const scenario = waits.get(step.scenario)!;
    scenario.steps.push(step);
    scenario.wait += waitOf(step);
  }
  const scenarios = [...waits.values()].sort((a, b) => b.wait - a.wait);
  const hands = Array.from({ length: Math.min(services, scenarios.length) }, () => ({ steps: [] as Step[], wait: 0 }));
  for (const { steps, wait } of scenarios) {
    const hand = hands.reduce((least, other) => (other.wait < least.wait ? other : least));
    hand.steps.push(...steps);
    hand.wait += wait;
  }
  return hands.map((hand) => hand.steps);
};

/** Replays steps against a service of their own. */
const replayed = async (steps: readonly Step[], server: string, flags: readonly string[]): Promise<Replayed> => {
  const folder = mkdtempSync(join(tmpdir(), 'exchanges-'));
  // One client asks, one thing after the other.
  const service = await startService([...flags, '-workers', '1']);
  try {
    const part = join(folder, 'exchanges.jsonl');
    writeFileSync(part, steps.map((step) => `${JSON.stringify(step)}\n`).join(''));
    return await replay(service.url, server, part, join(folder, 'results.json'));
  } finally {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
};

const replay = (url: string, server: string, exchanges: string, json: string): Promise<Replayed> =>
  new Promise((resolve, reject) => {
    const only = (process.env['EXCHANGES_ONLY'] ?? '')
      .split(',')
      .filter((name) => name !== '')
      .flatMap((name) => ['--only', name]);
    const child = spawn('python3', [
      join(directory!, 'replay.py'),
      '--base',
      url,
      '--profile',
      'seed',
      '--errors',
      process.env['EXCHANGES_ERRORS'] ?? 'full',
      '--server',
      server,
      '--diffs',
      '100',
      '--timeout',
      '15',
      '--json',
      json,
      ...only,
      exchanges,
    ]);
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', () => {
      if (existsSync(json)) resolve({ output, results: JSON.parse(readFileSync(json, 'utf8')) as Result[] });
      else reject(new Error(output));
    });
  });

if (missing) {
  test('recorded exchanges need EXCHANGES_DIR and python3', ({ skip }) => {
    expect(process.env['NO_SKIPS'], missing).toBeUndefined();
    skip(missing);
  });
} else {
  const steps = readFileSync(join(directory!, 'exchanges.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Step);
  const floors = (
    existsSync(file('exchanges.floors.json')) ? JSON.parse(readFileSync(file('exchanges.floors.json'), 'utf8')) : {}
  ) as Record<string, number>;
  const raised = { ...floors };
  const reasons = departures();
  const partial = process.env['EXCHANGES_ONLY'] !== undefined;
  mkdirSync(file('out/'), { recursive: true });
  afterAll(() => {
    if (process.env['UPDATE_FLOORS'] && !partial)
      writeFileSync(file('exchanges.floors.json'), `${JSON.stringify(raised, null, 2)}\n`);
  });
  describe('recorded exchanges', () => {
    for (const [server, flags] of Object.entries(servers)) {
      test(`those of the server "${server}" match, save for what is listed`, { timeout: 600_000 }, async () => {
        const answers = watchAnswers();
        const hands = dealt(steps, server);
        try {
          const parts = await Promise.all(hands.map((hand) => replayed(hand, server, flags)));
          const results = parts.flatMap((part) => part.results);
          writeFileSync(file(`out/exchanges-${server}.txt`), parts.map((part) => part.output).join('\n'));
          expect(partial || results.length).toBe(partial || hands.flat().length);
          const matched = results.filter((r) => r.result === 'ok').length;
          const failed = results.filter((r) => r.result !== 'ok' && r.result !== 'skip');
          console.log(`${server.padEnd(14)} ${matched}/${matched + failed.length} steps match`);
          const key = (r: Result): string => `${r.scenario}#${r.step}`;
          const waits = new Set(steps.filter(needsLater).map((s) => `${s.scenario}#${s.step}`));
          const unlisted = failed
            .filter((r) => !reasons.has(key(r)) && !waits.has(key(r)))
            .map((r) => `${key(r)} ${r.result.slice(0, 300)}`);
          // Two scenarios share a name: a key may stand for two steps.
          const stale = [...new Set(results.map(key))].filter(
            (k) => reasons.has(k) && results.filter((r) => key(r) === k).every((r) => r.result === 'ok'),
          );
          raised[server] = Math.max(floors[server] ?? 0, matched);
          expect({ unlisted, stale }).toEqual({ unlisted: [], stale: [] });
          expect(answers.stop(), 'what the document of the API does not say').toEqual([]);
          if (!partial) expect(matched).toBeGreaterThanOrEqual(floors[server] ?? 0);
        } finally {
          answers.stop();
        }
      });
    }
  });
}
