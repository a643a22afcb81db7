/**
 * Random queries. A query is a list of pipe stages; every stage whose output has no defined order is followed by a
 * sort, so that whatever stands behind it has one answer. Expressions are mostly of the type that their place wants,
 * and now and then of any other.
 */
import { aggregateTable } from '../../../src/exec/aggregates/aggregates.ts';
import { functionTable } from '../../../src/exec/functions/functions.ts';
import { anyValue, duration, fields, number, quoted, text, time } from './rows.ts';
import { RandomTexts } from './random-texts.ts';

type Wanted = 'any' | 'bool' | 'number' | 'string' | 'list' | 'record' | 'time';

/** Puts rows in an order that depends on the rows alone. */
export const settle = 'sort this, typeof(this), f"{this}"';

const calls = functionTable.filter(
  (f) =>
    !f.impure &&
    !f.sqlOnly &&
    !['grep', 'map', 'typename', 'cast', 'regexp', 'regexp_replace', 'grok'].includes(f.name),
);
const typesTexts = [
  'int64',
  'string',
  'float64',
  'uint8',
  'bool',
  'time',
  'duration',
  'ip',
  'net',
  'bytes',
  '{a:int64}',
  '{a:string,b?:int64}',
  '[int64]',
  '[string]',
  '|[int64]|',
  '(int64|string)',
  'int8',
  'uint64',
  'float32',
  'type',
  '|{string:int64}|',
  'enum(a,b,c)',
  'error(int64)',
];
const paths = [
  'a',
  'b',
  'c',
  'd',
  'e',
  'k',
  't',
  'u',
  'd.a',
  'd.b',
  'd.x.y',
  'this',
  'nope',
  'c.a',
  'd.nope',
  'this["a"]',
];
const byWanted: Readonly<Record<Wanted, readonly string[]>> = {
  any: paths,
  bool: ['a>1', 'b=="a"', 'has(c)', 'k in [1,3]'],
  number: ['a', 'a', 'k', 'd.a', 'u', 'len(e)', 'c'],
  string: ['b', 'b', 'd.b'],
  list: ['e', 'e', 'c'],
  record: ['d', 'd', 'this', 'd.x'],
  time: ['t'],
};

export class QueryTexts extends RandomTexts {
  /** Names that lambdas and functions bind here. */
  private bound: readonly string[] = [];
  private functions: readonly { readonly name: string; readonly count: number }[] = [];

  /** An expression. `depth` levels of operators at most. */
  expr(wanted: Wanted = 'any', depth = 3): string {
    if (this.chance(8)) return this.any(depth);
    switch (wanted) {
      case 'any':
        return this.any(depth);
      case 'bool':
        return this.bool(depth);
      case 'number':
        return this.number(depth);
      case 'string':
        return this.string(depth);
      case 'list':
        return this.listOf(depth);
      case 'record':
        return this.record(depth);
      case 'time':
        return this.time(depth);
    }
  }

  private leaf(wanted: Wanted): string {
    if (this.bound.length > 0 && this.chance(2)) return this.pick(this.bound);
    if (!this.chance(3)) return this.pick(byWanted[wanted]);
    switch (wanted) {
      case 'any':
        return this.literal();
      case 'bool':
        return this.pick(['true', 'false', 'null']);
      case 'number':
        return this.chance(3) ? number(this.random).replace('1e+100', '1.e100') : String(this.random.below(6));
      case 'string':
        return text(this.random);
      case 'list':
        return `[${this.list(0, 3, () => String(this.random.below(5))).join(',')}]`;
      case 'record':
        return `{a:${this.random.below(4)},b:${text(this.random)}}`;
      case 'time':
        return time(this.random);
    }
  }
  /** A constant that SUP and SuperSQL spell alike. */
  private literal(): string {
    for (;;) {
      const value = anyValue(this.random, 1);
      if (!/\?:|1e\+100|::=|\\/.test(value)) return value.replaceAll(/-?[0-9.]+::(u?int|float)/g, (t) => t);
    }
  }

