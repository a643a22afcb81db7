/**
 * The values that a query gives, exact: what JavaScript has no type for is a small class, and nothing is rounded.
 *
 * | type | value |
 * | --- | --- |
 * | `int8` .. `int32`, `uint8` .. `uint32`, floats | number |
 * | `int64`, `uint64` | bigint |
 * | `string`, `bool`, `null`, `bytes` | string, boolean, null, Uint8Array |
 * | `time`, `duration` | `Time`, `Duration`: nanoseconds |
 * | `ip`, `net`, an enum's symbol, a type | `Address`, `Network`, `Symbolic`, `TypeValue` |
 * | record, array, set, map | object, array, Set, Map |
 * | an error | `ErrorValue` |
 */
import { type Type, typeText } from './types.ts';

/** A value of any type, as the table above says. */
export type LakeValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Time
  | Duration
  | Address
  | Network
  | Symbolic
  | TypeValue
  | ErrorValue
  | LakeRecord
  | readonly LakeValue[]
  | ReadonlySet<LakeValue>
  | ReadonlyMap<LakeValue, LakeValue>;
/** An optional field without a value is absent. A field `__proto__` is a field like any other. */
export interface LakeRecord {
  readonly [field: string]: LakeValue;
}

const second = 1_000_000_000n;

/** A point in time, in nanoseconds since 1970 UTC. */
export class Time {
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }

  /** @throws RangeError for a Date that is none. */
  static of(date: Date): Time {
    if (Number.isNaN(date.getTime())) throw new RangeError('an invalid Date is no time');
    return new Time(BigInt(date.getTime()) * 1_000_000n);
  }
  /** @throws RangeError when it is no RFC 3339 time. */
  static parse(text: string): Time {
    const parts = /^(-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
    const whole = parts ? Date.parse(`${parts[1]}${parts[3]}`) : NaN;
    if (!parts || Number.isNaN(whole)) throw new RangeError(`not an RFC 3339 time: ${text}`);
    return new Time(BigInt(whole) * 1_000_000n + BigInt((parts[2] ?? '').padEnd(9, '0')));
  }
  /** Cut to milliseconds, towards the past. */
  toDate(): Date {
    return new Date(Number((this.nanoseconds - modulo(this.nanoseconds, 1_000_000n)) / 1_000_000n));
  }
  toString(): string {
    const rest = modulo(this.nanoseconds, second);
    const seconds = (this.nanoseconds - rest) / second;
    const text = new Date(Number(seconds) * 1000).toISOString().replace('.000Z', '');
    return rest === 0n ? `${text}Z` : `${text}.${rest.toString().padStart(9, '0').replace(/0+$/, '')}Z`;
  }
  toJSON(): string {
    return this.toString();
  }
}
const modulo = (a: bigint, b: bigint): bigint => ((a % b) + b) % b;

/** Nanoseconds of the units of a duration's text. */
const unitNanoseconds: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['ms', 1_000_000n],
  ['s', second],
  ['m', 60n * second],
  ['h', 3_600n * second],
  ['d', 86_400n * second],
  ['w', 7n * 86_400n * second],
  ['y', 365n * 86_400n * second],
]);
const durationUnits = [...unitNanoseconds].reverse();

/** A span of time in nanoseconds. */
export class Duration {
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }

  static ofMilliseconds(milliseconds: number): Duration {
    return new Duration(BigInt(Math.round(milliseconds * 1e6)));
  }
  /** Of a text like `1h30m`, `-1.5ms`. @throws RangeError when it is none. */
  static parse(text: string): Duration {
    const parts = /^(-?)((?:\d+(?:\.\d+)?(?:ns|us|ms|[smhdwy]))+)$/.exec(text);
    if (!parts) throw new RangeError(`not a duration: ${text}`);
    let total = 0n;
    for (const [, whole, fraction = '', unit] of parts[2]!.matchAll(/(\d+)(?:\.(\d+))?([a-z]+)/g)) {
      total += (BigInt(`${whole}${fraction}`) * unitNanoseconds.get(unit!)!) / 10n ** BigInt(fraction.length);
    }
    return new Duration(parts[1] === '-' ? -total : total);
  }
  toString(): string {
    let rest = this.nanoseconds < 0n ? -this.nanoseconds : this.nanoseconds;
    let text = '';
    for (const [unit, length] of durationUnits) {
      if (rest < length) continue;
      text += `${rest / length}${unit}`;
      rest %= length;
    }
    return text === '' ? '0s' : `${this.nanoseconds < 0n ? '-' : ''}${text}`;
  }
  toJSON(): string {
    return this.toString();
  }
}

/** A value that is its text. */
abstract class TextValue {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return this.text;
  }
  toJSON(): string {
    return this.text;
  }
}
/** An IPv4 or IPv6 address. */
export class Address extends TextValue {
  readonly kind = 'ip';
}
/** A network: address and prefix length. */
export class Network extends TextValue {
  readonly kind = 'net';
}
/** A symbol of an enum. */
export class Symbolic extends TextValue {
  readonly kind = 'enum';
}

/** A type as a value. */
export class TypeValue {
  readonly type: Type;
  constructor(type: Type) {
    this.type = type;
  }
  toString(): string {
    return `<${typeText(this.type)}>`;
  }
  toJSON(): string {
    return this.toString();
  }
}

/** An error that is a value: a bad cell of the data, not a failed request. */
export class ErrorValue {
  readonly value: LakeValue;
  constructor(value: LakeValue) {
    this.value = value;
  }
  toString(): string {
    return `error(${typeof this.value === 'string' ? JSON.stringify(this.value) : String(this.value)})`;
  }
  toJSON(): unknown {
    return { error: this.value };
  }
}
