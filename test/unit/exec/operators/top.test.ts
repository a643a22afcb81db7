/** The first and last rows of a sort, cut many times on the way: the same as sorting everything. */
import { expect, test } from 'vitest';
import type { PlanExpr, PlanOp, SortKey } from '../../../../src/query/plan/plan.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { type Value, intValue, nullValue, recordValue, stringValue } from '../../../../src/vectors/value.ts';
import { types } from '../../../../src/vectors/type.ts';
import { planOf, runPlan, supOf } from '../../../support/queries/run-plan.ts';

const field = (name: string): PlanExpr => ({ kind: 'field', of: { kind: 'this' }, name });
/** Few values of `a`, some missing, null, text or NaN; `b` tells the rows apart. */
const valueOf = (n: number): Value =>
  n % 11 === 0
    ? nullValue
    : n % 13 === 0
      ? stringValue('x')
      : n % 29 === 0
        ? { type: types.float64, data: NaN }
        : intValue((n * 7) % 5);
/** Texts that begin alike, some null. */
const textOf = (n: number): Value => (n % 23 === 0 ? nullValue : stringValue('text'.repeat((n * 7) % 3) + (n % 97)));
const rows = vectorOf(
  Array.from({ length: 3000 }, (_, i) => {
    const n = (i * 7919) % 3000;
    const others = [
      { name: 'b', value: intValue(n) },
      { name: 't', value: textOf(n) },
    ];
    return recordValue(n % 17 === 0 ? others : [{ name: 'a', value: valueOf(n) }, ...others]);
  }),
);
const run = async (...ops: readonly PlanOp[]): Promise<string> =>
  supOf((await runPlan(planOf(ops), { input: rows }, { batchRows: 16 })).map((b) => b.batch));

const keysOf = (
  name: string,
  order: 'asc' | 'desc',
  nulls: 'first' | 'last',
  second: boolean,
  sql: boolean,
): SortKey[] => [
  { expr: field(name), order, nulls, ...(sql && { sql }) },
  ...(second ? [{ expr: field('b'), order: 'asc', nulls: 'last' } as const] : []),
];

for (const order of ['asc', 'desc'] as const) {
  for (const nulls of ['first', 'last'] as const) {
    for (const second of [false, true]) {
      test(`${order}, nulls ${nulls}${second ? ', with a second key' : ''}: the ends of the sort`, async () => {
        for (const [name, count, sql] of [
          ['a', 1, false],
          ['a', 5, false],
          ['a', 700, false],
          ['a', 1, true],
          ['a', 130, true],
          ['a', 700, true],
          ['t', 1, false],
          ['t', 130, true],
        ] as const) {
          const keys = keysOf(name, order, nulls, second, sql);
          const sorted = (await run({ kind: 'sort', keys, reverse: false })).trimEnd().split('\n');
          expect((await run({ kind: 'top', count, keys, reverse: false })).trimEnd().split('\n')).toEqual(
            sorted.slice(0, count),
          );
          expect(
            (await run({ kind: 'sort', keys, reverse: false }, { kind: 'tail', count })).trimEnd().split('\n'),
          ).toEqual(sorted.slice(-count));
        }
      });
    }
  }
}
