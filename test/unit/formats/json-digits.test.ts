/** Numbers of JSON whose digits no float gives back: what reads them says so once, with the number and its line. */
import { describe, expect, test } from 'vitest';
import { type BlockHelper, blockBytesMax } from '../../../src/formats/blocks.ts';
import { blockParser, openReader } from '../../../src/formats/formats.ts';
import type { ReadOptions } from '../../../src/formats/format.types.ts';
import type { ObjectStore } from '../../../src/lake/objects/objects.ts';
import { runSmallLoad } from '../../../src/workers/load/small.ts';
import { randomOf, seedOf } from '../../support/random.ts';

async function* pieces(text: string, size = text.length): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}
const warningsOf = async (text: string, options: ReadOptions = {}, size?: number): Promise<readonly string[]> => {
  const warnings: string[] = [];
  const warn = (warning: string): void => {
    warnings.push(warning);
  };
  for await (const batch of await openReader('json', pieces(text, size), { ...options, warn })) void batch;
  return warnings;
};
const said = (number: string, line: number): string =>
  `json: ${number} (line ${line}) is kept as float64, which does not hold all of its digits`;

describe('one number', () => {
  test.each([
    '12345678901234567890',
    '-9223372036854775809',
    '18446744073709551615',
    '9007199254740993.0',
    '1234567890123456.78',
    '0.1234567890123456789',
    '-1.00000000000000000001',
    '1e-400',
    '3.141592653589793238',
    '0.30000000000000005551',
    '123456789012345678.9e3',
  ])('%s loses digits', async (number) => {
    expect(await warningsOf(`{"a":1}\n{"a":[${number}],"b":${number}}\n{"a":${number}}`)).toEqual([said(number, 2)]);
    expect(await warningsOf(`\n\n{"a":${number}}`, {}, 1)).toEqual([said(number, 3)]);
  });
  test.each([
    '9223372036854775807',
    '-9223372036854775808',
    '100000000000000000000',
    '1e22',
    '0.1',
    '0.10000000000000001',
    '0.30000000000000004',
    '0.1000000000000000055511151231257827021181583404541015625',
    '1.7976931348623157e308',
    '5e-324',
    '0e-400',
    '-0.0',
    '0.000000000000000000000000001',
    '1.50000000000000000000',
    '123456789012345680000',
    '2245878244568398.2',
  ])('%s does not', async (number) => {
    expect(await warningsOf(`{"a":${number}}`)).toEqual([]);
  });
});

test('what floats are printed as loses nothing', async () => {
  const random = randomOf(seedOf(31));
  const view = new DataView(new ArrayBuffer(8));
  const texts: string[] = [];
  while (texts.length < 3000) {
    view.setUint32(0, random.below(2 ** 32));
    view.setUint32(4, random.below(2 ** 32));
    const x = view.getFloat64(0);
    if (Number.isFinite(x)) texts.push(String(x), x.toPrecision(17), x.toPrecision(16 + random.below(40)));
  }
  for (let i = 0; i < texts.length; i += 900) expect(await warningsOf(texts.slice(i, i + 900).join('\n'))).toEqual([]);
});

test('in a long input read by two threads, and in a small load', async () => {
  const row = `{"a":"${'x'.repeat(90)}","b":0.30000000000000004}\n`;
  const rows = Math.ceil((3 * blockBytesMax) / row.length);
  const text = `${row.repeat(rows)}{"b":1234567890123456.78}\n${row}{"b":12345678901234567890}\n${row.repeat(9)}`;
  const helperOf = (setup: Parameters<NonNullable<ReadOptions['helper']>>[0]): BlockHelper => {
    const parse = blockParser(setup, {});
    return {
      free: 1,
      parse: (bytes, length) => Promise.resolve(structuredClone({ bytes, parsed: parse(bytes, length) })),
      close: () => undefined,
    };
  };
  const helper: ReadOptions['helper'] = (setup) => Promise.resolve(helperOf(setup));
  expect(await warningsOf(text, { helper }, 200_000)).toEqual([said('1234567890123456.78', rows + 1)]);

  const pool = { keys: [['b']], order: 'asc', threshold: 1 << 20 } as const;
  const tools = { objects: {} as ObjectStore, readLimits: {} };
  for (const format of ['json', 'auto'] as const) {
    const load = { pool, format, body: Buffer.from('{"b":1}\n{"b":12345678901234567890}\n') };
    expect((await runSmallLoad(load, tools)).warnings).toEqual([said('12345678901234567890', 2)]);
  }
});
