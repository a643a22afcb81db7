/**
 * Operators that run out of memory give the same answers as with plenty of it, from spill files as the service writes
 * them.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile } from '../../../../src/query/analyze.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import { linkTask } from '../../../../src/vectors/stop.ts';
import { ThreadMemory } from '../../../../src/vectors/thread-memory.ts';
import { nullable, types } from '../../../../src/vectors/type.ts';
import { intValue, recordValue, stringValue } from '../../../../src/vectors/value.ts';
import { type FlatVector, type Vector, ofForm } from '../../../../src/vectors/vector.ts';
import { TaskSpill } from '../../../../src/workers/query/spill.ts';
import { fileEnvironment } from '../../../support/queries/environment.ts';
import { randomOf } from '../../../support/random.ts';
import { type RunPlanOptions, runPlan, supOf } from '../../../support/queries/run-plan.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-spill-'));
const spill = new TaskSpill(folder);
afterAll(() => {
  spill.dispose();
  rmSync(folder, { recursive: true });
});

const random = randomOf(11);
const rowsOf = (count: number, keys: number): string =>
  Array.from({ length: count }, (_, i) => {
    const k =
      random.below(10) === 0
        ? random.pick(['null', '"x"', 'error("e")', 'error("missing")', '1.5', '[1,2]', '127.0.0.1'])
        : String(random.below(keys));
    const wide =
      random.below(3) === 0
        ? `,t:"${random.hex(6)}",n:{a:${random.below(5)}}`
        : random.below(3) === 0
          ? `,u:${random.pick(['1::(int64|string)', '"s"::(int64|string)'])}`
          : '';
    return `{i:${i},k:${k},s:"${random.hex(1)}"${wide}}`;
  }).join(' ');
const inputs = {
  left: vectorOf(parseSupValues(rowsOf(1000, 150))),
  right: vectorOf(parseSupValues(rowsOf(500, 150))),
  /** Nearly all rows share a key. */
  same: vectorOf(
    parseSupValues(Array.from({ length: 200 }, (_, i) => `{i:${i},k:${i % 50 === 0 ? i : 7},s:"${i % 3}"}`).join(' ')),
  ),
};

const answers = async (query: string, options: RunPlanOptions): Promise<readonly string[]> => {
  const plan = await compile(
    query,
    fileEnvironment({ left: undefined, right: undefined, same: undefined, none: types.null }),
  );
  const lines = supOf((await runPlan(plan, inputs, options)).map((b) => b.batch))
    .trimEnd()
    .split('\n');
  return /sort|tail|top|uniq/.test(query) ? lines : lines.sort();
};

const joined = (style: string, on: string, right = 'right'): string =>
  `from left | ${style} join (from ${right}) as {l,r} on ${on}`;
/**
 * Few rows look among many that do not fit: the join is turned, whatever else it asks, and the many are not put aside
 * where the thread has room.
 */
