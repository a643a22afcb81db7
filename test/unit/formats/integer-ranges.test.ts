/** Integers beyond the range of their type: texts that name one are refused, and no column of that type takes one. */
import { describe, expect, test } from 'vitest';
import { LakeError } from '../../../src/errors.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { isUnsigned, typeText, types } from '../../../src/vectors/type.ts';
import { type Value, recordValue } from '../../../src/vectors/value.ts';
import { printed, readValues, written } from '../../support/formats/convert.ts';

const ranges = [
  [types.int8, -128n, 127n],
  [types.int16, -32768n, 32767n],
  [types.int32, -2147483648n, 2147483647n],
  [types.int64, -(1n << 63n), (1n << 63n) - 1n],
  [types.uint8, 0n, 255n],
  [types.uint16, 0n, 65535n],
  [types.uint32, 0n, 4294967295n],
  [types.uint64, 0n, (1n << 64n) - 1n],
] as const;
const narrow = ranges.filter(([type]) => type !== types.int64 && type !== types.uint64);

const jsup = (name: string, x: bigint): string =>
  JSON.stringify({
    type: { kind: 'record', id: 31, fields: [{ name: 'x', type: { kind: 'primitive', name } }] },
    value: [String(x)],
  });
const faultOf = async (work: () => Promise<unknown>): Promise<unknown> => {
  try {
    return await work();
  } catch (error) {
    return error instanceof LakeError ? error.message : error;
  }
};

describe.each(ranges)('%o', (type, least, most) => {
  const name = typeText(type);
  test('has both ends of its range', async () => {
    for (const x of [least, most]) {
      const [value] = parseSupValues(`{x:${x}::${name}}`);
      expect(await readValues(`{x:${x}::${name}}`, 'sup')).toEqual([value]);
      expect(await readValues(jsup(name, x), 'jsup')).toEqual([value]);
      for (const format of ['arrows', 'parquet', 'bsup', 'csup'] as const)
        expect(printed(await readValues(written([value!], format), format))).toEqual(printed([value!]));
    }
  });
  test('has nothing beyond them', async () => {
    for (const x of [least - 1n, most + 1n])
      for (const [text, format] of [
        [`{x:1}\n{x:${x}::${name}}`, 'sup'],
        [`{x:[${x},1]::[${name}]}`, 'sup'],
        [`{x:1}\n${jsup(name, x)}`, 'jsup'],
      ] as const)
        expect(await faultOf(() => readValues(text, format)), text).toMatch(
          /invalid (unsigned )?integer|malformed|cannot be used as|syntax error|bad/,
        );
  });
});

test.each(narrow)('a sum of pipes that %o has no room for is no value of a column', async (type, _, most) => {
  const name = typeText(type);
  const sum: Value = recordValue([{ name: 'x', value: { type, data: Number(most) + 1 } }]);
  for (const format of ['arrows', 'parquet'] as const)
    expect(await faultOf(async () => Promise.resolve(written([sum], format)))).toBe(
      `${format === 'arrows' ? 'arrowio' : 'parquetio'}: ${most + 1n} does not fit into a column of ${name}`,
    );
});

test.each(ranges)('BSUP and CSUP give back what pipes have made of %o, also beyond it', async (type, least, most) => {
  const sums = [least - 1n, most + 1n, most * 127n].filter((x) => x >= -(1n << 63n) && x < 1n << 64n);
  const values: Value[] = sums
    .filter((x) => !(isUnsigned(type) && x < 0n) && (isUnsigned(type) || x < 1n << 63n))
    .flatMap((x) => [1, Number.isSafeInteger(Number(x)) ? Number(x) : x])
    .map((data) => recordValue([{ name: 'x', value: { type, data } }]));
  if (values.length === 0) return;
  for (const format of ['bsup', 'csup'] as const)
    expect(printed(await readValues(written(values, format), format))).toEqual(printed(values));
});
