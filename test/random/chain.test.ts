/**
 * Values through all lossless formats, one after the other. `CHAIN_COUNT=20000 SEED=n npx vitest run
 * test/random/chain.test.ts` is the large run.
 */
import { describe, expect, test } from 'vitest';
import { supText } from '../../src/vectors/sup/print.ts';
import { parseSupValues } from '../../src/vectors/sup/parse.ts';
import { readValues, written } from '../support/formats/convert.ts';
import { seedOf } from '../support/random.ts';
import { anyFormats, arrowFormats, chain, parquetFormats } from './chain.ts';

const count = Number(process.env['CHAIN_COUNT'] ?? 1_000);

for (const [kind, formats] of [
  ['values of every type', anyFormats],
  ['records that Arrow holds', arrowFormats],
  ['records that Parquet holds', parquetFormats],
] as const) {
  const own = formats === anyFormats ? count : count / 2;
  test(`${own} ${kind} survive SUP -> ${formats.join(' -> ')} -> SUP`, { timeout: 600_000 }, async () => {
    const seed = seedOf(11);
    expect({ seed, faults: await chain({ seed, count: own, formats }) }).toEqual({ seed, faults: [] });
  });
}

describe('values on the edge survive SUP -> BSUP -> CSUP -> JSUP -> SUP', () => {
  for (const text of [
    'NaN',
    '+Inf',
    '-Inf',
    '5e-324',
    '1.7976931348623157e+308',
    '65504.::float16',
    '6e-08::float16',
    '3.4028235e+38::float32',
    '1e-45::float32',
    '-9223372036854775808',
    '9223372036854775807',
    '0::uint64',
    '18446744073709551615::uint64',
    '[9007199254740991,9007199254740993,-9007199254740993]',
    '1677-09-21T00:12:43.145224192Z',
    '2262-04-11T23:47:16.854775807Z',
    '1969-12-31T23:59:59.999999999Z',
    '1ns',
    '292y171d23h47m16.854775807s',
    '-292y171d23h47m16.854775808s',
    '{}',
    '""',
    '0x',
    '[]',
    '[{}]',
    '[[]::[int8]]',
    '|{}|',
    'null::(int64|null)',
    '{a?:_::{b?:int64},c?:null::(string|null)}',
    '"b"::enum(a,b)',
    'error({message:"x",on:error("y")})',
    '{a:1::=foo,b:"x"::=foo,c:"y"::foo}',
    '<{a:foo=int64,b:foo}>',
    '{a:80::(port=uint16),b:81::port}',
    '[1,"x",null,[1]]',
    '|{|[1]|:{a:|{1:2}|}}|',
    '1::(int64|string)::((int64|string)|null)',
    '::1',
    '255.255.255.255/32',
    '::/0',
    '"\\u0000\\u001f\\u007f\\"\\\\ \u2028 𝒳"',
  ]) {
    test(text, async () => {
      let values = parseSupValues(text);
      for (const format of anyFormats) values = await readValues(written(values, format), format);
      expect(values.map((v) => supText(v))).toEqual(parseSupValues(text).map((v) => supText(v)));
      expect(values.map((v) => v.type)).toEqual(parseSupValues(text).map((v) => v.type));
    });
  }
  test('-0 is not 0', async () => {
    let values = parseSupValues('{a:-0.,b:-0.::float32,c:-0.::float16,d:0.,e:|[0.,-0.]|}');
    for (const format of anyFormats) values = await readValues(written(values, format), format);
    const [a, b, c, d, e] = values[0]!.data as readonly unknown[];
    expect([a, b, c, d, ...(e as readonly number[])].map((x) => Object.is(x, -0))).toEqual([
      true,
      true,
      true,
      false,
      false,
      true,
    ]);
  });
});
