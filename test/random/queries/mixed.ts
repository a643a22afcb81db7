/**
 * Random SQL over nullable, mixed and nested tables: columns whose numbers have many types, rows that lack columns,
 * records that are null or lack fields, lists with nulls. Joins by commas, outer joins whose absent side is asked for,
 * correlated subqueries under every operator, set operations of unlike types, functions. The texts are the same for
 * both engines.
 */
import type { DuckTable } from '../../support/queries/duckdb.ts';
import type { Random } from '../../support/random.ts';
import { RandomTexts } from './random-texts.ts';

type Kind = 'int' | 'float' | 'text' | 'bool';
interface Column {
  readonly text: string;
  readonly kind: Kind;
}

const words = ['a', 'b', 'ab', 'Foo', '', 'x y', '12', 'b-c'];
const columns = {
  id: 'BIGINT',
  k: 'BIGINT',
  a: 'BIGINT',
  f: 'DOUBLE',
  s: 'VARCHAR',
  r: 'STRUCT(f BIGINT, g VARCHAR)',
  l: 'BIGINT[]',
  t: 'TIMESTAMP',
} as const;
type Row = Readonly<Record<keyof typeof columns, unknown>>;

/**
 * Two tables with the same columns, as DuckDB reads them and as SUP. The first row has a value in each: what no row has
 * is no column here.
 */
export const mixedTables = (
  random: Random,
): { readonly tables: readonly DuckTable[]; readonly sup: Readonly<Record<string, string>> } => {
  let isFirst = true;
  const maybe = <T>(x: T): T | null => (!isFirst && random.below(5) === 0 ? null : x);
  const tables = ['m', 'n'].map(
    (name): DuckTable => ({
      name,
      columns,
      rows: Array.from({ length: 1 + random.below(12) }, (_, id): Row => rowOf(id)),
    }),
  );
  function rowOf(id: number): Row {
    isFirst = id === 0;
    return {
      id,
      k: maybe(random.below(4)),
      a: maybe(random.below(9) - 3),
      f: maybe((random.below(13) - 6) / 2),
      s: maybe(random.pick(words)),
      r: maybe({ f: maybe(random.below(4)), g: maybe(random.pick(words)) }),
      l: maybe(Array.from({ length: random.below(4) }, () => maybe(random.below(5)))),
      t: maybe(`20${10 + random.below(3)}-0${1 + random.below(3)}-1${random.below(3)} 0${random.below(3)}:30:00`),
    };
  }
  return {
    tables,
    sup: Object.fromEntries(tables.map((t) => [t.name, t.rows.map((row) => supRow(row as Row, random)).join('\n')])),
  };
};
const supRow = (row: Row, random: Random): string => {
  const typed = (x: unknown): string =>
    typeof x !== 'number' ? 'null' : `${x}${random.pick(['', '', '::int32', '::int8', x < 0 ? '::int16' : '::uint8'])}`;
  const text = (x: unknown): string => (x === null ? 'null' : JSON.stringify(x));
  const float = (x: unknown): string =>
    typeof x !== 'number' ? 'null' : x === 0 ? random.pick(['0.', '-0.']) : Number.isInteger(x) ? `${x}.` : String(x);
  const cells: Readonly<Record<string, (x: unknown) => string>> = {
    id: String,
    k: typed,
    a: typed,
    f: float,
    s: text,
    r: (x) =>
      x === null
        ? 'null'
        : fieldsOf(
            [
              ['f', typed((x as { f: unknown }).f)],
              ['g', text((x as { g: unknown }).g)],
            ],
            random,
          ),
    l: (x) => (x === null ? 'null' : `[${(x as unknown[]).map(String).join(',')}]`),
    t: (x) => (x === null ? 'null' : `${String(x).replace(' ', 'T')}Z`),
  };
  return fieldsOf(
    Object.entries(row).map(([name, x]) => [name, cells[name]!(x)] as const),
    random,
  );
};
/** What is null may be absent as well. */
const fieldsOf = (fields: readonly (readonly [string, string])[], random: Random): string =>
  `{${fields
    .filter(([, text]) => text !== 'null' || random.below(3) > 0)
    .map(([name, text]) => `${name}:${text}`)
    .join()}}`;

