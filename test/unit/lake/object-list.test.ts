import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planMerge } from '../../../src/lake/commits/commit.ts';
import { difference, type ObjectEntry, ObjectList } from '../../../src/lake/objects/list.ts';
import { decodeObjects, encodeObjects } from '../../../src/lake/tables/rows.ts';
import { bound } from './support.ts';

const entry = (sequence: number, min: number, max = min): ObjectEntry => ({
  id: sequence.toString(16).padStart(40, '0'),
  count: 1,
  size: 1,
  min: bound(min),
  max: bound(max),
  sequence,
  inTable: sequence % 2 === 0,
  vector: false,
});
const ids = (entries: Iterable<ObjectEntry>): number[] => [...entries].map((e) => e.sequence);
const number = (e: ObjectEntry, end: 'min' | 'max'): number => Number(e[end].text);
const ordered = (order: 'asc' | 'desc', entries: readonly ObjectEntry[]): ObjectEntry[] =>
  [...entries].sort(
    (a, b) =>
      (order === 'asc' ? number(a, 'min') - number(b, 'min') : number(b, 'max') - number(a, 'max')) ||
      a.sequence - b.sequence,
  );

describe('the list agrees with a sorted array', () => {
  test.each(['asc', 'desc'] as const)('%s: adds and removes in any order and number', (order) => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            add: fc.array(fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 9 })), {
              maxLength: 400,
            }),
            remove: fc.array(fc.nat(), { maxLength: 40 }),
          }),
          { maxLength: 8 },
        ),
        fc.integer({ min: 0, max: 70 }),
        fc.integer({ min: 0, max: 20 }),
        fc.integer({ min: 1, max: 50 }),
        (rounds, low, width, limit) => {
          let list = ObjectList.empty(order);
          let model: ObjectEntry[] = [];
          let sequence = 0;
          for (const { add, remove } of rounds) {
            const removes = [...new Set(remove.filter(() => model.length > 0).map((n) => model[n % model.length]!))];
            const adds = add.map(([min, span]) => entry(sequence++, min, min + span));
            const before = list;
            list = list.change(removes, adds);
            model = ordered(order, [...model.filter((e) => !removes.includes(e)), ...adds]);
            const changes = difference(before, list);
            expect([ids(ordered(order, changes.removes)), ids(ordered(order, changes.adds))]).toEqual([
              ids(ordered(order, removes)),
              ids(ordered(order, adds)),
            ]);
          }
          expect(ids(list.entries())).toEqual(ids(model));
          expect(list.length).toBe(model.length);
          expect(list.chunks.every((chunk) => chunk.entries.length > 0 && chunk.entries.length <= 256)).toBe(true);
          for (const e of model) expect(list.has(e)).toBe(true);
          expect(list.has(entry(sequence, 30))).toBe(false);
          const pages: number[] = [];
          for (let from: number | undefined = 0; from !== undefined; ) {
            const page = list.page(from, limit, { min: bound(low).sort, max: bound(low + width).sort });
            pages.push(...ids(page.entries));
            from = page.next;
          }
          expect(pages).toEqual(ids(model.filter((e) => number(e, 'max') >= low && number(e, 'min') <= low + width)));
        },
      ),
      { numRuns: 60 },
    );
  });

  test('the packed form gives the same entries', () => {
    const entries = [
      entry(1, 5),
      { ...entry(2, 5, 9), vector: true },
      { ...entry(3, 7), min: { text: '"日本"', sort: Uint8Array.of(1, 0, 255) } },
      entry(4, -3),
    ];
    expect(
      decodeObjects('', encodeObjects(entries)).map((e) => ({
        ...e,
        min: { ...e.min, sort: [...e.min.sort] },
        max: { ...e.max, sort: [...e.max.sort] },
      })),
    ).toEqual(
      entries.map((e) => ({
        ...e,
        min: { ...e.min, sort: [...e.min.sort] },
        max: { ...e.max, sort: [...e.max.sort] },
      })),
    );
  });

  test('one more object in a list of 100,000 copies two chunks at most', () => {
    const list = ObjectList.of(
      'asc',
      Array.from({ length: 100_000 }, (_, i) => entry(i, i)),
    );
    const next = list.change([], [entry(100_000, 50_000)]);
    const shared = new Set(list.chunks);
    expect(next.chunks.filter((chunk) => !shared.has(chunk)).length).toBeLessThanOrEqual(2);
  });
});

describe('merge by object', () => {
  const all = Array.from({ length: 12 }, (_, i) => entry(i, i));
  const subset = fc.subarray(all).map((entries) => ObjectList.of('asc', entries));

  test('a side that did nothing changes nothing; adds and deletes of both sides are all there', () => {
    fc.assert(
      fc.property(subset, subset, subset, (base, target, child) => {
        expect(planMerge(base, target, base)).toMatchObject({ adds: [], removes: [] });
        const { adds, removes, own, gone, removed } = planMerge(base, target, child);
        const merged = target.change(removes, adds);
        for (const e of all) {
          const [inBase, inTarget, inChild] = [base.has(e), target.has(e), child.has(e)];
          // Whoever changed it wins; both can only have changed it the same way.
          expect(merged.has(e)).toBe(inTarget === inBase ? inChild : inTarget);
        }
        const where = (inBase: boolean, inTarget: boolean, inChild: boolean) =>
          ids(all.filter((e) => base.has(e) === inBase && target.has(e) === inTarget && child.has(e) === inChild));
        expect([ids(own), ids(gone), ids(removed)]).toEqual([
          where(false, true, false),
          where(true, false, false),
          where(true, false, true),
        ]);
      }),
    );
  });
});
