/** Hashes and hexadecimal text. */
import { hash } from 'node:crypto';
import { textToBytes } from '../../../vectors/texts/codec.ts';
import { chargeText } from '../../../vectors/stop.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, nullValue, stringValue, bytesData, numericData, stringData } from '../../../vectors/value.ts';
import { byValues, refused, type FunctionRow } from '../row.ts';

/** The bytes of a string (UTF-8) or bytes value. */
const bytesOf = (v: Value): Uint8Array | undefined =>
  v.type === types.string ? textToBytes(stringData(v.data)) : v.type === types.bytes ? bytesData(v.data) : undefined;

const digestRow = (name: 'md5' | 'sha1' | 'sha256', example: string): FunctionRow => ({
  name,
  signature: `${name}(v)`,
  text: `The ${name === 'md5' ? 'MD5' : name === 'sha1' ? 'SHA-1' : 'SHA-256'} hash of a string (UTF-8) or bytes, as hexadecimal text.`,
  argumentsMin: 1,
  argumentsMax: 1,
  examples: [
    { query: `${name}("abc")`, output: `"${example}"` },
    { query: `${name}(1)`, output: `error({message:"${name}: string or bytes argument required",on:1})` },
  ],
  make: byValues((v) => {
    if (v!.type === types.null) return nullValue;
    const bytes = bytesOf(v!);
    return bytes === undefined
      ? refused(`${name}: string or bytes argument required`, v!)
      : stringValue(hash(name, bytes, 'hex'));
  }, 'bare'),
});

const whole: ReadonlySet<unknown> = new Set([
  types.int8,
  types.int16,
  types.int32,
  types.int64,
  types.uint8,
  types.uint16,
  types.uint32,
  types.uint64,
]);
/** Whole numbers below zero as the 64 bits that they are. */
const toHex = (v: Value): Value => {
  if (v.type === types.null) return nullValue;
  if (whole.has(v.type))
    return stringValue(
      BigInt.asUintN(64, BigInt(numericData(v.data)))
        .toString(16)
        .toUpperCase(),
    );
  const bytes = bytesOf(v);
  if (bytes === undefined) return refused('to_hex: string, bytes or integer argument required', v);
  chargeText(bytes.length * 2, 'to_hex');
  return stringValue(Buffer.from(bytes).toString('hex').toUpperCase());
};

export const digests: readonly FunctionRow[] = [
  digestRow('md5', '900150983cd24fb0d6963f7d28e17f72'),
  digestRow('sha1', 'a9993e364706816aba3e25717850c26c9cd0d89d'),
  digestRow('sha256', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'),
  {
    name: 'to_hex',
    signature: 'to_hex(v)',
    text: 'A whole number, or the bytes of a string (UTF-8) or bytes value, as hexadecimal text in upper case.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'to_hex(255)', output: '"FF"' },
      { query: 'to_hex("é")', output: '"C3A9"' },
      { query: 'to_hex(1.5)', output: 'error({message:"to_hex: string, bytes or integer argument required",on:1.5})' },
    ],
    make: byValues((v) => toHex(v!), 'bare'),
  },
];
