/**
 * Random SQL over decimals of up to 18 digits, most of which no float64 gives back: arithmetic, comparisons, keys,
 * aggregates, windows and set operations, whose results are compared with DuckDB's digit by digit.
 */
import { decimalData } from '../../../src/vectors/decimal.ts';
import type { DuckTable } from '../../support/queries/duckdb.ts';
import type { Random } from '../../support/random.ts';
import { RandomTexts } from './random-texts.ts';

const columns = { id: 'BIGINT', g: 'BIGINT', n: 'BIGINT', x: 'DECIMAL(18,2)', y: 'DECIMAL(18,4)', z: 'DECIMAL(9,1)' };
const scales = { x: 2, y: 4, z: 1 } as const;
const digits = { x: 18, y: 18, z: 9 } as const;
type Decimal = keyof typeof scales;
const names: readonly Decimal[] = ['x', 'y', 'z'];

const unitsOf = (random: Random, most: number): bigint => {
  const length = random.below(3) === 0 ? 1 + random.below(4) : most - random.below(3);
  let text = '';
  for (let i = 0; i < length; i++) text += random.below(10);
  return BigInt(text) * (random.below(3) === 0 ? -1n : 1n);
};
const textOf = (units: bigint, scale: number): string => {
  const size = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  return `${units < 0n ? '-' : ''}${size.slice(0, -scale)}.${size.slice(-scale)}`;
};
const supOf = (units: bigint, name: Decimal): string => {
  const scale = scales[name];
  const data = decimalData({ units, scale });
  return typeof data === 'string'
    ? `${JSON.stringify(data)}::=sql_decimal`
    : `${data}${Number.isInteger(data) ? '.' : ''}::=deciaml_${scale}_${digits[name]}`;
};
/** A column has one type, as that of a file has. */
const typeOf = (name: Decimal): string =>
  `((deciaml_${scales[name]}_${digits[name]}=float64)|(sql_decimal=string)|null)`;

/** The table `d`, as DuckDB's and as ours; values come several times, since near ones are what is told apart. */
export const decimalTable = (random: Random): { readonly table: DuckTable; readonly sup: string } => {
  const pools = Object.fromEntries(
    names.map((name) => [name, Array.from({ length: 4 }, () => unitsOf(random, digits[name]))]),
  );
  const near = (name: Decimal): bigint | null =>
    random.below(7) === 0 ? null : random.pick(pools[name]!) + BigInt(random.below(3) - 1);
  const rows = Array.from({ length: 3 + random.below(8) }, (_, id) => ({
    id,
    g: random.below(3),
    n: random.below(5) === 0 ? null : random.below(2000) - 1000,
    ...(Object.fromEntries(names.map((name) => [name, near(name)])) as Record<Decimal, bigint | null>),
  }));
  const clamped = (units: bigint, name: Decimal): bigint => {
    const most = 10n ** BigInt(digits[name]) - 1n;
    return units > most ? most : units < -most ? -most : units;
  };
  const of = (row: (typeof rows)[number], text: (units: bigint, name: Decimal) => string | null): object =>
    Object.fromEntries(names.map((name) => [name, row[name] === null ? null : text(clamped(row[name], name), name)]));
  return {
    table: {
      name: 'd',
      columns,
      rows: rows.map((row) => ({ ...row, ...of(row, (units, name) => textOf(units, scales[name])) })),
    },
    sup: rows
      .map(
        ({ id, g, n, ...row }) =>
          `{id:${id},g:${g},n:${n},${names.map((name) => `${name}:${row[name] === null ? 'null' : supOf(clamped(row[name], name), name)}::${typeOf(name)}`).join(',')}}`,
      )
      .join('\n'),
  };
};