const turned = [
  'select a.i as x, b.i as y from (select * from same where i > 0 and i < 46) a join same b on a.k = b.k and a.i < b.i',
  'select a.i as x, b.i as y from (select * from same where i > 0 and i < 46) a asof join same b on a.k = b.k and a.i > b.i - 20',
  'select i from (select * from same where i > 0 and i < 46) a where not exists (select 1 from same b where a.k = b.k and a.i + 190 < b.i)',
];
/** Rows that are read several times, in turns and in subqueries. */
const shared = 'with t as (select distinct i, k, s from left)';
const queries = [
  `${shared} select count(*) as n, (select sum(i) from t) as sum, (select min(s) from t where i > 10) as least from t`,
  `${shared} select a.i as x, b.i as y from t a join t b on a.k = b.k and a.i < b.i`,
  `${shared} select i from t where i in (select i + 3 from t) union all (select i from t limit 5)`,
  ...['', 'left', 'right', 'anti'].flatMap((style) => [
    joined(style, 'l.k==r.k'),
    joined(style, 'l.k==r.k and l.s==r.s and l.i<r.i'),
  ]),
  joined('left', 'l.k==r.k', 'same'),
  'from same | join (from same) as {l,r} on l.k==r.k',
  'from same | left join (from same) as {l,r} on l.k==r.k and l.i>r.i',
  'select a.i as x, b.i as y from left a full join right b on a.k = b.k and a.s = b.s',
  'select a.i as x, b.i as y from same a full join same b on a.k = b.k and a.i <> b.i',
  'from same | anti join (from same) as {l,r} on l.k==r.k and l.i<r.i',
  'select a.i as x, b.i as y from same a join same b on a.i + 10 < b.i',
  'select a.i as x, b.i as y from left a left join same b on a.i > b.i + 190 and a.s = b.s',
  'select i from left where k in (select k from same)',
  'select i from left where k not in (select k from right where k is not null)',
  'select i from left where k not in (select k from right)',
  'select i from left where k not in (select k from right where i < 0)',
  'from left | where s in (from left | values f"{s}")',
  // A text is read as the number on the other side.
  ...['', 'full ', 'left ', 'right '].map(
    (style) =>
      `select a.i as x, b.i as y from same a ${style}join (select i, cast(i * 2 as varchar) as t from left) b on a.i = b.t`,
  ),
  "select a.i as x, b.i as y from (select i, cast(i as varchar) || case when i % 3 = 0 then '.0' else '' end as t from left) a left join left b on a.t = b.i + 0.0",
  // Keys of both types on one side, or on both.
  ...['', 'full ', 'left '].map(
    (style) =>
      `select a.i as x, b.i as y from left a ${style}join (from right | values {i,t:i%3==0 ? f"{i}" : i}) b on a.i = b.t`,
  ),
  'select a.i as x, b.i as y from left a join right b on a.k = b.k and a.s = b.s',
  ...turned,
  'from left | distinct k',
  'from left | distinct s',
  'from left | distinct {k,s}',
  'from left | drop i | distinct this',
  'select distinct k, s from left',
  'select k, s from left union select k, s from right',
  ...['intersect', 'except'].flatMap((operator) => [
    `select k, s from left ${operator} select k, s from right`,
    `select k, s from left ${operator} all select k, s from right`,
  ]),
  'select s from same except select s from left',
  'select s from same intersect all select s from same',
  'from left | fork ( where s<"8" ) ( where s>="4" ) | join on left.i==right.i | count()',
  'from left | tail 10',
  'from left | tail 700',
  'from left | tail 999',
  'from left | tail 5000',
  'from left | sort k, i',
  'from left | sort -r s, i',
  'from left | sort s | tail 400',
  'from left | top 700 i',
  'from left | top 30 s, i',
  'from left | cut s | sort this | uniq -c',
  'from left | fuse',
  'from left | aggregate n:=count(), list:=union(s) by k | sort k | cut k,n',
  'from left | aggregate n:=count() by i | sort i',
  // Each value counts once, spilled or not.
  'select count(distinct i % 700) as n, sum(distinct i) as t, count(*) as c from left',
  'select s, count(distinct i) as n, sum(distinct i % 20) as t, count(*) as c from left group by s',
  'select i % 400 as g, count(distinct i) as n from (select i from left union all select i from left) group by g',
  'select i, row_number() over (partition by s order by i) as n, sum(i) over (partition by s) as t from left',
  'select i, lag(i) over (order by s, i) as b from left',
  // Partitions that are cut: what lies before the cut and after it counts.
  'select i, lag(i, 300, -1) over w as b, lead(i, 3, -1) over w as a, rank() over w as r from left window w as (order by s)',
  'select i, lag(k, 2) over w as b, lead(s) over w as a from left window w as (partition by s = s order by i)',
  'select i, lag(i, 2, i) over w as b, lead(i, 7, -i) over w as a from left window w as (partition by i < 100 or i > 600 order by i)',
];

/** Of plenty of memory, where nothing is spilled; each is worked out once. */
const roomy = {
  spill: {
    open: () => {
      throw new Error('spilled');
    },
    bytes: () => {
      throw new Error('spilled');
    },
  },
};
const expected = new Map<string, Promise<readonly string[]>>();
const wanted = (query: string): Promise<readonly string[]> => {
  const known = expected.get(query) ?? answers(query, { host: roomy, batchRows: 128 });
  expected.set(query, known);
  return known;
};

const little = 25_000;
/** Queries for which that is enough. */
const small: ReadonlySet<string> = new Set([
  'select i from left where k in (select k from same)',
  'select i from left where k not in (select k from right)',
  'select i from left where k not in (select k from right where i < 0)',
  'from left | distinct k',
  'from left | distinct s',
  'select s from same except select s from left',
  'select s from same intersect all select s from same',
  'from left | tail 10',
  'from left | top 30 s, i',
  'select a.i as x, b.i as y from same a join same b on a.i + 10 < b.i',
  ...turned.filter((query) => !query.includes('asof')),
]);

describe.each([
  ['a little', little],
  ['more', 60_000],
])('with %s of memory', (_, memoryBytesMax) => {
  test.each(queries)('%s', async (query) => {
    let runs = 0;
    const counted = {
      open: () => {
        runs++;
        return spill.open();
      },
      bytes: () => {
        runs++;
        return spill.bytes();
      },
    };
    expect(await answers(query, { host: { spill: counted }, memoryBytesMax, batchRows: 128 })).toEqual(
      await wanted(query),
    );
    if (memoryBytesMax === little) expect(runs > 0, 'rows are put aside').toBe(!small.has(query));
  });
});

