/**
 * Random SQL over two plain tables with nulls: expressions, joins, groupings, subqueries, set operations. What the two
 * engines spell unlike (integer division) is written in both ways; columns of an absent side of a join are missing
 * here and null there.
 */
import type { DuckTable } from '../../support/queries/duckdb.ts';
import type { Random } from '../../support/random.ts';
import { RandomTexts } from './random-texts.ts';

export interface SqlCase {
  readonly ours: string;
  readonly theirs: string;
  /** The rows have one order. */
  readonly ordered: boolean;
}
type Kind = 'int' | 'float' | 'text' | 'bool';
/** The same expression in both languages. */
export interface Both {
  readonly ours: string;
  readonly theirs: string;
}
interface Column {
  readonly name: string;
  readonly kind: Kind;
}

export const both = (ours: string, theirs = ours): Both => ({ ours, theirs });
/** Text with expressions in it. */
const mix = (parts: TemplateStringsArray, ...inner: readonly (Both | string | number)[]): Both => {
  const text = (side: 'ours' | 'theirs'): string =>
    parts
      .map(
        (p, i) =>
          (i === 0 ? '' : typeof inner[i - 1] === 'object' ? (inner[i - 1] as Both)[side] : String(inner[i - 1])) + p,
      )
      .join('');
  return { ours: text('ours'), theirs: text('theirs') };
};
const joined = (list: readonly Both[], by: string): Both => ({
  ours: list.map((e) => e.ours).join(by),
  theirs: list.map((e) => e.theirs).join(by),
});

const texts = ['a', 'b', 'ab', 'Foo', '', 'x y', 'é'];
const tableColumns: Readonly<Record<string, readonly Column[]>> = {
  t: [
    { name: 'id', kind: 'int' },
    { name: 'k', kind: 'int' },
    { name: 'a', kind: 'int' },
    { name: 'f', kind: 'float' },
    { name: 's', kind: 'text' },
  ],
  u: [
    { name: 'uid', kind: 'int' },
    { name: 'k2', kind: 'int' },
    { name: 'b', kind: 'int' },
    { name: 'w', kind: 'text' },
  ],
};
const duckTypes: Readonly<Record<Kind, string>> = { int: 'BIGINT', float: 'DOUBLE', text: 'VARCHAR', bool: 'BOOLEAN' };

/** The tables of a seed. */
export const plainTables = (random: Random): readonly DuckTable[] =>
  Object.entries(tableColumns).map(
    ([name, columns]): DuckTable => ({
      name,
      columns: Object.fromEntries(columns.map((c) => [c.name, duckTypes[c.kind]])),
      rows: Array.from({ length: random.below(12) + 1 }, (_, i) =>
        Object.fromEntries(
          columns.map((c): [string, unknown] => {
            if (c.name.endsWith('id')) return [c.name, i];
            if (random.below(6) === 0) return [c.name, null];
            return [
              c.name,
              c.kind === 'int'
                ? random.below(c.name.startsWith('k') ? 4 : 12) - (c.name.startsWith('k') ? 0 : 4)
                : c.kind === 'float'
                  ? (random.below(40) - 20) / 4
                  : random.pick(texts),
            ];
          }),
        ),
      ),
    }),
  );
export const plainSup = (table: DuckTable): string =>
  table.rows
    .map(
      (row) =>
        `{${Object.entries(row)
          .map(
            ([name, v]) =>
              `${name}:${typeof v === 'number' && table.columns[name] === 'DOUBLE' && Number.isInteger(v) ? `${v}.` : JSON.stringify(v)}`,
          )
          .join(',')}}`,
    )
    .join('\n');

export class PlainTexts extends RandomTexts<Column> {
  private selects = 0;

