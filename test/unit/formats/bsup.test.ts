/**
 * BSUP beyond what samples.test.ts and typed-formats.test.ts hold: the writer's frames, vectors of every form, odd and
 * hostile streams.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type WriteOptions, createWriter } from '../../../src/formats/formats.ts';
import { concat } from '../../../src/vectors/concat.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { recordType, types } from '../../../src/vectors/type.ts';
import type { Value } from '../../../src/vectors/value.ts';
import { constantOf, vectorOf } from '../../../src/vectors/builder.ts';
import { type Vector, slice, take, uniformType, valueAt } from '../../../src/vectors/vector.ts';
import { convert, printed, read, readValues, written } from '../../support/formats/convert.ts';
import { someValues } from '../../support/formats/values.ts';

const folder = fileURLToPath(new URL('../../cases/formats/samples/', import.meta.url));
const valuesOf = (v: Vector): Value[] => Array.from({ length: v.length }, (_, i) => valueAt(v, i));
const bytesOf = (batches: readonly Vector[], options: WriteOptions = {}): Buffer => {
  const writer = createWriter('bsup', options);
  return Buffer.concat([...batches.flatMap((b) => [...writer.write(b)]), ...writer.end()]);
};
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
/** A frame that is not compressed. */
const frame = (kind: number, payload: Uint8Array): Buffer => {
  const head = [0x81, (kind << 4) | (payload.length & 15)];
  let rest = payload.length >> 4;
  for (; rest >= 0x80; rest >>= 7) head.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...head, rest]), payload]);
};
const fault = async (bytes: Uint8Array): Promise<string> => (await convert(bytes, { from: 'bsup' })).error;

describe('the writer', () => {
  for (const [file, source, options] of [
    ['values.plain.bsup', 'values.sup', { bsupCompress: false }],
    ['values.frames.plain.bsup', 'values.sup', { bsupCompress: false, bsupFrameBytes: 40 }],
    ['big.plain.bsup', 'big.sup', { bsupCompress: false }],
  ] as const) {
    test(`${file} is written to the byte`, () => {
      const values = parseSupValues(readFileSync(folder + source, 'utf8'));
      expect(written(values, 'bsup', options)).toEqual(readFileSync(folder + file));
      expect(
        bytesOf(
          values.map((v) => vectorOf([v])),
          options,
        ),
      ).toEqual(readFileSync(folder + file));
    });
  }
  for (const [file, source] of [
    ['values.bsup', 'values.sup'],
    ['big.bsup', 'big.sup'],
  ] as const) {
    test(`${file} is written about as small`, () => {
      expect(written(parseSupValues(readFileSync(folder + source, 'utf8')), 'bsup').length).toBeLessThan(
        readFileSync(folder + file).length * 1.02,
      );
    });
  }
  test('vectors of every form are written as the same values in the plainest form', () => {
    fc.assert(
      fc.property(someValues({ maxLength: 12 }), fc.array(fc.nat(), { maxLength: 20 }), (values, picks) => {
        const index = Uint32Array.from(picks, (k) => k % Math.max(1, values.length));
        const v = vectorOf(values);
        if (values.length === 0) return;
        const forms: Vector[] = [
          take(v, index),
          { form: 'dictionary', length: index.length, codes: index, values: v },
          constantOf(values[0]!, 3),
          slice(v, values.length >> 1, values.length),
          concat([v, take(v, index)]),
          slice(
            take(
              take(v, index),
              Uint32Array.from(index, (_, i) => index.length - 1 - i),
            ),
            0,
            index.length,
          ),
          {
            form: 'record',
            length: v.length,
            fields: [
              { name: 'a', optional: true, values: v, present: Uint8Array.from(values, (_, i) => i & 1) },
              { name: 'b', optional: false, values: constantOf(values[0]!, v.length) },
            ],
          },
        ];
        for (const form of forms) expect(bytesOf([form])).toEqual(bytesOf([vectorOf(valuesOf(form))]));
      }),
      { numRuns: 400 },
    );
  });
  test('a row that stands for many items is written in parts', async () => {
    const list = vectorOf(parseSupValues(`[${Array.from({ length: 3_000 }, (_, i) => i).join(',')}]`));
    const rows = 2_000;
    const bytes = bytesOf([take(list, new Uint32Array(rows))]);
    const batches = await read(bytes, 'bsup');
    expect(batches.reduce((n, b) => n + b.length, 0)).toBe(rows);
    expect(Math.max(...batches.map((b) => b.length))).toBeLessThan(1_000);
    expect(supText(valueAt(batches.at(-1)!, 0))).toBe(supText(valueAt(list, 0)));
  });
  test('a segment with very many types ends, and its types begin anew', async () => {
    const values = Array.from(
      { length: 45_000 },
      (_, i): Value => ({ type: recordType([{ name: `f${i}`, type: types.int64 }]), data: [i] }),
    );
    const bytes = written(values, 'bsup');
    const back = await readValues(bytes, 'bsup');
    expect(back.length).toBe(values.length);
    expect(supText(back.at(-1)!)).toBe('{f44999:44999}');
  });
  test('rows whose strings begin alike come back from frames of any size, and are smaller', async () => {
    const line = (i: number): string =>
      `{ts:"2026-01-02T03:04:${String(i % 60).padStart(2, '0')}.${String((i * 7919) % 1000).padStart(3, '0')}Z",n:${(i * 2654435761) % 1e9},path:"/api/v${i % 3}/items/${(i * 31) % 9973}",` +
      `tags:["a${i % 7}","a long text that is here again"],x:${(i * 0.37).toFixed(3)}}`;
    const values = parseSupValues(Array.from({ length: 12_000 }, (_, i) => line(i)).join('\n'));
    const batches = [0, 4_000, 8_000].map((at) => vectorOf(values.slice(at, at + 4_000)));
    const plain = bytesOf(batches, { bsupCompress: false }).length;
    for (const bsupFrameBytes of [1_000, 64 << 10, 100_000, 512 << 10]) {
      const bytes = bytesOf(batches, { bsupFrameBytes });
      expect(bytes.length).toBeLessThan(plain * 0.8);
      expect((await readValues(bytes, 'bsup')).map((v) => supText(v))).toEqual(values.map((v) => supText(v)));
    }
  });
  test('rows that are alike without strings are compressed all the same', () => {
    const batch = vectorOf(
      parseSupValues(
        Array.from({ length: 8_000 }, (_, i) => `{a:${1000 + (i % 5)},b:${i % 3}.25,c:null,d:${i % 2 === 0}}`).join(
          '\n',
        ),
      ),
    );
    const batches = Array.from({ length: 6 }, () => batch);
    expect(bytesOf(batches, { bsupFrameBytes: 64 << 10 }).length).toBeLessThan(
      bytesOf(batches, { bsupCompress: false }).length / 2,
    );
  });
  test('no values are no bytes, and a writer that has ended its segment adds nothing', () => {
    expect(bytesOf([])).toEqual(Buffer.alloc(0));
    const writer = createWriter('bsup');
    expect(Buffer.concat([...writer.write(vectorOf(parseSupValues('1'))), ...writer.end(), ...writer.end()])).toEqual(
      hex('81 13 00 09 02 02 ff'),
    );
  });
});

