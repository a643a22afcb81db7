/** Readers of OTLP are used again for the next request: nothing of one is in another. */
import { expect, test } from 'vitest';
import { openReader, wholeReaderOf } from '../../../../src/formats/formats.ts';
import type { ReadOptions } from '../../../../src/formats/format.types.ts';
import { supText } from '../../../../src/vectors/sup/print.ts';
import { type Vector, valueAt } from '../../../../src/vectors/vector.ts';
import { logRecord, logsOf, otlpBytes } from '../../../support/formats/otlp.ts';

const withKeys = (text: string, ...keys: readonly string[]): object => ({
  ...logRecord(text),
  attributes: keys.map((key) => ({ key, value: { stringValue: `${key} of ${text}` } })),
});
const shown = (batch: Vector): readonly string[] =>
  Array.from({ length: batch.length }, (_, i) => supText(valueAt(batch, i)));
const batchesOf = (request: object, options: ReadOptions = {}): Iterator<Vector> => {
  const batches = wholeReaderOf('otlp-logs')!(otlpBytes('logs', request), options);
  return (batches as Iterable<Vector>)[Symbol.iterator]();
};
const rowsOf = (request: object): readonly string[] => {
  const batches = batchesOf(request);
  const rows: string[] = [];
  for (let next = batches.next(); !next.done; next = batches.next()) rows.push(...shown(next.value));
  return rows;
};
const attributesIn = (row: string): string => /attributes:(\{[^}]*\})/.exec(row)![1]!;

test('a request has its own attributes, whatever the one before had', () => {
  const first = logsOf(withKeys('a', 'x', 'y'), withKeys('b', 'x'));
  const second = logsOf(withKeys('c', 'y', 'x'), withKeys('d', 'z'));
  const before = [rowsOf(first), rowsOf(second)];
  expect(before[0]!.map(attributesIn)).toEqual(['{x:"x of a",y:"y of a"}', '{x:"x of b"}']);
  expect(before[1]!.map(attributesIn)).toEqual(['{y:"y of c",x:"x of c"}', '{z:"z of d"}']);
  for (let round = 0; round < 3; round++) expect([rowsOf(first), rowsOf(second)]).toEqual(before);
});

test('a request without rows, or one that ends in the middle of a record, leaves nothing behind', async () => {
  const request = logsOf(withKeys('a', 'x'));
  const rows = rowsOf(request);
  expect(rowsOf({ resourceLogs: [{ resource: { attributes: [{ key: 'k', value: { intValue: 1 } }] } }] })).toEqual([]);
  expect(rowsOf(request)).toEqual(rows);
  const cut = otlpBytes('logs', logsOf(withKeys('a', 'x'), withKeys('b', 'y'))).slice(0, -3);
  async function* once(): AsyncGenerator<Uint8Array> {
    yield cut;
  }
  const reading = async (): Promise<void> => {
    for await (const batch of await openReader('otlp-logs', once(), {})) shown(batch);
  };
  await expect(reading()).rejects.toThrow('otlp logs');
  expect(rowsOf(request)).toEqual(rows);
});

test('requests that are read at the same time, batch by batch, do not meet', () => {
  const [one, other] = ['one', 'other'].map((name) =>
    batchesOf(logsOf(...Array.from({ length: 6 }, (_, k) => withKeys(`${name} ${k}`, `${name}${k % 2}`))), {
      batchRows: 2,
    }),
  );
  const rows: string[] = [];
  for (let k = 0; k < 3; k++) for (const reader of [one!, other!]) rows.push(...shown(reader.next().value as Vector));
  expect(rows.map(attributesIn)).toEqual(
    [0, 2, 4].flatMap((from) =>
      ['one', 'other'].flatMap((name) => [0, 1].map((k) => `{${name}${k}:"${name}${k} of ${name} ${from + k}"}`)),
    ),
  );
});
