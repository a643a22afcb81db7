/** Arrow IPC streams: what is written comes back, what other writers may send is read, damage ends in an error. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tableFromArrays, tableFromIPC, tableToIPC } from 'apache-arrow';
import { createWriter, openReader } from '../../../src/formats/formats.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import type { Value } from '../../../src/vectors/value.ts';
import { valueAt } from '../../../src/vectors/vector.ts';
import { expectDamageEnds, expectSettled, trip } from '../../support/formats/columns.ts';
import { someRecords } from '../../support/formats/column-values.ts';
import { convert, pieces, readValues, written } from '../../support/formats/convert.ts';
import { fuzzMsMax, fuzzRuns } from '../../support/formats/mutations.ts';
import { seedOf } from '../../support/random.ts';

describe('what is written comes back', () => {
  test('records of any type that Arrow has', async () => {
    await fc.assert(
      fc.asyncProperty(
        someRecords({ parquet: false }),
        fc.integer({ min: 1, max: 2000 }),
        async (values, pieceBytes) => {
          const back: Value[] = [];
          for await (const batch of await openReader('arrows', pieces(written(values, 'arrows'), pieceBytes)))
            for (let i = 0; i < batch.length; i++) back.push(valueAt(batch, i));
          expect(back).toEqual(values);
        },
      ),
      { numRuns: 700, seed: seedOf(21) },
    );
  });
  test('records of any type at all settle after one trip', async () => {
    await expectSettled({
      format: 'arrows',
      seed: seedOf(22),
      refused: /arrowio: unsupported type: (empty record|map with null keys)/,
    });
  });
  test('batches of 1024 rows in batches of the reader', async () => {
    const values = parseSupValues(
      Array.from({ length: 5000 }, (_, i) => `{a:${i},b:${i % 3 ? `"${i}"` : 'null'}::(string|null),c:[${i}]}`).join(
        '\n',
      ),
    );
    const lengths: number[] = [];
    const back: Value[] = [];
    for await (const batch of await openReader('arrows', pieces(written(values, 'arrows'), 1000), { batchRows: 700 })) {
      lengths.push(batch.length);
      for (let i = 0; i < batch.length; i++) back.push(valueAt(batch, i));
    }
    expect(lengths).toEqual([700, 324, 700, 324, 700, 324, 700, 324, 700, 204]);
    expect(back).toEqual(values);
  });
});

describe('types that change on the way', () => {
  for (const [from, to] of [
    [
      '{a:|["x"]|,b:1.2.3.4,c:10.0.0.0/8,d:<int64>,e:"A"::enum(A,B),f:error("x")}',
      '{a:["x"],b:"1.2.3.4",c:"10.0.0.0/8",d:"int64",e:"A",f:"error(\\"x\\")"}\n',
    ],
    ['{a:1::=foo,b:{c:2}::=bar}::=baz', '{a:1,b:{c:2}}\n'],
    [
      '{a?:1,b?:_::string}\n{a?:_::int64,b?:"x"}',
      '{a:1::(int64|null),b:null::(string|null)}\n{a:null::(int64|null),b:"x"::(string|null)}\n',
    ],
    ['{a:1.2.3.4::(ip|string)}\n{a:"x"::(ip|string)}', '{a:"1.2.3.4"}\n{a:"x"}\n'],
    [
      '{a:1.2.3.4::(ip|string|int64)}\n{a:7::(ip|string|int64)}\n{a:"x"::(ip|string|int64)}',
      '{a:"1.2.3.4"::(int64|string)}\n{a:7::(int64|string)}\n{a:"x"::(int64|string)}\n',
    ],
    ['{a:1::(int64|port=int64)}\n{a:2::=port::(int64|port=int64)}', '{a:1}\n{a:2}\n'],
    ['{a:[1]::([int64]||[int64]|)}\n{a:|[2]|::([int64]||[int64]|)}', '{a:[1]}\n{a:[2]}\n'],
    ['{a:["x"]::([string]|[ip])}\n{a:[1.2.3.4]::([string]|[ip])}', '{a:["x"]}\n{a:["1.2.3.4"]}\n'],
    ['{a:{b:"x"}::({b:string}|{b:ip})}\n{a:{b:::1}::({b:string}|{b:ip})}', '{a:{b:"x"}}\n{a:{b:"::1"}}\n'],
    [
      '{a:{b?:_::int64}::({b:int64|null}|{b?:int64})}\n{a:{b:1::(int64|null)}::({b:int64|null}|{b?:int64})}',
      '{a:{b:null::(int64|null)}}\n{a:{b:1::(int64|null)}}\n',
    ],
    [
      '{a:|{"x":1}|::(|{string:int64}|||{ip:int64}|)}\n{a:|{1.2.3.4:2}|::(|{string:int64}|||{ip:int64}|)}',
      '{a:|{"x":1}|}\n{a:|{"1.2.3.4":2}|}\n',
    ],
    [
      '{a:[1]::([int64]||[int64]||null)}\n{a:null::([int64]||[int64]||null)}\n{a:|[2]|::([int64]||[int64]||null)}',
      '{a:[1]::(null|[int64])}\n{a:null::(null|[int64])}\n{a:[2]::(null|[int64])}\n',
    ],
    [
      '{a:null::((int64|string)|null)}\n{a:1::(int64|string)::((int64|string)|null)}',
      '{a:null::(int64|string|null)}\n{a:1::(int64|string|null)}\n',
    ],
    ['{a:[null]::[u=(int64|string)|null]}', '{a:[null]::[int64|string|null]}\n'],
    ['{a?:_::(int64|string)}\n{a?:1::(int64|string)}', '{a:null::(int64|string|null)}\n{a:1::(int64|string|null)}\n'],
  ])
    test(from!, async () => {
      expect(await trip(from!, 'arrows')).toBe(to);
    });
});

describe('what cannot be written', () => {
  for (const [from, error] of [
    ['{a:1}\n{b:2}', "arrowio: encountered multiple types (consider 'fuse'): {a:int64} and {b:int64}"],
    ['{a:1}\n{a:"x"}', "arrowio: encountered multiple types (consider 'fuse'): {a:int64} and {a:string}"],
    ['1', 'arrowio: not a record: 1'],
    ['1::=n', 'arrowio: not a record: 1::=n'],
    ['{a:1}\n"x"', 'arrowio: not a record: "x"'],
    ['{}', 'arrowio: unsupported type: empty record'],
    ['{a:1,r:[{}]}', 'arrowio: unsupported type: empty record'],
    ['{a:[1]::=arrow_fixed_size_list_2}', 'arrowio: value of 1 items in a column of 2'],
    ['{a:0x01::=arrow_fixed_size_binary_2}', 'arrowio: value of 1 bytes in a column of 2'],
  ])
    test(`${from!.replace('\n', ' ')}: ${error}`, async () => {
      expect((await convert(from!, { from: 'sup', to: 'arrows' })).error).toBe(error);
    });
  test('the rows before one of another type are given out', async () => {
    const chunks: Uint8Array[] = [];
    const writer = createWriter('arrows');
    await expect(
      (async () => {
        for await (const batch of await openReader('sup', pieces(Buffer.from('{a:1}\n{a:2}\n{b:3}'), 100)))
          for (const chunk of writer.write(batch)) chunks.push(chunk);
      })(),
    ).rejects.toThrow('multiple types');
    expect(await readValues(Buffer.concat(chunks), 'arrows')).toEqual(parseSupValues('{a:1}\n{a:2}'));
  });
  test('no rows are a stream all the same', async () => {
    expect(written([], 'arrows').length).toBeGreaterThan(0);
    expect(await readValues(written([], 'arrows'), 'arrows')).toEqual([]);
    expect(await readValues(written([], 'arrows'), 'auto')).toEqual([]);
  });
});

describe('the stream', () => {
  const one = written(parseSupValues('{a:1}\n{a:2}'), 'arrows');
  const other = written(parseSupValues('{b:"x"}'), 'arrows');
  test('is detected by its schema', async () => {
    expect((await convert(one, { from: 'auto' })).output).toBe('{a:1}\n{a:2}\n');
  });
  test('may be followed by another one', async () => {
    expect((await convert(Buffer.concat([one, other]), { from: 'arrows' })).output).toBe('{a:1}\n{a:2}\n{b:"x"}\n');
  });
  test('may lack its mark of the end', async () => {
    expect((await convert(one.subarray(0, one.length - 8), { from: 'arrows' })).output).toBe('{a:1}\n{a:2}\n');
  });
  test('of an old writer lacks the marks before lengths', async () => {
    const old = Buffer.from(Buffer.from(one).toString('hex').replaceAll('ffffffff', ''), 'hex');
    expect(await convert(old, { from: 'arrows' })).toEqual({ output: '{a:1}\n{a:2}\n', error: '' });
  });
  test('may be inside of a file', async () => {
    const file = Buffer.concat([
      Buffer.from('ARROW1\0\0'),
      one,
      Buffer.from('table of contents'),
      Buffer.from('ARROW1'),
    ]);
    expect(await convert(file, { from: 'auto' })).toEqual({ output: '{a:1}\n{a:2}\n', error: '' });
  });
  for (const [bytes, error] of [
    ['', 'arrows: arrow/ipc: could not read message schema: EOF (byte 0)'],
    ['00000000', 'arrows: arrow/ipc: could not read message schema: EOF (byte 4)'],
    ['ffffffff10000000', 'arrows: arrow/ipc: could not read message schema: unexpected EOF (byte 8)'],
  ])
    test(`${bytes || 'nothing'}: ${error}`, async () => {
      expect((await convert(Buffer.from(bytes!, 'hex'), { from: 'arrows' })).error).toBe(error);
    });
  test('cut inside of a batch gives the batches before', async () => {
    const many = written(parseSupValues(Array.from({ length: 2048 }, (_, i) => `{a:${i}}`).join('\n')), 'arrows');
    const { output, error } = await convert(many.subarray(0, many.length - 100), { from: 'arrows' });
    expect(output.split('\n').length).toBe(1025);
    expect(error).toMatch(/^arrows: arrow\/ipc: could not read message batch body: unexpected EOF \(byte \d+\)$/);
  });
  test('with a body beyond the limit is refused', async () => {
    expect((await convert(one, { from: 'arrows', read: { arrowBodyBytesMax: 8 } })).error).toMatch(
      /^arrows: arrow\/ipc: message body of \d+ bytes \(limit 8\) \(option -arrows\.body\.max, byte \d+\)$/,
    );
  });
});

describe('a file of Polars, whose first message has no length', () => {
  // pl.DataFrame({'a': [1, 2, None], 'c': pl.Series(['x', 'y', 'x'], dtype=pl.Enum(['x', 'y']))}).write_ipc(..,
  // compression='uncompressed', record_batch_size=2), version 2.1
  const file = readFileSync('test/cases/formats/samples/polars.arrow');
  const rows = '1::(int64|null),c:"x" 2::(int64|null),c:"y" null::(int64|null),c:"x"'
    .split(' ')
    .map((row) => `{a:${row}::(string|null)}\n`);
  for (const from of ['auto', 'arrows'] as const)
    test(`is read by its table of contents (${from})`, async () => {
      expect(await convert(file, { from })).toEqual({ output: rows.join(''), error: '' });
    });
  test('may have no rows', async () => {
    // pl.DataFrame({'a': []}, schema={'a': pl.Int64})
    const empty = Buffer.from(
      'QVJST1cxAAAEAAAA8v///xQAAAAEAAEAAAAKAAsACAAKAAQA+P///wwAAAAIAAgAAAAEAAEAAAAEAAAA7P///zgAAAAgAAAAGAAA' +
        'AAECAAAQABIABAAQABEACAAAAAwAAAAAAPT///9AAAAAAQAAAAgACQAEAAgAAQAAAGEAAAD/////AAAAAAQAAADs////KAAAACAA' +
        'AAAUAAAABAAAAAwAEgAQAAQACAAMAAAAAAAAAAAAAAAAAPj///8MAAAACAAIAAAABAABAAAABAAAAOz///84AAAAIAAAABgAAAAB' +
        'AgAAEAASAAQAEAARAAgAAAAMAAAAAAD0////QAAAAAEAAAAIAAkABAAIAAEAAABhAIoAAABBUlJPVzE=',
      'base64',
    );
    expect(await convert(empty, { from: 'auto' })).toEqual({ output: '', error: '' });
  });
  test('cut is refused', async () => {
    expect((await convert(file.subarray(0, -1), { from: 'arrows' })).error).toBe(
      'arrows: arrow/ipc: a file without its table of contents, which is at its end (byte 1619)',
    );
  });
  test('has no more messages than bytes', async () => {
    const twice = Buffer.from(file);
    // Both batches are at the place of the first one, and longer than half of the file.
    const blocks = file.lastIndexOf(Buffer.from('d803000000000000', 'hex'));
    twice.writeBigInt64LE(200n, blocks);
    twice.writeBigInt64LE(1400n, blocks + 16);
    expect((await convert(twice, { from: 'arrows' })).error).toBe(
      'arrows: arrow/ipc: table of contents points outside of the file (byte 1620)',
    );
  });
  test('beyond the limit is refused', async () => {
    expect((await convert(file, { from: 'arrows', read: { parquetFileBytesMax: 1600 } })).error).toBe(
      'arrows: file: more than 1600 bytes (option -parquet.file.max)',
    );
  });
  test('damaged ends in rows or an error', async () => {
    for (let at = 0; at < file.length; at += 3) {
      const damaged = Buffer.from(file);
      damaged[at] ^= 0x41;
      await convert(damaged, { from: 'arrows' });
    }
  });
});

describe('apache-arrow at the other end', () => {
  test('reads what we write', () => {
    const table = tableFromIPC(
      written(
        parseSupValues(
          '{a:1,s:"é",n:null::(string|null),l:[1,2],r:{x:1.5}}\n{a:2,s:"",n:"x"::(string|null),l:[]::[int64],r:{x:-1.}}',
        ),
        'arrows',
      ),
    );
    expect(
      table
        .toArray()
        .map(
          (row) =>
            JSON.parse(JSON.stringify(row, (_, x: unknown) => (typeof x === 'bigint' ? Number(x) : x))) as unknown,
        ),
    ).toEqual([
      { a: 1, s: 'é', n: null, l: [1, 2], r: { x: 1.5 } },
      { a: 2, s: '', n: 'x', l: [], r: { x: -1 } },
    ]);
  });
  test('writes what we read, strings in a dictionary', async () => {
    const table = tableFromArrays({
      i: Int32Array.of(1, 2),
      f: Float64Array.of(0.5, NaN),
      s: ['x', 'y'],
      b: [true, false],
    });
    expect(await convert(tableToIPC(table, 'stream'), { from: 'auto' })).toEqual({
      output:
        '{i:1::int32,f:0.5,s:"x"::(string|null),b:true::(bool|null)}\n{i:2::int32,f:NaN,s:"y"::(string|null),b:false::(bool|null)}\n',
      error: '',
    });
  });
});

test(`${fuzzRuns} damaged streams end in values or an error`, () => expectDamageEnds('arrows', 23), fuzzMsMax);
