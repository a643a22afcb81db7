/**
 * Times read from the bytes of strings; every byte of the layout that has a way of its own is tried with every value.
 */
import { expect, test } from 'vitest';
import { timesOfBytes } from '../../../../src/exec/expressions/time-bytes.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { stringValue } from '../../../../src/vectors/value.ts';
import { type BytesVector, dataAt } from '../../../../src/vectors/vector.ts';

const read = (...texts: readonly string[]): readonly bigint[] | undefined => {
  const v = timesOfBytes(vectorOf(texts.map(stringValue)) as BytesVector);
  return v && texts.map((_, i) => BigInt(dataAt(v, i) as number | bigint));
};
const withByte = (text: string, at: number, byte: number): BytesVector => {
  const bytes = new Uint8Array(Buffer.from(text));
  bytes[at] = byte;
  return { ...(vectorOf([stringValue(text)]) as BytesVector), bytes };
};

test('milliseconds, other fractions and none stand side by side', () => {
  expect(
    read(
      '2026-01-02T03:04:05.678Z',
      '2026-01-02T03:04:05Z',
      '2026-01-02T03:04:59.9Z',
      '1969-12-31T23:59:59.999Z',
      '2026-01-02T03:04:05.123456789Z',
      '2026-01-02T03:04:00.000Z',
    ),
  ).toEqual([
    1767323045678000000n,
    1767323045000000000n,
    1767323099900000000n,
    -1000000n,
    1767323045123456789n,
    1767323040000000000n,
  ]);
});
test('each byte of seconds and milliseconds counts as what it is, or the string is left to others', () => {
  const text = '2026-01-02T03:04:05.678Z';
  for (let at = 16; at < 24; at++) {
    for (let byte = 0; byte < 256; byte++) {
      const v = timesOfBytes(withByte(text, at, byte));
      const changed = text.slice(0, at) + String.fromCharCode(byte) + text.slice(at + 1);
      const isGood =
        at === 16 || at === 19 || at === 23
          ? byte === text.charCodeAt(at)
          : byte >= 48 && byte <= (at === 17 ? 53 : 57);
      expect([at, byte, v && BigInt(dataAt(v, 0) as number | bigint)]).toEqual([
        at,
        byte,
        isGood ? BigInt(Date.parse(changed)) * 1_000_000n : undefined,
      ]);
    }
  }
});
