/**
 * Requests of OTLP without any record: what cannot be decoded is refused there as it is beside a record, and what can is
 * a success without rows.
 */
import { expect, test } from 'vitest';
import { LakeError } from '../../../../src/errors.ts';
import { openReader } from '../../../../src/formats/formats.ts';
import type { Signal } from '../../../../src/formats/otlp/schema.ts';
import { otlpBytes } from '../../../support/formats/otlp.ts';
import { type Random, randomOf, seedOf } from '../../../support/random.ts';

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
/** How many rows a request has, or what is wrong with it. */
const read = async (signal: Signal, bytes: Uint8Array): Promise<number | string> => {
  try {
    let rows = 0;
    for await (const batch of await openReader(`otlp-${signal}`, once(bytes), {})) rows += batch.length;
    return rows;
  } catch (error) {
    if (error instanceof LakeError && error.code === 'format-broken') return error.message;
    throw error;
  }
};
const uvarint = (n: number): readonly number[] => (n < 128 ? [n] : [(n % 128) + 128, ...uvarint(Math.floor(n / 128))]);
const within = (number: number, ...inner: readonly Uint8Array[]): Buffer => {
  const bytes = Buffer.concat(inner);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...uvarint(bytes.length)]), bytes]);
};
const varint = (number: number): Buffer => Buffer.from([number * 8, 1]);
/** An attribute whose value is a varint where a message belongs. */
const badEntry = Buffer.concat([within(1, Buffer.from('key')), varint(2)]);

test('what makes no sense is refused where no record follows', async () => {
  const cases: readonly (readonly [Signal, Uint8Array, string])[] = [
    ['logs', varint(1), 'field 1 of the request has wire type 0'],
    ['traces', within(1, varint(2)), 'field 2 of resources has wire type 0'],
    ['logs', within(1, within(1, Buffer.of(0x0a, 5))), 'the message ends in the middle of a field'],
    ['logs', within(1, within(1, within(1, badEntry))), 'field 2 of KeyValue has wire type 0'],
    ['logs', within(1, within(2, varint(2))), 'field 2 of scopes has wire type 0'],
    ['traces', within(1, within(2, within(1, varint(1)))), 'field 1 of InstrumentationScope has wire type 0'],
    ['metrics', within(1, within(2, within(2, varint(1)))), 'field 1 of Metric has wire type 0'],
    ['metrics', within(1, within(2, within(2, varint(5)))), 'field 5 of Metric has wire type 0'],
    ['metrics', within(1, within(2, within(2, within(5, varint(1))))), 'field 1 of points has wire type 0'],
    ['metrics', within(1, within(2, within(2, within(7, within(2))))), 'field 2 of Aggregation has wire type 2'],
  ];
  for (const [signal, bytes, fault] of cases) expect(await read(signal, bytes)).toContain(`otlp ${signal}: ${fault}`);
});

test('a request without records whose messages can be read has no rows', async () => {
  for (const [signal, bytes] of [
    ['logs', new Uint8Array(0)],
    ['logs', within(1)],
    ['traces', within(1, within(2), within(2))],
    ['metrics', within(1, within(2, within(2)))],
    ['metrics', within(1, within(2, within(2, within(5))))],
    ['logs', within(9, Buffer.from('a field of a later version'))],
    ['logs', within(1, within(1, within(15, Buffer.from('another one'))), within(2, within(1), within(14)))],
  ] as const)
    expect(await read(signal, bytes)).toBe(0);
});

const attributesOf = (random: Random): object[] =>
  Array.from({ length: random.below(4) }, () => ({
    key: random.hex(random.below(6)),
    value: random.pick<object>([
      { stringValue: random.hex(9) },
      { intValue: 300 },
      { doubleValue: 1.5 },
      { arrayValue: { values: [{ boolValue: true }, { bytesValue: Buffer.of(1, 2) }] } },
      { kvlistValue: { values: [{ key: 'a', value: { stringValue: 'b' } }] } },
    ]),
  }));
/** One byte is another one, is gone, or came in. */
const damaged = (bytes: Uint8Array, random: Random): Uint8Array => {
  const at = random.below(bytes.length + 1);
  const more = random.below(3) > 0 ? [random.below(256)] : [];
  return Buffer.concat([bytes.subarray(0, at), Uint8Array.from(more), bytes.subarray(at + random.below(2))]);
};

test('damage is found with and without a record alike', async () => {
  const seed = seedOf(20261129);
  const random = randomOf(seed);
  const counts = { refused: 0, read: 0 };
  for (let i = 0; i < 400; i++) {
    const resource = { attributes: attributesOf(random), droppedAttributesCount: random.below(3) };
    const scope = { name: random.hex(5), version: '1', attributes: attributesOf(random) };
    const whole = otlpBytes('logs', { resourceLogs: [{ resource, scopeLogs: [{ scope }], schemaUrl: 'x' }] });
    const inner = damaged(whole.subarray(whole.length < 130 ? 2 : 3), random);
    // The record is in a resource with the same bytes before it: it is refused, or one row.
    const alone = await read('logs', within(1, inner));
    const beside = await read('logs', within(1, inner, within(2, within(2, within(3, Buffer.from('INFO'))))));
    const about = `seed ${seed}, request ${i}`;
    if (alone === 0) {
      counts.read++;
      expect(beside, about).toBe(1);
    } else {
      counts.refused++;
      if (typeof alone === 'number') expect(beside, about).toBe(alone + 1);
      else expect(typeof beside, about).toBe('string');
    }
  }
  expect(Math.min(counts.refused, counts.read)).toBeGreaterThan(100);
});
