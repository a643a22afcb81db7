/** Writes fields of Protocol Buffers, for tests. */

const number = (value: number | bigint): Uint8Array => {
  const out: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 0x80n; rest >>= 7n) out.push(Number(rest & 0x7fn) | 0x80);
  return Uint8Array.from([...out, Number(rest)]);
};
/** A message of these fields. */
export const message = (...fields: readonly Uint8Array[]): Uint8Array => Buffer.concat(fields);
/** A whole number. */
export const varint = (field: number, value: number | bigint): Uint8Array =>
  Buffer.concat([number(field * 8), number(value)]);
/** Bytes, or a message. */
export const bytes = (field: number, value: Uint8Array): Uint8Array =>
  Buffer.concat([number(field * 8 + 2), number(value.length), value]);
export const text = (field: number, value: string): Uint8Array => bytes(field, Buffer.from(value));
