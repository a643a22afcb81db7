/**
 * Columns that objects of version 2 brought: times as text in numbers, filters of values; and scans that look for the
 * best rows first.
 */
import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { filterOf, mayHold } from '../../../src/lake/columns/membership.ts';
import { BlockScanner } from '../../../src/lake/scan/block.ts';
import { type ObjectReader, openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { scanObjects } from '../../../src/lake/scan/scan.ts';
import type { ScanOptions } from '../../../src/lake/scan/scan.types.ts';
import type { ScanFilter } from '../../../src/exec/source.ts';
import type { PlanExpr, PlanOp, SortKey } from '../../../src/query/plan/plan.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { compileExpression } from '../../../src/exec/expressions/compile.ts';
import { areTimeTexts, rangeOfBounds } from '../../../src/vectors/texts/times.ts';
import { types } from '../../../src/vectors/type.ts';
import { type Value, intValue, nullValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import {
  type BytesVector,
  type RecordVector,
  type Vector,
  dataAt,
  gather,
  slice,
  take,
  valueAt,
} from '../../../src/vectors/vector.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { planOf, runPlan, supOf } from '../../support/queries/run-plan.ts';

const noKeys = { first: new Uint8Array(0), last: new Uint8Array(0) };
const encode = (rows: Vector, blockRows: number, rowsExpected = 1 << 20): Uint8Array => {
  const chunks: Uint8Array[] = [];
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), { rowsExpected });
  for (let at = 0; at < rows.length; at += blockRows)
    writer.block(slice(rows, at, Math.min(at + blockRows, rows.length)), noKeys);
  writer.finish();
  return Buffer.concat(chunks);
};
const open = (bytes: Uint8Array): ObjectReader => openObject(sourceOfBytes('0'.repeat(40), bytes)) as ObjectReader;
const versionOf = (bytes: Uint8Array): number =>
  bytes[bytes.length - 16 - new DataView(bytes.buffer, bytes.byteOffset).getUint32(bytes.length - 16, true)]!;
const recordOf = (name: string, list: readonly string[]): Vector =>
  vectorOf(list.map((t) => recordValue([{ name, value: stringValue(t) }])));
const fieldOf = (v: Vector): Vector => (v as RecordVector).fields[0]!.values;

