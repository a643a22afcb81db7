/**
 * Random SQL over times, intervals, lists, structs and maps with nulls: functions and lambdas from a table of
 * templates, windows, grouping sets, PIVOT and UNPIVOT, DISTINCT ON, QUALIFY, UNNEST, chains of WITH, subqueries. The
 * texts are the same for both engines.
 */
import type { DuckTable } from '../../support/queries/duckdb.ts';
import type { Random } from '../../support/random.ts';
import { type SqlCase, both } from './plain.ts';
import { type WideKind as Kind, wideAggregates, wideTemplates, wideWindows } from './wide-templates.ts';
import { RandomTexts } from './random-texts.ts';

const columns = {
  id: 'BIGINT',
  g: 'BIGINT',
  n: 'BIGINT',
  f: 'DOUBLE',
  s: 'VARCHAR',
  b: 'BOOLEAN',
  t: 'TIMESTAMP',
  l: 'BIGINT[]',
  w: 'VARCHAR[]',
  r: 'STRUCT(x BIGINT, y VARCHAR, z BIGINT[])',
} as const;
type Row = Readonly<Record<keyof typeof columns, unknown>>;
const byKind: Readonly<Record<Kind, readonly string[]>> = {
  int: ['id', 'g', 'n', 'n', 'r.x'],
  float: ['f'],
  text: ['s', 's', 'r.y'],
  bool: ['b'],
  time: ['t'],
  date: ['cast(ROW.t as date)'],
  span: ["(ROW.t - timestamp '2011-01-01')"],
  ints: ['l', 'l', 'r.z'],
  texts: ['w'],
};
const words = ['a', 'b', 'ab', 'Foo', '', 'x y', '12', 'b-c', 'aXbXc', ' pad ', 'é'];

/** Two tables of the same columns; their first rows have a value in each. */
export const wideTables = (
  random: Random,
): { readonly tables: readonly DuckTable[]; readonly sup: Readonly<Record<string, string>> } => {
  const tables = ['p', 'q'].map(
    (name): DuckTable => ({
      name,
      columns,
      rows: Array.from({ length: 1 + random.below(14) }, (_, id): Row => rowOf(random, id)),
    }),
  );
  return {
    tables,
    sup: Object.fromEntries(tables.map((t) => [t.name, t.rows.map((row) => supRow(row as Row)).join('\n')])),
  };
};
const rowOf = (random: Random, id: number): Row => {
  const maybe = <T>(x: T): T | null => (id > 0 && random.below(6) === 0 ? null : x);
  const list = <T>(make: () => T): (T | null)[] => {
    const length = id === 0 ? 2 : random.below(5);
    return Array.from({ length }, () => maybe(make()));
  };
  const two = (n: number): string => String(n).padStart(2, '0');
  const time = (): string =>
    `20${two(9 + random.below(4))}-${two(1 + random.below(12))}-${two(1 + random.below(28))}T${two(random.below(24))}:${random.pick(['00:00', '30:15', '59:59.25'])}`;
  return {
    id,
    g: maybe(random.below(3)),
    n: maybe(random.below(14) - 4),
    f: maybe((random.below(33) - 12) / 4),
    s: maybe(random.pick(words)),
    b: maybe(random.below(2) === 0),
    t: maybe(time()),
    l: maybe(list(() => random.below(6))),
    w: maybe(list(() => random.pick(words))),
    r: maybe({ x: maybe(random.below(5)), y: maybe(random.pick(words)), z: maybe(list(() => random.below(4))) }),
  };
};
const supRow = (row: Row): string =>
  `{${Object.entries(row)
    .map(([name, x]) => `${name}:${supCell(name, x)}`)
    .join()}}`;
const supCell = (name: string, x: unknown): string => {
  if (x === null) return 'null';
  if (name === 't') return `${String(x)}Z`;
  if (name === 'f' && Number.isInteger(x)) return `${String(x)}.`;
  if (name === 'r')
    return `{${Object.entries(x as object)
      .map(([field, y]) => `${field}:${JSON.stringify(y)}`)
      .join()}}`;
  return JSON.stringify(x);
};

