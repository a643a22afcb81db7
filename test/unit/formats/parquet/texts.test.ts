/** Texts are written from where they lie: views of them are what their copies are. */
import { expect, test } from 'vitest';
import { decodeHybrid } from '../../../../src/formats/parquet/decode.ts';
import { coded } from '../../../../src/formats/parquet/dictionary.ts';
import { type Runs, physicalOf, plainSize, plainValues } from '../../../../src/formats/parquet/encode.ts';
import { hybrid } from '../../../../src/formats/parquet/hybrid.ts';
import type { LeafOut } from '../../../../src/formats/parquet/schema-write.ts';
import { statisticsOf } from '../../../../src/formats/parquet/statistics.ts';
import { BytesBuilder } from '../../../../src/vectors/builder-leaves.ts';
import { types } from '../../../../src/vectors/type.ts';
import type { BytesVector } from '../../../../src/vectors/vector.ts';
import { type Random, randomOf, seedOf } from '../../../support/random.ts';

const leaf: LeafOut = {
  kind: 'leaf',
  type: { kind: 'binary', text: true, layout: 'plain' },
  physical: 'BYTE_ARRAY',
  size: 0,
  unsigned: true,
  path: ['text'],
  definitionMax: 1,
  repetitionMax: 0,
};
const textsOf = (texts: readonly string[]): BytesVector => {
  const builder = new BytesBuilder(types.string);
  for (const text of texts) builder.text(text);
  return builder.finish() as BytesVector;
};
const letters = ['a', 'b', 'é', '\u{1f600}', '\u0000', 'z'];
const textFrom = (r: Random): string =>
  ['', 'same start ', 'x'.repeat(70)][r.below(3)]! + letters[r.below(letters.length)]!.repeat(r.below(6));
const runsOf = (p: Runs): readonly string[] =>
  Array.from({ length: p.count }, (_, i) =>
    Buffer.from(p.bytes.subarray(p.starts[i], p.starts[i]! + p.offsets[i + 1]! - p.offsets[i]!)).toString('utf8'),
  );

test('selected rows and those of dictionaries give the bytes and bounds of their copies', () => {
  const r = randomOf(seedOf(26));
  for (let n = 0; n < 60; n++) {
    const base = Array.from({ length: 1 + r.below(50) }, () => textFrom(r));
    const index = Uint32Array.from({ length: 1 + r.below(300) }, () => r.below(base.length));
    const copy = physicalOf(leaf, textsOf(Array.from(index, (row) => base[row]!)));
    const views = [
      physicalOf(leaf, { form: 'selected', length: index.length, index, base: textsOf(base) }),
      physicalOf(leaf, { form: 'dictionary', length: index.length, codes: index, values: textsOf(base) }),
    ];
    const start = r.below(index.length);
    const all = Array.from(index, (row) => Buffer.from(base[row]!)).toSorted((a, b) => Buffer.compare(a, b));
    for (const view of [copy, ...views]) {
      expect(plainSize(view, start, index.length)).toBe(plainSize(copy, start, index.length));
      const bytes = Buffer.from(plainValues(view, start, index.length));
      expect(bytes.equals(plainValues(copy, start, index.length))).toBe(true);
      const { min_value: least, max_value: most } = statisticsOf(leaf, view, 0);
      expect([least, most].map((bound) => Buffer.from(bound as Uint8Array).toString('utf8'))).toEqual([
        String(all[0]),
        String(all.at(-1)),
      ]);
    }
  }
});

test('a dictionary that has a text twice is written with it once', () => {
  const r = randomOf(seedOf(27));
  const few = Array.from({ length: 20 }, (_, i) => `${textFrom(r)}${i}`);
  const base = [...few, ...few];
  const codes = Uint32Array.from({ length: 1000 }, () => r.below(base.length));
  const made = coded(physicalOf(leaf, { form: 'dictionary', length: codes.length, codes, values: textsOf(base) }));
  const entries = runsOf(made?.entries as Runs);
  expect(entries.toSorted()).toEqual([...few].toSorted());
  expect(Array.from(made!.codes, (code) => entries[code])).toEqual(Array.from(codes, (code) => base[code]));
});

test('texts that hardly come again have no dictionary, whatever they lay in', () => {
  const base = Array.from({ length: 1000 }, (_, i) => `text ${i}`);
  const codes = Uint32Array.from({ length: 1000 }, (_, i) => i);
  const view = { form: 'dictionary', length: 1000, codes, values: textsOf(base) } as const;
  expect(coded(physicalOf(leaf, view))).toBeUndefined();
});

test('runs and packed bits are read as the numbers that they were', () => {
  const r = randomOf(seedOf(28));
  for (let n = 0; n < 300; n++) {
    const width = 1 + r.below(n % 3 === 0 ? 1 : 17);
    const values = new Uint32Array(r.below(400));
    for (let i = 0; i < values.length; ) {
      const end = Math.min(values.length, i + 1 + r.below(r.below(2) === 0 ? 2 : 40));
      values.fill(r.below(2 ** width), i, end);
      i = end;
    }
    const start = r.below(values.length + 1);
    const bytes = hybrid(values, start, values.length, width);
    const out = new Uint32Array(values.length - start);
    decodeHybrid({ bytes, at: 0, end: bytes.length }, width, out);
    expect(out).toEqual(values.subarray(start));
  }
});