  private any(depth: number): string {
    if (depth === 0) return this.leaf('any');
    const next = (wanted: Wanted = 'any'): string => this.expr(wanted, depth - 1);
    return this.pick<() => string>([
      () => this.leaf('any'),
      () => this.bool(depth),
      () => this.number(depth),
      () => this.string(depth),
      () => this.listOf(depth),
      () => this.record(depth),
      () => this.time(depth),
      () => this.call(depth),
      () => this.call(depth),
      () => this.call(depth),
      () => `(${next('bool')} ? ${next()} : ${next()})`,
      () => this.case(depth),
      () => `${this.operand(next())}::${this.pick(typesTexts)}`,
      () => `cast(${next()},<${this.pick(typesTexts)}>)`,
      () => `${this.operand(next('list'))}[${next('number')}]`,
      () => `${this.operand(next())}[${this.pick(['0', '1', '-1', '"a"', '10'])}]`,
      () =>
        `${this.operand(next(this.pick(['list', 'string'])))}[${this.pick(['1:', ':1', '1:3', '-2:', ':-1', '0:0'])}]`,
      () => `${this.operand(next('record'))}.${this.pick(fields)}`,
      () => `coalesce(${next()},${next()})`,
      () => `quiet(${next()})`,
      () => this.subquery(depth),
      () => this.bounded(depth),
      () => this.literal(),
      () => `${this.operand(next())}::=${this.pick(['id', 'port'])}`,
      () => `|{${this.list(1, 2, () => `${next('string')}:${next()}`).join(',')}}|`,
      () => `error(${next('string')})`,
      () => `under(${next()})`,
    ])();
  }
  /** In parentheses unless it is a plain name. */
  private operand(e: string): string {
    return /^[a-z.]+$/.test(e) && !['true', 'false', 'null'].includes(e) ? e : `(${e})`;
  }