test('the right side of a join counts as what it takes: columns that may be null and texts of dictionaries no more', async () => {
  const count = 4000;
  const type = nullable(types.int64);
  const numbers = ofForm(
    vectorOf(
      Array.from({ length: count }, (_, i) =>
        recordValue([
          { name: 'k', value: { type, data: intValue(i) } },
          { name: 'v', value: { type, data: intValue(i % 500) } },
        ]),
      ),
    ),
    'record',
  );
  const texts: Vector = {
    form: 'dictionary',
    length: count,
    codes: Uint32Array.from({ length: count }, (_, i) => i % 20),
    values: vectorOf(Array.from({ length: 20 }, (_, i) => stringValue(`a text that is not short ${i}`))) as FlatVector,
  };
  const all: Vector = { ...numbers, fields: [...numbers.fields, { name: 's', optional: false, values: texts }] };
  const plan = await compile(
    'select count(*) as n, sum(b.v) as v, max(b.s) as s from few a join many b on a.k = b.k',
    fileEnvironment({ few: undefined, many: undefined }),
  );
  let runs = 0;
  const counted = {
    open: () => {
      runs++;
      return spill.open();
    },
    bytes: () => {
      runs++;
      return spill.bytes();
    },
  };
  // Numbers of 8 bytes, codes of 4, and what an index takes a row.
  const memoryBytesMax = (count * (8 + 8 + 4 + 32)) / 0.4 + 30_000;
  const answer = await runPlan(
    plan,
    { few: all, many: all },
    { memoryBytesMax, host: { spill: counted }, batchRows: 500 },
  );
  expect(supOf(answer.map((b) => b.batch)).trim()).toBe('{n:4000,v:998000,s:"a text that is not short 9"}');
  expect(runs).toBe(0);
});

test.each(turned)('in a thread with little memory left: %s', async (query) => {
  let runs = 0;
  const { signal } = new AbortController();
  const host = {
    spill: {
      open: () => {
        runs++;
        return spill.open();
      },
      bytes: () => {
        runs++;
        return spill.bytes();
      },
    },
  };
  linkTask(signal, {
    account: new ThreadMemory(1 << 30, { bytes: () => 0, collect: () => undefined, isTight: () => true }).open(),
  });
  expect(await answers(query, { host, memoryBytesMax: little, batchRows: 128, signal })).toEqual(await wanted(query));
  expect(runs).toBeGreaterThan(0);
});

test('values of groups that take all of the memory by themselves are seen in the partitions that they were spilled to first', async () => {
  const many = vectorOf(
    parseSupValues(
      Array.from({ length: 40_000 }, (_, i) => `{g:"${i % 15_000} ${'x'.repeat(200)}",v:${(i * 7) % 39_989}}`).join(
        ' ',
      ),
    ),
  );
  const plan = await compile(
    'select g, count(distinct v) as n from many group by g',
    fileEnvironment({ many: undefined }),
  );
  let opened = 0;
  const counted = {
    open: () => {
      opened++;
      return spill.open();
    },
    bytes: () => {
      opened++;
      return spill.bytes();
    },
  };
  const rows = await runPlan(plan, { many }, { memoryBytesMax: 2 << 20, host: { spill: counted }, batchRows: 64 });
  const lines = supOf(rows.map((b) => b.batch))
    .trimEnd()
    .split('\n')
    .sort();
  const plenty = supOf((await runPlan(plan, { many }, {})).map((b) => b.batch))
    .trimEnd()
    .split('\n')
    .sort();
  expect(lines).toEqual(plenty);
  // That of the rows of other groups, and that of the values: each partition of these would have one more.
  expect(opened).toBe(2);
});

test('groups by ids of very many values are those of plenty of memory, in partitions that begin with what was learnt of the keys', async () => {
  const rows = Array.from({ length: 90_000 }, (_, i) => {
    const id = (i * 7919) % 60_013;
    return `{a:${id},b:${id % 5 === 0 ? -id : id * 1e9},c:${i % 1000 === 999 && i > 80_000 ? '"late"' : i % 3}}`;
  });
  const many = vectorOf(parseSupValues(rows.join(' ')));
  const plan = await compile(
    'select a, b, c, count(*) as n, max(c) as m from many group by a, b, c',
    fileEnvironment({ many: undefined }),
  );
  let opened = 0;
  const counted = {
    open: () => {
      opened++;
      return spill.open();
    },
    bytes: () => {
      opened++;
      return spill.bytes();
    },
  };
  const lines = async (options: RunPlanOptions): Promise<readonly string[]> =>
    supOf((await runPlan(plan, { many }, options)).map((b) => b.batch))
      .trimEnd()
      .split('\n')
      .sort();
  const plenty = await lines({});
  expect(await lines({ memoryBytesMax: 6 << 20, host: { spill: counted }, batchRows: 1000 })).toEqual(plenty);
  expect(opened).toBe(64);
  expect(plenty.length).toBeGreaterThan(60_000);
});