  private column(kind: Kind): Both | undefined {
    const fit = this.scope.filter((c) => c.kind === kind);
    return fit.length > 0 ? both(this.pick(fit).name) : undefined;
  }
  private leaf(kind: Kind): Both {
    const column = this.chance(4) ? undefined : this.column(kind);
    if (column) return column;
    switch (kind) {
      case 'int':
        return both(String(this.random.below(8)));
      case 'float':
        return both(`${this.random.below(6)}.${this.pick(['0', '25', '5'])}`, `${this.random.below(6)}.5::DOUBLE`);
      case 'text':
        return both(`'${this.pick(texts)}'`);
      case 'bool':
        return both(this.pick(['true', 'false']));
    }
  }
  expr(kind: Kind, depth: number): Both {
    if (depth === 0) return kind === 'float' ? this.floatLeaf() : this.leaf(kind);
    const next = (k: Kind = kind): Both => this.expr(k, depth - 1);
    if (this.chance(6)) return mix`case when ${next('bool')} then ${next()} else ${next()} end`;
    if (this.chance(8)) return mix`coalesce(${next()}, ${next()})`;
    if (kind !== 'bool' && this.chance(10)) return mix`nullif(${next()}, ${next()})`;
    switch (kind) {
      case 'int': {
        const divisor = this.random.below(4) + 2;
        return this.pick<() => Both>([
          () => mix`(${next()} + ${next()})`,
          () => mix`(${next()} - ${next()})`,
          () => mix`(${next()} * ${next()})`,
          () => mix`abs(${next()})`,
          () => mix`length(coalesce(${next('text')}, ''))`,
          () => mix`(-(${next()}))`,
          () => {
            const x = next();
            return both(`(${x.ours} / ${divisor})`, `(${x.theirs} // ${divisor})`);
          },
          () => mix`(${next()} % ${divisor})`,
          () => mix`position(${next('text')} in ${next('text')})`,
        ])();
      }
      case 'float':
        return this.pick<() => Both>([
          () => mix`(${next()} + ${next()})`,
          () => mix`(${next()} - ${next('int')})`,
          () => mix`(${next()} * ${next()})`,
          () => mix`cast(${next('int')} as double precision)`,
          () => mix`${this.pick(['floor', 'ceil'])}(coalesce(${next()}, ${both('0.5', '0.5::DOUBLE')}))`,
          () => mix`abs(${next()})`,
          () => mix`(${next()} / ${both('4.0', '4.0::DOUBLE')})`,
        ])();
      case 'text':
        return this.pick<() => Both>([
          () => mix`(${next()} || ${next()})`,
          () => mix`upper(${next()})`,
          () => mix`lower(${next()})`,
          () => mix`substring(${next()} from ${1 + this.random.below(2)} for ${this.random.below(3)})`,
          () => mix`replace(${next()}, 'a', ${next()})`,
          () => mix`cast(${next('int')} as varchar)`,
          () => mix`trim(${next()})`,
        ])();
      case 'bool':
        return this.predicate(depth);
    }
  }
  private floatLeaf(): Both {
    const column = this.chance(4) ? undefined : this.column('float');
    const constant = `${this.random.below(6)}.${this.pick(['0', '25', '5'])}`;
    return column ?? both(constant, `${constant}::DOUBLE`);
  }
  predicate(depth: number): Both {
    const next = (k: Kind): Both => this.expr(k, depth - 1);
    const kind = this.pick<Kind>(['int', 'int', 'float', 'text']);
    return this.pick<() => Both>([
      () => mix`(${next(kind)} ${this.pick(['=', '<>', '<', '<=', '>', '>='])} ${next(kind)})`,
      () => mix`(${next('int')} ${this.pick(['=', '<', '>='])} ${next('float')})`,
      () => mix`(${this.bool(depth)} and ${this.bool(depth)})`,
      () => mix`(${this.bool(depth)} or ${this.bool(depth)})`,
      () => mix`(not ${this.bool(depth)})`,
      () => mix`(${next(kind)} is ${this.pick(['', 'not '])}null)`,
      () => mix`(${next('int')} ${this.pick(['in', 'not in'])} (${this.leaf('int')}, ${this.leaf('int')}))`,
      () => mix`(${next(kind)} ${this.pick(['between', 'not between'])} ${next(kind)} and ${next(kind)})`,
      () => this.like(next('text'), this.chance(2)),
    ])();
  }
  /** `like` and `not like` with a pattern. */
  private like(text: Both, negated: boolean): Both {
    const pattern = `'${this.pick(['a%', '%b', '_', '%', '%o%'])}'`;
    return both(
      `(${text.ours} ${negated ? 'not ' : ''}like ${pattern})`,
      `(${text.theirs} ${negated ? 'not ' : ''}like ${pattern})`,
    );
  }
  private bool(depth: number): Both {
    return depth <= 1 ? this.leafPredicate() : this.predicate(depth - 1);
  }
  private leafPredicate(): Both {
    const kind = this.pick<Kind>(['int', 'text', 'float']);
    return mix`(${this.expr(kind, 0)} ${this.pick(['=', '<', '>', '<>'])} ${this.expr(kind, 0)})`;
  }