describe('batches', () => {
  test('rows of one shape share a record, whatever the types of its fields', async () => {
    const [batch] = await read(written(parseSupValues('{a:1,b:null}\n{a:"x",b:2}\n{a:3,b:4}'), 'bsup'), 'bsup');
    expect(batch!.form).toBe('record');
    expect(printed(valuesOf(batch!))).toEqual([
      '{a:int64,b:null} {a:1,b:null}',
      '{a:string,b:int64} {a:"x",b:2}',
      '{a:int64,b:int64} {a:3,b:4}',
    ]);
  });
  test('absent fields cost no row of what they would have held', async () => {
    const text = `${'{a?:_::{b:[string],c:{d:int64}},n:1}\n'.repeat(50)}{a?:{b:["x"],c:{d:7}},n:2}\n`;
    const [batch] = await read(written(parseSupValues(text), 'bsup'), 'bsup');
    expect(uniformType(batch!)).toBe(parseSupValues(text)[0]!.type);
    expect(
      valuesOf(batch!)
        .map((v) => `${supText(v)}\n`)
        .join(''),
    ).toBe(text);
  });
  test('a batch is full at its rows, also across frames and segments', async () => {
    const values = parseSupValues(Array.from({ length: 100 }, (_, i) => `{a:${i}}`).join('\n'));
    const bytes = Buffer.concat([written(values, 'bsup', { bsupFrameBytes: 50 }), written(values, 'bsup')]);
    expect((await read(bytes, 'bsup', { batchRows: 30 })).map((b) => b.length)).toEqual([30, 30, 30, 30, 30, 30, 20]);
  });
  test('integers and times stay exact to the last bit, in one column', async () => {
    const text =
      '[-9223372036854775808,-9223372036854775807,-9007199254740992,-9007199254740991,-1,0,1,9007199254740991,9007199254740992,9223372036854775807]';
    expect((await convert(written(parseSupValues(text), 'bsup'), { from: 'bsup' })).output).toBe(`${text}\n`);
    const times = '[1677-09-21T00:12:43.145224193Z,1970-01-01T00:00:00Z,2262-04-11T23:47:16.854775807Z]';
    expect((await convert(written(parseSupValues(times), 'bsup'), { from: 'bsup' })).output).toBe(`${times}\n`);
    const wide = '[0::uint64,1::uint64,9007199254740991::uint64,9007199254740992::uint64,18446744073709551615::uint64]';
    expect((await convert(written(parseSupValues(wide), 'bsup'), { from: 'bsup' })).output).toBe(`${wide}\n`);
  });
});

