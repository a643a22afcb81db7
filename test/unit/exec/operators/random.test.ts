/**
 * Random rows through every operator: the answer depends neither on the size of batches nor on the form of vectors, nor
 * on spilling (which may change the order of rows that no order was asked for).
 */
import { expect, test } from 'vitest';
import { runQuery } from '../../../support/queries/case.ts';
import type { RunPlanOptions } from '../../../support/queries/run-plan.ts';

/** A small linear congruential generator: the same rows for the same seed everywhere. */
const prng = (seed: number): ((n: number) => number) => {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % n;
  };
};
const scalars = [
  '1',
  '2',
  '3',
  '-1',
  '2.5',
  '1.',
  '"a"',
  '"b"',
  '"longer text than eight"',
  '"longer text than nine"',
  'null',
  'true',
  'false',
  'error("x")',
  'error("missing")',
  '1::uint8',
  '9223372036854775807',
  '-9223372036854775808',
  '1h',
  '2024-01-01T00:00:00Z',
  '10.0.0.1',
  '[1,2]',
  '[1,"a"]',
  '[]',
  '|[1]|',
  '|{1:2}|',
  '{x:1}',
  '{x:"a"}',
  '1::=foo',
  '1::(int64|string)',
  'null::(int64|null)',
  '"a"::(int64|string)',
  '<int64>',
  'NaN',
  '10.0.0.0/8',
  '0x01',
];
const rowsOf = (next: (n: number) => number, count: number): string =>
  Array.from({ length: count }, () => {
    const number = (): string => String(next(8) - 1);
    const scalar = (): string => scalars[next(scalars.length)]!;
    const fields: string[] = [];
    if (next(5)) fields.push(`k:${next(4) ? number() : scalar()}`);
    if (next(5)) fields.push(`v:${next(2) ? number() : scalar()}`);
    if (!next(4)) fields.push(`o?:${next(2) ? '_::int64' : '5'}`);
    if (!next(3)) fields.push(`n:{a:${scalar()}${next(2) ? ',b:1' : ''}}`);
    return next(12) ? `{${fields.join(',')}}` : scalar();
  }).join('\n');

const all =
  'count(),sum(v),avg(v),min(v),max(v),and(v),or(v),any(v),collect(v),union(v),fuse(v),dcount(v),collect_map(v)';
const ordered = [
  'where k>1',
  'values k,v,this',
  'cut v:=k,z.y:=n.a',
  'put v:=k,n.a:=v,z.y:=1',
  'put k:=quiet(v)',
  'drop k,n.a,o',
  'rename q:=k,n.b:=n.a,o:=v',
  'skip 3 | head 7',
  'tail 7',
  'select n, v, k from input order by n desc, v nulls first, k',
  'select n, v from input order by v, n limit 6',
  'select v, rank() over (order by n, v) as r, count(*) over (order by v desc) as c from input',
  'sort k',
  'sort k desc,v nulls first',
  'sort this desc nulls first',
  'sort n',
  'top 3 k desc',
  'top 4 v',
  'cut k | uniq -c',
  'distinct k',
  'distinct this',
  'fuse',
  'count',
  'assert k>1',
  'unnest v',
  'unnest {k,e:v}',
  'unnest v into (sum(this),collect(this))',
  all,
  `${all} by k | sort this`,
  'left join (values {k:1,w:1},{k:2},{k:null}) using (k)',
  'anti join (values 1,2) on left.k>right',
  'sort k | fork (pass) (where k>2) | merge k',
  'values {a:[unnest v],s:(unnest v | head 1),e:exists(unnest v | this>1)}',
];
const unordered = [
  `${all} by k,n`,
  `sum(distinct v),collect(distinct v),count(distinct v) by k`,
  'count() by this',
  'shapes | typeof(this)',
  'switch case k>2 (count) case v (pass) default (tail 3)',
];

const variants: Readonly<Record<string, RunPlanOptions>> = {
  'batches of one': { batchRows: 1 },
  'batches of three': { batchRows: 3 },
  selections: { forceForm: 'selected', batchRows: 4 },
  dictionaries: { forceForm: 'dictionary', batchRows: 7 },
  constants: { forceForm: 'constant' },
  'mixed vectors': { forceForm: 'dynamic', batchRows: 5 },
  spilled: { spill: true, memoryBytesMax: 300, batchRows: 3 },
};
const lines = (text: string): string => text.split('\n').sort().join('\n');
const answer = async (query: string, input: string, options: RunPlanOptions): Promise<string> =>
  runQuery(query, input, options).catch((problem: unknown) => {
    // Not every operator can spill.
    if (options.spill && problem instanceof Error && problem.message.includes('more than 300 bytes')) return 'over';
    throw problem;
  });

for (const seed of [1, 20, 300, Number(process.env['SEED'] ?? 4000)]) {
  test.each([...ordered, ...unordered])(`seed ${seed}: %s`, async (query) => {
    const next = prng(seed);
    const input = rowsOf(next, 5 + next(40));
    const wanted = await answer(query, input, {});
    const any = unordered.includes(query) || query.includes(' by ');
    for (const [name, options] of Object.entries(variants)) {
      const got = await answer(query, input, options);
      const mixed = any || (name === 'spilled' && /^distinct|join/.test(query));
      if (got !== 'over') expect(mixed ? lines(got) : got, `${name} of\n${input}`).toBe(mixed ? lines(wanted) : wanted);
    }
  });
}
