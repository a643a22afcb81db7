/** Rows of text and BSUP from columns, whatever their forms, against the printers of single values. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FormatName, createWriter, openReader } from '../../../src/formats/formats.ts';
import { jsonText } from '../../../src/formats/json/text.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { ChunkBuffers } from '../../../src/vectors/texts/chunk-buffers.ts';
import { concat } from '../../../src/vectors/concat.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { types } from '../../../src/vectors/type.ts';
import { type Value, floatValue, intValue, nullValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { type Vector, slice, take, valueAt } from '../../../src/vectors/vector.ts';
import { forced, forcedForms } from '../../support/queries/forced-forms.ts';
import { anyValue } from '../../support/formats/values.ts';

const textsOf = (v: Vector, print: (value: Value) => string): string =>
  Array.from({ length: v.length }, (_, i) => `${print(valueAt(v, i))}\n`).join('');
const plainText = { ndjson: ({ type, data }: Value) => jsonText(type, data), sup: (value: Value) => supText(value) };
/** Everything that a writer gives out, buffers put to use again as the service does. */
const written = (format: FormatName, batches: readonly Vector[], buffers?: ChunkBuffers, isAwaited = false): Buffer => {
  const writer = createWriter(format, { ...(buffers && { buffers }), isAwaited: () => isAwaited });
  const out: Buffer[] = [];
  const keep = (chunks: Iterable<Uint8Array>): void => {
    for (const chunk of chunks) {
      out.push(Buffer.from(chunk));
      if (!buffers?.has(chunk)) continue;
      chunk.fill(0x58);
      buffers.give(chunk.buffer as SharedArrayBuffer);
    }
  };
  for (const batch of batches) keep(writer.write(batch));
  keep(writer.end());
  return Buffer.concat(out);
};

/** Strings of all sizes around the strides of the copies, some with what has to be escaped. */
const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.constantFrom(
    '',
    'plain',
    'sixteen bytes ab',
    'seventeen bytes a',
    'say "hi"',
    'back\\slash',
    'tab\there',
    'é',
    '日本語の文字列です',
    'line\u2028end',
    '\u007f',
    'x'.repeat(127),
    'y'.repeat(200),
  ),
);
const row = fc
  .record({
    clean: fc.nat(1e6).map((n) => stringValue(`item ${n}`)),
    text: text.map(stringValue),
    few: fc.constantFrom('GET', 'a "quoted" one', 'PUT').map(stringValue),
    whole: fc.oneof(fc.integer(), fc.maxSafeInteger()).map(intValue),
    small: fc.nat(255).map((n): Value => ({ type: types.uint8, data: n })),
    float: fc.double().map(floatValue),
    maybe: fc.option(fc.integer()).map((n) => (n === null ? nullValue : intValue(n))),
    inner: text.map((s) => recordValue([{ name: 'in side', value: stringValue(s) }])),
  })
  .map((fields) => recordValue(Object.entries(fields).map(([name, value]) => ({ name, value }))));
const rows = fc
  .oneof(fc.array(row, { minLength: 1, maxLength: 40 }), fc.array(anyValue(), { minLength: 1, maxLength: 12 }))
  .map(vectorOf);

for (const format of ['ndjson', 'sup'] as const) {
  test(`${format}: rows of columns in any form are those printed one by one`, () => {
    fc.assert(
      fc.property(rows, fc.constantFrom(undefined, ...forcedForms), fc.boolean(), (v, form, shared) => {
        const batches = form ? forced(v, form) : [v];
        const expected = batches.map((b) => textsOf(b, plainText[format])).join('');
        expect(written(format, batches, shared ? new ChunkBuffers(1024) : undefined).toString()).toBe(expected);
      }),
      { numRuns: 150 },
    );
  });

  test(`${format}: few rows of large columns, and slices of one column`, () => {
    const values = Array.from({ length: 500 }, (_, i) =>
      recordValue([
        { name: 's', value: stringValue(i === 7 ? 'a "quote"' : `text ${i}`) },
        { name: 'n', value: intValue(i) },
      ]),
    );
    const v = vectorOf(values);
    const codes = Uint32Array.from({ length: 30 }, (_, i) => (i * 37) % 500);
    const dictionary: Vector = {
      form: 'record',
      length: 30,
      fields: [
        { name: 'd', optional: false, values: { form: 'dictionary', length: 30, codes, values: vectorOf(values) } },
      ],
    };
    const batches = [
      take(v, Uint32Array.of(3, 7, 499)),
      slice(v, 0, 250),
      slice(v, 250, 500),
      dictionary,
      concat([slice(v, 5, 9), slice(v, 1, 2)]),
    ];
    expect(written(format, batches).toString()).toBe(batches.map((b) => textsOf(b, plainText[format])).join(''));
  });

  test(`${format}: a field that is absent here and there, with and without one before it`, () => {
    const present = Uint8Array.of(1, 0, 1, 0);
    const strings = vectorOf(['a', 'b', 'c', 'd'].map(stringValue));
    const numbers = vectorOf([1, 2, 3, 4].map(intValue));
    const optional = (name: string, values: Vector): Extract<Vector, { form: 'record' }>['fields'][number] => ({
      name,
      optional: true,
      values,
      present,
    });
    const sure = { name: 'sure', optional: false, values: numbers };
    for (const fields of [
      [optional('o', strings)],
      [optional('o', strings), sure],
      [sure, optional('o', strings), sure],
      [optional('o', strings), optional('p', numbers)],
    ]) {
      const v: Vector = { form: 'record', length: 4, fields };
      expect(written(format, [v]).toString()).toBe(textsOf(v, plainText[format]));
    }
  });
}

