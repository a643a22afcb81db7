/**
 * CSUP beyond what samples.test.ts holds: its encodings in both directions, several objects in a body, objects that
 * lie.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { IntCursor32, IntCursor64 } from '../../../src/formats/csup/int-blocks.ts';
import { blocks32, blocks64 } from '../../../src/formats/csup/int-encode.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { parseSup, parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { type Type, namedType, recordType, types } from '../../../src/vectors/type.ts';
import type { Value } from '../../../src/vectors/value.ts';
import { createWriter, openReader } from '../../../src/formats/formats.ts';
import { constantOf, vectorOf } from '../../../src/vectors/builder.ts';
import { type Vector, take, valueAt } from '../../../src/vectors/vector.ts';
import { convert, pieces, printed, read, readValues, written } from '../../support/formats/convert.ts';
import { someValues } from '../../support/formats/values.ts';

const folder = fileURLToPath(new URL('../../cases/formats/samples/', import.meta.url));
const sup = (text: string): Promise<{ readonly output: string; readonly error: string }> =>
  convert(written(parseSupValues(text), 'csup'), { from: 'csup' });

/** Descriptors as SUP text, and the data section. */
const parts = async (bytes: Uint8Array): Promise<{ readonly descriptors: string[]; readonly data: Buffer }> => {
  const all = Buffer.from(bytes);
  const end = 28 + Number(all.readBigUInt64LE(8));
  return {
    descriptors: (await readValues(all.subarray(28, end), 'bsup')).map((v) => supText(v)),
    data: all.subarray(end),
  };
};
/** An object of these descriptors. */
const object = (descriptors: string, data: Uint8Array = new Uint8Array(0), root?: number): Buffer => {
  const values = parseSupValues(descriptors);
  const metadata = written(values, 'bsup');
  const head = Buffer.alloc(28);
  head.write('CSUP');
  head.writeUInt32LE(14, 4);
  head.writeBigUInt64LE(BigInt(metadata.length), 8);
  head.writeBigUInt64LE(BigInt(data.length), 16);
  head.writeUInt32LE(root ?? values.length - 1, 24);
  return Buffer.concat([head, metadata, data]);
};
const fault = async (bytes: Uint8Array): Promise<string> => (await convert(bytes, { from: 'csup' })).error;
const segment = (offset: number, length: number, memory = length, compression = 0): string =>
  `{Offset:${offset}::uint64,Length:${length}::uint64,MemLength:${memory}::uint64,CompressionFormat:${compression}::uint8}::=Segment`;

test('columns of strings without any, which v0.2.0 writes with null for their least and largest, are read', async () => {
  const bytes = Buffer.from(
    'Q1NVUA4AAAB8AQAAAAAAAEAAAAAAAAAABgAAAIFKEACsAvQJAAQGT2Zmc2V0AwAGTGVuZ3RoAwAJTWVtDADyThFDb21wcmVzc2lvbkZvcm1hdAAABwdTZWdtZW50HgAGBFR5cGUcAAVCeXRlcx8AB0' +
      '9mZnNldHMfAANNaW4dAANNYXgdAAVDb3VudAIABwVCeXRlcyAHAklEAgADBmUA9x0CAAdMZW5ndGhzHwAGVmFsdWVzIgAHBUFycmF5IwcDU2V0IwACBVZhbHVlCUsAh0NvbnN0JgEiSABGBFRhZ0UA' +
      '9gMoAAcFVW5pb24pAAQETmFtZRlfAPULA09wdBcABU5vbmVzHwAHBUZpZWxkKwEsAAKVAPADBkZpZWxkcy0ABwZSZWNvcmQugVsGAHb3EyEUAhkGAhABAQEIAhACBAIQAQAAASQLAgEHAQIIAhABAS' +
      'UMAGInBQICAgEzAHQwAQEBCAIwMwDwHyoQAgEIAiACBAIQAQUCAwIELxwCARkMAmYCAgIABQEBAQEMAnoCBQIABQEBAQH/AgAAAAMAAACAgAAAAwAAAAEAAAADAAAAgICAAAMAAAABAAAAAwAAAICA' +
      'gAADAAAAAQAAAAMAAACAgIAAAwAAAA==',
    'base64',
  );
  expect(await convert(bytes, { from: 'csup' })).toEqual({
    output: '{f:|[]|::|[string]|,z:1::(int64|string)}\n',
    error: '',
  });
});