  /** FROM and the columns that it brings. `plain`: no side can be absent. */
  private from(depth: number): { readonly text: Both; readonly columns: readonly Column[]; readonly plain: boolean } {
    const t = tableColumns['t']!;
    const u = tableColumns['u']!;
    return this.pick<() => { text: Both; columns: readonly Column[]; plain: boolean }>([
      () => ({ text: both('t'), columns: t, plain: true }),
      () => ({ text: both('t'), columns: t, plain: true }),
      () => ({ text: both('u'), columns: u, plain: true }),
      () => {
        const on = this.within([...t, ...u], () =>
          this.chance(3)
            ? this.leafPredicate()
            : mix`${this.pick(['k = k2', 'k = k2 and a < b', 's = w', 'id = uid'])}`,
        );
        // Keys of a join are equal by type and value here, and null matches null: so keys are of one kind, and never
        // null.
        const style = this.pick(['join', 'inner join', 'left join', 'right join', 'full join', 'cross join']);
        const guarded = mix`${on} and k is not null and s is not null`;
        return {
          text: style === 'cross join' ? both('t cross join u') : mix`t as t ${style} u on ${guarded}`,
          columns: [...t, ...u],
          plain: !/left|right|full/.test(style),
        };
      },
      () => {
        if (depth === 0) return { text: both('t'), columns: t, plain: true };
        const inner = this.select(depth - 1, { grouped: this.chance(2), plainOnly: true });
        return { text: mix`(${inner.text}) as d`, columns: inner.columns, plain: true };
      },
    ])();
  }

  private aggregate(): { readonly text: Both; readonly kind: Kind } {
    const distinct = this.chance(6) ? 'distinct ' : '';
    const filter = this.chance(6) ? mix` filter (where ${this.predicate(1)})` : both('');
    const kind = this.pick<Kind>(['int', 'int', 'float', 'text']);
    return this.pick<() => { text: Both; kind: Kind }>([
      () => ({ text: mix`count(*)${filter}`, kind: 'int' }),
      () => ({ text: mix`count(${distinct}${this.expr(kind, 1)})${filter}`, kind: 'int' }),
      () => ({ text: mix`sum(${distinct}${this.expr('int', 1)})${filter}`, kind: 'int' }),
      () => ({ text: mix`avg(${this.expr(this.pick<Kind>(['int', 'float']), 1)})${filter}`, kind: 'float' }),
      () => ({ text: mix`${this.pick(['min', 'max'])}(${this.expr(kind, 1)})${filter}`, kind }),
    ])();
  }