  bool(depth: number): string {
    if (depth === 0) return this.leaf('bool');
    const next = (wanted: Wanted): string => this.expr(wanted, depth - 1);
    const kind = this.pick<Wanted>(['number', 'string', 'any', 'time', 'number']);
    return this.pick<() => string>([
      () =>
        `${this.operand(next(kind))} ${this.pick(['==', '!=', '<', '<=', '>', '>=', '=', '<>'])} ${this.operand(next(kind))}`,
      () => `${this.operand(next('number'))} ${this.pick(['==', '<', '>='])} ${this.random.below(4)}`,
      () => `${this.pick(byWanted.number)} ${this.pick(['==', '<', '>', '<=', '>=', '!='])} ${this.random.below(4)}`,
      () => `(${this.bool(depth - 1)} ${this.pick(['and', 'or'])} ${this.bool(depth - 1)})`,
      () => `!(${this.bool(depth - 1)})`,
      () => `not (${next('bool')})`,
      () => `(${this.operand(next('any'))} is ${this.pick(['', 'not '])}null)`,
      () => `(${this.operand(next('any'))} ${this.pick(['in', 'not in'])} ${this.operand(next('list'))})`,
      () => `(${this.operand(next('number'))} between ${next('number')} and ${next('number')})`,
      () => `(${this.operand(next('string'))} like ${quoted(this.pick(['%', 'a%', '_', '%o%', 'F__ %']))})`,
      () => `(${this.operand(next('string'))} ~ "${this.pick(['o+', '^a', '[0-9]', 'x|b'])}")`,
      () => `${this.pick(['has', 'missing', 'is_error', 'has_error'])}(${next('any')})`,
      () => `is(${next('any')},<${this.pick(typesTexts)}>)`,
      () => `grep(${this.pick(['"foo"', '"o"', '"[0-9]"', '"A"', '"[a-"||"z]"', 'b', 'upper("f.o")'])},${next('any')})`,
      () => `exists(${this.inner(depth)})`,
      () => `cidr_match(10.0.0.0/8,${next('any')})`,
    ])();
  }
  private number(depth: number): string {
    if (depth === 0) return this.leaf('number');
    const next = (wanted: Wanted): string => this.expr(wanted, depth - 1);
    return this.pick<() => string>([
      () => this.leaf('number'),
      () => this.leaf('number'),
      () => `(${this.operand(next('number'))} ${this.pick(['+', '-', '*', '/', '%'])} ${this.operand(next('number'))})`,
      () => `-(${next('number')})`,
      () => `len(${next(this.pick(['list', 'string', 'record']))})`,
      () => `${this.pick(['abs', 'ceil', 'floor', 'round', 'sqrt', 'log'])}(${next('number')})`,
      () =>
        `(${this.operand(next('number'))}::${this.pick(['int64', 'float64', 'uint8', 'int8', 'uint64', 'float32'])})`,
      () => `position(${next('string')},${next('string')})`,
    ])();
  }
  private string(depth: number): string {
    if (depth === 0) return this.leaf('string');
    const next = (wanted: Wanted = 'string'): string => this.expr(wanted, depth - 1);
    return this.pick<() => string>([
      () => this.leaf('string'),
      () => `(${this.operand(next())} || ${this.operand(next())})`,
      () => `${this.pick(['upper', 'lower', 'trim'])}(${next()})`,
      () => `f"x{${this.plainName()}}y"`,
      () => `(${this.operand(next('any'))}::string)`,
      () => `replace(${next()},${next()},${next()})`,
      () => `${this.operand(next())}[${this.pick(['1:', ':2'])}]`,
      () => `${this.pick(['typeof', 'kind'])}(${next('any')})`,
      () =>
        `regexp_replace(${next()},${quoted(this.pick(['a', 'o(.)', '[0-9]+', '']))},${quoted(this.pick(['', '$1', 'z']))})`,
    ])();
  }
  private plainName(): string {
    return this.pick(['a', 'b', 'c', 'd', 'k', 'nope', 'e[0]']);
  }
  private listOf(depth: number): string {
    if (depth === 0) return this.leaf('list');
    const next = (wanted: Wanted = 'any'): string => this.expr(wanted, depth - 1);
    return this.pick<() => string>([
      () => this.leaf('list'),
      () => `[${this.list(0, 3, () => next()).join(',')}]`,
      () => `|[${this.list(0, 3, () => next()).join(',')}]|`,
      () => `[${next('number')},...${this.operand(next('list'))}]`,
      () => `split(${next('string')},${quoted(this.pick([',', '', ' ']))})`,
      () => `[${this.inner(depth)}]`,
      () => this.mapped(depth),
      () => `${this.operand(next('list'))}[1:]`,
      () => `regexp(${quoted(this.pick(['(a)|(b)', 'o.', '([a-z]+)']))},${next('string')})`,
      () => `flatten(${next('record')})`,
      () => `fields(${next('record')})`,
    ])();
  }
  private mapped(depth: number): string {
    const saved = this.bound;
    const of = this.expr('list', depth - 1);
    if (this.chance(2)) return `map(${of},&${this.pick(['upper', 'abs', 'len', 'typeof', 'is_error'])})`;
    this.bound = ['v'];
    const body = this.expr('any', depth - 1);
    this.bound = saved;
    return `map(${of},lambda v:${body})`;
  }
  private record(depth: number): string {
    if (depth === 0) return this.leaf('record');
    const next = (wanted: Wanted = 'any'): string => this.expr(wanted, depth - 1);
    return this.pick<() => string>([
      () => this.leaf('record'),
      () => `{${this.list(0, 3, () => `${this.pick(fields)}:${next()}`).join(',')}}`,
      () => `{...${this.operand(next('record'))},${this.pick(fields)}:${next()}}`,
      () => `{a,b:${next()},...${this.operand(next('record'))}}`,
      () => `nest_dotted({"a.b":${next()},"a.c":1})`,
      () => `unflatten(${next('list')})`,
      () => `grok("%{WORD:w} %{GREEDYDATA:r}",${next('string')})`,
      () => `parse_uri(${next('string')})`,
      () => `cast(${next('record')},<{a:int64,b?:string}>)`,
    ])();
  }
  private time(depth: number): string {
    if (depth === 0) return this.leaf('time');
    const next = (wanted: Wanted): string => this.expr(wanted, depth - 1);
    return this.pick<() => string>([
      () => this.leaf('time'),
      () =>
        `(${this.operand(next('time'))} ${this.pick(['+', '-'])} ${this.pick([duration(this.random), this.operand(next('time'))])})`,
      () => `bucket(${next('time')},${duration(this.random)})`,
      () => `strftime("%Y-%m-%d %H",${next('time')})`,
      () => `date_part("${this.pick(['year', 'month', 'dow', 'epoch', 'hour'])}",${next('time')})`,
      () => `(${this.operand(next('any'))}::time)`,
      () => duration(this.random),
    ])();
  }
  private call(depth: number): string {
    if (this.functions.length > 0 && this.chance(3)) {
      const f = this.pick(this.functions);
      return `${f.name}(${Array.from({ length: f.count }, () => this.expr('any', depth - 1)).join(',')})`;
    }
    const f = this.pick(calls);
    const count = f.argumentsMin + this.random.below(Math.min(f.argumentsMax, f.argumentsMin + 2) - f.argumentsMin + 1);
    const wanted: Wanted = this.pick(['any', 'string', 'number', 'record', 'list']);
    return `${f.name}(${Array.from({ length: Math.max(count, f.name === 'ksuid' ? 1 : 0) }, () => this.expr(wanted, depth - 1)).join(',')})`;
  }
  private case(depth: number): string {
    const next = (wanted: Wanted): string => this.expr(wanted, depth - 1);
    return this.chance(3)
      ? `case ${next('number')} when ${next('number')} then ${next('any')} else ${next('any')} end`
      : `case ${this.list(1, 2, () => `when ${next('bool')} then ${next('any')}`).join(' ')}${this.chance(3) ? '' : ` else ${next('any')}`} end`;
  }
  /** A subquery as an expression: of the row, or with rows of its own. */
  private subquery(depth: number): string {
    return `(${this.inner(depth)})`;
  }
  private inner(depth: number): string {
    const expr = this.expr('list', depth - 1);
    return this.pick([
      `unnest ${expr}`,
      `unnest ${expr} | where this>1`,
      `unnest ${expr} | head 1`,
      `unnest ${expr} | sum(this)`,
      `unnest ${expr} | count()`,
      'values this | put z:=1',
      `values ${this.expr('any', depth - 1)}`,
      `values 1,2,3 | where this>${this.random.below(4)}`,
      'from other | count()',
      `from other | where k==${this.random.below(4)} | cut k | head 2`,
    ]);
  }
  private bounded(depth: number): string {
    const saved = this.bound;
    this.bound = ['x'];
    const body = this.expr('any', depth - 1);
    this.bound = saved;
    return `(lambda x:${body})(${this.expr('any', depth - 1)})`;
  }

