/** What no query shows: streams end early, are cancelled, wait for one another, and stay within memory. */
import { expect, test } from 'vitest';
import { execute } from '../../../../src/exec/compile.ts';
import type { PlanExpr, PlanOp } from '../../../../src/query/plan/plan.ts';
import { types } from '../../../../src/vectors/type.ts';
import { type Vector, valueAt } from '../../../../src/vectors/vector.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { intValue, stringValue } from '../../../../src/vectors/value.ts';
import { contextOf, pipelineOf, planOf, runPlan, runSup, scanOf, supOf } from '../../../support/queries/run-plan.ts';

const self: PlanExpr = { kind: 'this' };
const ascending = { expr: self, order: 'asc', nulls: 'last' } as const;
const sort: PlanOp = { kind: 'sort', keys: [ascending], reverse: false };
const numbers = (n: number): Vector => vectorOf(Array.from({ length: n }, (_, i) => intValue((i * 7919) % n)));

/** A source of one-row batches without end that counts what it gave and notes its return. */
const endless = (): {
  readonly given: () => number;
  readonly returned: () => boolean;
  readonly scan: () => AsyncIterable<Vector>;
} => {
  let given = 0;
  let returned = false;
  return {
    given: () => given,
    returned: () => returned,
    async *scan() {
      try {
        for (;;) {
          await Promise.resolve();
          yield vectorOf([intValue(given++)]);
        }
      } finally {
        returned = true;
      }
    },
  };
};

test('head asks for no more than it needs and returns its source', async () => {
  const source = endless();
  const out = await runPlan(planOf([{ kind: 'head', count: 3 }]), {}, { host: { scan: source.scan } });
  await Promise.resolve();
  expect([supOf(out.map((b) => b.batch)), source.given(), source.returned()]).toEqual(['0\n1\n2\n', 3, true]);
});

test('a fork whose branches have all ended returns its source', async () => {
  const source = endless();
  const plan = planOf([
    { kind: 'fork', branches: [pipelineOf({ kind: 'head', count: 2 }), pipelineOf({ kind: 'head', count: 4 })] },
  ]);
  const out = await runPlan(plan, {}, { host: { scan: source.scan } });
  await Promise.resolve();
  expect([out.length, source.given(), source.returned()]).toEqual([6, 4, true]);
});

test("the consumer's return ends the source", async () => {
  const source = endless();
  for await (const batch of execute(planOf([{ kind: 'pass' }]), contextOf({}, { host: { scan: source.scan } })))
    if (valueAt(batch.batch, 0).data === 5) break;
  await Promise.resolve();
  expect([source.given(), source.returned()]).toEqual([6, true]);
});

test('an abort ends a query that gives nothing', async () => {
  const source = endless();
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error('enough')), 20);
  await expect(
    runPlan(
      planOf([{ kind: 'filter', expr: { kind: 'literal', value: { type: types.bool, data: false } } }]),
      {},
      { host: { scan: source.scan }, signal: abort.signal },
    ),
  ).rejects.toThrow('enough');
  await Promise.resolve();
  expect(source.returned()).toBe(true);
});

test("an error of the source is the query's error", async () => {
  async function* broken(): AsyncGenerator<Vector> {
    yield vectorOf([intValue(1)]);
    await Promise.resolve();
    throw new Error('disk on fire');
  }
  await expect(runPlan(planOf([sort]), {}, { host: { scan: broken } })).rejects.toThrow('disk on fire');
});

test('a branch that holds everything does not hold up the others: the one that lags is served first', async () => {
  let ahead = 0;
  let most = 0;
  async function* source(): AsyncGenerator<Vector> {
    for (let i = 0; i < 500; i++) {
      await Promise.resolve();
      most = Math.max(most, ++ahead);
      yield vectorOf([intValue(i)]);
    }
  }
  const plan = planOf([{ kind: 'fork', branches: [pipelineOf(sort), pipelineOf({ kind: 'pass' })] }]);
  let passed = 0;
  for await (const { batch } of execute(plan, contextOf({}, { host: { scan: source } }))) {
    passed += batch.length;
    ahead -= passed <= 500 ? batch.length : 0;
  }
  expect([passed, most < 50]).toEqual([1000, true]);
});

test('a join of two branches of one fork takes in the left side while the right one is read', async () => {
  const join: PlanOp = {
    kind: 'join',
    style: 'inner',
    leftName: 'l',
    rightName: 'r',
    equal: [{ left: self, right: self }],
    nullsMatch: true,
  };
  const out = await runPlan(
    planOf([{ kind: 'fork', branches: [pipelineOf({ kind: 'pass' }), pipelineOf(sort)] }, join]),
    { input: numbers(200) },
    { batchRows: 1 },
  );
  expect(out.length).toBe(200);
});

