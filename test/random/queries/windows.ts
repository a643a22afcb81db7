/** Random window queries in words that DuckDB and we share, and the rows that they run over. */
import type { DuckTable } from '../../support/queries/duckdb.ts';
import { type Random, randomOf } from '../../support/random.ts';

/** One query in both dialects: they differ in the names of some aggregates and where IGNORE NULLS stands. */
interface WindowQuery {
  readonly ours: string;
  readonly theirs: string;
}

type Row = Readonly<Record<string, unknown>>;

/** Rows with nulls, ties, few and many values; `id` is unique. */
export const randomRows = (random: Random, count: number): readonly Row[] => {
  const maybe = <T>(x: T): T | null => (random.below(6) === 0 ? null : x);
  return Array.from({ length: count }, (_, id) => ({
    id,
    k: maybe(random.pick(['a', 'b', 'c', 'ö'])),
    g: maybe(random.below(3)),
    v: maybe(random.below(12) - 4),
    f: maybe((random.below(64) - 20) / 8),
    s: maybe(random.hex(1 + random.below(3))),
    b: maybe(random.below(2) === 0),
    ts: maybe(timeText(random.below(240))),
  }));
};
/** Hours after new year. */
const timeText = (hours: number): string => new Date(Date.UTC(2024, 0, 1, hours)).toISOString().replace('.000', '');

export const duckTable = (rows: readonly Row[]): DuckTable => ({
  name: 't',
  rows,
  columns: {
    id: 'BIGINT',
    k: 'VARCHAR',
    g: 'BIGINT',
    v: 'BIGINT',
    f: 'DOUBLE',
    s: 'VARCHAR',
    b: 'BOOLEAN',
    ts: 'TIMESTAMP',
  },
});

/** The same rows as SUP text. */
export const supRows = (rows: readonly Row[]): string =>
  rows
    .map(
      (row) =>
        `{${Object.entries(row)
          .map(([name, x]) => `${name}:${supOf(name, x)}`)
          .join()}}`,
    )
    .join('\n');
const supOf = (name: string, x: unknown): string => {
  if (x === null) return 'null';
  if (name === 'ts') return String(x);
  if (name === 'f') return Number.isInteger(x) ? `${String(x)}.` : String(x);
  return JSON.stringify(x);
};

const columns = ['g', 'v', 'f', 's', 'k', 'ts', 'id'] as const;

export const randomQuery = (seed: number): WindowQuery => new Writer(randomOf(seed)).query();

/** Text in both dialects, from parts that are either the same or a pair. */
class Writer {
  private readonly random: Random;
  constructor(random: Random) {
    this.random = random;
  }

  query(): WindowQuery {
    const kind = this.random.below(8);
    if (kind === 0) return this.grouped();
    if (kind === 1) return this.named();
    const calls = Array.from({ length: 1 + this.random.below(3) }, (_, i) => this.call(`c${i}`));
    const where = this.random.below(4) === 0 ? ' where v > 0' : '';
    if (kind === 2) {
      const limit = this.random.below(4) + 1;
      const by = this.partition();
      return both(
        calls,
        (list) =>
          `select id, ${list.join(', ')} from t${where} qualify row_number() over (${by} order by v desc, id) <= ${limit} order by id`,
      );
    }
    if (kind === 3)
      return both(
        calls,
        (list) => `select id, ${list.join(', ')} from t${where} order by rank() over (order by f, g desc), id`,
      );
    if (kind === 4)
      return both(
        calls,
        (list) =>
          `select id, ${list.join(', ')} from (select id, k, g, v + 1 as v, f, s, b, ts from t) as u${where} order by id`,
      );
    return both(calls, (list) => `select id, ${list.join(', ')} from t${where} order by id`);
  }