  aggregate(): string {
    const row = this.pick(aggregateTable.filter((r) => r.signature.sqlOnly !== 'all'));
    const { name, argumentsMin } = row.signature;
    if (argumentsMin === 0 && this.chance(2)) return `${name}()`;
    const wanted: Wanted = ['and', 'or'].includes(name)
      ? 'bool'
      : ['sum', 'avg', 'min', 'max'].includes(name)
        ? 'number'
        : 'any';
    const argument =
      name === 'collect_map' ? `|{${this.expr('string', 1)}:${this.expr('any', 1)}}|` : this.expr(wanted, 1);
    return `${name}(${this.chance(6) ? 'distinct ' : ''}${argument})${this.chance(6) ? ` filter (${this.bool(1)})` : ''}`;
  }

  private keys(): string {
    return this.list(1, 2, () =>
      this.pick([() => this.pick(['k', 'a', 'b', 'd.a', 'c', 'nope', 'this']), () => `g:=${this.expr('any', 1)}`])(),
    )
      .filter((k, i, all) => all.indexOf(k) === i)
      .join(',');
  }
  private sortKeys(): string {
    return this.list(
      1,
      3,
      () =>
        `${this.chance(3) ? this.expr('any', 1) : this.pick(paths)}${this.pick(['', '', ' desc', ' asc', ' nulls first', ' desc nulls first'])}`,
    ).join(', ');
  }
  private body(depth: number): string {
    return `(${this.stages(1, 2, depth - 1).join(' | ')})`;
  }
  private assignments(): string {
    return this.list(1, 2, () => `${this.pick(['a', 'b', 'z', 'd.a', 'd.z', 'y.q'])}:=${this.expr('any', 2)}`).join(
      ',',
    );
  }