describe('times as text', () => {
  const texts = (count: number, text: (i: number) => string): string[] =>
    Array.from({ length: count }, (_, i) => text(i));
  const iso = (i: number, digits: number): string =>
    `${new Date(1_700_000_000_000 + i * 977).toISOString().slice(0, 20)}${String((i * 7919) % 10 ** digits).padStart(digits, '0')}Z`;
  test.each([1, 2, 3, 4, 5, 6])('with %i digits take few bytes and come back', (digits) => {
    const list = texts(1000, (i) => iso(i, digits));
    const bytes = encode(recordOf('ts', list), 500);
    const reader = open(bytes);
    expect(versionOf(bytes)).toBe(2);
    expect(bytes.length).toBeLessThan(list.length * 9);
    expect(areTimeTexts(fieldOf(reader.read(0) as Vector))).toBe(true);
    expect(
      [0, 1].flatMap((k) => {
        const v = fieldOf(reader.read(k) as Vector);
        return Array.from({ length: v.length }, (_, i) => dataAt(v, i));
      }),
    ).toEqual(list);
  });
  test.each(['rising', 'even', 'in no order'])('a few of many, %s, are the same as of all', (steps) => {
    const list = texts(1000, (i) =>
      iso(steps === 'rising' ? i + (i % 3) : steps === 'even' ? i : (i * 7) % 1000, steps === 'even' ? 3 : 6),
    ).map((t) => (steps === 'even' ? t.replace(/\.\d+/, '.000') : t));
    const bytes = encode(recordOf('ts', list), 1000);
    const column = (): Vector => fieldOf(open(bytes).read(0) as Vector);
    const all = (v: Vector): unknown[] => Array.from({ length: v.length }, (_, i) => dataAt(v, i));
    expect(areTimeTexts(column())).toBe(true);
    for (const index of [[3, 40, 40, 999], [999, 2], [0], []].map((rows) => Uint32Array.from(rows))) {
      const wanted = Array.from(index, (i) => list[i]);
      expect([
        all(take(column(), index)),
        all(gather(column(), index)),
        all(
          take(
            slice(column(), 1, 1000),
            index.map((i) => Math.max(0, i - 1)),
          ),
        ),
      ]).toEqual([wanted, wanted, Array.from(index, (i) => list[Math.max(1, i)])]);
    }
    for (const [start, end] of [
      [0, 1],
      [0, 62],
      [500, 540],
      [999, 1000],
      [7, 7],
    ] as const)
      expect(all(slice(column(), start, end))).toEqual(list.slice(start, end));
  });
  test('in any order, with one row of another spelling or too far from the others', () => {
    const changes: readonly ((list: string[]) => string[])[] = [
      (list) => list.toReversed(),
      (list) => list.map((_, i) => list[(i * 7919) % list.length]!),
      (list) => list.with(77, 'n/a'),
      (list) => list.with(77, list[77]!.replace('T', ' ')),
      (list) => list.with(77, '1700-01-01T00:00:00.000Z'),
    ];
    for (const [k, change] of changes.entries()) {
      const list = change(texts(300, (i) => iso(i, 3)));
      const v = fieldOf(open(encode(recordOf('ts', list), 300)).read(0) as Vector);
      expect([k, areTimeTexts(v), Array.from({ length: v.length }, (_, i) => dataAt(v, i))]).toEqual([k, k < 2, list]);
    }
  });
  test('buckets of whole blocks follow from their bounds, others from the times in them', () => {
    const cast: PlanExpr = { kind: 'cast', operand: { kind: 'this' }, type: types.time };
    for (const [step, first] of [
      [977, 1_700_000_000_000],
      [60_000, 1_700_006_399_001],
      [3_600_000, 0],
      [61, 1_700_006_340_000],
      [977, -500_000],
    ] as const) {
      for (const size of [3600e9, 60e9, 86_400e9, 7e9, 5e8]) {
        const list = texts(600, (i) => new Date(first + i * step).toISOString());
        const reader = open(encode(recordOf('ts', list), 100));
        const context = { functions: [], names: new Map() };
        const bucket = compileExpression(
          {
            kind: 'call',
            name: 'bucket',
            arguments: [cast, { kind: 'literal', value: { type: types.duration, data: size } }],
          },
          context,
        );
        const all = (v: Vector): unknown[] => Array.from({ length: v.length }, (_, i) => dataAt(v, i));
        expect(reader.blocks.flatMap((_, k) => all(bucket(fieldOf(reader.read(k) as Vector))))).toEqual(
          all(bucket(vectorOf(list.map(stringValue)))),
        );
      }
    }
    const range = (min: string, max: string): unknown =>
      rangeOfBounds({ min: Buffer.from(min), max: Buffer.from(max) });
    expect([
      range('2026-01-01T00:58', '2026-01-01T01:0:'),
      range('2026-01-01T00:58', '2026-01-01T00:59'),
      range('2026-01', '2026-01-01T00:59'),
      range('2026-01-01T00:5x', '2026-01-01T00:59'),
    ]).toEqual([{ least: 1767229080, end: 1767229800 }, { least: 1767229080, end: 1767229140 }, undefined, undefined]);
  });
  test('bounds rule blocks out', () => {
    const reader = open(
      encode(
        recordOf(
          'ts',
          texts(400, (i) => new Date(1_700_000_000_000 + i * 60_000).toISOString()),
        ),
        100,
      ),
    );
    const passing = (operator: '<' | '>' | '==', text: string): number[] =>
      [0, 1, 2, 3].filter((k) =>
        reader.mayMatch(k, { kind: 'test', test: { path: ['ts'], operator, value: stringValue(text) } }),
      );
    const at = (i: number): string => new Date(1_700_000_000_000 + i * 60_000).toISOString();
    expect([passing('<', at(100)), passing('>', at(250)), passing('==', at(150)), passing('==', '2024')]).toEqual([
      [0, 1],
      [2, 3],
      [1],
      [],
    ]);
  });
  test('objects without any are of the first version', () => {
    expect(versionOf(encode(recordOf('a', ['x', 'y']), 10, 2))).toBe(1);
  });
});

