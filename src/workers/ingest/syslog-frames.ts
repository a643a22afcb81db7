/**
 * Messages of syslog as they wait for their commit: one body of many, each with when and from where it came. The bytes
 * of a message are what was sent.
 */

/** Length of the message, time, length of the address. */
const headBytes = 4 + 8 + 1;
const addressBytesMax = 255;

/** Bytes that a message takes there, beside its own. */
export const frameBytes = (address: string): number => headBytes + Math.min(address.length, addressBytesMax);

/** A message with its frame. `address` is ASCII. */
export const framed = (message: Uint8Array, ms: number, address: string): Buffer => {
  const from = address.slice(0, addressBytesMax);
  const out = Buffer.allocUnsafe(frameBytes(address) + message.length);
  out.writeUInt32LE(message.length, 0);
  out.writeDoubleLE(ms, 4);
  out.writeUInt8(from.length, 12);
  out.write(from, headBytes, 'latin1');
  out.set(message, headBytes + from.length);
  return out;
};

/** One of them. */
export interface Framed {
  readonly message: Uint8Array;
  readonly ms: number;
  readonly address: string;
}
/** The messages of a body that `framed` made. */
export function* unframed(body: Uint8Array): Generator<Framed> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  for (let at = 0; at < bytes.length; ) {
    const start = at + headBytes + bytes.readUInt8(at + 12);
    const end = start + bytes.readUInt32LE(at);
    yield {
      message: bytes.subarray(start, end),
      ms: bytes.readDoubleLE(at + 4),
      address: bytes.toString('latin1', at + headBytes, start),
    };
    at = end;
  }
}
