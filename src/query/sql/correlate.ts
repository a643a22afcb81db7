/**
 * Subqueries of SQL that use columns of the queries around them; IN, ANY and ALL over them with SQL's rules for null.
 */
import { isLongDecimal } from '../../vectors/decimal.ts';
import { type Type, isNumeric, types } from '../../vectors/type.ts';
import { arrayValue, boolValue, intValue, nullValue } from '../../vectors/value.ts';
import type { Analysis } from '../analyze/context.ts';
import { type ExprContext, type SqlNames, lowerAmong, lowerExpr } from '../analyze/exprs.ts';
import { ignoresInput, lowerSubqueryOps, sourced, subqueryOf } from '../analyze/queries.ts';
import type { ArraySubqueryExpr, Expr, Op, QuantifiedExpr, QueryNode, Span, SqlBody } from '../ast.ts';
import { correlated } from '../analyze/correlated.ts';
import { callOf, exprKey, fieldOf, isSourced, literal, thisExpr } from '../plan/walk.ts';
import type { CompareOperator, Correlated, PlanExpr, PlanOp } from '../plan/plan.ts';
import { alternatives } from '../types/of.ts';
import { type Pair, distinctRows, openColumnsMax, openPatterns } from './rows-in.ts';
import { columnsOf } from './tables.ts';

type Ops = readonly PlanOp[];

/** Notes which values of the row around it a subquery uses. */
export class Capture {
  /** The names around, for the clauses of the subquery: what they give stands inside it. */
  readonly names: SqlNames;
  private readonly a: Analysis;
  private readonly level: number;
  private readonly outerValues: PlanExpr[] = [];
  private readonly indexes = new Map<string, number>();

  constructor(a: Analysis, around: SqlNames) {
    const { aggregate } = around;
    this.a = a;
    this.level = a.nextLevel++;
    this.names = {
      name: (id) => a.at(id, this.outer(around.name(id))),
      qualified: (dot) => a.at(dot, this.outer(around.qualified(dot))),
      row: () => this.outer(around.row()),
      has: around.has,
      hasTable: around.hasTable,
      window: undefined,
      // An aggregate of columns of the query around is one of that query.
      aggregate: aggregate && ((call) => this.outer(aggregate(call))),
    };
  }

  get isUsed(): boolean {
    return this.outerValues.length > 0;
  }
  /** Expressions over the row around. */
  get values(): readonly PlanExpr[] {
    return this.outerValues;
  }

  /** What stands for an expression over the row around, inside the subquery. */
  outer(e: PlanExpr): PlanExpr {
    const key = exprKey(e);
    let index = this.indexes.get(key);
    if (index === undefined) this.indexes.set(key, (index = this.outerValues.push(e) - 1));
    return { kind: 'outer', level: this.level, index };
  }

  /** The subquery's operators as a pipeline of their own. */
  body(ops: Ops, exists = false): Correlated {
    return correlated(this.a, this.sourced(ops), this.level, exists);
  }

  apply(ops: Ops, form: Extract<PlanExpr, { kind: 'apply' }>['form']): PlanExpr {
    const body = this.body(ops, form === 'exists');
    return { kind: 'apply', form, outer: [...this.outerValues], body };
  }

  /** Operators that read the row around as their input get it as an outer value. */
  private sourced(ops: Ops): Ops {
    const [fork, next, ...rest] = ops;
    if (fork?.kind === 'fork' && ignoresInput(ops)) {
      // Branches that need nothing of what comes in stand side by side.
      const branches = fork.branches.map((b) => ({ ops: sourced(b.ops) }));
      const [left, right] = branches;
      if (next?.kind === 'setOperation' && left && right) return [...left.ops, { ...next, right }, ...rest];
      return [{ kind: 'combine', branches }, ...ops.slice(1)];
    }
    return isSourced(ops) || ignoresInput(ops)
      ? sourced(ops)
      : [{ kind: 'null' }, { kind: 'values', exprs: [this.outer(thisExpr)] }, ...ops];
  }
}

const sqlCompare = (left: PlanExpr, operator: CompareOperator, right: PlanExpr): PlanExpr => ({
  kind: 'compare',
  operator,
  left,
  right,
  sql: true,
});
const yes = literal(boolValue(true));
const no = literal(boolValue(false));
const unknown = literal(nullValue);