  /**
   * One SELECT; its columns have names of their own, since GROUP BY looks at them before it looks at the input's here,
   * and after it there.
   */
  select(
    depth: number,
    options: { readonly grouped?: boolean; readonly plainOnly?: boolean; readonly kinds?: readonly Kind[] } = {},
  ): { readonly text: Both; readonly columns: readonly Column[]; readonly plain: boolean } {
    let from = this.from(depth);
    const prefix = `c${this.selects++}_`;
    while (options.plainOnly && !from.plain) from = this.from(depth);
    return this.within(from.columns, () => {
      const kinds = options.kinds ?? this.list(1, 3, () => this.pick<Kind>(['int', 'int', 'text', 'float']));
      if (!from.plain) {
        // Where a side may be absent its columns are errors, not nulls: they are only looked at.
        const columns = kinds.map((kind, i): Column & { expr: Both } => ({
          name: `${prefix}${i}`,
          kind,
          expr: this.column(kind) ?? both(this.pick(from.columns.filter((c) => c.kind === 'int')).name),
        }));
        return {
          text: mix`select ${joined(
            columns.map((c) => mix`${c.expr} as ${c.name}`),
            ', ',
          )} from ${from.text}`,
          columns,
          plain: false,
        };
      }
      const where = this.chance(2) ? mix` where ${this.condition(depth)}` : both('');
      if (options.grouped) {
        const keys = this.list(0, 2, () => this.pick<Kind>(['int', 'text']))
          .map((kind) => ({
            kind,
            text: this.chance(3) ? this.expr(kind, 1) : (this.column(kind) ?? this.expr(kind, 1)),
          }))
          .filter((k) => this.scope.some((c) => new RegExp(`\\b${c.name}\\b`).test(k.text.ours)));
        const aggregates = this.list(1, 2, () => this.aggregate());
        const all = [...keys, ...aggregates];
        const having =
          keys.length > 0 && this.chance(3) ? mix` having ${mix`count(*)`} > ${this.random.below(3)}` : both('');
        const by =
          keys.length > 0
            ? mix` group by ${joined(
                keys.map((k) => k.text),
                ', ',
              )}`
            : both('');
        return {
          text: mix`select ${joined(
            all.map((c, i) => mix`${c.text} as ${prefix}${i}`),
            ', ',
          )} from ${from.text}${where}${by}${having}`,
          columns: all.map((c, i) => ({ name: `${prefix}${i}`, kind: c.kind })),
          plain: true,
        };
      }
      const outputs = kinds.map((kind) => this.output(kind, depth));
      const distinct = !outputs.some((e) => e.ours.includes('cast(')) && this.chance(5) ? 'distinct ' : '';
      return {
        text: mix`select ${distinct}${joined(
          kinds.map((kind, i) => mix`${outputs[i]!} as ${prefix}${i}`),
          ', ',
        )} from ${from.text}${where}`,
        columns: kinds.map((kind, i) => ({ name: `${prefix}${i}`, kind })),
        plain: true,
      };
    });
  }
  /**
   * Zeros of floats have no sign here: distinct rows differ in it, and DuckDB's do not. Nor do the nulls of casts have
   * a type there.
   */
  private output(kind: Kind, depth: number): Both {
    if (depth > 0 && kind === 'int' && this.chance(8))
      return this.within(
        tableColumns['u']!,
        () =>
          mix`(select ${this.pick(['max(b)', 'count(*)', 'min(k2)', 'sum(b)'])} from u${this.chance(2) ? mix` where ${this.predicate(1)}` : ''})`,
      );
    return kind === 'float' ? mix`(${this.expr(kind, 2)} + ${both('0.0', '0.0::DOUBLE')})` : this.expr(kind, 2);
  }
  private condition(depth: number): Both {
    if (depth > 0 && this.chance(6))
      return this.within(
        tableColumns['u']!,
        () => mix`${this.pick(['', 'not '])}exists (select uid from u where ${this.predicate(1)})`,
      );
    if (depth > 0 && this.chance(6)) {
      const left = this.expr('int', 1);
      return this.within(
        tableColumns['u']!,
        () => mix`${left} in (select b from u where b is not null and ${this.predicate(1)})`,
      );
    }
    return this.predicate(2);
  }

  statement(): SqlCase {
    const first = this.select(2, { grouped: this.chance(3) });
    let { text, columns } = first;
    if (first.plain && this.chance(6)) {
      const kinds = columns.map((c) => c.kind);
      const second = this.select(1, { kinds, plainOnly: true });
      const set = /cast\(/.test(text.ours + second.text.ours) ? 'union all' : this.pick(['union', 'union all']);
      // The null of a cast has a type, and UNION tells rows apart by type and value.
      text = mix`${text} ${set} ${second.text}`;
    } else if (first.plain && this.chance(6)) {
      const inner = text;
      const own = columns;
      const outer = this.within(own, () => {
        const kind = this.pick(own).kind;
        return { kind, text: mix`select ${this.expr(kind, 1)} as c0 from q where ${this.predicate(1)}` };
      });
      text = mix`with q as (${inner}) ${outer.text}`;
      columns = [{ name: 'c0', kind: outer.kind }];
    }
    const ordered = this.chance(2);
    if (ordered) {
      const keys = joined(
        columns.map((c, i) =>
          both(
            `${this.chance(2) ? c.name : i + 1}${this.pick(['', ' desc', ' asc'])}${this.pick(['', '', ' nulls first', ' nulls last'])}`,
          ),
        ),
        ', ',
      );
      text = mix`${text} order by ${keys}${this.chance(2) ? ` limit ${this.random.below(6)}${this.chance(3) ? ` offset ${this.random.below(3)}` : ''}` : ''}`;
    }
    return { ...text, ordered };
  }
}
