/** Bytes as text and back: base64, hex, ksuid. */
import { randomFillSync } from 'node:crypto';
import { charge, chargeText } from '../../../vectors/stop.ts';
import { types } from '../../../vectors/type.ts';
import { type Data, type Value, nullValue, bytesData, stringData } from '../../../vectors/value.ts';
import { type Vector } from '../../../vectors/vector.ts';
import { BytesBuilder } from '../../../vectors/builder-leaves.ts';
import { byValues, refused, type FunctionRow } from '../row.ts';

const bytesValue = (bytes: Uint8Array): Value => ({ type: types.bytes, data: bytes });
const stringValue = (text: string): Value => ({ type: types.string, data: text });

/** Fewer bytes are not worth a charge. */
const longBytes = 1 << 16;
/** Encodes bytes, decodes strings. */
const codec =
  (
    encode: (bytes: Uint8Array) => string,
    decode: (text: string) => Uint8Array | undefined,
    messages: { readonly type: string; readonly text: string },
  ) =>
  (v: Value): Value => {
    if (v.type === types.null) return nullValue;
    if (v.type === types.bytes) return stringValue(encode(bytesData(v.data)));
    if (v.type !== types.string) return refused(messages.type, v);
    const bytes = decode(stringData(v.data));
    return bytes ? bytesValue(bytes) : refused(messages.text, v);
  };

/** Looked for is what does not belong: an expression of groups of four overflows the engine's stack on a long text. */
export const isBase64 = (text: string): boolean => {
  if (text.length % 4 !== 0) return false;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return !/[^A-Za-z0-9+/]/.test(padding === 0 ? text : text.slice(0, -padding));
};
const isHex = (text: string): boolean => text.length % 2 === 0 && !/[^0-9a-fA-F]/.test(text);
/** The bytes of a text in base64 or digits, charged before they are made. */
export const decodedBytes = (text: string, encoding: 'base64' | 'hex'): Uint8Array => {
  if (text.length > longBytes) charge(text.length, `the bytes of ${encoding}`);
  const { buffer, byteOffset, length } = Buffer.from(text, encoding);
  // Short ones are parts of a buffer that many share.
  return length > longBytes
    ? new Uint8Array(buffer, byteOffset, length)
    : new Uint8Array(buffer, byteOffset, length).slice();
};
/** Bytes as text, charged before it is made. */
export const encodedText = (bytes: Uint8Array, encoding: 'base64' | 'hex'): string => {
  if (bytes.length > longBytes) chargeText(bytes.length * 2, 'a text of bytes');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(encoding);
};
const base64 = codec(
  (bytes) => encodedText(bytes, 'base64'),
  (text) => {
    const plain = text.replace(/[\r\n]/g, '');
    return isBase64(plain) ? decodedBytes(plain, 'base64') : undefined;
  },
  { type: 'base64: argument must a bytes or string type', text: 'base64: string argument is not base64' },
);
const hex = codec(
  (bytes) => encodedText(bytes, 'hex'),
  (text) => (isHex(text) ? decodedBytes(text, 'hex') : undefined),
  // The first text is the reference's slip.
  { type: 'base64: argument must a bytes or string type', text: 'hex: string argument is not hexidecimal' },
);

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ksuidBytes = 20;
const ksuidText = 27;
const ksuidEpochSeconds = 1_400_000_000;
const encodeKsuid = (bytes: Uint8Array): string => {
  let n = BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`);
  let text = '';
  for (let i = 0; i < ksuidText; i++) {
    text = digits[Number(n % 62n)] + text;
    n /= 62n;
  }
  return text;
};
const decodeKsuid = (text: string): Uint8Array | undefined => {
  if (text.length !== ksuidText) return undefined;
  let n = 0n;
  for (const c of text) {
    const digit = digits.indexOf(c);
    if (digit < 0) return undefined;
    n = n * 62n + BigInt(digit);
  }
  return n >> 160n ? undefined : new Uint8Array(Buffer.from(n.toString(16).padStart(ksuidBytes * 2, '0'), 'hex'));
};
const newKsuid = (): Uint8Array => {
  const bytes = new Uint8Array(ksuidBytes);
  randomFillSync(bytes, 4);
  new DataView(bytes.buffer).setUint32(
    0,
    Math.min(Math.max(Math.floor(Date.now() / 1000) - ksuidEpochSeconds, 0), 0xffff_ffff),
  );
  return bytes;
};
const ksuidOf = (v: Value): Value => {
  if (v.type === types.null) return nullValue;
  const invalid = (): Value => refused('ksuid: invalid ksuid value', v);
  if (v.type === types.bytes)
    return bytesData(v.data).length === ksuidBytes ? stringValue(encodeKsuid(bytesData(v.data))) : invalid();
  if (v.type !== types.string) return refused('ksuid: argument must a bytes or string type', v);
  const bytes = decodeKsuid(stringData(v.data));
  return bytes ? bytesValue(bytes) : invalid();
};
const newKsuids = (length: number): Vector => {
  const out = new BytesBuilder(types.bytes);
  for (let i = 0; i < length; i++) out.append(newKsuid() as Data);
  return out.finish();
};

export const coding: readonly FunctionRow[] = [
  {
    name: 'base64',
    signature: 'base64(v)',
    text: 'Bytes as base64 text, or the bytes of such text.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'base64(0x010203)', output: '"AQID"' },
      { query: 'base64("AQID")', output: '0x010203' },
      { query: 'base64("x!")', output: 'error({message:"base64: string argument is not base64",on:"x!"})' },
    ],
    make: byValues((v) => base64(v!), 'bare'),
  },
  {
    name: 'hex',
    signature: 'hex(v)',
    text: 'Bytes as hexadecimal text, or the bytes of such text.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'hex(0x0102)', output: '"0102"' },
      { query: 'hex("0102")', output: '0x0102' },
      { query: 'hex("zz")', output: 'error({message:"hex: string argument is not hexidecimal",on:"zz"})' },
      { query: 'hex(1)', output: 'error({message:"base64: argument must a bytes or string type",on:1})' },
    ],
    make: byValues((v) => hex(v!), 'bare'),
  },
  {
    name: 'ksuid',
    signature: 'ksuid([v])',
    text: 'A new KSUID as bytes; with an argument, the bytes as text or the text as bytes.',
    argumentsMin: 0,
    argumentsMax: 1,
    impure: true,
    examples: [
      { query: 'ksuid("28dCr1qDx4VjqFMsCwJGpDCDlqz")', output: '0x0efe27767355c4c8798c3b5fcafe2b2a12eecc09' },
      { query: 'ksuid(0x0000000000000000000000000000000000000000)', output: '"000000000000000000000000000"' },
      { query: 'ksuid("x")', output: 'error({message:"ksuid: invalid ksuid value",on:"x"})' },
    ],
    make: (call) =>
      call.literals.length === 0 ? (_, length) => newKsuids(length) : byValues((v) => ksuidOf(v!), 'whole')(call),
  },
];