describe('filters of values', () => {
  test('know every value that is there', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 500 }), (list) => {
        const v = vectorOf(list.map(stringValue)) as BytesVector;
        const words = filterOf(v);
        expect(list.every((t) => mayHold(words, Buffer.from(t)))).toBe(true);
      }),
    );
  });
  test('know of most others that they are not, and stay what they were', () => {
    const words = filterOf(
      vectorOf(Array.from({ length: 5000 }, (_, i) => stringValue(`C${(i * 7919).toString(36)}`))) as BytesVector,
    );
    const wrong = Array.from({ length: 10_000 }, (_, i) => `D${(i * 104_729).toString(36)}`).filter((t) =>
      mayHold(words, Buffer.from(t)),
    ).length;
    expect(wrong).toBeLessThan(800);
    // Stored filters are read for ever: another hash needs another encoding.
    expect([words.length, words[0], words[1000]]).toEqual([1563, 746858651, 2311422472]);
  });

  const uid = (i: number): string => `C${((i * 7919) % 1_000_003).toString(36)}`;
  const rows = vectorOf(
    Array.from({ length: 6000 }, (_, i) =>
      recordValue(
        i % 2
          ? [
              { name: 'uid', value: stringValue(uid(i)) },
              { name: 'n', value: intValue(i) },
            ]
          : [{ name: 'uid', value: stringValue(uid(i)) }],
      ),
    ),
  );
  const reader = open(encode(rows, 1000));
  test.each([[uid(3)], [uid(5998)], ['absent'], ['C'], ['']])(
    'a look-up of %j finds what a look at all rows finds',
    async (wanted) => {
      const test = (operator: '==' | '!=') =>
        ({ kind: 'test', test: { path: ['uid'], operator, value: stringValue(wanted) } }) as const;
      let looked = 0;
      const found: string[] = [];
      const filter = {
        keep: (batch: Vector) => {
          looked++;
          return Uint32Array.from(
            Array.from({ length: batch.length }, (_, i) => i).filter(
              (i) => (valueAt(batch, i).data as unknown[])[0] === wanted,
            ),
          );
        },
      };
      const scanner = new BlockScanner({
        filter,
        pruner: {
          kind: 'all',
          of: [
            test('=='),
            {
              kind: 'any',
              of: [test('=='), { kind: 'test', test: { path: ['n'], operator: '<', value: intValue(-1) } }],
            },
          ],
        },
      });
      for (let k = 0; k < reader.blocks.length; k++)
        for (const part of await scanner.parts(reader, k))
          for (let i = 0; i < part.length; i++) found.push(supText(valueAt(part, i)));
      expect(found).toEqual(
        Array.from({ length: rows.length }, (_, i) => valueAt(rows, i))
          .filter((v) => (v.data as unknown[])[0] === wanted)
          .map((v) => supText(v)),
      );
      expect(looked).toBeLessThan(6);
      const all = new BlockScanner({ pruner: test('!=') });
      expect((await all.parts(reader, 0)).reduce((n, p) => n + p.length, 0)).toBe(1000);
    },
  );
});