const outputKinds: readonly Kind[] = ['int', 'int', 'float', 'text', 'text', 'bool', 'time', 'date', 'ints', 'texts'];
const keyKinds: readonly Kind[] = ['int', 'text', 'bool', 'date', 'float'];

export class WideTexts extends RandomTexts {
  /** Parameters of the lambdas around, by their kinds. */
  private bound: readonly { readonly name: string; readonly kind: Kind }[] = [];
  private names = 0;

  private leaf(kind: Kind): string {
    const bound = this.bound.filter((b) => b.kind === kind);
    if (bound.length > 0 && this.chance(2)) return this.pick(bound).name;
    if (!this.chance(4) && this.scope.length > 0) {
      const alias = this.pick(this.scope);
      const text = this.pick(byKind[kind]);
      return text.includes('ROW') ? text.replace('ROW', alias) : `${alias}.${text}`;
    }
    switch (kind) {
      case 'int':
        return String(this.random.below(6));
      case 'float':
        return `${this.random.below(5)}.${this.pick(['0', '25', '5'])}::double`;
      case 'text':
        return `'${this.pick(words)}'`;
      case 'bool':
        return this.pick(['true', 'false']);
      case 'time':
        return `timestamp '20${10 + this.random.below(3)}-0${1 + this.random.below(9)}-${10 + this.random.below(19)} 0${this.random.below(10)}:15:00'`;
      case 'date':
        return `date '201${this.random.below(3)}-0${1 + this.random.below(9)}-${10 + this.random.below(19)}'`;
      case 'span':
        return `interval '${1 + this.random.below(40)}' ${this.pick(['day', 'hour', 'minute', 'month', 'year', 'second'])}`;
      case 'ints':
        return `[${this.list(1, 3, () => this.random.below(5)).join(', ')}]`;
      case 'texts':
        return `['${this.pick(words)}', '${this.pick(words)}']`;
    }
  }

  /** An expression of a kind; `{kind}` in a template is one of `depth - 1`, `{N}` a small count, `{E}` a parameter. */
  expr(kind: Kind, depth: number): string {
    if (depth <= 0) return this.leaf(kind);
    const template = this.pick(wideTemplates[kind]);
    const name = `e${this.names++}`;
    const of: Kind | undefined = template.includes('{E:int}')
      ? 'int'
      : template.includes('{E:text}')
        ? 'text'
        : undefined;
    return template.replaceAll(/\{([A-Za-z:]+)\}/g, (_, word: string) => {
      if (word === 'N') return String(1 + this.random.below(3));
      if (word.startsWith('E:')) return name;
      if (!word.startsWith('in:')) return this.expr(word as Kind, depth - 1);
      const saved = this.bound;
      this.bound = [...saved, { name, kind: of! }];
      const inner = this.expr(word.slice(3) as Kind, depth - 1);
      this.bound = saved;
      return inner;
    });
  }
  private predicate(depth: number): string {
    return this.expr('bool', depth);
  }
  /** Intervals are compared by their seconds: the engines part them into days and clocks in ways of their own. */
  private output(depth: number): string {
    return this.chance(8) ? `epoch(${this.expr('span', depth)})` : this.expr(this.pick(outputKinds), depth);
  }
  private key(depth: number): string {
    for (let tries = 0; tries < 9; tries++) {
      const text = this.expr(this.pick(keyKinds), depth);
      if (this.scope.some((alias) => text.includes(`${alias}.`))) return text;
    }
    return `${this.scope[0]!}.g`;
  }
  private where(): string {
    return this.chance(2) ? '' : ` where ${this.predicate(1 + this.random.below(2))}`;
  }

  private from(): string {
    const [x, y] = [`x${this.names++}`, `x${this.names++}`];
    const table = (): string => this.pick(['p', 'q']);
    if (!this.chance(3)) {
      this.scope = [x];
      return `${table()} ${x}`;
    }
    this.scope = [x, y];
    const tie = this.pick([
      `${x}.g = ${y}.g`,
      `${x}.n = ${y}.id`,
      `${x}.s = ${y}.s`,
      `${x}.r.x = ${y}.g`,
      `${x}.g = ${y}.g and ${x}.id <> ${y}.id`,
    ]);
    return this.pick([
      `${table()} ${x}, ${table()} ${y}`,
      `${table()} ${x} left join ${table()} ${y} on ${tie}`,
      `${table()} ${x} full join ${table()} ${y} on ${tie}`,
      `${table()} ${x} join ${table()} ${y} on ${tie} and ${this.predicate(1)}`,
    ]);
  }

