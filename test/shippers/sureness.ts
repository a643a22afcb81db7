/** What the manual says of a program's records when the service is killed, and whether it is so. */
import type { Shipped } from './ship.ts';
import type { Shipper, Sureness } from './shippers.ts';

/** As the manual's table says it. */
export const surenessText: Readonly<Record<Sureness, string>> = {
  once: 'every record, once',
  'perhaps twice': 'every record; those of a lost answer twice',
  'some lost': 'none twice; those under way are lost',
};

/** What is not so; undefined: all is. */
export const faultOf = (
  { sureness }: Shipper,
  records: number,
  { records: found, different }: Shipped,
): string | undefined => {
  if (different > records) return `${different} different records of ${records}`;
  if (sureness !== 'some lost' && different < records)
    return `${records - different} of ${records} records are missing`;
  if (sureness === 'some lost' && different === 0) return 'no record came';
  if (sureness !== 'perhaps twice' && found > different) return `${found - different} records came twice`;
  return undefined;
};
