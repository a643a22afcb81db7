/**
 * What readers of text hold: long values are charged before they are made, batches end by what their rows cost, long
 * texts are decoded in pieces.
 */
import { describe, expect, test } from 'vitest';
import { LakeError } from '../../../src/errors.ts';
import { jsonBlocks } from '../../../src/formats/json/reader.ts';
import { decodeText } from '../../../src/formats/json/tape.ts';
import { type FormatName, openReader } from '../../../src/formats/formats.ts';
import { ReadMemory } from '../../../src/formats/read-memory.ts';
import { pieceBytes, textPieces } from '../../../src/formats/text-pieces.ts';
import { type Vector, valueAt } from '../../../src/vectors/vector.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { randomOf, seedOf } from '../../support/random.ts';

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
const read = async (format: FormatName, text: string, memory = new ReadMemory()): Promise<readonly Vector[]> => {
  const batches: Vector[] = [];
  for await (const batch of await openReader(format, once(text), { memory })) batches.push(batch);
  return batches;
};
const faultOf = (format: FormatName, text: string, memory?: ReadMemory): Promise<unknown> =>
  read(format, text, memory).then(
    () => undefined,
    (error: LakeError) => [error.code, error.message],
  );
const many = (count: number, item: (i: number) => string, separator = ','): string =>
  Array.from({ length: count }, (_, i) => item(i)).join(separator);

describe('a value that needs more memory than its reader has (format-memory)', () => {
  const zeek = (type: string, cell: string): string => `#separator \\x09\n#fields\ta\n#types\t${type}\n${cell}\n`;
  const bodies: readonly (readonly [what: string, format: FormatName, text: string, place: string])[] = [
    ['numbers', 'json', `[${many(300_000, () => '1')}]`, 'value (line 1)'],
    ['values of several types', 'json', `1\n{"a":[${many(300_000, (i) => (i % 2 ? '1' : '"x"'))}]}`, 'value (line 2)'],
    ['arrays', 'json', `[${many(200_000, () => '[1]')}]`, 'value (line 1)'],
    ['records of many shapes', 'json', `[${many(20_000, (i) => `{"f${i}":1}`)}]`, 'value (line 1)'],
    ['a record of many fields', 'json', `{${many(20_000, (i) => `"f${i}":1`)}}`, 'value (line 1)'],
    ['text', 'json', `"${'x'.repeat(5 << 20)}"`, 'value (line 1)'],
    ['numbers', 'sup', `[${many(300_000, () => '1')}]`, 'value (line 1)'],
    ['arrays', 'sup', `[${many(200_000, () => '[1]')}]`, 'value (line 1)'],
    ['sets', 'sup', `1\n|[${many(100_000, (i) => String(i))}]|\n`, 'value (line 2)'],
    [
      'numbers',
      'jsup',
      `{"type":{"kind":"array","id":30,"type":{"kind":"primitive","name":"int64"}},"value":[${many(300_000, () => '"1"')}]}`,
      'line 1',
    ],
    [
      'vectors',
      'zeek',
      zeek(
        'vector[count]',
        many(300_000, () => '1'),
      ),
      'line 4',
    ],
    [
      'sets',
      'zeek',
      zeek(
        'set[count]',
        many(100_000, (i) => String(i)),
      ),
      'line 4',
    ],
  ];
  for (const [what, format, text, place] of bodies) {
    test(`${format}: ${what}`, async () => {
      const memory = new ReadMemory(() => 4 << 20);
      expect(await faultOf(format, text, memory)).toEqual([
        'format-memory',
        `${format}: ${place} needs more than ${4 << 20} bytes of memory (option -memory)`,
      ]);
      expect(memory.bytes).toBe(0);
    });
    test(`${format}: ${what}, with more of it, are read, and it is given back`, async () => {
      const memory = new ReadMemory(() => 64 << 20);
      expect((await read(format, text, memory)).reduce((n, { length }) => n + length, 0)).toBeGreaterThan(0);
      expect(memory.bytes).toBe(0);
    });
  }
});

test('an object of too many fields is refused, as in other formats', async () => {
  expect(await faultOf('json', `{${many(100_001, (i) => `"f${i}":1`)}}`)).toEqual([
    'format-broken',
    expect.stringContaining('json: too many fields in object (limit 100000) (line 1,'),
  ]);
});

describe('batches', () => {
  test('end by their shapes', async () => {
    const batches = await read(
      'json',
      many(20_000, (i) => `{"k":1,"f${i}":1}`, '\n'),
    );
    expect(batches.length).toBeGreaterThan(2);
    expect(batches.reduce((n, { length }) => n + length, 0)).toBe(20_000);
    const triangle = await read(
      'sup',
      many(300, (i) => `{${many(i + 1, (k) => `f${k}:1`)}}`, '\n'),
    );
    expect(triangle.length).toBeGreaterThan(1);
    expect(triangle.length).toBeLessThan(10);
  });
  test('end by the bytes of their text', async () => {
    const batches = await read(
      'line',
      many(20, () => 'x'.repeat(1 << 20), '\n'),
    );
    expect(batches.length).toBe(5);
  });
  test('of wide rows that are alike have many', async () => {
    const row = many(20_000, () => '1');
    expect(
      (await read('csv', `${many(20_000, (i) => `f${i}`)}\n${many(50, () => row, '\n')}\n`)).map(
        ({ length }) => length,
      ),
    ).toEqual([50]);
  });
});

test('rows of very many shapes are not read in blocks', () => {
  const parser = jsonBlocks({});
  const bytes = Buffer.from(`${many(10_000, (i) => `{"f${i}":1}`, '\n')}\n\0`);
  expect(parser(bytes, bytes.length - 1)).toBeUndefined();
  const few = Buffer.from(`${many(10_000, (i) => `{"f${i % 10}":1}`, '\n')}\n\0`);
  expect(parser(few, few.length - 1)?.rows).toBe(10_000);
});

test('arrays of unlike elements have the types that values by themselves would have', async () => {
  const of = async (text: string): Promise<string> => supText(valueAt((await read('json', text))[0]!, 0));
  expect(
    await of('[1,[1,"x"],{"a":[]},{"a":[null,2]},9007199254740993,1e400]'.replace('1e400', '99999999999999999999')),
  ).toBe(await supOf('[1,[1,"x"],{a:[]},{a:[null,2]},9007199254740993,100000000000000000000.]'));
  expect(await of('{"a":[{"x":1,"x":"y"},{"x":{"z":[true]}},[[1],[1.5]]]}')).toBe(
    await supOf('{a:[{x:"y"},{x:{z:[true]}},[[1],[1.5]]]}'),
  );
});
const supOf = async (text: string): Promise<string> => supText(valueAt((await read('sup', text))[0]!, 0));

test('long texts are decoded in pieces as they are in one', () => {
  const random = randomOf(seedOf(7));
  const parts = [
    'a',
    'abc ',
    'é',
    'e\u0301',
    '漢',
    '😀',
    '\\n',
    '\\\\',
    '\\"',
    '\\u00e9',
    '\\u0301',
    '\\ud83d\\ude00',
    '\\ud83d',
    '\u0301',
  ];
  for (let round = 0; round < 20; round++) {
    const some = Array.from({ length: 1 + random.below(5) }, () => random.pick(parts));
    let text = '';
    while (text.length < pieceBytes * 2) text += random.pick(some);
    const bytes = Buffer.from(text);
    expect([...textPieces(bytes, { start: 0, end: bytes.length, escapes: true }, decodeText)].join('')).toBe(
      decodeText(bytes, 0, bytes.length),
    );
  }
});