  /** One operator, and the sort that it may need behind it. */
  stage(depth = 2): string[] {
    const n = (): number => this.random.below(6);
    return this.pick<() => string[]>([
      () => [`where ${this.expr('bool')}`],
      () => [`where ${this.expr('bool')}`],
      () => [`values ${this.list(1, 2, () => this.expr()).join(',')}`],
      () => [`values ${this.record(2)}`],
      () => [`cut ${this.assignments()}`],
      () => [`cut ${this.pick(['a', 'k,a', 'd.a,d.b', 'b,e', 'd'])}`],
      () => [`put ${this.assignments()}`],
      () => [`put ${this.assignments()}`],
      () => [`drop ${this.pick(['a', 'd.a', 'c,d', 'd.x.y', 'nope', 'b,k'])}`],
      () => [`rename ${this.pick(['z:=a', 'd.z:=d.a', 'b:=a', 'q:=d'])}`],
      () => [`head ${n()}`],
      () => [`tail ${n()}`],
      () => [`skip ${n()}`],
      () => [`sort ${this.sortKeys()}`],
      () => [`sort ${this.sortKeys()}`, `head ${n()}`],
      () => [`sort -r ${this.sortKeys()}`, `tail ${n()}`],
      () => ['sort'],
      () => [`top ${1 + n()} ${this.sortKeys()}`],
      () => ['uniq'],
      () => ['uniq -c'],
      () => [`distinct ${this.expr('any', 1)}`, settle],
      () => ['fuse'],
      () => ['count'],
      () => ['count {...this,n}'],
      () => [`assert ${this.bool(1)}`],
      () => [`unnest ${this.expr('list', 1)}`],
      () => [`unnest {k,v:${this.expr('list', 1)}}`],
      () => [`unnest ${this.expr('list', 1)} into ${this.body(depth)}`],
      () => [this.list(1, 3, () => this.aggregate()).join(',')],
      () => [`${this.list(1, 2, () => this.aggregate()).join(',')} by ${this.keys()}`, settle],
      () => [`${this.aggregate()} by ${this.keys()}`, settle],
      () => [`by ${this.keys()}`, settle],
      () => ['shapes', settle],
      () => [
        `? ${this.pick(['foo', 'a', '1', '10.0.0.0/8', 'f*', '/o+/', 'k==1', 'not foo', 'foo or k==2', 'a>1 foo'])}`,
      ],
      () => ['pass'],
      () => (depth === 0 ? ['pass'] : [`fork ${this.body(depth)} ${this.body(depth)}`, settle]),
      () =>
        depth === 0
          ? ['pass']
          : [
              `switch case ${this.bool(1)} ${this.body(depth)} ${this.chance(2) ? 'default' : `case ${this.bool(1)}`} ${this.body(depth)}`,
              settle,
            ],
      () => (depth === 0 ? ['pass'] : [`switch k case 1 ${this.body(depth)} default ${this.body(depth)}`, settle]),
      () => [
        `${this.pick(['', 'left ', 'anti ', 'inner ', 'right '])}join (from other${this.chance(2) ? ` | where ${this.bool(1)}` : ''}) ${this.pick(['on left.k=right.k', 'using (k)', 'on left.a=right.a and left.k<=right.k', 'on left.a<right.k', 'as {l,r} on l.b=r.b'])}`,
        settle,
      ],
      () => (this.chance(2) ? [`cross join (from other | head 2)`, settle] : ['pass']),
      () => [`sort k`, `fork (where a>1) (where a<=1)`, 'merge k', settle],
      () => [this.sqlStage(), settle],
      () => [this.sqlStage(), settle],
    ])();
  }

