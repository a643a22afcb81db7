/**
 * Random queries with subqueries, set operations, recursion and lateral joins that DuckDB understands too, and the
 * tables that they run over.
 */
import type { DuckTable } from '../../support/queries/duckdb.ts';
import { type Random, randomOf } from '../../support/random.ts';

type Row = Readonly<Record<string, unknown>>;

/** Tables with repeated keys, nulls in every column but `id` and `k`, and rows without partners. */
export const randomTables = (random: Random): Readonly<Record<string, readonly Row[]>> => {
  const maybe = <T>(x: T): T | null => (random.below(5) === 0 ? null : x);
  const rows = (count: number, make: (id: number) => Row): readonly Row[] =>
    Array.from({ length: count }, (_, id) => make(id));
  return {
    t: rows(24, (id) => ({
      id,
      k: random.below(6),
      a: maybe(random.below(5)),
      s: maybe(random.pick(['a', 'b', 'Ab', 'c'])),
    })),
    u: rows(20, (id) => ({
      id,
      k: random.below(7),
      b: maybe(random.below(5)),
      s: maybe(random.pick(['a', 'B', 'ab', 'd'])),
    })),
    e: rows(14, (id) => ({ id, src: random.below(7), dst: random.below(7) })),
  };
};

const columnTypes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  t: { id: 'BIGINT', k: 'BIGINT', a: 'BIGINT', s: 'VARCHAR' },
  u: { id: 'BIGINT', k: 'BIGINT', b: 'BIGINT', s: 'VARCHAR' },
  e: { id: 'BIGINT', src: 'BIGINT', dst: 'BIGINT' },
};
export const duckTables = (tables: Readonly<Record<string, readonly Row[]>>): readonly DuckTable[] =>
  Object.entries(tables).map(([name, rows]) => ({ name, columns: columnTypes[name]!, rows }));