/**
 * `x in (query)` when the query uses columns of the row around it or x is a row, else undefined: then it is the
 * membership in all its rows.
 */
export const lowerCorrelatedIn = (
  a: Analysis,
  left: PlanExpr,
  query: QueryNode,
  c: ExprContext,
): PlanExpr | { readonly ops: Ops } => {
  if (!c.sql) return { ops: lowerSubqueryOps(a, query, c) };
  const capture = new Capture(a, c.sql);
  const ops = lowerSubqueryOps(a, query, c, capture.names);
  // Rows are compared value by value; a subquery of one column may hold whole rows.
  const isOfRows = left.kind === 'record' && columnNames(a, ops)?.length !== 1;
  return capture.isUsed || isOfRows ? anyOf(a, '==', left, ops, { capture, place: query }) : { ops };
};

/** `x op any (query)`, `x op all (query)`. */
export const lowerQuantified = (a: Analysis, e: QuantifiedExpr, c: ExprContext): PlanExpr => {
  const left = lowerExpr(a, e.left, c);
  if (!c.sql) return a.wrong(`${e.quantifier} over a query is for SQL alone`, e);
  const capture = new Capture(a, c.sql);
  const ops = lowerSubqueryOps(a, e.query, c, capture.names);
  const operator = e.quantifier === 'any' ? e.op : negated[e.op];
  const any =
    operator === '==' && !capture.isUsed && left.kind !== 'record' && columnNames(a, ops)?.length === 1
      ? lowerAmong(a, left, ops, e.query, c)
      : anyOf(a, operator, left, ops, { capture, place: e.query });
  return e.quantifier === 'any' ? any : { kind: 'not', operand: any };
};

const negated: Readonly<Record<QuantifiedExpr['op'], CompareOperator>> = {
  '==': '!=',
  '!=': '==',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
};

interface Quantity {
  readonly capture: Capture;
  readonly place: Span;
}

/** True if the comparison holds for a row; else null if it might, because of a null on either side; else false. */
const anyOf = (
  a: Analysis,
  operator: CompareOperator,
  left: PlanExpr,
  ops: Ops,
  { capture, place }: Quantity,
): PlanExpr => {
  const columns = columnNames(a, ops);
  const parts = partsOfRow(left);
  if (!columns)
    return a.sourcesKnown
      ? a.wrong('the columns of the subquery are not known: name the one to compare with instead of *', place)
      : no;
  const isRow = parts !== undefined && columns.length > 1;
  if (columns.length !== (isRow ? parts.length : 1))
    return a.wrong(widthFault(columns.length, parts?.length ?? 1), place);
  const isFree = !capture.isUsed;
  const [column] = columns;
  if (
    isFree &&
    !isRow &&
    operator !== '==' &&
    isOrdered(a.typeByContent(sourced(ops), types.null, fieldOf(thisExpr, column)))
  )
    return besideExtremes(operator, left, ops, column);
  const pairs = (isRow ? parts : [left]).map(
    (x, i): Pair => ({ left: capture.outer(x), right: fieldOf(thisExpr, columns[i]) }),
  );
  const exists = (tests: readonly PlanExpr[], of = ops): PlanExpr =>
    capture.apply([...of, ...tests.map((expr) => ({ kind: 'filter', expr }) as const)], 'exists');
  const unsure = (e: PlanExpr): PlanExpr => ({ kind: 'isNull', operand: e, sql: true });
  const test = compareRows(operator, pairs);
  const found = exists([test]);
  if (isRow) {
    const open =
      isFree && operator === '==' && pairs.length <= openColumnsMax
        ? openPatterns(pairs).map(({ columns, tests }) => exists(tests, [...ops, ...distinctRows(columns)]))
        : [exists([unsure(test)])];
    return {
      kind: 'case',
      branches: [{ when: found, then: yes }, ...open.map((when) => ({ when, then: unknown }))],
      otherwise: no,
    };
  }
  return {
    kind: 'case',
    otherwise: no,
    branches: [
      { when: found, then: yes },
      { when: unsure(left), then: { kind: 'conditional', test: exists([]), then: unknown, otherwise: no } },
      { when: exists([unsure(pairs[0].right)]), then: unknown },
    ],
  };
};

