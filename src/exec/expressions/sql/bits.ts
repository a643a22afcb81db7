/** Bit strings of SQL: texts of zeros and ones that were checked, and what they are as values of other types. */
import { type PrimitiveType, bitsOf, isUnsigned, types } from '../../../vectors/type.ts';
import { integer, bytesData, stringData } from '../../../vectors/value.ts';
import { type FlatVector, type NumberVector, dataAt } from '../../../vectors/vector.ts';

const digits = /^[01]+$/;
const hexDigits = /^x[0-9a-f]+$/i;
/** The bit string that a text stands for: its digits, or `x` and hexadecimal ones; undefined for other texts. */
export const bitsOfText = (given: string): string | undefined => {
  const text = given.trim();
  return digits.test(text)
    ? text
    : hexDigits.test(text)
      ? [...text.slice(1)].map((d) => Number.parseInt(d, 16).toString(2).padStart(4, '0')).join('')
      : undefined;
};
const ofBytes = (bytes: Uint8Array): string | undefined =>
  bytes.length === 0 ? undefined : Array.from(bytes, (b) => b.toString(2).padStart(8, '0')).join('');
/** The bytes of bits, filled up with zeros in front. */
export const bytesOfBits = (bits: string): Uint8Array => {
  const whole = bits.padStart(Math.ceil(bits.length / 8) * 8, '0');
  return Uint8Array.from({ length: whole.length / 8 }, (_, i) => Number.parseInt(whole.slice(i * 8, i * 8 + 8), 2));
};
/** A number as it lies in memory, the most significant bit first. */
const ofNumber = ({ type, values }: NumberVector, i: number): string | undefined => {
  const view = new DataView(new ArrayBuffer(8));
  const size = bitsOf(type) / 8;
  if (type === types.float64) view.setFloat64(0, values[i] as number);
  else if (type === types.float32) view.setFloat32(0, values[i] as number);
  else if (type === types.float16 || type === types.time || type === types.duration) return undefined;
  else view.setBigInt64(0, BigInt.asIntN(64, BigInt(values[i]) << BigInt(64 - size * 8)));
  return ofBytes(new Uint8Array(view.buffer, 0, size));
};
/** The bits of a row's value; undefined for what has none. */
export const bitsAt = (v: FlatVector, i: number): string | undefined => {
  if (v.form === 'bool') return v.values[i] === 1 ? '00000001' : '00000000';
  if (v.form === 'number') return ofNumber(v, i);
  if (v.form !== 'bytes') return undefined;
  return v.type === types.string
    ? bitsOfText(stringData(dataAt(v, i)))
    : v.type === types.bytes
      ? ofBytes(bytesData(dataAt(v, i)))
      : undefined;
};

/** The number that has these bits; undefined where it has fewer of them. */
export const numberOfBits = (bits: string, type: PrimitiveType): number | bigint | undefined => {
  const width = bitsOf(type);
  if (bits.length > width) return undefined;
  const whole = BigInt(`0b${bits}`);
  if (type !== types.float64 && type !== types.float32)
    return integer(isUnsigned(type) ? whole : BigInt.asIntN(width, whole));
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, whole << BigInt(64 - width));
  return type === types.float64 ? view.getFloat64(0) : view.getFloat32(0);
};
export const boolOfBits = (bits: string): boolean => bits.includes('1');
