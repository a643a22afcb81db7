/**
 * Random SQL of joins whose keys are of unlike types: whole numbers of several widths, floats, decimals, texts of
 * numbers and times, with nulls and absent fields. Conditions of ON carry filters over texts and numbers of either side;
 * filters behind narrow outer joins, go through aggregates and hold of columns that are equal. The texts are the same
 * for both engines.
 */
import type { DuckTable } from '../../support/queries/duckdb.ts';
import type { Random } from '../../support/random.ts';
import { RandomTexts } from './random-texts.ts';

type Kind = 'number' | 'text' | 'time';
/** Each column in DuckDB, its kind, and how a value of it is written in SUP. */
const columns = {
  id: { duck: 'BIGINT', kind: 'number', sup: String },
  k: { duck: 'BIGINT', kind: 'number', sup: String },
  j: { duck: 'INTEGER', kind: 'number', sup: (x) => `${String(x)}::int32` },
  f: { duck: 'DOUBLE', kind: 'number', sup: (x) => (Number.isInteger(x) ? `${String(x)}.` : String(x)) },
  d: { duck: 'DECIMAL(9,2)', kind: 'number', sup: (x) => (Number.isInteger(x) ? `${String(x)}.` : String(x)) },
  n: { duck: 'VARCHAR', kind: 'text', sup: (x) => JSON.stringify(x) },
  s: { duck: 'VARCHAR', kind: 'text', sup: (x) => JSON.stringify(x) },
  t: { duck: 'TIMESTAMP', kind: 'time', sup: (x) => `${String(x).replace(' ', 'T')}Z` },
  u: { duck: 'DATE', kind: 'time', sup: (x) => `${String(x)}T00:00:00Z` },
} as const satisfies Readonly<
  Record<string, { readonly duck: string; readonly kind: Kind; readonly sup: (x: unknown) => string }>
>;
type Name = keyof typeof columns;
const names = Object.keys(columns) as readonly Name[];
const numbers: readonly Name[] = ['k', 'k', 'j', 'f', 'd'];
const tables = ['a', 'b', 'c'] as const;

/** Texts that numbers are read from: `n` holds no others, so that DuckDB reads all of them. */
const digits = ['0', '1', '2', '3', '01', '-1', '10'];
const words = ['a', 'ab', 'B', '', '1', '01', '2', 'x y'];
const days = ['2024-01-01', '2024-01-02', '2024-02-29', '2023-12-31'];

/** Three tables with the same columns; the first row has a value in each, since what no row has is no column here. */
export const joinTables = (
  random: Random,
): { readonly tables: readonly DuckTable[]; readonly sup: Readonly<Record<string, string>> } => {
  const value: Readonly<Record<Name, (row: number) => unknown>> = {
    id: (row) => row,
    k: () => random.below(5) - 1,
    j: () => random.below(5) - 1,
    f: () => random.pick([-1, 0, 1, 2, 3, 0.5, 1.5]),
    d: () => random.pick([-1, 0, 1, 2, 3, 0.5, 1.25]),
    n: () => random.pick(digits),
    s: () => random.pick(words),
    t: () => `${random.pick(days)} ${random.pick(['00:00:00', '00:00:00', '12:30:00'])}`,
    u: () => random.pick(days),
  };
  const made = tables.map((name): DuckTable => {
    const rows = Array.from({ length: 1 + random.below(14) }, (_, row) =>
      Object.fromEntries(
        names.map((c) => [c, c !== 'id' && row > 0 && random.below(6) === 0 ? null : value[c](row)] as const),
      ),
    );
    return { name, columns: Object.fromEntries(names.map((c) => [c, columns[c].duck])), rows };
  });
  const supRow = (row: Readonly<Record<string, unknown>>): string => {
    const cells = names.flatMap((c) => {
      if (row[c] !== null) return [`${c}:${columns[c].sup(row[c])}`];
      return random.below(3) === 0 ? [] : [`${c}:null`];
    });
    return `{${cells.join()}}`;
  };
  return { tables: made, sup: Object.fromEntries(made.map((t) => [t.name, t.rows.map(supRow).join('\n')])) };
};

/** A table of FROM and the columns that it has. */
interface Side {
  readonly alias: string;
  readonly names: readonly Name[];
}

export class JoinTexts extends RandomTexts<Side> {
  private aliases = 0;