  private grouped(): WindowQuery {
    const order = this.random.pick(['t desc, k', 'k', 'k desc nulls first']);
    const keys = order.replace('t desc', 'sum(v) desc');
    const text = this.random.pick([
      `select k, sum(v) as t, sum(sum(v)) over (order by ${keys}) as r, rank() over (order by count(*), k) as n from t group by k order by k`,
      `select k, g, count(*) as n, sum(count(*)) over (partition by k) as all_n, lag(max(v)) over (partition by g order by ${keys}) as l from t group by k, g order by k, g`,
      `select g, max(f) as m, row_number() over (order by max(f) desc, g) as n from t group by g having count(*) > 2 order by n`,
      `select k, min(id) as m, sum(v) as s from t group by k qualify dense_rank() over (order by sum(v), k) <= 2 order by k`,
    ]);
    return { ours: text, theirs: text };
  }

  private named(): WindowQuery {
    const text =
      `select id, sum(v) over w as a, row_number() over x as b, max(f) over (x ${this.frame('rows')}) as c from t` +
      ` window w as (${this.partition()}), x as (w order by v ${this.direction()}, id) order by id`;
    return { ours: text, theirs: text };
  }

  private call(name: string): WindowQuery {
    switch (this.random.below(9)) {
      case 8:
        return this.filled(name);
      case 0:
      case 4:
        return this.ranking(name);
      case 1:
      case 5:
        return this.placed(name);
      default:
        return this.aggregate(name);
    }
  }

  private ranking(name: string): WindowQuery {
    const isUnique = this.random.below(2) === 0;
    const tie = isUnique ? ', id' : '';
    const f = this.random.pick(
      isUnique
        ? ['row_number()', `ntile(${this.random.below(6) + 1})`, 'rank()', 'cume_dist()']
        : ['rank()', 'dense_rank()', 'percent_rank()', 'cume_dist()'],
    );
    const text = `${f} over (${this.partition()} order by ${this.key()}${tie}) as ${name}`;
    return { ours: text, theirs: text };
  }

  /** lag, lead and values of the frame: the order has no ties, so that there is one answer. */
  private placed(name: string): WindowQuery {
    const arg = this.random.pick(['v', 'f', 's', 'ts', 'v + id', 'b']);
    const ignore = this.random.below(3) === 0;
    const steps = this.random.below(4);
    const other = arg === 'v' && this.random.below(2) === 0 ? ', -99' : '';
    const isShift = this.random.below(2) === 0;
    const [f, rest] = isShift
      ? [this.random.pick(['lag', 'lead']), this.random.below(2) === 0 ? `, ${steps}${other}` : '']
      : [this.random.pick(['first_value', 'last_value', 'nth_value']), ''];
    const args = f === 'nth_value' ? `, ${this.random.below(3) + 1}` : rest;
    const frame = isShift ? '' : ` ${this.frame(this.random.pick(['rows', 'groups', 'range']))}`;
    const over = `over (${this.partition()} order by ${this.key()}, id${frame}) as ${name}`;
    return {
      ours: `${f}(${arg}${args}) ${ignore ? 'ignore nulls ' : ''}${over}`,
      theirs: `${f}(${arg}${args}${ignore ? ' ignore nulls' : ''}) ${over}`,
    };
  }

  /** Nulls by the line between rows; the key has no ties. Of floats, since halves are rounded otherwise. */
  private filled(name: string): WindowQuery {
    const arg = this.random.pick(['f', 'f * 2', 'f + id']);
    const text = this.random.pick([
      `fill(${arg}) over (${this.partition()} order by id)`,
      `fill(${arg} order by id) over (${this.partition()} order by ${this.key()})`,
    ]);
    return { ours: `${text} as ${name}`, theirs: `${text} as ${name}` };
  }

