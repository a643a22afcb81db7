/** Times as the clocks of a zone show them, and the moments of what they show. */
import { type ZoneFault, momentOf, shownAt } from '../../expressions/time-zones.ts';
import { rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';

type Nanos = number | bigint;
const refused =
  (of: (t: Nanos, name: string) => Nanos | ZoneFault) =>
  (t: Nanos, name: string): Nanos | Refusal => {
    const found = of(t, name);
    if (found === 'zone') return new Refusal('unknown time zone, expected a name such as UTC or Europe/Paris', 1);
    return found === 'range' ? new Refusal('time out of range') : found;
  };

const refusal = (name: string): string =>
  `error({message:"${name}: unknown time zone, expected a name such as UTC or Europe/Paris",on:"Mars"})`;
export const zoned: readonly FunctionRow[] = [
  ...rowsOf(
    'at_zone(t, zone)',
    'What the clocks of a time zone show at a moment, as a time. In SQL also t AT TIME ZONE zone.',
    byRow('at_zone', ['time', 'string'], 'time', refused(shownAt)),
    [
      ['at_zone(2024-07-01T12:00:00Z,"Europe/Paris")', '2024-07-01T14:00:00Z'],
      ['at_zone(2024-07-01T12:00:00Z,"Mars")', refusal('at_zone')],
      ['at_zone(1,"UTC")', 'error({message:"at_zone: time argument required",on:1})'],
    ],
  ),
  ...rowsOf(
    'from_zone(t, zone)',
    'The moment at which the clocks of a time zone show a time: the later of two; of one that they leave out by their offset before.',
    byRow('from_zone', ['time', 'string'], 'time', refused(momentOf)),
    [
      ['from_zone(2024-07-01T14:00:00Z,"Europe/Paris")', '2024-07-01T12:00:00Z'],
      ['from_zone(2024-10-27T02:30:00Z,"Europe/Paris")', '2024-10-27T01:30:00Z'],
      ['from_zone(2024-03-31T02:30:00Z,"Europe/Paris")', '2024-03-31T01:30:00Z'],
      ['from_zone(2024-07-01T14:00:00Z,"Mars")', refusal('from_zone')],
      ['from_zone(1,"UTC")', 'error({message:"from_zone: time argument required",on:1})'],
    ],
  ),
];