  private column(side: Side, of: readonly Name[]): string | undefined {
    const fit = of.filter((c) => side.names.includes(c));
    return fit.length === 0 ? undefined : `${side.alias}.${this.pick(fit)}`;
  }
  private columnOf(side: Side, kind: Kind): string {
    const found = this.column(
      side,
      names.filter((c) => columns[c].kind === kind),
    );
    return found ?? { number: '1', text: `'1'`, time: `timestamp '2024-01-01'` }[kind];
  }

  /** An equality of columns of two sides. */
  private key(left: Side, right: Side): string {
    const of = (side: Side, list: readonly Name[]): string => this.column(side, list) ?? this.columnOf(side, 'number');
    const [x, y] = this.pick<() => readonly [string, string]>([
      () => [of(left, numbers), of(right, numbers)],
      () => [of(left, ['k']), of(right, ['k', 'j'])],
      () => [of(left, ['k', 'f']), of(right, ['d', 'j'])],
      () => [of(left, ['n']), of(right, ['k', 'j'])],
      () => [of(left, ['k', 'j']), of(right, ['n'])],
      () => [this.columnOf(left, 'text'), this.columnOf(right, 'text')],
      () => [this.columnOf(left, 'time'), this.columnOf(right, 'time')],
      () => [`${of(left, ['k', 'j'])} + 1`, of(right, numbers)],
    ])();
    return `${x} ${this.pick(['=', '=', '=', '=', 'is not distinct from'])} ${y}`;
  }

  /** What is asked of one side alone. */
  private filter(side: Side): string {
    const number = this.columnOf(side, 'number');
    const text = this.columnOf(side, 'text');
    const time = this.columnOf(side, 'time');
    const compare = this.pick(['=', '<>', '<', '<=', '>', '>=']);
    const constant = this.pick(['0', '1', '2', '1.0', '0.5', '1.25::double', '3::int']);
    return this.pick([
      `${number} ${compare} ${constant}`,
      `${number} ${compare} ${constant}`,
      `${text} ${compare} '${this.pick(words)}'`,
      `${number} ${compare} '${this.pick(['0', '1', '01', '2'])}'`,
      `${text} like '${this.pick(['0%', '%1', '_', 'a%', '%'])}'`,
      `${time} ${compare} '${this.pick(days)}'`,
      `${number} ${this.pick(['in', 'not in'])} (${this.pick(['0, 1', '1, 2.0', '1, null', '3'])})`,
      `${text} ${this.pick(['in', 'not in'])} ('a', '1', '01')`,
      `${number} between ${this.pick(['0', '-1', '0.5'])} and ${this.pick(['1', '2'])}`,
      `${this.pick([number, text, time])} is ${this.pick(['', 'not '])}null`,
      `(${number} ${compare} ${constant} or ${text} = '${this.pick(words)}')`,
      `coalesce(${number}, 1) ${compare} ${constant}`,
      `not (${number} ${compare} ${constant})`,
      `length(${text}) > 1`,
      `cast(${number} as varchar) ${this.pick(['=', '<', 'like'])} '${this.pick(['1', '01', '2', '%'])}'`,
    ]);
  }
  /** What is asked of two sides. */
  private across(left: Side, right: Side): string {
    const kind = this.pick<Kind>(['number', 'number', 'text', 'time']);
    const compare = this.pick(['<', '<=', '<>', '>', '>=']);
    return this.pick([
      `${this.columnOf(left, kind)} ${compare} ${this.columnOf(right, kind)}`,
      `(${this.key(left, right)} or ${this.filter(right)})`,
      `${this.columnOf(left, 'number')} + ${this.columnOf(right, 'number')} ${compare} 2`,
    ]);
  }
  private on(before: readonly Side[], right: Side): string {
    const left = this.pick(before);
    const parts = [this.key(left, right)];
    if (this.chance(4)) parts.push(this.key(this.pick(before), right));
    if (this.chance(2)) parts.push(this.filter(this.chance(2) ? left : right));
    if (this.chance(4)) parts.push(this.across(left, right));
    return parts.join(' and ');
  }