describe('the best rows', () => {
  const field = (name: string): PlanExpr => ({ kind: 'field', of: { kind: 'this' }, name });
  /** Numbers that few blocks hold the best of, with ties; some rows have none, null, a text or a float. */
  const valueOf = (i: number): Value | undefined =>
    i % 101 === 0
      ? undefined
      : i % 97 === 0
        ? nullValue
        : i % 1999 === 0
          ? stringValue('x')
          : i % 2003 === 0
            ? { type: types.float64, data: i % 2 ? NaN : 17.5 }
            : intValue(((i * 7919) % 10_007) - Math.floor(i / 2000) * 400);
  const recordFor =
    (plain: boolean) =>
    (_: unknown, i: number): Value => {
      const n = plain ? intValue(((i * 7919) % 9973) - Math.floor(i / 2000) * 300) : valueOf(i);
      const id = { name: 'id', value: intValue(i) };
      return recordValue(
        i % 3 === 0 ? [id, { name: 'other', value: stringValue(`t${i}`) }] : n ? [id, { name: 'n', value: n }] : [id],
      );
    };
  const scanned = (rows: Vector, bytes: Uint8Array, looks: { count: number }) => {
    const meta = {
      id: '0'.repeat(40),
      count: rows.length,
      size: bytes.length,
      min: { text: '', sort: noKeys.first },
      max: { text: '', sort: noKeys.first },
    };
    const source = {
      keys: [['id']],
      order: 'asc' as const,
      objects: {
        readRange: (_: string, at: number, length: number) => new Uint8Array(bytes.subarray(at, at + length)),
      },
      page: () => ({ objects: [meta] }),
    };
    return (filter: ScanFilter | undefined, request: Partial<ScanOptions>): AsyncIterable<Vector> =>
      scanObjects(source, {
        ordered: false,
        ...request,
        ...(filter && {
          filter: {
            ...filter,
            keep: (batch: Vector) => {
              looks.count += batch.length;
              return filter.keep(batch);
            },
          },
        }),
      });
  };
  const keysOf = (order: 'asc' | 'desc', nulls: 'first' | 'last'): SortKey[] => [
    { expr: field('n'), order, nulls },
    { expr: field('id'), order: 'asc', nulls: 'last' },
  ];

  describe.each([true, false])('where all are integers: %s', (plain) => {
    const rows = vectorOf(Array.from({ length: 20_000 }, recordFor(plain)));
    const bytes = encode(rows, 1250);
    const keep: PlanOp = {
      kind: 'filter',
      expr: { kind: 'compare', operator: '>', left: field('id'), right: { kind: 'literal', value: intValue(4000) } },
    };
    test.each([
      ['asc', 'last', false],
      ['asc', 'first', false],
      ['desc', 'last', false],
      ['desc', 'first', false],
      ['desc', 'last', true],
      ['asc', 'first', true],
    ] as const)(
      '%s, nulls %s, filtered: %s: both ends of the sort are those of all rows',
      async (order, nulls, filtered) => {
        const keys = keysOf(order, nulls);
        const plan = (...ops: readonly PlanOp[]) => {
          const {
            pipeline: {
              ops: [scan, ...rest],
            },
            functions,
          } = planOf([...(filtered ? [keep] : []), ...ops]);
          const [first, ...others] = rest;
          const source = { ...scan, ordered: false, ...(first?.kind === 'filter' && { filter: first.expr }) } as PlanOp;
          return { pipeline: { ops: [source, ...(first?.kind === 'filter' ? others : rest)] }, functions };
        };
        const looks = { count: 0 };
        const scan = scanned(rows, bytes, looks);
        const run = async (...ops: readonly PlanOp[]): Promise<string[]> => {
          const host = {
            filters: () => true,
            scan: (_: unknown, { filter, ...request }: ScanOptions & { readonly filter?: ScanFilter }) =>
              scan(filter, request),
          };
          return supOf(
            (await runPlan(plan(...ops), { input: rows }, { host: host as never, batchRows: 8192 })).map(
              (b) => b.batch,
            ),
          )
            .trimEnd()
            .split('\n');
        };
        const sorted = await run({ kind: 'sort', keys, reverse: false });
        expect(sorted).toHaveLength(filtered ? 20_000 - 4001 : 20_000);
        for (const count of [1, 70]) {
          looks.count = 0;
          expect(await run({ kind: 'top', count, keys, reverse: false })).toEqual(sorted.slice(0, count));
          if (plain && nulls === 'last' && order === 'desc' && count === 1)
            expect(looks.count).toBeLessThan(rows.length / 2);
          expect(await run({ kind: 'sort', keys, reverse: false }, { kind: 'tail', count })).toEqual(
            sorted.slice(-count),
          );
        }
      },
    );
  });
});