test('output goes to its channel, wherever in the plan it stands', async () => {
  const plan = planOf([
    { kind: 'fork', branches: [pipelineOf({ kind: 'output', channel: 'side' }), pipelineOf({ kind: 'pass' })] },
    sort,
  ]);
  const out = await runPlan(plan, { input: numbers(3) });
  expect(out.map((b) => `${b.channel}:${supOf([b.batch]).replaceAll('\n', ' ')}`)).toEqual([
    'side:0 2 1 ',
    'main:0 1 2 ',
  ]);
});

test("load hands over its input and gives the commit's id", async () => {
  const loaded: string[] = [];
  const plan = planOf([
    { kind: 'head', count: 2 },
    { kind: 'load', target: { kind: 'pool', name: 'p', handle: 'h' }, author: 'a', message: 'm', meta: '' },
  ]);
  const out = await runPlan(
    plan,
    { input: numbers(5) },
    {
      host: {
        load: async (target, batches, commit) => {
          for await (const b of batches) loaded.push(`${target.name} ${commit.author} ${supOf([b])}`);
          return Uint8Array.of(1, 2);
        },
      },
    },
  );
  expect([loaded, supOf(out.map((b) => b.batch))]).toEqual([['p a 0\n4\n'], '0x0102\n']);
});

test('from by row opens what the row names', async () => {
  const plan = planOf([{ kind: 'fromEach', expr: self }]);
  const out = await runPlan(plan, {
    input: vectorOf([stringValue('b'), intValue(1), stringValue('c')]),
    b: numbers(2),
    c: numbers(1),
  });
  expect(supOf(out.map((b) => b.batch))).toBe('0\n1\nerror({message:"from encountered non-string input",on:1})\n0\n');
});

test('debug sees what it asks for and the input passes', async () => {
  const seen: string[] = [];
  const out = await runSup(
    planOf([{ kind: 'debug', expr: { kind: 'record', elements: [{ kind: 'field', name: 'x', value: self }] } }]),
    { input: '1 2' },
    {
      host: {
        debug: (b) => {
          seen.push(supOf([b]));
        },
      },
    },
  );
  expect([seen, out]).toEqual([['{x:1}\n{x:2}\n'], '1\n2\n']);
});

test.each<[string, PlanOp]>([
  ['sort', sort],
  ['fuse', { kind: 'fuse' }],
  ['distinct', { kind: 'distinct', expr: self }],
  ['tail', { kind: 'tail', count: 5000 }],
  ['aggregate', { kind: 'aggregate', keys: [{ target: ['k'], expr: self }], aggregates: [] }],
  [
    'join',
    {
      kind: 'join',
      style: 'inner',
      leftName: 'l',
      rightName: 'r',
      right: pipelineOf(scanOf('input')),
      equal: [{ left: self, right: self }],
      nullsMatch: true,
    },
  ],
])('%s over its budget ends the query where it cannot spill', async (operator, op) => {
  await expect(
    runPlan(planOf([op]), { input: numbers(5000) }, { memoryBytesMax: 20_000, batchRows: 100 }),
  ).rejects.toMatchObject({ code: 'query-memory', parameters: { operator, limit: 20_000 } });
});

test('sorted runs that spilled are merged; groups that spilled are counted once', async () => {
  const input = numbers(3000);
  const options = { spill: true, memoryBytesMax: 4000, batchRows: 64 };
  const sorted = await runPlan(planOf([sort]), { input }, options);
  expect(supOf(sorted.map((b) => b.batch))).toBe(Array.from({ length: 3000 }, (_, i) => `${i}\n`).join(''));
  const count: PlanOp = {
    kind: 'aggregate',
    keys: [{ target: ['k'], expr: self }],
    aggregates: [{ target: ['n'], aggregate: { name: 'count', distinct: false } }],
  };
  const groups = await runPlan(
    planOf([
      count,
      { kind: 'sort', keys: [{ ...ascending, expr: { kind: 'field', of: self, name: 'k' } }], reverse: false },
    ]),
    { input },
    { ...options, memoryBytesMax: 20_000 },
  );
  expect(supOf(groups.map((b) => b.batch))).toBe(Array.from({ length: 3000 }, (_, i) => `{k:${i},n:1}\n`).join(''));
});

test('groups come as soon as the first key moves on when the input is sorted by it', async () => {
  let read = 0;
  async function* source(): AsyncGenerator<Vector> {
    for (let i = 0; i < 20; i++) {
      await Promise.resolve();
      read++;
      yield vectorOf(Array.from({ length: 1000 }, (_, k) => intValue(Math.floor((i * 1000 + k) / 2))));
    }
  }
  const plan = planOf([
    {
      kind: 'aggregate',
      keys: [{ target: ['k'], expr: self }],
      aggregates: [{ target: ['n'], aggregate: { name: 'count', distinct: false } }],
      sortedBy: 'asc',
    },
  ]);
  let rows = 0;
  let readAtFirst = 0;
  let text = '';
  for await (const { batch } of execute(plan, contextOf({}, { host: { scan: source } }))) {
    readAtFirst ||= read;
    rows += batch.length;
    text += supOf([batch]);
  }
  expect([rows, readAtFirst < 20, text.includes(',n:1}')]).toEqual([10_000, true, false]);
});
