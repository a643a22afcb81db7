/** UUIDs as text: new ones, and what old ones say. */
import { randomBytes, randomUUID } from 'node:crypto';
import { fitsInt64 } from '../../../vectors/literal.ts';
import { integer } from '../../../vectors/value.ts';
import { types } from '../../../vectors/type.ts';
import { BytesBuilder } from '../../../vectors/builder-leaves.ts';
import { rowsOf, type Evaluate, type FunctionRow } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';

const texts =
  (make: () => string): Evaluate =>
  (_, length) => {
    const out = new BytesBuilder(types.string);
    for (let i = 0; i < length; i++) out.text(make());
    return out.finish();
  };
/** The milliseconds of now in front, so that later ones are greater, then chance. */
const timedUuid = (): string => {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};
const syntax = /^[0-9a-f]{8}-?[0-9a-f]{4}-?([0-9a-f])[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

export const uuids: readonly FunctionRow[] = [
  ...rowsOf(
    'uuid()',
    'A new random UUID (version 4), another one for each row.',
    () => texts(randomUUID),
    [['length(uuid())', '36']],
    { impure: true, also: ['gen_random_uuid', 'uuidv4'] },
  ),
  ...rowsOf(
    'uuidv7()',
    'A new UUID of version 7: the time in front, so that later ones are greater.',
    () => texts(timedUuid),
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