test('large pieces of text are the same with buffers that are used again', () => {
  const v = vectorOf(
    Array.from({ length: 3000 }, (_, i) =>
      recordValue([
        { name: 's', value: stringValue(`${i} `.repeat(i % 90)) },
        { name: 'n', value: intValue(i) },
      ]),
    ),
  );
  const buffers = new ChunkBuffers(64 << 10);
  const batches = [v, v, v];
  for (const format of ['ndjson', 'json', 'sup', 'csv', 'bsup'] as const)
    expect(written(format, batches, buffers).equals(written(format, batches)), format).toBe(true);
});

test('BSUP for a reader that waits is not compressed, and reads as the same rows', async () => {
  const v = vectorOf(
    Array.from({ length: 20_000 }, (_, i) =>
      recordValue([
        {
          name: 's',
          value: stringValue(['a', 'eight by', 'nine byte', 'seventeen bytes a', 'é'.repeat(i % 40)][i % 5]!),
        },
        { name: 'n', value: i % 3 === 0 ? intValue(i) : floatValue(i / 7) },
      ]),
    ),
  );
  const packed = written('bsup', [v], new ChunkBuffers(544 << 10));
  const raw = written('bsup', [v], new ChunkBuffers(544 << 10), true);
  expect(raw.length).toBeGreaterThan(packed.length * 1.5);
  const read = async (bytes: Uint8Array): Promise<string> => {
    const out: string[] = [];
    for await (const batch of await openReader(
      'bsup',
      (async function* input() {
        yield bytes;
      })(),
    ))
      out.push(textsOf(batch, plainText.sup));
    return out.join('');
  };
  expect(await read(raw)).toBe(textsOf(v, plainText.sup));
  expect(await read(packed)).toBe(textsOf(v, plainText.sup));
});

test.each(['ndjson', 'sup', 'bsup', 'arrows'] as const)(
  '%s: values larger than a buffer lose none, and what they took besides is given back',
  (format) => {
    const seen = new Set<unknown>();
    const freed: ArrayBuffer[] = [];
    class Counted extends ChunkBuffers {
      override take(): Uint8Array<SharedArrayBuffer> {
        const bytes = super.take();
        seen.add(bytes.buffer);
        return bytes;
      }
    }
    const buffers = new Counted(544 << 10, {
      free: (buffer) => {
        freed.push(buffer);
      },
    });
    const v = vectorOf(
      Array.from({ length: 12 }, (_, i) =>
        recordValue([{ name: 's', value: stringValue(`${i}${'x'.repeat(1_300_000)}`) }]),
      ),
    );
    const writer = createWriter(format, { buffers });
    for (const chunk of [...writer.write(slice(v, 0, 6)), ...writer.write(slice(v, 6, 12)), ...writer.end()])
      buffers.done(chunk);
    expect([
      seen.size <= 12,
      new Set(freed).size === freed.length,
      freed.every((buffer) => buffer.byteLength > buffers.size),
    ]).toEqual([true, true, true]);
    const seenThen = seen.size;
    for (const chunk of createWriter(format, { buffers }).write(v)) buffers.done(chunk);
    expect(seen.size).toBe(seenThen);
    expect(freed.length).toBeGreaterThan(2);
  },
);