/**
 * The same for the rows of a query that uses no columns of the row around it: these are read once, and what is compared
 * is their least or greatest value. Joined to each value of the row around, 2,000 values took eight times the processor
 * time.
 */
const besideExtremes = (
  operator: Exclude<CompareOperator, '=='>,
  left: PlanExpr,
  ops: Ops,
  column: string,
): PlanExpr => {
  const argument = fieldOf(thisExpr, column);
  const names = extremes[operator];
  const aggregates = [...names.map((name) => ({ name, argument })), { name: 'count' }, { name: 'count', argument }].map(
    (call, i) => ({ target: [`a${i}`], aggregate: { ...call, distinct: false, sql: true } as const }),
  );
  const summary = subqueryOf([...ops, { kind: 'aggregate', sql: true, keys: [], aggregates }], 'scalar');
  const at = (i: number): PlanExpr => fieldOf(summary, `a${i}`);
  const [rows, given] = [at(names.length), at(names.length + 1)];
  return {
    kind: 'case',
    otherwise: no,
    branches: [
      ...names.map((_, i) => ({ when: sqlCompare(left, operator, at(i)), then: yes })),
      {
        when: { kind: 'isNull', operand: left, sql: true },
        then: { kind: 'conditional', test: sqlCompare(rows, '>', literal(intValue(0))), then: unknown, otherwise: no },
      },
      { when: sqlCompare(rows, '>', given), then: unknown },
    ],
  };
};
/** The values of which one fits if any does. */
const extremes: Readonly<Record<Exclude<CompareOperator, '=='>, readonly ('min' | 'max')[]>> = {
  '<': ['max'],
  '<=': ['max'],
  '>': ['min'],
  '>=': ['min'],
  '!=': ['min', 'max'],
};
/** Whether values are of one type, whose extremes are in the order of comparisons. */
const isOrdered = (t: Type): boolean => {
  const members = alternatives(t).filter((m) => m !== types.null);
  const [first] = members;
  const only = first?.kind === 'named' && !isLongDecimal(first) ? first.inner : first;
  return members.length === 1 && only !== undefined && (isNumeric(only) || only === types.string);
};

/** The columns of a subquery, by its type or, of `*`, by what the rows of its pools have. */
const columnNames = (a: Analysis, ops: Ops): readonly string[] | undefined =>
  columnsOf(a.typeOf(sourced(ops), types.null)) ?? a.fieldsOf(sourced(ops), types.null);
const widthFault = (count: number, wanted: number): string => {
  const [verb, some] = wanted === 1 ? ['is', 'one'] : ['are', `${wanted} of them`];
  return `the subquery has ${count} columns where ${wanted} ${verb} compared: select ${some}`;
};

/** The values of a row `(a, b)`; undefined for what is no row. */
const partsOfRow = (e: PlanExpr): readonly PlanExpr[] | undefined =>
  e.kind === 'record' && e.elements.every((x) => x.kind === 'field') ? e.elements.map((x) => x.value) : undefined;

/**
 * Rows compared value by value, as the standard has it: the first that differ decide; a null leaves open what no other
 * value decides.
 */
const compareRows = (operator: CompareOperator, pairs: readonly Pair[]): PlanExpr => {
  const [first, ...rest] = pairs as readonly [Pair, ...Pair[]];
  const of = (by: CompareOperator, { left, right }: Pair): PlanExpr => sqlCompare(left, by, right);
  if (rest.length === 0) return of(operator, first);
  const others = compareRows(operator, rest);
  if (operator === '==') return { kind: 'and', left: of('==', first), right: others };
  if (operator === '!=') return { kind: 'or', left: of('!=', first), right: others };
  return {
    kind: 'or',
    left: of(operator === '<' || operator === '<=' ? '<' : '>', first),
    right: { kind: 'and', left: of('==', first), right: others },
  };
};

