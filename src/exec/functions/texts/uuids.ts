/** UUIDs as text: new ones, and what old ones say. */
import { randomBytes } from 'node:crypto';
import { fitsInt64 } from '../../../vectors/literal.ts';
import { integer } from '../../../vectors/value.ts';
import { types } from '../../../vectors/type.ts';
import { uuidTextsOf } from '../../expressions/sql/uuids.ts';
import { rowsOf, type Evaluate, type FunctionRow } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';

/** UUIDs of chance but for the version and variant (RFC 9562) and what is written over them. */
const drawn =
  (version: number, write?: (bytes: Buffer, at: number) => void): Evaluate =>
  (_, length) => {
    const bytes = randomBytes(length * size);
    const offsets = Uint32Array.from({ length: length + 1 }, (_, i) => i * size);
    for (let at = 0; at < bytes.length; at += size) {
      write?.(bytes, at);
      bytes[at + 6] = (bytes[at + 6] & 0x0f) | (version << 4);
      bytes[at + 8] = (bytes[at + 8] & 0x3f) | 0x80;
    }
    return uuidTextsOf({ form: 'bytes', type: types.bytes, length, offsets, bytes })!;
  };
const size = 16;
/** The milliseconds of now in front, so that later ones are greater. */
const now = (bytes: Buffer, at: number): void => {
  bytes.writeUIntBE(Date.now(), at, 6);
};
const syntax = /^[0-9a-f]{8}-?[0-9a-f]{4}-?([0-9a-f])[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

export const uuids: readonly FunctionRow[] = [
  ...rowsOf(
    'uuid()',
    'A new random UUID (version 4), another one for each row.',
    () => drawn(4),
    [['length(uuid())', '36']],
    { impure: true, also: ['gen_random_uuid', 'uuidv4'] },
  ),
  ...rowsOf(
    'uuidv7()',
    'A new UUID of version 7: the time in front, so that later ones are greater.',
    () => drawn(7, now),
    [['uuid_extract_version(uuidv7())', '7']],
    { impure: true },
  ),
  ...rowsOf(
    'uuid_extract_version(s)',
    'The version of a UUID.',
    byRow('uuid_extract_version', ['string'], 'integer', (s) => {
      const version = syntax.exec(s)?.[1];
      return version === undefined ? new Refusal('text is no UUID') : Number.parseInt(version, 16);
    }),
    [
      ['uuid_extract_version("ac227128-7d55-7ee0-a765-5025cc52e55a")', '7'],
      ['uuid_extract_version("x")', 'error({message:"uuid_extract_version: text is no UUID",on:"x"})'],
    ],
  ),
  ...rowsOf(
    'uuid_extract_timestamp(s)',
    'The time, to the millisecond, in a UUID of version 7; null for other versions.',
    byRow('uuid_extract_timestamp', ['string'], 'time', (s) => {
      const version = syntax.exec(s)?.[1];
      if (version === undefined) return new Refusal('text is no UUID');
      const nanos = BigInt(`0x${s.replaceAll('-', '').slice(0, 12)}`) * 1_000_000n;
      if (version !== '7') return null;
      return fitsInt64(nanos) ? integer(nanos) : new Refusal('out of range');
    }),
    [
      ['uuid_extract_timestamp("01890000-0000-7000-8000-000000000000")', '2023-06-28T03:15:47.328Z'],
      ['uuid_extract_timestamp("x")', 'error({message:"uuid_extract_timestamp: text is no UUID",on:"x"})'],
    ],
  ),
];