export class MixedTexts extends RandomTexts {
  private aliases = 0;
  private alias(): string {
    return `x${this.aliases++}`;
  }
  private columnOf(alias: string, kind: Kind): string {
    switch (kind) {
      case 'int':
        return `${alias}.${this.pick(['id', 'k', 'a', 'a', 'r.f'])}`;
      case 'float':
        return `${alias}.f`;
      case 'text':
        return `${alias}.${this.pick(['s', 's', 'r.g'])}`;
      case 'bool':
        return `(${alias}.a > 1)`;
    }
  }
  private column(kind: Kind): string {
    return this.columnOf(this.pick(this.scope), kind);
  }
  private leaf(kind: Kind): string {
    if (!this.chance(4)) return this.column(kind);
    return kind === 'int'
      ? String(this.random.below(5))
      : kind === 'float'
        ? `${this.random.below(4)}.5::double`
        : kind === 'text'
          ? `'${this.pick(words)}'`
          : this.pick(['true', 'false']);
  }
  private expr(kind: Kind, depth: number): string {
    if (depth === 0) return this.leaf(kind);
    const next = (k: Kind = kind): string => this.expr(k, depth - 1);
    const count = this.random.below(3) + 1;
    const table = this.pick(this.scope);
    if (this.chance(6)) return `case when ${this.predicate(depth - 1)} then ${next()} else ${next()} end`;
    if (this.chance(7)) return `coalesce(${next()}, ${next()})`;
    if (this.chance(9)) return `nullif(${next()}, ${next()})`;
    if (this.chance(8) && kind !== 'bool') return `${this.pick(['greatest', 'least'])}(${next()}, ${next()})`;
    switch (kind) {
      case 'int':
        return this.pick([
          () => `(${next()} ${this.pick(['+', '-', '*'])} ${next()})`,
          () => `(${next()} // ${count})`,
          () => `(${next()} % ${count + 1})`,
          () => `abs(${next()})`,
          () => `sign(${next()})`,
          () => `length(${next('text')})`,
          () => `len(${table}.l)`,
          () => `${table}.l[${count}]`,
          () => `list_max(${table}.l)`,
          () => `list_position(${table}.l, ${count})`,
          () => `instr(${next('text')}, 'b')`,
          () => `${this.pick(['year', 'month', 'hour', 'dayofweek', 'quarter'])}(${table}.t)`,
          () => `extract(day from ${table}.t)`,
          () => `date_diff('day', ${table}.t, timestamp '2011-02-12 01:00:00')`,
          () => `ascii(${next('text')})`,
          () => `cast(${next('bool')} as int)`,
          () => `width_bucket(${next('float')}, 0, 10, ${count + 2})`,
          () => `strpos(${next('text')}, ${next('text')})`,
          () => `gcd(${next()}, ${next()})`,
          () => `bit_count(cast(${next()} as bigint))`,
          () => `list_min(${table}.l)`,
          () => `len(list_filter(${table}.l, lambda e: e > ${next()}))`,
          () => `date_diff('hour', ${table}.t, date_trunc('month', ${table}.t))`,
          () => `try_cast(${next('text')} as int)`,
          () => `(${next()} // nullif(${next()}, 0))`,
        ])();
      case 'float':
        return this.pick([
          () => `(${next()} ${this.pick(['+', '-', '*'])} ${next()})`,
          () => `(${next()} + ${next('int')})`,
          () => `cast(${next('int')} as double)`,
          () => `${this.pick(['floor', 'ceil', 'abs', 'round'])}(${next()})`,
          () => `(${next()} / 4.0::double)`,
          () => `sqrt(abs(${next()}))`,
          () => `round(${next()}, 1)`,
          () => `coalesce(try_cast(${next('text')} as double), ${next()})`,
          () => `epoch(${table}.t)`,
        ])();
      case 'text':
        return this.pick([
          () => `(${next()} || ${next()})`,
          () => `${this.pick(['upper', 'lower', 'trim', 'reverse'])}(${next()})`,
          () => `${this.pick(['left', 'right'])}(${next()}, ${count})`,
          () => `repeat(${next()}, ${count})`,
          () => `lpad(${next()}, ${count + 2}, '-')`,
          () => `split_part(${next()}, ' ', ${count})`,
          () => `concat(${next()}, ${next()})`,
          () => `concat_ws('-', ${next()}, ${next()})`,
          () => `replace(${next()}, 'a', ${next()})`,
          () => `substring(${next()}, ${count}, 2)`,
          () => `cast(${next('int')} as varchar)`,
          () => `translate(${next()}, 'ab', 'ba')`,
          () => `regexp_replace(${next()}, '[ab]+', '<\\\\0>', 'g')`,
          () => `regexp_extract(${next()}, '(a)(b?)', ${count - 1})`,
          () => `rpad(${next()}, ${count + 2}, '+')`,
          () => `md5(${next()})`,
          () => `array_to_string(list_append(${table}.l, ${count}), '-')`,
          () => `array_to_string(string_split(${next()}, 'a'), '|')`,
          () => `strftime(${table}.t, '%Y-%m-%d')`,
          () => `dayname(${table}.t)`,
          () => `chr(65 + abs(${this.leaf('int')}) % 26)`,
        ])();
      case 'bool':
        return this.predicate(depth);
    }
  }
  private predicate(depth: number): string {
    if (depth <= 0) {
      const kind = this.pick<Kind>(['int', 'float', 'text']);
      return `(${this.column(kind)} ${this.pick(['=', '<>', '<', '>='])} ${this.leaf(kind)})`;
    }
    const kind = this.pick<Kind>(['int', 'int', 'float', 'text']);
    const next = (k: Kind = kind): string => this.expr(k, depth - 1);
    const not = this.pick(['', 'not ']);
    const table = this.pick(this.scope);
    return this.pick([
      () => `(${next()} ${this.pick(['=', '<>', '<', '<=', '>', '>='])} ${next()})`,
      () => `(${next('int')} ${this.pick(['=', '<', '>='])} ${next('float')})`,
      () => `(${this.predicate(depth - 1)} ${this.pick(['and', 'or'])} ${this.predicate(depth - 1)})`,
      () => `(not ${this.predicate(depth - 1)})`,
      () => `(${next()} is ${not}null)`,
      () => `(${next()} is ${not}distinct from ${next()})`,
      () => `(${next('int')} ${not}in (${this.leaf('int')}, 2, ${this.pick(['null', '3'])}))`,
      () => `(${next()} ${not}between ${next()} and ${next()})`,
      () => `(${next('text')} ${not}like '${this.pick(['a%', '%b', '_', '%'])}')`,
      () => `starts_with(${next('text')}, 'a')`,
      () => `(${next('text')} ${this.pick(['in', 'not in'])} ('a', ${this.leaf('text')}))`,
      () => `(${table}.r is ${not}null)`,
      () => `list_contains(${table}.l, 2)`,
      () => `(${this.column('int')} > ${next('int')} is ${not}null)`,
      () => `(${next('int')} ${this.pick(['= any', '<> all', '< any', '>= all'])} (array[1, ${this.leaf('int')}, 4]))`,
      () => `(${not}(coalesce(${next('int')}, 1), coalesce(${next('text')}, 'a')) in ((1, 'a'), (2, ''), (0, 'b')))`,
      () => `regexp_matches(${next('text')}, '^[ab]')`,
      () => `(${next('text')} ilike 'A%')`,
      () => `(${next('text')} similar to '(a|b)+')`,
      () => `list_has_any(${table}.l, [1, 3])`,
      () => `(${table}.t > timestamp '2011-01-01' - interval (${this.random.below(3)}) month)`,
    ])();
  }

