/**
 * Part `statements`: INSERT, UPDATE, DELETE and MERGE INTO with random conditions over rows of random shapes, beside a
 * list of rows and SQL's logic of three values. After each statement the pool holds the rows of the list; what the
 * condition selects is counted alike; a row that is to be changed twice refuses the statement, and nothing changes.
 */
import { startBuiltService } from '../../support/service/built.ts';
import { type Client, clientOf, jsonType } from '../../support/service/client.ts';
import { type Random, randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';

const stepsPerSeed = 40;
const rowsMax = 80;

/** A row: absent fields are absent, null is null. All are whole numbers. */
interface Row {
  readonly i: number;
  readonly [field: string]: number | null;
}
type Truth = boolean | null;
interface Condition {
  readonly text: string;
  readonly holds: (row: Row) => Truth;
}
const valueOf = (row: Row, field: string): number | null => row[field] ?? null;

const comparisons = {
  '=': (a, b) => a === b,
  '<>': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
} as const satisfies Record<string, (a: number, b: number) => boolean>;
const operators = Object.keys(comparisons) as (keyof typeof comparisons)[];
const compared = (operator: keyof typeof comparisons, a: number | null, b: number | null): Truth =>
  a === null || b === null ? null : comparisons[operator](a, b);
const both = (a: Truth, b: Truth): Truth => {
  if (a === false || b === false) return false;
  return a === null || b === null ? null : true;
};
const not = (a: Truth): Truth => (a === null ? null : !a);

const someNumber = (random: Random): number | null => random.pick([null, -1, 0, 1, 2, 3, 10]);
const sql = (value: number | null): string => (value === null ? 'null' : String(value));
const someCondition = (random: Random, alias = '', depth = 2): Condition => {
  const field = random.pick(['v', 'v', 'i', 'w']);
  const name = alias + field;
  switch (random.below(depth === 0 ? 4 : 7)) {
    case 0: {
      const operator = random.pick(operators);
      const value = someNumber(random);
      return {
        text: `${name} ${operator} ${sql(value)}`,
        holds: (row) => compared(operator, valueOf(row, field), value),
      };
    }
    case 1:
      return { text: `${name} is null`, holds: (row) => valueOf(row, field) === null };
    case 2: {
      const list = Array.from({ length: 1 + random.below(3) }, () => someNumber(random));
      const within = (row: Row): Truth => {
        const value = valueOf(row, field);
        if (value === null) return null;
        if (list.includes(value)) return true;
        return list.includes(null) ? null : false;
      };
      const text = `(${list.map(sql).join(', ')})`;
      return random.below(2) === 0
        ? { text: `${name} in ${text}`, holds: within }
        : { text: `${name} not in ${text}`, holds: (row) => not(within(row)) };
    }
    case 3: {
      const low = random.below(60);
      const high = low + random.below(30);
      return { text: `${alias}i between ${low} and ${high}`, holds: ({ i }) => low <= i && i <= high };
    }
    case 4: {
      const inner = someCondition(random, alias, depth - 1);
      return { text: `not (${inner.text})`, holds: (row) => not(inner.holds(row)) };
    }
    default: {
      const [a, b] = [someCondition(random, alias, depth - 1), someCondition(random, alias, depth - 1)];
      return random.below(2) === 0
        ? { text: `(${a.text} and ${b.text})`, holds: (row) => both(a.holds(row), b.holds(row)) }
        : { text: `(${a.text} or ${b.text})`, holds: (row) => not(both(not(a.holds(row)), not(b.holds(row)))) };
    }
  }
};

/** What a statement makes of the rows; undefined: it is refused. */
interface Statement {
  readonly text: string;
  readonly after: readonly Row[] | undefined;
}
interface Value {
  readonly text: string;
  readonly of: (row: Row) => number | null;
}
const someValue = (random: Random): Value =>
  random.pick<Value>([
    { text: '7', of: () => 7 },
    { text: 'null', of: () => null },
    { text: 'v + 1', of: (row) => (valueOf(row, 'v') === null ? null : valueOf(row, 'v')! + 1) },
    { text: 'coalesce(v, i)', of: (row) => valueOf(row, 'v') ?? row.i },
    { text: 'case when v > 1 then 1 else -1 end', of: (row) => (compared('>', valueOf(row, 'v'), 1) ? 1 : -1) },
  ]);

const update = (rows: readonly Row[], random: Random): Statement => {
  const where = someCondition(random);
  const fields = random.pick([['v'], ['w'], ['v', 'w'], ['x']]);
  const values = fields.map(() => someValue(random));
  return {
    text: `update p set ${fields.map((field, k) => `${field} = ${values[k]!.text}`).join(', ')} where ${where.text}`,
    after: rows.map((row) =>
      where.holds(row) === true
        ? { ...row, ...Object.fromEntries(fields.map((field, k) => [field, values[k]!.of(row)])) }
        : row,
    ),
  };
};
const remove = (rows: readonly Row[], random: Random): Statement => {
  const where = someCondition(random);
  return { text: `delete from p where ${where.text}`, after: rows.filter((row) => where.holds(row) !== true) };
};
const insert = (rows: readonly Row[], random: Random): Statement => {
  const where = someCondition(random);
  return {
    text: `insert into p select i + 1000 as i, v from p where ${where.text} and i < 1000`,
    after: [
      ...rows,
      ...rows.flatMap((row) =>
        where.holds(row) === true && row.i < 1000 ? [{ i: row.i + 1000, v: valueOf(row, 'v') }] : [],
      ),
    ],
  };
};

interface Clause {
  readonly matched: boolean;
  readonly text: string;
  /** Whether it is for this pair. */
  readonly holds: (row: Row | undefined, y: number | null) => Truth;
  readonly does: 'update' | 'delete' | 'nothing' | 'insert';
}
const clauses: readonly Clause[] = [
  {
    matched: true,
    text: 'when matched and s.y > 0 then update set v = s.y, w = t.i',
    holds: (_, y) => compared('>', y, 0),
    does: 'update',
  },
  {
    matched: true,
    text: 'when matched and t.v is null then delete',
    holds: (row) => valueOf(row!, 'v') === null,
    does: 'delete',
  },
  {
    matched: true,
    text: 'when matched and s.y = 0 then do nothing',
    holds: (_, y) => compared('=', y, 0),
    does: 'nothing',
  },
  { matched: true, text: 'when matched then update set v = s.y, w = t.i', holds: () => true, does: 'update' },
  {
    matched: false,
    text: 'when not matched and s.y is not null then insert (i, v) values (5000, s.y)',
    holds: (_, y) => y !== null,
    does: 'insert',
  },
];
const merge = (rows: readonly Row[], random: Random): Statement => {
  const on = random.pick(['i', 'v']);
  const others = Array.from({ length: 1 + random.below(4) }, () => ({
    x: rows.length > 0 && random.below(4) > 0 ? valueOf(random.pick(rows), on) : random.pick([null, -77]),
    y: someNumber(random),
  }));
  const chosen = clauses.filter(() => random.below(2) === 0);
  const used = chosen.length === 0 ? clauses.slice(-2) : chosen;
  const changed = new Map<number, { readonly does: Clause['does']; readonly y: number | null }>();
  const added: Row[] = [];
  let isTwice = false;
  for (const { x, y } of others) {
    const pairs = rows.flatMap((row, at) => (compared('=', valueOf(row, on), x) === true ? [at] : []));
    if (pairs.length === 0 && used.some(({ matched, holds }) => !matched && holds(undefined, y) === true))
      added.push({ i: 5000, v: y });
    for (const at of pairs) {
      const does = used.find(({ matched, holds }) => matched && holds(rows[at], y) === true)?.does;
      if (does === undefined || does === 'nothing') continue;
      isTwice ||= changed.has(at);
      changed.set(at, { does, y });
    }
  }
  const source = others.map(({ x, y }) => `(${sql(x)}, ${sql(y)})`).join(', ');
  const after = rows.flatMap((row, at) => {
    const change = changed.get(at);
    if (!change) return [row];
    return change.does === 'delete' ? [] : [{ ...row, v: change.y, w: row.i }];
  });
  return {
    text: `merge into p as t using (values ${source}) as s(x, y) on t.${on} = s.x ${used.map(({ text }) => text).join(' ')}`,
    after: isTwice ? undefined : [...after, ...added],
  };
};
const kinds = { update, delete: remove, insert, merge } as const;

const someRows = (random: Random, from: number): readonly Row[] =>
  Array.from({ length: 1 + random.below(10) }, (_, k) => ({
    i: from + k,
    ...(random.below(4) > 0 && { v: someNumber(random) }),
    ...(random.below(4) === 0 && { w: someNumber(random) }),
  }));
const told = (rows: readonly object[]): string =>
  rows
    .map((row) => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))))
    .sort()
    .join('\n');

