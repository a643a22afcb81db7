/** OTLP's JSON to bytes: numbers to their last bit against BigInt and Number, names and ids where they lie. */
import { describe, expect, test } from 'vitest';
import { Wire } from '../../../../src/formats/otlp/wire.ts';
import { wireOfJson } from '../../../../src/formats/otlp/json.ts';
import { ValueMemory } from '../../../../src/formats/value-memory.ts';
import { randomOf, seedOf } from '../../../support/random.ts';

const wireOf = (text: string): Uint8Array =>
  wireOfJson(Buffer.from(text), 'logs', {
    memory: new ValueMemory(undefined, 'otlp', () => 'request'),
    nestingMax: 100,
  });
const logOf = (member: string): string => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{${member}}]}]}]}`;
/** What the message has in this field of its only record, which lies under so many messages. */
const fieldOf = (text: string, number: number, levels = 3): { readonly wire: Wire; readonly end: number } => {
  const wire = new Wire().open(wireOf(text));
  let end = wire.bytes.length;
  for (let level = 0; level < levels; level++) {
    wire.tag(end);
    end = wire.length(end);
  }
  expect(wire.tag(end) >>> 3).toBe(number);
  return { wire, end };
};
const bodyOf = (name: string, value: string, number: number) =>
  fieldOf(logOf(`"body":{"${name}":${value}}`), number, 4);

const seed = seedOf(1);
const random = randomOf(seed);
/** Whole numbers near the ends of what their kinds hold, and of every length. */
const wholes = (): bigint => {
  const ends = [0n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 63n, 2n ** 64n];
  const sign = random.below(2) === 0 ? 1n : -1n;
  if (random.below(2) === 0) return sign * (random.pick(ends) + BigInt(random.below(5)) - 2n);
  return sign * BigInt(`0x${random.hex(1 + random.below(17))}`);
};

describe('numbers', () => {
  test('whole ones are exact, or outside of what the field holds', () => {
    for (let i = 0; i < 600; i++) {
      const n = wholes();
      const shown = `seed ${seed}: ${n}`;
      const text =
        random.below(2) === 0 ? `${n}` : `"${n < 0n ? '-' : ''}${'0'.repeat(random.below(3))}${n < 0n ? -n : n}"`;
      if (BigInt.asIntN(64, n) !== n)
        expect(() => bodyOf('intValue', text, 3), shown).toThrow('is outside of what the field holds');
      else {
        const { wire, end } = bodyOf('intValue', text, 3);
        wire.varint(end);
        expect((BigInt(wire.high) << 32n) | BigInt(wire.low >>> 0), shown).toBe(n);
      }
      const time = logOf(`"timeUnixNano":${text}`);
      if (BigInt.asUintN(64, n) !== n) expect(() => wireOf(time), shown).toThrow('is outside of what the field holds');
      else {
        const { wire, end } = fieldOf(time, 1);
        wire.fixed64(end);
        expect((BigInt(wire.high >>> 0) << 32n) | BigInt(wire.low >>> 0), shown).toBe(n);
      }
      const severity = logOf(`"severityNumber":${text}`);
      if (BigInt.asIntN(32, n) !== n)
        expect(() => wireOf(severity), shown).toThrow('is outside of what the field holds');
      else {
        const { wire, end } = fieldOf(severity, 2);
        wire.varint(end);
        expect(wire.low, shown).toBe(Number(n));
      }
    }
  });
  test('floats are the nearest ones', () => {
    const digits = (): string => String(1 + random.below(10 ** (1 + random.below(9))));
    for (let i = 0; i < 600; i++) {
      const fraction = random.below(3) === 0 ? '' : `.${'0'.repeat(random.below(24))}${digits()}`;
      const exponent = random.below(4) === 0 ? `e${random.below(700) - 350}` : '';
      const text = `${random.pick(['', '-'])}${random.pick(['0', digits(), `${digits()}${digits()}`])}${fraction}${exponent}`;
      const { wire, end } = bodyOf('doubleValue', text, 4);
      const { at } = wire;
      wire.fixed64(end);
      expect(wire.double(at), `seed ${seed}: ${text}`).toBe(Number(text));
    }
  });
  test('what is none is refused, wherever it begins', () => {
    for (const text of ['-', '.5', '+1', '1.', '1e', '01', '--1', 'NaN', 'nul'])
      expect(() => wireOf(logOf(`"severityNumber":${text}`)), text).toThrow(/expected (?:a number|"}"), found/);
    expect(() => wireOf(logOf(`"severityNumber":1${'0'.repeat(400)}`))).toThrow('a number of more than 400 characters');
    expect(() => wireOf(logOf(`"severityNumber":"1${'0'.repeat(400)}"`))).toThrow('is outside of what the field holds');
    expect(() => wireOf(logOf('"severityNumber":""'))).toThrow('"" is no whole number');
  });
});

test('escapes change neither names nor numbers nor ids', () => {
  expect(wireOf(logOf('"\\u0074raceId":"\\u0061b","timeUnix\\u004eano":"\\u0031\\u0030"'))).toEqual(
    wireOf(logOf('"traceId":"ab","timeUnixNano":10')),
  );
});
test('names that are like ours are not ours', () => {
  for (const name of ['timeUnixNanp', 'TimeUnixNano', 'timeUnixNan', 'timeUnixNanoo', ''])
    expect(wireOf(logOf(`"${name}":{"a":[1,"b",null,true,{}]}`)), name).toEqual(wireOf(logOf('')));
});
test('texts are copied whole, whatever their length', () => {
  for (const length of [0, 1, 126, 127, 128, 129, 300, 70_000]) {
    const { wire, end } = bodyOf('stringValue', `"${'ä'.repeat(length >> 1)}${length & 1 ? 'x' : ''}"`, 1);
    expect(wire.length(end) - wire.at).toBe(length);
    expect(end - wire.at).toBe(length);
  }
});