  private aggregate(): string {
    const template = this.pick(wideAggregates);
    const text = template.replaceAll(/\{([a-z]+)\}/g, (_, kind: string) => this.expr(kind as Kind, 1));
    return this.chance(5) ? `${text} filter (where ${this.predicate(1)})` : text;
  }
  private selected(): string {
    const from = this.from();
    const outputs = this.list(1, 3, (i) => `${this.output(1 + this.random.below(2))} as c${i}`);
    return `select ${outputs.join(', ')} from ${from}${this.where()}`;
  }
  private grouped(): string {
    const from = this.from();
    const where = this.where();
    const keys = this.list(1, 2, () => this.key(1));
    const aggregates = this.list(1, 3, (i) => `${this.aggregate()} as a${i}`);
    const by = this.pick([
      keys.join(', '),
      keys.join(', '),
      'all',
      `rollup (${keys.join(', ')})`,
      `cube (${keys.join(', ')})`,
      `grouping sets ((${keys.join(', ')}), (${keys[0]!}), ())`,
    ]);
    const having = this.chance(4) ? ` having ${this.pick(['count(*) > 1', 'max(f) is not null', 'bool_or(b)'])}` : '';
    const plain = having.replaceAll(/\b(f|b)\b\)/g, `${this.scope[0]!}.$1)`);
    return `select ${[...keys.map((k, i) => `${k} as k${i}`), ...aggregates].join(', ')} from ${from}${where} group by ${by}${plain}`;
  }
  private windowed(): string {
    const x = `x${this.names++}`;
    return this.within([x], () => {
      const calls = this.list(1, 2, (i) => {
        const call = this.pick(wideWindows).replaceAll(/\{([A-Za-z]+)\}/g, (_, kind: string) =>
          kind === 'N' ? String(1 + this.random.below(3)) : this.expr(kind as Kind, 1),
        );
        const partition = this.chance(2) ? '' : `partition by ${this.key(1)} `;
        const order = `order by ${this.chance(2) ? `${this.key(1)}${this.pick(['', ' desc', ' nulls first'])}, ` : ''}${x}.id`;
        const frame =
          call.startsWith('r') || call.startsWith('l') || call.startsWith('n')
            ? ''
            : this.pick([
                '',
                '',
                ` rows between ${this.random.below(3)} preceding and ${this.random.below(2)} following`,
                ' rows between unbounded preceding and unbounded following',
                ' range between unbounded preceding and current row',
              ]);
        return `${call} over (${partition}${order}${frame}) as c${i}`;
      });
      const qualify = this.chance(5) ? ` qualify row_number() over (partition by ${x}.g order by ${x}.id) <= 2` : '';
      return `select ${x}.id, ${calls.join(', ')} from ${this.pick(['p', 'q'])} ${x}${this.where()}${qualify}`;
    });
  }
  private pivoted(): string {
    const table = this.pick(['p', 'q', '(select * from p where id > 1)', '(select g, n, f, s, b from q)']);
    return this.pick([
      `select * from (pivot ${table} on g in (0, 1, 2) using ${this.pick(['sum(n)', 'count(*)', 'max(f)', 'min(s)', 'avg(n)'])} group by ${this.pick(['s', 'b', 's, b'])})`,
      `select * from (pivot ${table} on g in (0, 1) using sum(n) as t, count(*) as c group by b)`,
      `select * from (select g, n, s from p) pivot (sum(n) for g in (0, 1, 2) group by s)`,
      `select * from (select b, n, s from q) pivot (count(*) as c, max(n) as m for b in (true, false))`,
      `select * from (unpivot (select id, g, n from p) on g, n into name k value v)`,
      `select id, k, v + 1 as v from (select id, g, n from q) unpivot ${this.pick(['', 'include nulls '])}(v for k in (g, n))`,
      `select k, sum(v) as v from (unpivot (select id, g, n, r.x as x from p) on columns(* exclude (id)) into name k value v) group by k`,
    ]);
  }
  private unnested(): string {
    const x = `x${this.names++}`;
    return this.within([x], () =>
      this.pick([
        () => `select ${x}.id, unnest(${this.expr('ints', 2)}) as u from p ${x}${this.where()}`,
        () => `select ${x}.id, u.v from p ${x}, unnest(${this.expr('ints', 1)}) u(v)${this.where()}`,
        () =>
          `select ${x}.id, u.v from q ${x} left join unnest(${this.expr('texts', 1)}) u(v) on true where ${this.predicate(1)}`,
        () =>
          `select ${x}.id, (select ${this.pick(['sum', 'max', 'count'])}(v) from unnest(${this.expr('ints', 1)}) u(v)) as c from p ${x}`,
        () => `select ${x}.id, unnest(${x}.r) from p ${x}`,
        () =>
          `select ${x}.id, list_sort(array(select y.n from q y where y.g = ${x}.g)) as c from p ${x}${this.where()}`,
      ])(),
    );
  }
  private tops(): string {
    const x = `x${this.names++}`;
    return this.within([x], () => {
      const direction = (): string => this.pick(['', ' desc', ' nulls first', ' desc nulls last']);
      const key = this.key(1);
      return this.pick([
        () =>
          `select distinct on (${key}) ${x}.id, ${this.output(1)} as c from p ${x}${this.where()} order by ${key}${direction()}, ${x}.id`,
        () =>
          `select ${x}.id, ${this.output(1)} as c from q ${x}${this.where()} order by ${this.expr(this.pick(keyKinds), 2)}${direction()}, ${x}.id limit ${1 + this.random.below(5)} offset ${this.random.below(3)}`,
        () =>
          `select ${x}.id from p ${x} where ${this.predicate(1)} order by ${key}${direction()}, ${x}.id desc fetch first ${this.random.below(4)} rows only`,
      ])();
    });
  }
  private chained(): string {
    const first = this.within([], () => this.grouped());
    const second = this.within([], () => this.windowed());
    return this.pick([
      () =>
        `with a as (${first}), z as (select a0, count(*) as n from a group by a0) select n, count(*) as c from z group by n`,
      () => `with a as (${second}) select count(*) as n, count(c0) as c, min(id) as m from a`,
      () => `with a as (${second}) select p.id, a.id as other from p left join a on a.id = p.n`,
      () => `select count(*) as n from (${first}) a`,
      () => `select q.id from q where q.id in (select id from (${second}) a where c0 is not null)`,
      () => `(${this.within([], () => this.grouped())}) union all by name (select 's' as extra from p where id = 0)`,
    ])();
  }
  private tied(): string {
    const [x, y] = [`x${this.names++}`, `x${this.names++}`];
    const tie = this.pick([`${y}.g = ${x}.g`, `${y}.n = ${x}.id`, `${y}.id < ${x}.id`, `${y}.s = ${x}.s`]);
    const aggregate = this.within([y], () => this.aggregate());
    const both = this.within([x, y], () => this.predicate(1));
    return this.within([x], () =>
      this.pick([
        () => `select ${x}.id, (select ${aggregate} from q ${y} where ${tie}) as c from p ${x}${this.where()}`,
        () =>
          `select ${x}.id from p ${x} where ${this.pick(['', 'not '])}exists (select 1 from q ${y} where ${tie} and ${both})`,
        () =>
          `select ${x}.id, l.c from p ${x} left join lateral (select ${aggregate} as c from q ${y} where ${tie} and ${both}) l on true`,
        () =>
          `select ${x}.id from p ${x} where ${this.expr('int', 1)} ${this.pick(['in', 'not in'])} (select ${this.within([y], () => this.expr('int', 1))} from q ${y} where ${tie})`,
      ])(),
    );
  }

  statement(): SqlCase {
    this.names = 0;
    const text = this.within([], () =>
      this.pick([
        () => this.selected(),
        () => this.selected(),
        () => this.selected(),
        () => this.grouped(),
        () => this.grouped(),
        () => this.windowed(),
        () => this.windowed(),
        () => this.pivoted(),
        () => this.unnested(),
        () => this.tops(),
        () => this.chained(),
        () => this.tied(),
      ])(),
    );
    return { ...both(text), ordered: false };
  }
}