/** One history; answers what is wrong, if anything. */
const history = async (
  client: Client,
  random: Random,
  count: (name: string, n?: number) => void,
): Promise<string | undefined> => {
  // Some row has each field: a name that none has is refused behind the alias of a table.
  let rows: readonly Row[] = [{ i: 0, v: 0, w: 0, x: 0 }];
  await client.load('p', rows);
  let next = 1;
  for (let step = 0; step < stepsPerSeed; step++) {
    if (rows.length < rowsMax && random.below(3) === 0) {
      const more = someRows(random, next);
      next += more.length;
      await client.load('p', more);
      rows = [...rows, ...more];
    }
    const kind = random.pick(
      rows.length < rowsMax ? (['update', 'delete', 'insert', 'merge'] as const) : (['delete'] as const),
    );
    const { text, after } = kinds[kind](rows, random);
    const { status, body } = await client.ask('POST', '/query', {
      headers: jsonType,
      body: JSON.stringify({ query: text }),
    });
    if ((status === 200) !== (after !== undefined)) return `${text}: ${status} ${body.slice(0, 300)}`;
    count(after ? `${kind}s` : 'refused for a row that is changed twice');
    rows = after ?? rows;
    const found = await client.query<Row>('from p');
    if (told(found) !== told(rows)) return `${text}: the pool has\n${told(found)}\ninstead of\n${told(rows)}`;
    const where = someCondition(random);
    const [counted] = await client.query<{ readonly n: number }>(`select count(*) as n from p where ${where.text}`);
    const wanted = rows.filter((row) => where.holds(row) === true).length;
    if (counted?.n !== wanted) return `${where.text}: ${counted?.n} rows instead of ${wanted}`;
    if (!['i', 'v', 'w'].every((field) => rows.some((row) => field in row))) {
      const base = { i: next++, v: 0, w: 0, x: 0 };
      await client.load('p', [base]);
      rows = [...rows, base];
    }
  }
  return undefined;
};

export const statements: PartRun = async ({ seeds, count, failed }) => {
  const service = await startBuiltService({ flags: ['-workers', '2'] });
  const client = clientOf(service.address, 1);
  try {
    for (const seed of seeds) {
      const random = randomOf(seed + 113);
      await client.json('POST', '/pool', {
        name: 'p',
        layout: { order: random.pick(['asc', 'desc']), keys: [[random.pick(['i', 'v', 'w'])]] },
        ...(random.below(2) === 0 && { identity: [['i']] }),
      });
      const fault = await history(client, random, count);
      if (fault !== undefined) failed(seed, fault);
      await client.ask('DELETE', '/pool/p');
      count('histories');
    }
  } finally {
    client.close();
    await service.stop();
  }
};
