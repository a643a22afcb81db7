import { expect, test } from 'vitest';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { intValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { type Vector, valueAt } from '../../../src/vectors/vector.ts';
import { TaskSpill } from '../../../src/workers/query/spill.ts';

const batch = (from: number, length: number): Vector =>
  vectorOf(
    Array.from({ length }, (_, i) =>
      i % 3 ? recordValue([{ name: 'n', value: intValue(from + i) }]) : stringValue(`s${from + i}`),
    ),
  );

test('batches come back from a spill run as they went in, as often as they are asked for', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'lake-spill-'));
  const spill = new TaskSpill(parent);
  expect(readdirSync(parent)).toEqual([]);
  const run = spill.open();
  const other = spill.open();
  const batches = [batch(0, 5), batch(5, 20_000), batch(9, 1)];
  for (const b of batches) await run.append(b);
  await other.append(batch(100, 2));
  const wanted = batches.flatMap((b) => Array.from({ length: b.length }, (_, i) => valueAt(b, i)));
  for (let pass = 0; pass < 2; pass++) {
    const found = [];
    for await (const b of run.read()) for (let i = 0; i < b.length; i++) found.push(valueAt(b, i));
    expect(found).toEqual(wanted);
  }
  await run.close();
  await run.close();
  spill.dispose();
  expect(readdirSync(parent)).toEqual([]);
  rmSync(parent, { recursive: true });
});
