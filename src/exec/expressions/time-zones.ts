/**
 * Time zones, by the data that Node has: what clocks show at a moment, and the moment at which they show it.
 *
 * Invariants:
 * - A time is a moment in UTC; what clocks of a zone show is written as if it were UTC.
 * - Where clocks show a time twice it is the later moment; where they leave it out, the offset from before counts.
 */
import { fitsInt64 } from '../../vectors/literal.ts';
import { integer } from '../../vectors/value.ts';

/** Nanoseconds since 1970. */
type Nanos = number | bigint;
/** Why there is no time: a name that is no zone, or a moment that 64 bits do not hold. */
export type ZoneFault = 'zone' | 'range';
const secondsOfDay = 86_400;
const nanosOfSecond = 1_000_000_000n;

/** The offsets of a zone from UTC, in seconds. Days in which they do not change are looked up once. */
class Zone {
  private readonly format: Intl.DateTimeFormat;
  private readonly days = new Map<number, number | 'changes'>();
  /** @throws RangeError for a name that is no zone */
  constructor(name: string) {
    this.format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** The offset at a moment, in whole seconds since 1970. */
  offsetAt(seconds: number): number {
    const day = Math.floor(seconds / secondsOfDay);
    let known = this.days.get(day);
    if (known === undefined) {
      const first = this.asked(day * secondsOfDay);
      known = first === this.asked((day + 1) * secondsOfDay) ? first : 'changes';
      this.days.set(day, known);
    }
    return known === 'changes' ? this.asked(seconds) : known;
  }
  private asked(seconds: number): number {
    const parts = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 };
    for (const { type, value } of this.format.formatToParts(seconds * 1000))
      if (Object.hasOwn(parts, type)) parts[type as keyof typeof parts] = Number(value);
    const shown = Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second);
    return shown / 1000 - seconds;
  }
}
const zones = new Map<string, Zone | undefined>();
const zonesMax = 100;
const namePattern = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
const zoneNamed = (name: string): Zone | undefined => {
  if (!zones.has(name)) {
    if (zones.size >= zonesMax) zones.clear();
    zones.set(name, made(name));
  }
  return zones.get(name);
};
const made = (name: string): Zone | undefined => {
  try {
    if (namePattern.test(name)) return new Zone(name);
  } catch (e) {
    if (!(e instanceof RangeError)) throw e;
  }
  return undefined;
};

const secondsIn = (t: Nanos): number => {
  const rest = ((BigInt(t) % nanosOfSecond) + nanosOfSecond) % nanosOfSecond;
  return Number((BigInt(t) - rest) / nanosOfSecond);
};
const moved = (t: Nanos, seconds: number): Nanos | ZoneFault => {
  const nanos = BigInt(t) + BigInt(seconds) * nanosOfSecond;
  return fitsInt64(nanos) ? integer(nanos) : 'range';
};
/** What the clocks of a zone show at a moment. */
export const shownAt = (t: Nanos, name: string): Nanos | ZoneFault => {
  const zone = zoneNamed(name);
  return zone ? moved(t, zone.offsetAt(secondsIn(t))) : 'zone';
};
/** The moment at which the clocks of a zone show a time. */
export const momentOf = (t: Nanos, name: string): Nanos | ZoneFault => {
  const zone = zoneNamed(name);
  if (!zone) return 'zone';
  const shown = secondsIn(t);
  const [before, after] = [zone.offsetAt(shown - secondsOfDay), zone.offsetAt(shown + secondsOfDay)];
  const isAfter = before === after || zone.offsetAt(shown - after) === after;
  return moved(t, -(isAfter ? after : before));
};