  /** A table, a part of one, or groups of one, as it is written in FROM. */
  private table(): { readonly text: string; readonly side: Side } {
    const alias = `x${this.aliases++}`;
    const name = this.pick(tables);
    const whole: Side = { alias: name, names };
    return this.pick<() => { text: string; side: Side }>([
      () => ({ text: `${name} ${alias}`, side: { alias, names } }),
      () => ({ text: `${name} ${alias}`, side: { alias, names } }),
      () => ({ text: `${name} ${alias}`, side: { alias, names } }),
      () => ({ text: `(select * from ${name} where ${this.filter(whole)}) ${alias}`, side: { alias, names } }),
      () => {
        const key = this.pick<Name>(['k', 'j', 'f', 's', 'n', 'u']);
        const value = key === 'k' ? 'j' : 'k';
        return {
          text: `(select ${key}, max(${value}) as ${value}, count(*) as id from ${name} group by ${key}) ${alias}`,
          side: { alias, names: [key, value, 'id'] },
        };
      },
      () => ({ text: `(select distinct k, s from ${name}) ${alias}`, side: { alias, names: ['k', 's'] } }),
    ])();
  }

  private from(): { readonly text: string; readonly sides: readonly Side[]; readonly where: readonly string[] } {
    const first = this.table();
    let text = first.text;
    let sides: readonly Side[] = [first.side];
    const where: string[] = [];
    for (let left = 1 + this.random.below(2); left > 0; left--) {
      const { text: other, side } = this.table();
      const style = this.pick([
        'join',
        'left join',
        'left join',
        'right join',
        'full join',
        'semi join',
        'anti join',
        ',',
      ]);
      if (style === ',') {
        text = `${text} cross join ${other}`;
        where.push(this.key(this.pick(sides), side));
      } else text = `${text} ${style} ${other} on ${this.on(sides, side)}`;
      if (!style.startsWith('semi') && !style.startsWith('anti')) sides = [...sides, side];
    }
    return { text, sides, where };
  }

  private columnsOf(sides: readonly Side[]): readonly string[] {
    return sides.flatMap((side) => this.list(1, 2, () => `${side.alias}.${this.pick(side.names)}`));
  }

  statement(): string {
    const { text, sides, where } = this.from();
    const asked = [...where, ...this.list(0, 2, () => this.filter(this.pick(sides)))];
    if (sides.length > 1 && this.chance(4)) asked.push(this.across(sides[0]!, sides.at(-1)!));
    if (this.chance(6)) asked.push(this.inQuery(this.pick(sides)));
    const condition = asked.length > 0 ? ` where ${asked.join(' and ')}` : '';
    const side = this.pick(sides);
    return this.pick<() => string>([
      () => this.rows(text, condition, sides),
      () => this.rows(text, condition, sides),
      () => `select count(*) as n, sum(${this.columnOf(side, 'number')}) as v from ${text}${condition}`,
      () => this.groups(text, condition, side),
      () => this.outside(text, condition, side),
    ])();
  }
  private rows(text: string, condition: string, sides: readonly Side[]): string {
    const list = this.columnsOf(sides).map((c, i) => `${c} as o${i}`);
    return `select ${list.join(', ')} from ${text}${condition}`;
  }
  private groups(text: string, condition: string, side: Side): string {
    const key = `${side.alias}.${this.pick(side.names)}`;
    const having = this.chance(3) ? ` having count(*) ${this.pick(['>', '<='])} 1` : '';
    return `select ${key} as o, count(*) as n, max(${this.columnOf(side, 'number')}) as v from ${text}${condition} group by ${key}${having}`;
  }
  /** Groups, of whose keys something is asked outside; perhaps in a join with another table. */
  private outside(text: string, condition: string, side: Side): string {
    const key = this.pick(side.names);
    const inner = `(select ${side.alias}.${key}, count(*) as id from ${text}${condition} group by ${side.alias}.${key}) g`;
    const g: Side = { alias: 'g', names: [key, 'id'] };
    if (this.chance(2)) return `select g.${key} as o, g.id as n from ${inner} where ${this.filter(g)}`;
    const other: Side = { alias: 'y', names };
    const style = this.pick(['join', 'left join', 'full join', 'right join']);
    return `select g.${key} as o, g.id as n, y.id as m from ${inner} ${style} ${this.pick(tables)} y on ${this.on([g], other)} where ${this.filter(this.pick([g, other]))}`;
  }
  private inQuery(outer: Side): string {
    const name = this.pick(tables);
    const side: Side = { alias: name, names };
    return this.pick([
      `${this.columnOf(outer, 'number')} ${this.pick(['in', 'not in'])} (select ${this.pick(numbers)} from ${name} where ${this.filter(side)})`,
      `${this.pick(['', 'not '])}exists (select 1 from ${name} where ${this.key(outer, side)} and ${this.filter(side)})`,
    ]);
  }
}