/** `array(query)`: the values of its one column, none for no rows. */
export const lowerArrayOf = (a: Analysis, e: ArraySubqueryExpr, c: ExprContext): PlanExpr => {
  const capture = c.sql && new Capture(a, c.sql);
  const ops = lowerSubqueryOps(a, e.query, c, capture?.names);
  const columns = columnNames(a, ops);
  if (columns?.length !== 1) {
    if (!a.sourcesKnown) return no;
    return a.wrong(
      columns
        ? `array takes a subquery of one column, and this has ${columns.length}`
        : 'the columns of the subquery are not known: name the one that is wanted instead of *',
      e.query,
    );
  }
  const values: Ops = [...ops, { kind: 'values', exprs: [fieldOf(thisExpr, columns[0])] }];
  return capture?.isUsed
    ? callOf('coalesce', capture.apply(values, 'array'), emptyList)
    : a.at(e.query, subqueryOf(values, 'list'));
};
const emptyList = literal(arrayValue([]));

/** A subquery that uses columns of the row around it; undefined if it uses none. */
export const lowerCorrelatedSubquery = (
  a: Analysis,
  query: QueryNode,
  form: Extract<PlanExpr, { kind: 'apply' }>['form'],
  c: ExprContext & { readonly sql: SqlNames },
): PlanExpr | { readonly ops: Ops } => {
  const capture = new Capture(a, c.sql);
  const lowered = lowerSubqueryOps(a, query, c, capture.names);
  const ops = form === 'exists' ? withoutList(lowered) : lowered;
  if (!capture.isUsed) return { ops };
  if (form === 'sqlScalar') checkOneColumn(a, query, ops);
  return capture.apply(ops, form);
};

/** EXISTS asks whether there are rows: what a SELECT makes of them is not worked out, so that no error in it counts. */
const withoutList = (ops: Ops): Ops => {
  const last = ops.findLastIndex(({ kind }) => kind !== 'head' && kind !== 'skip');
  const list = ops[last];
  if (list?.kind !== 'values' || list.exprs.length !== 1) return ops;
  return ops.map((op, k) => (k === last ? { ...list, exprs: [yes] } : op));
};

/**
 * A SELECT that stands for one value, or for a list of values, has one column: a fault if it has others, as far as they
 * are known. Rows of pipes may be such values themselves.
 */
export const checkOneColumn = (a: Analysis, query: QueryNode, ops: Ops): void => {
  const count = isSelect(query.ops.at(-1)) ? (columnNames(a, ops)?.length ?? 1) : 1;
  if (count > 1)
    a.fault(
      `the subquery has ${count} columns where one value is wanted: select one`,
      query,
      'rows are compared by (a, b) in (select a, b ...)',
    );
};
/** Whether an operator is a SELECT, or a set operation of which one comes first. */
const isSelect = (op: Op | undefined): boolean => {
  if (op?.kind !== 'sql-op') return false;
  let body: SqlBody = op.query;
  for (;;) {
    if (body.kind === 'sql-query') ({ body } = body);
    else if (body.kind === 'sql-union' || body.kind === 'sql-set') body = body.left;
    else return body.kind === 'sql-select';
  }
};

/** `a is distinct from b`: null and what is missing are values like others. */
export const distinctFrom = (left: PlanExpr, right: PlanExpr): PlanExpr => {
  const isNull = (e: PlanExpr): PlanExpr => ({ kind: 'isNull', operand: e, sql: true });
  return {
    kind: 'case',
    branches: [
      { when: isNull(left), then: { kind: 'not', operand: isNull(right) } },
      { when: isNull(right), then: yes },
    ],
    otherwise: sqlCompare(left, '!=', right),
  };
};

/** `a between symmetric b and c`. */
export const betweenSymmetric = (value: PlanExpr, lower: PlanExpr, upper: PlanExpr): PlanExpr => {
  const within = (from: PlanExpr, to: PlanExpr): PlanExpr => ({
    kind: 'and',
    left: sqlCompare(value, '>=', from),
    right: sqlCompare(value, '<=', to),
  });
  return { kind: 'or', left: within(lower, upper), right: within(upper, lower) };
};

/** Whether an expression of the syntax tree is a plain name. */
export const isName = (e: Expr, name: string): boolean => e.kind === 'id' && !e.quoted && e.name.toLowerCase() === name;
