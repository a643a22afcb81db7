/**
 * Runs the recorded query cases of $CONFORMANCE_DIR through `lake query`, as it stands on the command line but in this
 * process. Passed cases a file must not fall below `conformance.floors.json`; `UPDATE_FLOORS=1` raises the floors to
 * what passes now, never lowers them. What failed is written to test/out/conformance-failures.jsonl with the answer
 * that came. With LAKE_TEST_STORE the rows are those of data objects in a bucket.
 */
import { describe, expect, test } from 'vitest';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { passesAsAdded } from './support/queries/conformance-added.ts';
import { type ConformanceCase, type Verdict, runCase } from './support/queries/conformance.ts';
import { fromBucket } from './support/queries/engine-variants.ts';

const directory = process.env['CONFORMANCE_DIR'];
const floorsFile = fileURLToPath(new URL('conformance.floors.json', import.meta.url));
/** Where the rows of a case are. */
const engine = process.env['LAKE_TEST_STORE'] ? fromBucket : {};
const out = fileURLToPath(new URL('out/', import.meta.url));
const floors = (existsSync(floorsFile) ? JSON.parse(readFileSync(floorsFile, 'utf8')) : {}) as Record<string, number>;
const casesOf = (file: string): ConformanceCase[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ConformanceCase);

if (!directory) {
  test('conformance cases need CONFORMANCE_DIR', ({ skip }) => {
    expect(process.env['NO_SKIPS'], 'CONFORMANCE_DIR is not set').toBeUndefined();
    skip('CONFORMANCE_DIR is not set');
  });
} else {
  mkdirSync(out, { recursive: true });
  const failures: string[] = [];
  const folder = join(directory, 'cases');
  const only = process.env['CONFORMANCE_ONLY'];
  describe('conformance', () => {
    for (const file of readdirSync(folder)
      .filter((f) => f.endsWith('.jsonl') && (!only || only.split(',').includes(f.replace('.jsonl', ''))))
      .sort()) {
      test(`${file} stays at its floor`, { timeout: 300_000 }, async () => {
        const cases = casesOf(join(folder, file));
        const groups = new Map<string, { passed: number; total: number }>();
        let passed = 0;
        for (const c of cases) {
          const answer = await runCase(c, directory, engine);
          const verdict: Verdict = { ...answer, passed: passesAsAdded(c.id, answer) ?? answer.passed };
          const group = groups.get(c.group) ?? { passed: 0, total: 0 };
          groups.set(c.group, { passed: group.passed + (verdict.passed ? 1 : 0), total: group.total + 1 });
          if (verdict.passed) passed++;
          else
            failures.push(
              JSON.stringify({
                file,
                id: c.id,
                group: c.group,
                query: c.query,
                input: c.input,
                args: [...c.input_args, ...c.output_args],
                typed: c.typed,
                files: c.files,
                wanted: c.output,
                wantedError: c.error,
                output: verdict.output,
                error: verdict.error,
              }),
            );
        }
        const name = file.replace('.jsonl', '');
        console.log(
          `${name.padEnd(14)} ${passed}/${cases.length}  ${[...groups]
            .filter(([, g]) => g.passed < g.total)
            .map(([k, g]) => `${k} ${g.passed}/${g.total}`)
            .join(', ')}`,
        );
        writeFileSync(join(out, 'conformance-failures.jsonl'), failures.map((f) => `${f}\n`).join(''));
        const floor = floors[name] ?? 0;
        if (process.env['UPDATE_FLOORS'] && passed > floor) {
          floors[name] = passed;
          writeFileSync(floorsFile, `${JSON.stringify(Object.fromEntries(Object.entries(floors).sort()), null, 2)}\n`);
        }
        expect(passed).toBeGreaterThanOrEqual(floor);
      });
    }
  });
}
