/**
 * `npm run campaign -- PART -seeds A..B [-minutes N]`: one part of the campaign over a range of seeds (B included), for
 * 9 minutes at most; what it counted is added to totals.json, whose figures the README gives. A seed that was counted
 * before is left out, so that a range can be gone on with after a stop. `npm run campaign -- totals` prints the sums.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parts, type PartName } from './parts.ts';

interface PartTotals {
  seeds: [number, number][];
  counts: Record<string, number>;
  failures: string[];
}
export type Totals = Partial<Record<PartName, PartTotals>>;

const file = process.env['CAMPAIGN_TOTALS'] ?? fileURLToPath(new URL('./totals.json', import.meta.url));
export const readTotals = (): Totals => JSON.parse(readFileSync(file, 'utf8')) as Totals;

/** Runs one part; stops between two seeds when the time is over. */
export const runPart = async (
  name: PartName,
  seeds: readonly number[],
  options: {
    readonly msMax?: number;
    readonly after?: (seed: number, counts: ReadonlyMap<string, number>, failures: readonly string[]) => void;
  } = {},
) => {
  const counts = new Map<string, number>();
  const failures: string[] = [];
  const folder = mkdtempSync(join(tmpdir(), `lake-campaign-${name}-`));
  const began = performance.now();
  function* inTime(): IterableIterator<number> {
    for (const seed of seeds) {
      if (performance.now() - began > (options.msMax ?? Infinity)) return;
      yield seed;
      options.after?.(seed, counts, failures);
    }
  }
  try {
    await (await parts[name]())({
      folder,
      seeds: inTime(),
      count: (what, n = 1, how = 'sum') => {
        counts.set(what, how === 'max' ? Math.max(counts.get(what) ?? 0, n) : (counts.get(what) ?? 0) + n);
      },
      failed: (seed, fault) => {
        failures.push(`seed ${seed}: ${fault}`);
      },
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { counts, failures };
};

const isDone = (totals: PartTotals | undefined, seed: number): boolean =>
  totals?.seeds.some(([first, last]) => first <= seed && seed <= last) ?? false;
const withSeed = (ranges: readonly [number, number][], seed: number): [number, number][] => {
  const all = [...ranges, [seed, seed] as [number, number]].sort((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const [first, last] of all) {
    const before = merged.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else merged.push([first, last]);
  }
  return merged;
};

const main = async (argv: readonly string[]): Promise<number> => {
  const [name, flag, range = '', , minutes = '9'] = argv;
  const found = /^(\d+)\.\.(\d+)$/.exec(range);
  if (name === 'totals') {
    for (const [part, totals] of Object.entries(readTotals()))
      process.stdout.write(
        `${part}: ${Object.entries(totals.counts)
          .map(([what, n]) => `${n} ${what}`)
          .join(', ')}; ${totals.failures.length} failures\n`,
      );
    return 0;
  }
  if (name === undefined || !(name in parts) || flag !== '-seeds' || !found) {
    process.stderr.write(
      `usage: npm run campaign -- PART -seeds A..B [-minutes N] (parts: ${Object.keys(parts).join(', ')}), or: npm run campaign -- totals\n`,
    );
    return 2;
  }
  const part = name as PartName;
  const [first, last] = [Number(found[1]), Number(found[2])];
  const before = readTotals()[part];
  const seeds = Array.from({ length: last - first + 1 }, (_, i) => first + i).filter((seed) => !isDone(before, seed));
  const done: number[] = [];
  const { counts, failures } = await runPart(part, seeds, {
    msMax: Number(minutes) * 60_000,
    after: (seed, so) => {
      done.push(seed);
      if (done.length % 25 === 0)
        process.stderr.write(`seed ${seed}: ${[...so].map(([what, n]) => `${n} ${what}`).join(', ')}\n`);
    },
  });
  // Read again: another part may have ended meanwhile.
  const totals = readTotals();
  const sum: PartTotals = totals[part] ?? { seeds: [], counts: {}, failures: [] };
  for (const seed of done) sum.seeds = withSeed(sum.seeds, seed);
  for (const [what, n] of counts)
    sum.counts[what] = / (?:ms|MB|MiB)$/.test(what) ? Math.max(sum.counts[what] ?? 0, n) : (sum.counts[what] ?? 0) + n;
  sum.failures.push(...failures);
  writeFileSync(file, `${JSON.stringify({ ...totals, [part]: sum }, undefined, 1)}\n`);
  process.stdout.write(
    `${part}: ${done.length} of ${seeds.length} seeds, ${[...counts].map(([what, n]) => `${n} ${what}`).join(', ')}\n${failures.map((line) => `${line}\n`).join('')}`,
  );
  return failures.length === 0 ? 0 : 1;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