describe('streams that others may write', () => {
  test('a missing end of segment is no fault', async () => {
    expect(await convert(hex('81 13 00 09 02 02'), { from: 'bsup' })).toEqual({ output: '1\n', error: '' });
  });
  test('null with an empty body is null', async () => {
    expect((await convert(hex('81 12 00 1d 01'), { from: 'bsup' })).output).toBe('null\n');
  });
  test('a set that is not in order is put in order', async () => {
    expect(
      (
        await convert(Buffer.concat([frame(0, hex('02 09')), frame(1, hex('1e 07 02 06 02 02 02 06'))]), {
          from: 'bsup',
        })
      ).output,
    ).toBe('|[1,3]|\n');
  });
  test('of equal keys of a map one stays', async () => {
    expect(
      (
        await convert(
          Buffer.concat([frame(0, hex('03 09 09')), frame(1, hex('1e 0d 02 06 02 02 02 02 02 04 02 06 02 08'))]),
          { from: 'bsup' },
        )
      ).output,
    ).toBe('|{1:2,3:1}|\n');
  });
  test('bytes of a string that are no UTF-8 are replaced', async () => {
    expect((await convert(frame(1, hex('19 04 61 ff 62 19 02 c3 19 02 a9')), { from: 'bsup' })).output).toBe(
      '"a�b"\n"�"\n"�"\n',
    );
  });
});

describe('hostile streams', () => {
  for (const [bytes, said] of [
    ['81 40 00', 'bsupio: frame length (0) too small'],
    ['81 53 00 00 05 10', 'bsupio: broken LZ4 block'],
    ['81 0a 00 00 02 01 61 09 00 01 61 09 00', 'duplicate field: "a"'],
    ['81 02 00 04 00', 'union type without members'],
    ['81 09 00 07 05 69 6e 74 36 34 09', 'truncated input'],
    ['81 08 00 07 05 69 6e 74 36 34 09', 'bad type name "int64": primitive type name'],
    ['81 06 00 00 01 01 ff 09 00', 'bad name "�": invalid UTF-8'],
    ['81 06 00 00 01 01 61 09 02', 'malformed BSUP typedef: optional flag 2'],
    ['81 13 00 17 02 02', 'malformed BSUP value'],
    ['81 17 00 1a 06 01 02 03 04 05', 'malformed BSUP value'],
    ['81 1a 00 1b 09 0a 00 00 00 ff 00 ff 00', 'malformed BSUP value'],
    ['81 14 00 1c 03 1f 14', 'primitive type ID 20 not implemented'],
    ['81 13 00 1c 02 27', 'malformed type value: code 39'],
  ]) {
    test(`${bytes}: ${said}`, async () => {
      expect(await fault(hex(bytes!))).toContain(`bsup: ${said}`);
    });
  }
  test('types that double with each definition have a limit', async () => {
    const defs = Array.from({ length: 60 }, (_, i) =>
      i === 0 ? [0, 0] : [0, 2, 1, 97, 29 + i, 0, 1, 98, 29 + i, 0],
    ).flat();
    expect(await fault(frame(0, Uint8Array.from(defs)))).toContain('type too large (limit 200000 components)');
    const values = Array.from({ length: 60 }, (_, i) =>
      i === 0 ? [37, 1, 97, 9] : [30, 2, 0, 1, 97, 38, 1, 97, 1, 98, 38, 1, 97],
    ).flat();
    expect(
      await fault(
        frame(1, Uint8Array.from([28, ((values.length + 1) & 0x7f) | 0x80, (values.length + 1) >> 7, ...values])),
      ),
    ).toContain('malformed type value');
  });
  test('a frame that claims to expand further than its bytes can is refused at once', async () => {
    expect(await fault(frame(1, hex('00 80 80 80 20 00')).fill(0x56, 1, 2))).toContain('bsupio: broken LZ4 block');
    expect(await fault(hex('81 56 00 00 80 80 80 80 01'))).toContain(
      'large value of 268435456 bytes exceeds maximum read buffer',
    );
  });
  test('rows of hundreds of absent fields come in batches that fit the memory', async () => {
    const fields = Array.from({ length: 1_000 }, (_, i) => ({ name: `f${i}`, type: types.int64, optional: true }));
    const type = recordType(fields);
    const rows = Array.from({ length: 6_000 }, (): Value => ({ type, data: fields.map(() => undefined) }));
    const batches = await read(written(rows, 'bsup'), 'bsup');
    expect(batches.reduce((n, b) => n + b.length, 0)).toBe(6_000);
    expect(Math.max(...batches.map((b) => b.length))).toBeLessThanOrEqual(2_000);
  });
  test('what came before a fault is given out', async () => {
    const good = written(parseSupValues('{a:1,b:"x",c:[1,2]}\n{a:2,b:"y",c:[3]}'), 'bsup', { bsupCompress: false });
    const { output, error } = await convert(Buffer.concat([good.subarray(0, -3), hex('7f 06 ff')]), { from: 'bsup' });
    expect([output, error]).toEqual([
      '{a:1,b:"x",c:[1,2]}\n',
      expect.stringContaining('bsup: malformed BSUP value') as unknown,
    ]);
  });
});
