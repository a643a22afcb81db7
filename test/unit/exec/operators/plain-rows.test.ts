/** Rows of numbers and texts by partition come back as they were, in their order, from memory and from a file. */
import { expect, test } from 'vitest';
import { Memory } from '../../../../src/exec/operators/build.ts';
import { PlainRows, plainBatch } from '../../../../src/exec/operators/rows/plain-rows.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import { supText } from '../../../../src/vectors/sup/print.ts';
import { type Vector, take, valueAt } from '../../../../src/vectors/vector.ts';
import { memoryBytes } from '../../../support/queries/run-plan.ts';
import { randomOf } from '../../../support/random.ts';

const parts = 64;
const linesOf = (batch: Vector): string[] => Array.from({ length: batch.length }, (_, i) => supText(valueAt(batch, i)));
const vector = (text: string): Vector => vectorOf(parseSupValues(text));

test.each([
  ['in memory', 64 << 20, 0],
  ['in a file', 1 << 20, 1],
])('rows of changing columns, %s', (_, max, files) => {
  const random = randomOf(5);
  let opened = 0;
  const memory = new Memory(max);
  const rows = new PlainRows({
    parts,
    rowsMax: 5000,
    memory,
    open: () => {
      opened++;
      return memoryBytes();
    },
  });
  const wanted: string[][] = Array.from({ length: parts }, () => []);
  const kinds: ((x: number) => string)[] = [
    (x) => `{a:${x},s:"${'long '.repeat(x % 9)}${x}",f:${x}.5}`,
    (x) => `{a:${2n ** 62n + BigInt(x)},s:"",f:-0.}`,
    (x) => `{a:${x}::(int64|null),s:"ü${x}"::(string|null),f:NaN}`,
    (x) => `{b:${2n ** 63n + BigInt(x)}::uint64}`,
  ];
  for (let k = 0; k < 60; k++) {
    const kind = kinds[k < 40 ? Math.floor(k / 7) % 4 : k % 4]!;
    const all = vector(Array.from({ length: 900 }, () => kind(random.below(1000))).join(' '));
    // A view of some of the rows, as filters give.
    const batch = take(
      all,
      Uint32Array.from({ length: 450 }, (_, i) => 2 * i),
    );
    const partOf = Uint8Array.from({ length: batch.length }, () => random.below(k % 5 === 0 ? 2 : parts));
    rows.add(plainBatch(batch)!, partOf);
    linesOf(batch).forEach((line, i) => {
      wanted[partOf[i]!]!.push(line);
    });
  }
  rows.settle();
  expect(opened).toBe(files);
  for (let pass = 0; pass < 2; pass++)
    for (let p = 0; p < parts; p++) expect([...rows.read(p)].flatMap(linesOf)).toEqual(wanted[p]);
  rows.close();
  expect(memory.isOver).toBe(false);
});

test('what is neither a number nor a text is not plain', () => {
  for (const text of ['{a:1} {a:"x"}', '{a:[1]}', '{a:1} {a:null}', '{a?:1} {}', '1', '{}', '{a:{b:1}}', '{a:true}'])
    expect(plainBatch(vector(text)), text).toBe(undefined);
});
