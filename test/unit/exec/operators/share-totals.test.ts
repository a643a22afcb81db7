import { expect, test } from 'vitest';
import { partWorker } from '../../../../src/exec/compile.ts';
import type { PartPlan, ScanRequest } from '../../../../src/exec/source.ts';
import type { Scan } from '../../../../src/query/plan/plan.ts';
import { types } from '../../../../src/vectors/type.ts';
import type { Vector } from '../../../../src/vectors/vector.ts';
import { contextOf } from '../../../support/queries/run-plan.ts';

const scanned: Scan = {
  kind: 'scan',
  sources: [{ kind: 'pool', name: 'rows', handle: '0' }],
  ordered: false,
  columns: [['n']],
};
const part: PartPlan = {
  ops: [scanned],
  aggregate: {
    kind: 'aggregate',
    keys: [],
    aggregates: [
      {
        target: ['sum'],
        aggregate: { name: 'sum', distinct: false, argument: { kind: 'field', of: { kind: 'this' }, name: 'n' } },
      },
    ],
  },
  functions: [],
};

test('the aggregate of a share takes what blocks come to in place of their rows', async () => {
  const { work } = partWorker(part, contextOf({}), 0);
  async function* scan({ summaries }: ScanRequest): AsyncGenerator<Vector> {
    for (const sum of [3n, 4n])
      expect(summaries?.take(2, [{ count: 2, integers: { type: types.int64, min: 1n, max: 2n, sum } }])).toBe(true);
  }
  for (let share = 0; share < 2; share++) {
    const answer = await work(scan);
    if (!('groups' in answer)) throw new Error('groups are asked for');
    expect([...answer.groups.keys.order]).toEqual([0]);
    expect(answer.groups.states[0]!.result(1)).toMatchObject({ values: Float64Array.of(7) });
  }
});