  /** A condition of a subquery over the rows around. */
  private tied(inner: string, outer: readonly string[]): string {
    const kind = this.pick<Kind>(['int', 'int', 'float', 'text']);
    const tie = `${this.columnOf(inner, kind)} ${this.pick(['=', '=', '=', '<', '<>'])} ${this.columnOf(this.pick(outer), kind)}`;
    return this.pick([
      tie,
      tie,
      `${tie} and ${this.within([inner], () => this.predicate(1))}`,
      `(${tie} or ${this.within([inner], () => this.predicate(0))})`,
      this.within([inner], () => this.predicate(1)),
    ]);
  }
  /** A subquery as a condition. */
  private subquery(): string {
    const outer = this.scope;
    const x = this.alias();
    const table = this.pick(['m', 'n']);
    const kind = this.pick<Kind>(['int', 'int', 'float', 'text']);
    const own = this.within([x], () => this.expr(kind, 1));
    const body = `from ${table} ${x} where ${this.tied(x, outer)}`;
    const left = this.expr(kind, 1);
    const number = this.within([x], () => this.expr('int', 1));
    return this.pick([
      `${this.pick(['', 'not '])}exists (select 1 ${body})`,
      `${left} ${this.pick(['', 'not '])}in (select ${own} ${body})`,
      `${left} ${this.pick(['=', '<>', '<', '>='])} ${this.pick(['any', 'all'])} (select ${own} ${body})`,
      `${this.expr('int', 1)} ${this.pick(['=', '<', '>='])} (select ${this.pick(['count(*)', `max(${number})`, `sum(${number})`, `count(distinct ${number})`])} ${body})`,
      `(select min(${number}) ${body}) is ${this.pick(['', 'not '])}null`,
    ]);
  }
  private condition(): string {
    const part = (): string => (this.chance(3) ? `(${this.subquery()})` : this.predicate(1));
    return this.pick([
      part,
      part,
      () => `(${part()} ${this.pick(['and', 'or'])} ${part()})`,
      () => `(not ${part()})`,
    ])();
  }