describe('the writer', () => {
  for (const name of ['values', 'nulls', 'mixed']) {
    test(`descriptors and data of ${name}.csup are written to the byte`, async () => {
      const ours = written(parseSupValues(readFileSync(`${folder}${name}.sup`, 'utf8')), 'csup');
      expect(await parts(ours)).toEqual(await parts(readFileSync(`${folder}${name}.csup`)));
    });
  }
  test('all that is not compressed of big.csup is written to the byte', async () => {
    const ours = await parts(written(parseSupValues(readFileSync(`${folder}big.sup`, 'utf8')), 'csup'));
    const recorded = await parts(readFileSync(`${folder}big.csup`));
    // The texts are the one segment that is compressed.
    expect(ours.data.subarray(0, 5652)).toEqual(recorded.data.subarray(0, 5652));
    expect(ours.data.subarray(ours.data.length - 7680)).toEqual(recorded.data.subarray(recorded.data.length - 7680));
  });
  test('one value is a constant, few are a dictionary, others are plain', async () => {
    const kinds = async (text: string): Promise<string> =>
      (await parts(written(parseSupValues(text), 'csup'))).descriptors.map((d) => /::=(\w+)$/.exec(d)![1]).join(' ');
    expect(await kinds('1 1 1')).toBe('Const');
    expect(await kinds('1 2 1')).toBe('Int Dict');
    expect(await kinds('1 2 3')).toBe('Int');
    expect(await kinds('1::int8 1::int8')).toBe('Int');
    expect(await kinds('true true')).toBe('Primitive');
    expect(await kinds('null null')).toBe('Const');
    expect(await kinds('"a" "b" "a"')).toBe('Bytes Dict');
    expect(await kinds('<int64> <string> <int64>')).toBe('Bytes Dict');
    expect(await kinds('1 2 "a"')).toBe('Int Const Dynamic');
    expect(await kinds('{a?:1}\n{a?:_::int64}\n{a?:2}')).toBe('Int Record');
    expect(await kinds('1::=foo')).toBe('Const Named');
    expect(await kinds('|[1,2]|')).toBe('Int Array Set');
    expect(await kinds(Array.from({ length: 256 }, (_, i) => `${i} ${i}`).join(' '))).toBe('Int');
    expect(await kinds(Array.from({ length: 255 }, (_, i) => `${i} ${i}`).join(' '))).toBe('Int Dict');
    expect(await kinds('')).toBe('Dynamic');
  });
  test('0 and -0 are two values, not a constant', async () => {
    const back = await readValues(
      written(
        [0, -0, 0].map((data): Value => ({ type: types.float64, data })),
        'csup',
      ),
      'csup',
    );
    expect(back.map((v) => Object.is(v.data, -0))).toEqual([false, true, false]);
  });
  test('rows beyond an object begin another', async () => {
    const writer = createWriter('csup');
    const v = constantOf(parseSup('{a:1}')!, 100_000);
    const bytes = Buffer.concat([...writer.write(v), ...writer.write(v), ...writer.end()]);
    expect(bytes.toString('latin1').split('CSUP').length - 1).toBe(2);
    expect((await read(bytes, 'csup')).reduce((n, b) => n + b.length, 0)).toBe(200_000);
  });
  test('rows that stand for much memory are taken apart', async () => {
    const writer = createWriter('csup');
    const text = vectorOf([{ type: types.string, data: 'x'.repeat(1 << 20) }]);
    const bytes = Buffer.concat([...writer.write(take(text, new Uint32Array(200))), ...writer.end()]);
    expect(bytes.toString('latin1').split('CSUP').length - 1).toBeGreaterThan(1);
    expect((await read(bytes, 'csup')).reduce((n, b) => n + b.length, 0)).toBe(200);
  });
});

