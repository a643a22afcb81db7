/**
 * A message that may come once and comes in several fields is all of them together (Protocol Buffers, "Last One Wins"):
 * requests whose messages were cut into pieces have the rows of the whole ones, however deep the pieces lie.
 */
import { expect, test } from 'vitest';
import { LakeError } from '../../../../src/errors.ts';
import { openReader } from '../../../../src/formats/formats.ts';
import type { Signal } from '../../../../src/formats/otlp/schema.ts';
import { ReadMemory } from '../../../../src/formats/read-memory.ts';
import { supText } from '../../../../src/vectors/sup/print.ts';
import { valueAt } from '../../../../src/vectors/vector.ts';
import { otlpBytes } from '../../../support/formats/otlp.ts';
import { type Random, randomOf, seedOf } from '../../../support/random.ts';

/** The messages within a message by the numbers of their fields: whether it may come once, what is in it. */
interface Spec {
  readonly [number: number]: { readonly once?: true; readonly of: () => Spec };
}
const anyValue: Spec = {
  5: { once: true, of: () => ({ 1: { of: () => anyValue } }) },
  6: { once: true, of: () => ({ 1: { of: () => keyValue } }) },
};
const keyValue: Spec = { 2: { once: true, of: () => anyValue } };
const withAttributes =
  (number: number, more: Spec = {}): (() => Spec) =>
  () => ({ [number]: { of: () => keyValue }, ...more });
const bucketed = { once: true, of: () => ({}) } as const;
const points = (attributes: number, more?: Spec) =>
  ({ once: true, of: () => ({ 1: { of: withAttributes(attributes, more) } }) }) as const;
const leaves: Readonly<Record<Signal, Spec>> = {
  logs: { 5: { once: true, of: () => anyValue }, 6: { of: () => keyValue } },
  traces: {
    9: { of: () => keyValue },
    11: { of: withAttributes(3) },
    13: { of: withAttributes(4) },
    15: { once: true, of: () => ({}) },
  },
  metrics: {
    5: points(7),
    7: points(7),
    9: points(9),
    10: points(1, { 8: bucketed, 9: bucketed }),
    12: { of: () => keyValue },
  },
};
const requestOf = (signal: Signal): Spec => ({
  1: {
    of: () => ({
      1: { once: true, of: withAttributes(1) },
      2: { of: () => ({ 1: { once: true, of: withAttributes(3) }, 2: { of: () => leaves[signal] } }) },
    }),
  },
});

const varint = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 0x80))];
const fieldOf = (number: number, inner: Buffer): Buffer =>
  Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(inner.length)]), inner]);

/** The fields of a message, as their numbers and all of their bytes; `inner`: what is in one with a length. */
const fieldsOf = (message: Buffer): { number: number; all: Buffer; inner?: Buffer }[] => {
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const b = message[at++]!;
      value += (b & 0x7f) * shift;
      if (b < 0x80) return value;
    }
  };
  const fields = [];
  while (at < message.length) {
    const start = at;
    const tag = number();
    let inner: Buffer | undefined;
    if ((tag & 7) === 0) number();
    else if ((tag & 7) === 2) {
      const length = number();
      inner = message.subarray(at, (at += length));
    } else at += (tag & 7) === 1 ? 8 : 4;
    fields.push({ number: tag >>> 3, all: message.subarray(start, at), ...(inner && { inner }) });
  }
  return fields;
};

/** The message with some of those within it cut into pieces, one after the other or with other fields between. */
const inPieces = (message: Buffer, spec: Spec, random: Random): Buffer => {
  const out: Buffer[] = [];
  const later: Buffer[] = [];
  for (const { number, all, inner } of fieldsOf(message)) {
    const known = spec[number];
    if (!known || !inner) {
      out.push(all);
      continue;
    }
    const parts = fieldsOf(Buffer.from(inPieces(inner, known.of(), random))).map((part) => part.all);
    const cuts = known.once ? random.below(4) : 0;
    for (let i = 0; i < cuts; i++) {
      const piece = fieldOf(number, Buffer.concat(parts.splice(0, random.below(parts.length + 1))));
      out.push(piece);
    }
    // The last piece may come behind all else that the message says.
    (cuts > 0 && spec !== anyValue && random.below(2) === 0 ? later : out).push(fieldOf(number, Buffer.concat(parts)));
  }
  return Buffer.concat([...out, ...later]);
};

const times = { timeUnixNano: '2000000000', startTimeUnixNano: '1000000000' };
const textOf = (random: Random): string => random.pick(['', 'a', 'b.c', 'é', 'x'.repeat(200)]);
const valueOf = (random: Random, depth = 3): object => {
  const many = <T>(item: () => T): T[] => Array.from({ length: random.below(4) }, item);
  switch (depth === 0 ? random.below(3) : random.below(6)) {
    case 0:
      return {};
    case 1:
      return { stringValue: textOf(random) };
    case 2:
      return { intValue: random.below(1000) };
    case 3:
      return { arrayValue: { values: many(() => valueOf(random, depth - 1)) } };
    default:
      return { kvlistValue: { values: attributesOf(random, depth - 1) } };
  }
};
const attributesOf = (random: Random, depth = 2): object[] =>
  Array.from({ length: random.below(4) }, () => ({ key: textOf(random), value: valueOf(random, depth) }));