  private from(): { readonly text: string; readonly where: string } {
    const x = this.alias();
    const y = this.alias();
    const z = this.alias();
    const name = (): string => this.pick(['m', 'n']);
    const tie = (left: string, right: string): string => {
      const kind = this.pick<Kind>(['int', 'int', 'float', 'text']);
      return `${this.columnOf(left, kind)} = ${this.columnOf(right, kind)}`;
    };
    switch (this.random.below(6)) {
      case 0:
      case 1:
        this.scope = [x];
        return { text: `${name()} ${x}`, where: '' };
      case 2:
        this.scope = [x, y];
        return { text: `${name()} ${x}, ${name()} ${y}`, where: tie(x, y) };
      case 3:
        this.scope = [x, y, z];
        return {
          text: `${name()} ${x}, ${name()} ${y}, ${name()} ${z}`,
          where: `${tie(x, y)} and ${this.pick([tie(y, z), tie(x, z)])}`,
        };
      default: {
        this.scope = [x, y];
        const extra = this.chance(3) ? ` and ${this.predicate(1)}` : '';
        return {
          text: `${name()} ${x} ${this.pick(['left', 'right', 'full', 'inner'])} join ${name()} ${y} on ${tie(x, y)}${extra}`,
          where: this.chance(3)
            ? `${this.pick([x, y])}.${this.pick(['id', 'a', 'r.f'])} is ${this.pick(['', 'not '])}null`
            : '',
        };
      }
    }
  }
  private select(kinds?: readonly Kind[]): { readonly text: string; readonly columns: readonly Column[] } {
    return this.within([], () => {
      const { text: from, where } = this.from();
      const own =
        kinds ??
        Array.from({ length: 1 + this.random.below(3) }, () => this.pick<Kind>(['int', 'int', 'float', 'text']));
      const all = [where, ...(this.chance(2) ? [this.condition()] : [])].filter((part) => part !== '');
      const filter = all.length > 0 ? ` where ${all.join(' and ')}` : '';
      if (!kinds && this.chance(3)) return { text: this.grouped(own, from, filter), columns: [] };
      const outputs = own.map((kind) => ({
        kind,
        text: this.chance(8) && kind === 'int' ? this.scalar() : this.expr(kind, 2),
      }));
      return {
        text: `select ${this.chance(4) ? 'distinct ' : ''}${outputs.map((c, i) => `${c.text} as c${i}`).join(', ')} from ${from}${filter}`,
        columns: outputs,
      };
    });
  }
  private scalar(): string {
    const outer = this.scope;
    const x = this.alias();
    return `(select ${this.pick(['count(*)', `sum(${x}.a)`, `max(${x}.k)`])} from ${this.pick(['m', 'n'])} ${x} where ${this.tied(x, outer)})`;
  }
  private grouped(kinds: readonly Kind[], from: string, where: string): string {
    const keys = kinds
      .slice(0, 2)
      .map((kind) => this.expr(kind, 1))
      .filter((text) => this.scope.some((x) => text.includes(`${x}.`)));
    const call = (): string =>
      this.pick([
        () => 'count(*)',
        () => `count(${this.pick(['', 'distinct '])}${this.expr(this.pick<Kind>(['int', 'float', 'text']), 1)})`,
        () => `sum(${this.pick(['', 'distinct '])}${this.expr('int', 1)})`,
        () => `${this.pick(['min', 'max'])}(${this.expr(this.pick<Kind>(['int', 'float', 'text']), 1)})`,
        () => `avg(${this.expr('int', 1)})`,
        () => `count(*) filter (where ${this.predicate(1)})`,
        () => `bool_or(${this.predicate(1)})`,
        () => `bool_and(${this.predicate(1)})`,
        () => `${this.pick(['stddev', 'var_pop', 'median'])}(${this.expr('float', 1)})`,
        () => `quantile_cont(${this.expr('float', 1)}, 0.25)`,
        () => {
          const text = this.expr('text', 1);
          return `string_agg(${text}, '-' order by ${text})`;
        },
        () => `bit_xor(${this.expr('int', 1)})`,
        () => `len(array_agg(${this.expr('int', 1)}))`,
        () => `sum(${this.expr('float', 1)}) filter (where ${this.predicate(1)})`,
        () => `product(${this.expr('int', 0)})`,
      ])();
    const outputs = [...keys, call(), ...(this.chance(2) ? [call()] : [])];
    const having = keys.length > 0 && this.chance(4) ? ` having ${call()} is ${this.pick(['', 'not '])}null` : '';
    return `select ${outputs.map((text, i) => `${text} as c${i}`).join(', ')} from ${from}${where}${keys.length > 0 ? ` group by ${keys.join(', ')}` : ''}${having}`;
  }
  statement(): string {
    const first = this.select();
    if (first.columns.length === 0 || !this.chance(5)) return first.text;
    // A column of whole numbers beside one of others.
    const kinds = first.columns.map(({ kind }) => (kind === 'int' && this.chance(3) ? 'float' : kind));
    const second = this.select(kinds);
    return `${first.text} ${this.pick(['union', 'union all', 'intersect', 'except'])} ${second.text}`;
  }
}
