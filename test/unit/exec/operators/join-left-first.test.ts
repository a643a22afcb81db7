/**
 * Joins that read their left side first, as the rule left-first tells them to: they give what others give, whether the
 * left side turns out to be short, long, or too large, and the right side is told which rows are asked for.
 */
import { expect, test } from 'vitest';
import { compile } from '../../../../src/query/analyze.ts';
import type { FieldPath, Plan, PlanOp, Scan } from '../../../../src/query/plan/plan.ts';
import { mapPipelines } from '../../../../src/query/plan/walk.ts';
import type { ScanRequest } from '../../../../src/exec/source.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import { fileEnvironment } from '../../../support/queries/environment.ts';
import { randomOf } from '../../../support/random.ts';
import { type RunPlanOptions, runPlan, supOf } from '../../../support/queries/run-plan.ts';

const random = randomOf(23);
const table = (count: number, keys: number): ReturnType<typeof vectorOf> =>
  vectorOf(
    parseSupValues(
      Array.from(
        { length: count },
        (_, i) =>
          `{i:${i},k:${random.below(12) === 0 ? 'null' : random.below(keys)},j:${random.below(3)},s:"${random.hex(1)}"}`,
      ).join(' '),
    ),
  );
const inputs = { left: table(300, 400), right: table(900, 400), empty: table(0, 1) };

const compiled = (query: string): Promise<Plan> =>
  compile(query, fileEnvironment({ left: undefined, right: undefined, empty: undefined }));
/** The plan whose joins read their left side first, if it has no more rows than that. */
const leftFirst = (plan: Plan, rowsMax: number): Plan => {
  const told = (op: PlanOp): PlanOp => {
    const own = mapPipelines(op, (p) => ({ ops: p.ops.map(told) }));
    return own.kind === 'join' && own.equal.length > 0 ? { ...own, leftFirst: rowsMax } : own;
  };
  return { ...plan, pipeline: { ops: plan.pipeline.ops.map(told) } };
};
const rowsOf = async (plan: Plan, options: RunPlanOptions = {}): Promise<readonly string[]> =>
  supOf((await runPlan(plan, inputs, { batchRows: 64, ...options })).map((b) => b.batch))
    .trimEnd()
    .split('\n')
    .sort();

const queries = [
  'select a.i as x, b.i as y from left a join right b on a.k = b.k',
  'select a.i as x, b.i as y from left a join right b on a.k = b.k and a.j = b.j',
  'select a.i as x, b.i as y from left a join right b on a.k = b.k and a.s = b.s and a.i < b.i',
  'select a.i as x, a.s as s, b.i as y, b.s as t from left a left join right b on a.k = b.k',
  'select a.i as x, a.s as s, b.i as y, b.s as t from left a left join right b on a.k = b.k and a.i > b.i',
  'select a.i as x, b.i as y from left a left join (select * from right where j = 1) b on a.k = b.k and a.j = b.j',
  'select a.i as x, b.i as y from left a left join empty b on a.k = b.k',
  'select a.i as x, b.i as y from empty a left join right b on a.k = b.k',
  'select a.i as x, b.i as y from empty a join right b on a.k = b.k',
  'select i from left a where exists (select 1 from right b where a.k = b.k)',
  'select i from left a where exists (select 1 from right b where a.k = b.k and a.i < b.i)',
  'select i from left a where not exists (select 1 from right b where a.k = b.k)',
  'select i from left a where not exists (select 1 from right b where a.k = b.k and a.i < b.i)',
  'select a.i as x, b.i as y, c.i as z from left a join right b on a.k = b.k left join left c on b.i = c.i',
  'from left | anti join (from right) as {l,r} on l.k==r.k',
  'select a.i as x, b.i as y from left a join right b on cast(a.k as varchar) = b.k',
];
test.each(queries)('%s', async (query) => {
  const plan = await compiled(query);
  const wanted = await rowsOf(plan);
  for (const rowsMax of [0, 100, 1000]) {
    const turned = leftFirst(plan, rowsMax);
    expect(await rowsOf(turned)).toEqual(wanted);
    expect(await rowsOf(turned, { batchRows: 1 })).toEqual(wanted);
    expect(await rowsOf(turned, { spill: true, memoryBytesMax: 10_000 })).toEqual(wanted);
  }
});

/** The answer, and by which paths the scan of `right` is told what is asked for. */
const scanned = async (plan: Plan): Promise<readonly [number, readonly FieldPath[]]> => {
  const paths: FieldPath[] = [];
  const { length } = await rowsOf(plan, {
    host: {
      filters: () => true,
      scan: async function* scan(source: Scan['sources'][number], { filter }: ScanRequest) {
        if (source.name === 'right') for (const key of filter?.columns ?? []) paths.push(key);
        yield inputs[source.name as keyof typeof inputs];
      },
    },
  });
  return [length, paths];
};
test('the scan of the right side is told the keys of the left one, each of them', async () => {
  const query = 'select a.i as x, b.i as y from left a join right b on a.k = b.k and a.i * 2 = b.i';
  const plan = await compiled(query);
  expect((await scanned(plan))[1]).toEqual([]);
  const [count, paths] = await scanned(leftFirst(plan, 1000));
  expect([count, paths]).toEqual([(await rowsOf(plan)).length, [['k'], ['i']]]);
});