/** The same rows as SUP. */
export const supText = (rows: readonly Row[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
/** The type of a table's rows. */
export const supType = (name: string): string =>
  `<{${Object.entries(columnTypes[name]!)
    .map(([c, type]) => `${c}:${isPlain(name, c) ? scalar(type) : `(${scalar(type)}|null)`}`)
    .join()}}>`;
const isPlain = (table: string, column: string): boolean => table === 'e' || column === 'id' || column === 'k';
const scalar = (type: string): string => (type === 'VARCHAR' ? 'string' : 'int64');

export const features = [
  'exists',
  'in',
  'scalar',
  'quantified',
  'lateral',
  'sets',
  'recursive',
  'joins',
  'predicates',
  'groupings',
] as const;
type Feature = (typeof features)[number];

export const randomQuery = (feature: Feature, seed: number): string => {
  const w = new Writer(randomOf(seed));
  switch (feature) {
    case 'exists':
      return `select o.id, o.k from t o where ${w.not()}exists (${w.inner('o', 1)})${w.more('o')}`;
    case 'in':
      return `select o.id from t o where o.${w.pick(['k', 'a'])} ${w.not()}in (${w.column('o')})${w.more('o')}`;
    case 'scalar':
      return w.scalarQuery();
    case 'quantified':
      return `select o.id from t o where ${w.not()}(o.${w.pick(['k', 'a'])} ${w.pick(['=', '<>', '<', '<=', '>', '>='])} ${w.pick(['any', 'all', 'some'])} (${w.column('o')}))`;
    case 'lateral':
      return w.lateral();
    case 'sets':
      return w.sets();
    case 'recursive':
      return w.recursive();
    case 'joins':
      return w.joins();
    case 'predicates':
      return w.predicates();
    case 'groupings':
      return w.groupings();
  }
};

class Writer {
  private readonly random: Random;
  constructor(random: Random) {
    this.random = random;
  }
  pick<T>(items: readonly T[]): T {
    return this.random.pick(items);
  }
  not(): string {
    return this.pick(['', '', 'not ']);
  }
  private chance(part: number): boolean {
    return this.random.below(part) === 0;
  }

  /** A condition that ties the rows of `u` to the outer row. */
  private tie(outer: string, inner: string): string {
    const plain = this.pick([
      `${inner}.k = ${outer}.k`,
      `${outer}.k = ${inner}.k`,
      `${inner}.k = ${outer}.a`,
      `${inner}.b = ${outer}.a`,
      `${inner}.k + 1 = ${outer}.k`,
      `${inner}.s = ${outer}.s`,
      `${inner}.k < ${outer}.k`,
      `${inner}.k = ${outer}.k + ${inner}.b`,
    ]);
    const extra = this.pick([
      '',
      '',
      ` and ${inner}.b > 1`,
      ` and ${inner}.b <> ${outer}.a`,
      ` and ${inner}.id % 2 = ${outer}.id % 2`,
      ` and ${outer}.a is not null`,
      ` or ${inner}.b = ${outer}.k`,
    ]);
    return `${plain}${extra}`;
  }

  /** A subquery for EXISTS; `depth` more levels may follow. */
  inner(outer: string, depth: number): string {
    const where = this.tie(outer, 'i');
    switch (this.random.below(depth > 0 ? 9 : 4)) {
      case 0:
        return `select i.b from u i where ${where} group by i.b having count(*) > 1`;
      case 1:
        return `select 1 from u i join e on e.src = i.k where ${where}`;
      case 2:
        return `select 1 from (select id, k, b, s from u where b > 0) i where ${where}`;
      case 3:
        return `select i.id from u i where ${where} intersect select id from t where t.k = ${outer}.k`;
      case 4:
        return `select 1 from u i where (${where}) and ${this.not()}exists (select 1 from e where e.src = i.k and e.dst <> ${outer}.k)`;
      case 5:
        return `select 1 from u i where (${where}) and i.b ${this.not()}in (select j.a from t j where j.k = i.k and j.id <> ${outer}.id)`;
      case 6:
        return `select 1 from u i left join e on e.src = i.k and e.dst = ${outer}.k where ${where}`;
      default:
        return `select 1 from u i where ${where}`;
    }
  }

  /** A subquery with one column of numbers. */
  column(outer: string): string {
    const where = this.tie(outer, 'i');
    switch (this.random.below(8)) {
      case 0:
        return `select distinct i.b from u i where ${where}`;
      case 1:
        return `select max(i.b) from u i where ${where}`;
      case 2:
        return `select count(*) from u i where ${where} group by i.k`;
      case 3:
        return `select i.b from u i where ${where} order by i.id limit 2`;
      case 4:
        return `select i.b from u i where ${where} union all select ${outer}.k - 1`;
      case 5:
        return `select i.k from u i where ${where} except select e.dst from e where e.src = ${outer}.k`;
      case 6:
        return `select e.dst from u i, e where e.src = i.k and (${where})`;
      default:
        return `select i.${this.pick(['b', 'k'])} from u i where ${where}`;
    }
  }

  more(outer: string): string {
    return this.chance(3)
      ? ` ${this.pick(['and', 'or'])} ${outer}.a ${this.pick(['> 2', 'is null', `= (select min(j.b) from u j where j.k = ${outer}.k)`])}`
      : '';
  }

  /** One number for each outer row. */
  private number(outer: string): string {
    const where = this.tie(outer, 'i');
    return this.pick([
      `select count(*) from u i where ${where}`,
      `select sum(i.b) from u i where ${where}`,
      `select max(i.b) from u i where ${where}`,
      `select count(distinct i.s) from u i where ${where}`,
      `select count(i.b) + 1 from u i where ${where}`,
      `select i.b from u i where ${where} order by i.id desc limit 1`,
      `select i.b from u i where ${where} order by i.b, i.id limit 1 offset 1`,
      `select max(n) from (select count(*) as n from u i where ${where} group by i.b) x`,
      `select sum(i.b) from u i where ${where} having count(*) > 1`,
      `select count(*) from u i where (${where}) and i.b >= (select min(j.a) from t j where j.k = i.k and j.id <> ${outer}.id)`,
      `select ${outer}.k + 1`,
      `select count(*) from (select distinct i.k, i.b from u i where ${where}) x`,
      `select count(*) from u i left join t j on j.k = i.k and j.a = ${outer}.a where ${where}`,
      `select count(*) from (select i.id from u i where ${where} union select e.id from e where e.src = ${outer}.k) x`,
      `select max(r) from (select i.b + row_number() over (order by i.id) as r from u i where ${where}) x`,
    ]);
  }

  scalarQuery(): string {
    switch (this.random.below(7)) {
      case 0:
        return `select o.id from t o where o.k ${this.pick(['<', '>=', '='])} (${this.number('o')})`;
      case 1:
        return `select o.id, o.k from t o order by (${this.number('o')}) nulls first, o.id`;
      case 2:
        return `select o.k, (select count(*) from u i where i.k = o.k) as n, count(*) as c from t o group by o.k`;
      case 3:
        return `select o.k, max(o.a) as m from t o group by o.k having max(o.a) > (select count(*) from u i where i.k = o.k and i.b is not null)`;
      case 4:
        return `select sum((${this.number('o')})) as s from t o`;
      case 5:
        return `select o.id, case when exists (${this.inner('o', 0)}) then (${this.number('o')}) else -1 end as n from t o`;
      default:
        return `select o.id, (${this.number('o')}) as n, o.a + coalesce((${this.number('o')}), 0) as m from t o`;
    }
  }

  lateral(): string {
    const where = this.tie('o', 'i');
    const body = this.pick([
      `select i.id as x, i.b as y from u i where ${where}`,
      `select count(*) as x, max(i.b) as y from u i where ${where}`,
      `select i.id as x, i.b as y from u i where ${where} order by i.b desc, i.id limit 2`,
      `select o.k + 1 as x, o.a as y`,
      `select i.k as x, count(*) as y from u i where ${where} group by i.k`,
      `select i.id as x, i.b as y from u i where ${where} union all select o.id, o.a`,
      `select distinct i.k as x, i.b as y from u i where ${where}`,
      `select i.id as x, e.dst as y from u i left join e on e.src = i.k where ${where}`,
    ]);
    const on = this.pick(['true', 'l.x > o.k', 'l.y = o.a', 'l.x >= 1 and l.y <> 2']);
    switch (this.random.below(4)) {
      case 0:
        return `select o.id, l.x, l.y from t o, lateral (${body}) l`;
      case 1:
        return `select o.id, l.x, l.y from t o join lateral (${body}) l on ${on}`;
      case 2:
        return `select o.id, l.x, l.y from t o left join lateral (${body}) l on ${on}`;
      default:
        return `select o.id, l.x, m.z from t o, lateral (${body}) l, lateral (select l.x * 2 as z union all select o.k) m`;
    }
  }

  private side(): string {
    return this.pick([
      'select k, a from t',
      'select k, b from u',
      'select src, dst from e',
      'select k, a from t where id < 9',
      'select k as x, b as y from u where b is not null',
      'values (1, 2), (3, null), (3, null)',
    ]);
  }
  sets(): string {
    const operator = (): string =>
      this.pick([
        'union',
        'union all',
        'intersect',
        'intersect all',
        'except',
        'except all',
        'union distinct',
        'except distinct',
      ]);
    let text = this.side();
    for (let n = 1 + this.random.below(3); n > 0; n--) {
      const right = this.chance(3) ? `(${this.side()} ${operator()} ${this.side()})` : this.side();
      text = `${text} ${operator()} ${right}`;
    }
    return this.chance(3) ? `select count(*) as n from (${text}) q` : text;
  }

  recursive(): string {
    const union = this.pick(['union', 'union all']);
    const limit = 2 + this.random.below(4);
    switch (this.random.below(7)) {
      case 0:
        return `with recursive r(n) as (select 1 union all select n + 1 from r where n < ${limit * 3}) select * from r`;
      case 1:
        return `with recursive r(node) as (select ${this.random.below(7)} union select e.dst from e join r on e.src = r.node) select node from r`;
      case 2:
        return `with recursive r(node, depth) as (select src, 0 from e where id < 3 ${union} select e.dst, r.depth + 1 from r, e where e.src = r.node and r.depth < ${limit}) select node, depth, count(*) as n from r group by node, depth`;
      case 3:
        return `with recursive r(a, b) as (select 0, 1 union all select b, a + b from r where b < 90), x as (select max(b) as m from r) select r.a, x.m from r, x`;
      case 4:
        return `with recursive r(k, d) as (select k, 1 from t where a is null union select u.b, d + 1 from u join r on u.k = r.k where d < ${limit} and u.b is not null) select o.id from t o where o.k in (select k from r where r.d > o.a)`;
      case 5:
        return `with recursive r(n, p) as (select 1, 'x' union all select n + 1, p || 'y' from r where n < (select max(id) from t where id < ${limit * 2}) and exists (select 1 from u where u.id = r.n)) select n, p from r`;
      default:
        return `with recursive r(src, dst) as (select src, dst from e union select r.src, e.dst from r left join e on e.src = r.dst where e.dst is not null) select src, count(*) as n from r group by src`;
    }
  }

  joins(): string {
    const style = this.pick(['join', 'left join', 'full join', 'right join', 'inner join']);
    switch (this.random.below(6)) {
      case 0:
        return `select k, count(*) as n from t ${style} u using (k) group by k`;
      case 1:
        return `select * from (select k, id as tid from t where id < 9) x ${style} (select k, id as uid from u where id < 9) y using (k)`;
      case 2:
        return `select * from (select k, id as tid from t where id < 7) x natural ${style} (select k, id as uid from u where id > 9) y`;
      case 3:
        return `select k, x.n, y.m from (select k, count(*) as n from t group by k) x full outer join (select k, count(*) as m from u group by k) y using (k) order by k`;
      case 4:
        return `select * from (values (1, 'a'), (2, 'b')) p(k, v) ${style} (values (2, 'x'), (3, 'y')) q(k, w) using (k) ${style} (values (3, 5), (1, 6)) r(k, z) using (k)`;
      default:
        return `select t.id, u.id as other from t join u on t.k = u.k where exists (select 1 from e where e.src = t.k and e.dst = u.k)`;
    }
  }

  predicates(): string {
    return `select id from t where ${this.pick([
      `s ${this.not()}ilike '${this.pick(['a%', 'AB', '_b', '%B', 'C'])}'`,
      `s ${this.not()}similar to '${this.pick(['a.*', '(a|b)', '[A-C]b?', 'a'])}'`,
      `a is ${this.not()}distinct from ${this.pick(['k', 'null', '2', 'nullif(k, 3)'])}`,
      `k ${this.not()}between ${this.random.below(3)} and ${this.random.below(5)}`,
      `(a > 2) is ${this.not()}${this.pick(['true', 'false', 'unknown'])}`,
      `a ${this.not()}between k and 3`,
    ])} order by id ${this.pick(['', `fetch first ${this.random.below(5)} rows only`, `offset 2 rows fetch next 3 rows only`, `limit 4 offset 1`])}`;
  }

  groupings(): string {
    const where = this.pick(['', ' where a is not null', ' where id < 0']);
    const by = this.pick([
      'rollup (k, s)',
      'cube (k, s)',
      'grouping sets ((k, s), k, ())',
      'grouping sets ((k), (s))',
      'k, rollup (s)',
      'rollup ((k, s), k)',
    ]);
    return this.pick([
      `select k, s, count(*) as n, sum(a) as t from t${where} group by ${by}`,
      `select k, s, count(*) as n from t${where} group by all`,
      `select s, k % 2 as p, max(a) as m from t${where} group by all having count(*) > 1`,
      `select k, s, count(*) as n from t${where} group by ${by} having count(*) > 1`,
      `select k, count(*) as n from t${where} group by 1 order by 2 desc, 1`,
    ]);
  }
}