/** Statements over `d`. */
export class DecimalTexts extends RandomTexts {
  private of = '';
  private leaf(): string {
    return this.random.below(5) === 0
      ? textOf(unitsOf(this.random, 16), 1 + this.random.below(3))
      : `${this.of}${this.pick(names)}`;
  }
  private number(depth: number): string {
    if (depth === 0) return this.leaf();
    const next = (): string => this.number(depth - 1);
    return this.pick<() => string>([
      () => `(${next()} + ${next()})`,
      () => `(${next()} - ${next()})`,
      () => `(${next()} + ${this.of}n)`,
      () => `(${this.of}z * ${this.of}n)`,
      () => `(${this.pick(['x', 'z'].map((c) => this.of + c))} * ${this.pick(['0.5', '1.25', '-3', `${this.of}z`])})`,
      () => `(-(${next()}))`,
      () => `abs(${next()})`,
      () => `${this.pick(['round', 'floor', 'ceil'])}(${next()})`,
      () => `round(${this.of}${this.pick(['x', 'y'])}, 1)`,
      () => `case when ${this.test(depth - 1)} then ${next()} else ${next()} end`,
      () => `coalesce(${next()}, ${next()})`,
      () => `${this.pick(['greatest', 'least'])}(${next()}, ${next()})`,
      () => `nullif(${this.of}x, ${this.of}x)`,
      () => `cast(${this.of}${this.pick(['x', 'z'])} as decimal(${this.pick(['20,3', '22,4', '18,1'])}))`,
    ])();
  }
  private test(depth: number): string {
    const next = (): string => this.number(Math.max(0, depth));
    return this.pick<() => string>([
      () => `${next()} ${this.pick(['=', '<>', '<', '<=', '>', '>='])} ${next()}`,
      () => `${this.of}x ${this.pick(['=', '<', '>='])} ${this.of}n`,
      () => `${next()} between ${next()} and ${next()}`,
      () => `${next()} ${this.pick(['in', 'not in'])} (${this.leaf()}, ${this.leaf()})`,
      () => `${next()} is ${this.pick(['', 'not '])}distinct from ${next()}`,
    ])();
  }
  /** Results as text: nothing is lost on the way to be compared. */
  statement(): string {
    this.of = '';
    const where = this.random.below(3) === 0 ? ` where ${this.test(1)}` : '';
    const shown = (e: string): string => `cast(${e} as varchar)`;
    return this.pick<() => string>([
      () => `select ${shown(this.number(2))} as a, ${shown(this.number(1))} as b from d${where}`,
      () => `select ${this.test(2)} as a from d`,
      () =>
        `select g, ${shown(`${this.pick(['sum', 'min', 'max'])}(${this.number(1)})`)} as a, count(distinct ${this.leaf()}) as b from d${where} group by g`,
      () =>
        `select ${shown(`${this.pick(['sum', 'min', 'max'])}(${this.number(1)}) filter (where ${this.test(1)})`)} as a from d`,
      () => `select ${shown('e')} as a, count(*) as b from (select ${this.number(1)} as e from d${where}) t group by e`,
      () =>
        `select string_agg(cast(e as varchar), ' ' order by e${this.pick([' desc', ''])}, id) as a from (select id, ${this.number(1)} as e from d) t where e is not null`,
      () =>
        `select id, rank() over (order by ${this.number(1)} nulls last) as a, ${shown(`${this.pick(['sum', 'min', 'max'])}(x) over (order by id rows ${this.pick(['1 preceding', 'unbounded preceding'])})`)} as b from d`,
      () => {
        const name = this.pick(names);
        return `select p.id as a, q.id as b from d p join d q on p.${name} ${this.pick(['=', '=', '<'])} q.${name}${this.random.below(2) === 0 ? ' and p.g = q.g' : ''}`;
      },
      () =>
        `select ${shown('e')} as a from (select x as e from d ${this.pick(['union', 'except', 'intersect', 'union all'])} select ${this.pick(['x', 'z', 'y'])} from d where g > 0) t`,
      () =>
        `select id from d where x ${this.pick(['in', 'not in'])} (select ${this.pick(['x', 'z'])} from d where x is not null and z is not null and g = ${this.random.below(3)})`,
      () =>
        `select id from d where x ${this.pick(['=', '>', '<='])} (select ${this.pick(['max', 'min'])}(x) from d where g = 1)`,
      () => `select distinct ${shown('x')} as a, ${shown('z')} as b from d`,
    ])();
  }
}