const leafOf: Readonly<Record<Signal, (random: Random) => object>> = {
  logs: (random) => ({ body: valueOf(random), attributes: attributesOf(random), severityText: textOf(random) }),
  traces: (random) => ({
    name: textOf(random),
    attributes: attributesOf(random),
    status: { code: random.below(3), message: textOf(random) },
    events: [{ name: 'e', attributes: attributesOf(random) }],
  }),
  metrics: (random) => {
    const attributes = attributesOf(random);
    const dataPoints = (more: object): object[] =>
      Array.from({ length: random.below(3) }, () => ({ ...times, attributes, ...more }));
    return {
      name: textOf(random),
      ...random.pick([
        { gauge: { dataPoints: dataPoints({ asDouble: 1.5 }) } },
        { sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints: dataPoints({ asInt: 7 }) } },
        { histogram: { aggregationTemporality: 1, dataPoints: dataPoints({ count: 3, bucketCounts: [1, 2] }) } },
        { exponentialHistogram: { dataPoints: dataPoints({ scale: 2, positive: { offset: 1, bucketCounts: [4] } }) } },
      ]),
    };
  },
};
const requestFor = (signal: Signal, random: Random): object => {
  const leafs = Array.from({ length: 1 + random.below(4) }, () => leafOf[signal](random));
  const names = {
    logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
    traces: ['resourceSpans', 'scopeSpans', 'spans'],
    metrics: ['resourceMetrics', 'scopeMetrics', 'metrics'],
  }[signal];
  return {
    [names[0]!]: [
      {
        resource: { attributes: attributesOf(random) },
        [names[1]!]: [{ scope: { name: 's', attributes: attributesOf(random) }, [names[2]!]: leafs }],
      },
    ],
  };
};

const read = async (signal: Signal, bytes: Uint8Array, bytesMax?: number): Promise<readonly string[]> => {
  const rows: string[] = [];
  const body = (async function* () {
    yield bytes;
  })();
  const options = bytesMax === undefined ? {} : { memory: new ReadMemory(() => bytesMax) };
  for await (const batch of await openReader(`otlp-${signal}`, body, options))
    for (let i = 0; i < batch.length; i++) rows.push(supText(valueAt(batch, i)));
  return rows;
};

test('messages in pieces are read as the whole ones', async () => {
  const seed = seedOf(20);
  const random = randomOf(seed);
  for (let i = 0; i < 60; i++) {
    const signal = random.pick(['logs', 'traces', 'metrics'] as const);
    const whole = Buffer.from(otlpBytes(signal, requestFor(signal, random)));
    const pieces = inPieces(whole, requestOf(signal), random);
    expect(await read(signal, pieces), `seed ${seed}, request ${i}: ${pieces.toString('hex')}`).toEqual(
      await read(signal, whole),
    );
  }
});

test('of the kinds of points, the last one counts with what was said of it since', async () => {
  const point = Buffer.from('190094357700000000', 'hex');
  const gauge = fieldOf(5, fieldOf(1, point));
  const sum = fieldOf(7, fieldOf(1, point));
  const kinds = async (...data: readonly Buffer[]): Promise<readonly string[]> =>
    (await read('metrics', fieldOf(1, fieldOf(2, fieldOf(2, Buffer.concat(data)))))).map(
      (row) => /kind:"(\w+)"/.exec(row)![1]!,
    );
  expect(await kinds(gauge, gauge)).toEqual(['gauge', 'gauge']);
  expect(await kinds(gauge, sum, sum)).toEqual(['sum', 'sum']);
  expect(await kinds(gauge, sum, gauge)).toEqual(['gauge']);
  expect(await kinds(gauge, fieldOf(5, Buffer.alloc(0)))).toEqual(['gauge']);
});

test('what is joined is accounted for', async () => {
  // A list in two pieces within a list in two pieces, and so on: each level is copied.
  let value = fieldOf(1, Buffer.alloc(50_000, 'x'));
  for (let depth = 0; depth < 20; depth++)
    value = Buffer.concat([fieldOf(5, fieldOf(1, value)), fieldOf(5, fieldOf(1, value.subarray(0, 0)))]);
  const request = fieldOf(1, fieldOf(2, fieldOf(2, fieldOf(5, value))));
  expect(await read('logs', request)).toHaveLength(1);
  const refused = await read('logs', request, 700_000).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(LakeError);
  expect(refused).toMatchObject({ code: 'format-memory' });
});