  private aggregate(name: string): WindowQuery {
    const [ours, theirs] = this.random.pick<readonly [string, string]>([
      ['sum(v)', 'sum(v)'],
      ['sum(f)', 'sum(f)'],
      ['avg(v)', 'avg(v)'],
      ['avg(f)', 'avg(f)'],
      ['min(v)', 'min(v)'],
      ['max(f)', 'max(f)'],
      ['min(s)', 'min(s)'],
      ['max(s)', 'max(s)'],
      ['count(*)', 'count(*)'],
      ['count(v)', 'count(v)'],
      ['min(ts)', 'min(ts)'],
      ['max(ts)', 'max(ts)'],
      ['count(distinct g)', 'count(distinct g)'],
      ['sum(distinct g)', 'sum(distinct g)'],
      ['median(v)', 'median(v)'],
      ['quantile_disc(f, 0.3)', 'quantile_disc(f, 0.3)'],
      ['quantile_cont(v, 0.7)', 'quantile_cont(v, 0.7)'],
      ['count(distinct s)', 'count(distinct s)'],
      ['max(distinct v)', 'max(distinct v)'],
      ['and(b)', 'bool_and(b)'],
      ['or(b)', 'bool_or(b)'],
      ['sum(v * 2 + id)', 'sum(v * 2 + id)'],
    ]);
    const filter =
      this.random.below(4) === 0
        ? ` filter (where ${this.random.pick(['b', 'v > 0', "k = 'a'", 'f is not null'])})`
        : '';
    const over = this.window();
    return {
      ours: `${ours}${filter} over (${over}) as ${name}`,
      theirs: `${theirs}${filter} over (${over}) as ${name}`,
    };
  }

  private window(): string {
    const partition = this.partition();
    switch (this.random.below(6)) {
      case 0:
        return partition;
      case 1:
        return `${partition} order by ${this.key()}`;
      case 2:
        return `${partition} order by ${this.key()}, id ${this.frame('rows')}`;
      case 3:
        return `${partition} order by ${this.key()} ${this.frame('groups')}`;
      case 4: {
        const key = this.random.pick(['v', 'f', 'ts', 'id'] as const);
        return `${partition} order by ${key} ${this.direction()} ${this.frame('range', key)}`;
      }
      default:
        return `${partition} order by ${this.key()}, id`;
    }
  }

  private partition(): string {
    return this.random.pick([
      '',
      '',
      'partition by k',
      'partition by g',
      'partition by k, g',
      'partition by v % 3',
      'partition by b',
    ]);
  }
  private key(): string {
    return `${this.random.pick(columns)} ${this.direction()}`;
  }
  private direction(): string {
    return this.random.pick(['', 'asc', 'desc', 'desc nulls first', 'nulls first', 'asc nulls last']);
  }

  /** A frame whose end is not before its start by its words. RANGE has offsets where the window has one key, `key`. */
  private frame(unit: 'rows' | 'range' | 'groups', key?: 'v' | 'f' | 'ts' | 'id'): string {
    const offset = (): string => {
      if (unit !== 'range') return String(this.random.below(4));
      // From 1: DuckDB 2.0.0 is at odds with itself about `range between unbounded preceding and 0 preceding` (the
      // answer depends on the other columns).
      const steps = 1 + this.random.below(12);
      return key === 'ts' ? `interval '${steps * 3} hours'` : key === 'f' ? `${steps / 4}` : String((steps % 5) + 1);
    };
    const edges = [
      () => 'unbounded preceding',
      () => `${offset()} preceding`,
      () => 'current row',
      () => `${offset()} following`,
      () => 'unbounded following',
    ];
    const allowed = unit === 'range' && !key ? [0, 2, 4] : [0, 1, 2, 3, 4];
    const start = this.random.pick(allowed.filter((x) => x !== 4));
    const end = this.random.pick(allowed.filter((x) => x >= start && x !== 0));
    const exclude = this.random.pick([
      '',
      '',
      '',
      '',
      ' exclude current row',
      ' exclude group',
      ' exclude ties',
      ' exclude no others',
    ]);
    return `${unit} between ${edges[start]!()} and ${edges[end]!()}${exclude}`;
  }
}

const both = (calls: readonly WindowQuery[], make: (list: readonly string[]) => string): WindowQuery => ({
  ours: make(calls.map((c) => c.ours)),
  theirs: make(calls.map((c) => c.theirs)),
});