  private window(): string {
    const call = this.pick([
      'row_number()',
      'rank()',
      'dense_rank()',
      'ntile(2)',
      'lag(a)',
      'lead(b, 2)',
      'first_value(a)',
      'last_value(c)',
      'sum(a)',
      'count(*)',
      'min(b)',
      'collect(k)',
      'percent_rank()',
      'cume_dist()',
      'nth_value(a, 2)',
    ]);
    const frame = this.pick([
      '',
      '',
      ' rows between 1 preceding and 1 following',
      ' rows 2 preceding',
      ' range between unbounded preceding and current row',
      ' rows between unbounded preceding and unbounded following',
    ]);
    return `${call} over (${this.pick(['', 'partition by k ', 'partition by b, k '])}order by ${this.pick(['a', 'k desc', 'b nulls first', 'a, b desc'])}${frame})`;
  }
  /** A SELECT with sources of its own: joins, sets, subqueries that look outside, recursion. */
  private sqlQuery(): string {
    const p = (): string => this.bool(1).replaceAll('"', "'");
    return this.pick([
      () =>
        `select i.k as k, i.a as a, o.b as b from input i ${this.pick(['join', 'left join', 'right join', 'full join'])} other o on ${this.pick(['i.k = o.k', 'i.k = o.k and i.a < o.a', 'i.b = o.b'])}`,
      () =>
        `select k, a from input where ${p()} ${this.pick(['union', 'union all', 'except', 'intersect', 'except all', 'intersect all'])} select k, a from other`,
      () => `select k, a, (select count(*) from other o where o.k = i.k) as n from input i`,
      () => `select k, b from input i where exists (select 1 from other o where o.a > i.a)`,
      () => `with q as (select k, a, b from input where ${p()}) select k, count(*) as n, max(a) as m from q group by k`,
      () => `select k, a from input where a in (select a from other where ${p()})`,
      () =>
        `with recursive r(n) as (select 1 union all select n + 1 from r where n < ${this.random.below(9)}) select n, n * 2 as k, n % 3 as a from r`,
      () => `select k, a, ${this.window()} as w from input where ${p()}`,
      () => `select i.k, l.b from input i, lateral (select b from other o where o.k = i.k) l`,
      () => `select * from (select k, a, b from input) x where ${p()}`,
    ])();
  }
  /** SELECT over the piped rows or over `other`. */
  private sqlStage(): string {
    const column = (): string => this.expr('any', 1).replaceAll('"', "'");
    const where = this.chance(2) ? ` where ${this.bool(1).replaceAll('"', "'")}` : '';
    const limit = this.chance(3) ? ` order by ${this.pick(['a', 'k desc', '1', 'b, a'])}` : '';
    return this.pick([
      () =>
        `select ${this.list(1, 3, column)
          .map((c, i) => `${c} as c${i}`)
          .join(', ')}${where}${limit.includes(' a') ? '' : ''}`,
      () =>
        `select k, ${this.aggregate().replaceAll('"', "'")} as g${where} group by k${this.chance(3) ? ' having count() > 1' : ''}`,
      () => `select k, ${this.window()} as w${where}`,
      () => `select a, ${this.window()} as w, ${this.window()} as x${where}`,
      () => `select distinct k, a${where}`,
      () => `select ${this.pick(['count(*)', 'sum(a)', 'min(b), max(k)'])}${where}`,
      () => `select k, a${where} order by k, a desc limit ${this.random.below(5)}`,
    ])();
  }

  stages(least: number, most: number, depth = 2): string[] {
    const out: string[] = [];
    for (let n = least + this.random.below(most - least + 1); n > 0; n--) out.push(...this.stage(depth));
    return out;
  }

  /** A whole query: declarations that it may use, then its stages. */
  query(): { readonly declarations: readonly string[]; readonly stages: readonly string[] } {
    const declarations: string[] = [];
    if (this.chance(6)) {
      this.bound = ['p', 'q'];
      const body = this.expr('any', 2);
      this.bound = [];
      declarations.push(`fn f(p,q): (${body})`);
      this.functions = [{ name: 'f', count: 2 }];
    }
    if (this.chance(12)) declarations.push(`const number = ${this.random.below(5)}`);
    if (this.chance(20)) declarations.push('pragma index_base = 1');
    const first = this.chance(8) ? [this.sqlQuery(), settle] : [];
    return { declarations, stages: [...first, ...this.stages(first.length > 0 ? 0 : 1, 4)] };
  }
}