describe('both ways', () => {
  test('any values come back', async () => {
    await fc.assert(
      fc.asyncProperty(someValues({ maxLength: 30 }), fc.integer({ min: 1, max: 10 }), async (values, batchRows) => {
        expect(printed(await readValues(written(values, 'csup'), 'csup', { batchRows }))).toEqual(printed(values));
      }),
      { numRuns: 800 },
    );
  });
  test('fields of named types that all rows lack come back', async () => {
    const lacking = (name: string, type: Type): Value => ({
      type: recordType([{ name: 'a', type: namedType(name, type), optional: true }]),
      data: [undefined],
    });
    const values = [lacking('one', types.null), lacking('two', types.uint32)];
    expect(printed(await readValues(written(values, 'csup'), 'csup'))).toEqual(printed(values));
  });
  test('any values come back through BSUP and CSUP, in detected formats', async () => {
    await fc.assert(
      fc.asyncProperty(someValues({ maxLength: 10 }), async (values) => {
        const bsup = await readValues(written(values, 'bsup'), 'auto');
        expect(printed(await readValues(written(bsup, 'csup'), 'auto'))).toEqual(printed(values));
      }),
      { numRuns: 200 },
    );
  });
  test('long columns come back: packed blocks, dictionaries, runs of absent fields', async () => {
    const row = (i: number): string =>
      `{n:${i},neg:${-i * 37},big:${BigInt(i) ** 5n - 10n ** 15n},t:${new Date(i * 7_919_000).toISOString()},w:"${['red', 'green'][i % 2]}",` +
      `${i % 7 < 3 ? `o?:"${i}"` : 'o?:_::string'},l:[${Array.from({ length: i % 5 }, (_, k) => k * i).join(',')}]::[int64],u:${i % 3 === 0 ? `${i}` : `"${i}"`}::(int64|string)}\n`;
    const text = Array.from({ length: 3_000 }, (_, i) => row(i)).join('');
    const values = parseSupValues(text);
    const back = await readValues(written(values, 'csup'), 'csup', { batchRows: 700 });
    expect(back.map((v) => supText(v))).toEqual(values.map((v) => supText(v)));
  });
  test('64-bit integers of any series come back from their blocks', () => {
    const series = fc.oneof(
      fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { maxLength: 600 }),
      fc.array(fc.bigInt({ min: -100n, max: 100n }), { minLength: 200, maxLength: 900 }),
      fc
        .tuple(
          fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }),
          fc.bigInt({ min: 0n, max: 2n ** 40n }),
          fc.nat(20),
          fc.nat(800),
        )
        .map(([start, step, shift, n]) =>
          Array.from({ length: n }, (_, i) => BigInt.asIntN(64, start + ((BigInt(i) * step) << BigInt(shift)))),
        ),
    );
    fc.assert(
      fc.property(series, fc.boolean(), (values, signed) => {
        const pairs = new Int32Array(BigInt64Array.from(values).buffer);
        const bytes = blocks64(pairs, values.length, signed);
        const cursor = new IntCursor64(
          { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), start: 0, end: bytes.length },
          signed,
        );
        expect(cursor.next(values.length)).toEqual(pairs);
      }),
      { numRuns: 500 },
    );
  });
  test('32-bit integers of any series come back from their blocks', () => {
    const series = fc.oneof(
      fc.array(fc.integer({ min: 0, max: 0xffff_ffff }), { maxLength: 400 }),
      fc.array(fc.nat(3), { maxLength: 600 }),
      fc.array(fc.nat(40), { maxLength: 600 }).map((a) =>
        a.map(
          (
            (sum) => (x: number) =>
              (sum += x)
          )(0),
        ),
      ),
    );
    fc.assert(
      fc.property(series, (values) => {
        const bytes = blocks32(Uint32Array.from(values));
        const cursor = new IntCursor32({
          view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
          start: 0,
          end: bytes.length,
        });
        expect([...cursor.next(values.length)]).toEqual(values);
        expect(cursor.done).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
  test('the block of the description is written as it stands there', () => {
    expect(Buffer.from(blocks64(Int32Array.of(1, 0, 2, 0), 2, true)).toString('hex')).toBe(
      '0200000002000000808080808080010102000000' + '00000000',
    );
  });
});

describe('bodies', () => {
  test('objects one behind the other are read one after the other', async () => {
    const one = written(parseSupValues('{a:1}\n{a:2}'), 'csup');
    const two = written(parseSupValues('"x" 2'), 'csup');
    expect(await convert(Buffer.concat([one, two, one]), { from: 'csup', pieceBytes: 5 })).toEqual({
      output: '{a:1}\n{a:2}\n"x"\n2\n{a:1}\n{a:2}\n',
      error: '',
    });
  });
  test('no values are an object without columns', async () => {
    expect(await sup('')).toEqual({ output: '', error: '' });
  });
  test('columns are read in batches of rows', async () => {
    const bytes = written(parseSupValues(Array.from({ length: 1_000 }, (_, i) => `{a:${i}}`).join('\n')), 'csup');
    expect((await read(bytes, 'csup', { batchRows: 300 })).map((b) => b.length)).toEqual([300, 300, 300, 100]);
  });
  test('batches stay as they are when the next object is read over them', async () => {
    const texts = ['first', 'other'].map((word) => Array.from({ length: 20 }, (_, i) => `"${word} ${i}"`).join('\n'));
    const bytes = Buffer.concat(texts.map((t) => written(parseSupValues(t), 'csup')));
    const kept: Vector[] = [];
    for await (const batch of await openReader('csup', pieces(bytes, 11))) kept.push(batch);
    expect(kept.flatMap((b) => Array.from({ length: b.length }, (_, i) => supText(valueAt(b, i)))).join('\n')).toBe(
      texts.join('\n'),
    );
  });
});

describe('what cannot be read', () => {
  test('nothing at all', async () => {
    expect(await fault(new Uint8Array(0))).toBe('csup: EOF (byte 0)');
  });
  test('another format', async () => {
    expect(await fault(Buffer.from('{"a":1}'))).toBe('csup: invalid CSUP header (byte 0)');
  });
  test('another version', async () => {
    const bytes = Buffer.from(written(parseSupValues('1'), 'csup'));
    bytes.writeUInt32LE(13, 4);
    expect(await fault(bytes)).toBe('csup: CSUP version mismatch: expected 14, found 13 (byte 0)');
  });
  test('cut anywhere', async () => {
    const bytes = written(parseSupValues('{a:1,b:"x"}\n{a:2,b:"y"}'), 'csup');
    for (let length = 1; length < bytes.length; length++)
      expect(await fault(bytes.subarray(0, length)), `${length} bytes`).toMatch(/^csup: truncated input/);
  });
  test('sizes beyond the limit', async () => {
    const bytes = Buffer.from(written(parseSupValues('1'), 'csup'));
    bytes.writeBigUInt64LE(2n ** 40n, 16);
    expect(await fault(bytes)).toMatch(/^csup: object of \d+ bytes \(limit 268435456\)/);
  });
  for (const [why, descriptors, said] of [
    ['a column that is its own child', `{Values:0::(ID=uint32)}::=Error`, 'descriptor 0 is used twice'],
    [
      'a child that is not there',
      `{Length:1::uint32,Fields:[{Name:"a",Values:7::(ID=uint32),Opt:false,Nones:${segment(0, 0)}}::=Field]}::=Record`,
      'no descriptor 7',
    ],
    [
      'a child in two places',
      `{Value:1,Count:1::uint32}::=Const {Length:1::uint32,Fields:[{Name:"a",Values:0::(ID=uint32),Opt:false,Nones:${segment(0, 0)}}::=Field,{Name:"b",Values:0,Opt:false,Nones:${segment(0, 0).replace('::=Segment', '::Segment')}}::Field]}::=Record`,
      'descriptor 0 is used twice',
    ],
    [
      'fewer values than rows',
      `{Value:1,Count:1::uint32}::=Const {Length:3::uint32,Fields:[{Name:"a",Values:0::(ID=uint32),Opt:false,Nones:${segment(0, 0)}}::=Field]}::=Record`,
      'Const has fewer than 3 values',
    ],
    [
      'a segment behind the data',
      `{Type:<int64>,Location:${segment(4, 8)},Min:0,Max:0,Count:1::uint32}::=Int`,
      'segment at 4 of 8 bytes ends behind the data',
    ],
    [
      'a segment that expands too far',
      `{Type:<float64>,Location:${segment(0, 8, 1 << 30, 1)},Min:0.,Max:0.,Count:1::uint32}::=Float`,
      'segment of 1073741824 bytes',
    ],
    [
      'integers of no integer type',
      `{Type:<string>,Location:${segment(0, 8)},Min:0,Max:0,Count:1::uint32}::=Int`,
      'integers of another type',
    ],
    ['more rows than an object may have', '{Value:1,Count:4294967295::uint32}::=Const', 'object of 4294967295 values'],
    ['an unknown kind', '{Value:1,Count:1::uint32}::=Other', 'unknown kind "Other"'],
    ['a descriptor without a name', '{Value:1,Count:1::uint32}', 'malformed CSUP descriptor: no name'],
    ['a missing field', '{Value:1}::=Const', 'Count is missing'],
  ] as const) {
    test(why, async () => {
      expect(await fault(object(descriptors, new Uint8Array(8)))).toContain(said);
    });
  }
  test('a tag of no column', async () => {
    const tags = blocks32(Uint32Array.of(0, 5));
    const text = `{Value:1,Count:2::uint32}::=Const {Tags:${segment(0, 8, tags.length)},Values:[0::(ID=uint32)],Length:2::uint32}::=Dynamic`;
    expect(await fault(object(text, tags))).toContain('tag 5 of 1 columns');
  });
  test('a list of more items than memory', async () => {
    const lengths = blocks32(Uint32Array.of(0, 0xffff_ffff));
    const text = `{Value:1,Count:4294967295::uint32}::=Const {Length:1::uint32,Lengths:${segment(0, 8, lengths.length)},Values:0::(ID=uint32)}::=Array`;
    expect(await fault(object(text, lengths))).toContain('a batch of more than 32000000 values');
  });
  test('a constant of many rows is read without making them', async () => {
    let rows = 0;
    for (const b of await read(object('{Value:"x",Count:10000000::uint32}::=Const'), 'csup')) rows += b.length;
    expect(rows).toBe(10_000_000);
  });
});
