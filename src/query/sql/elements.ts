/**
 * Elements of SQL's lists, maps and structs: brackets, lambdas over elements, and the operators that SQL alone has.
 *
 * Invariants:
 * - Places count from 1 and ranges include their end, as in the standard; a place that is not there gives null.
 * - The body of a lambda sees a record of the lambda's parameters (`p0` ..) and of what it uses of the row around (`c0`
 *   ..), which is worked out once a row.
 */
import { typeText, types } from '../../vectors/type.ts';
import { intValue, nullValue, stringData, stringValue } from '../../vectors/value.ts';
import type { Analysis } from '../analyze/context.ts';
import { type ExprContext, type SqlNames, lowerExpr, lowerValue } from '../analyze/exprs.ts';
import type {
  Arg,
  BinaryExpr,
  CallExpr,
  Expr,
  FunctionRef,
  IdExpr,
  IndexExpr,
  LambdaNode,
  NameNode,
  RecordElem,
  SliceExpr,
  SqlOperator,
} from '../ast.ts';
import { callOf, columnOf, exprKey, fieldOf, literal, thisExpr } from '../plan/walk.ts';
import { type FunctionSignature, type PlanExpr, openBound } from '../plan/plan.ts';
import { Scope } from '../analyze/scope.ts';
import { castTo, isBits } from './values/casts.ts';
import { isWide } from './values/decimals.ts';
import { alikeNumbers, readBeside, wideResult } from './values/numbers.ts';
import { sqlCondition } from './conditions.ts';
import { atZone } from './values/zones.ts';
import { lowerInterval, lowerSpanText, lowerTimeRange } from './values/intervals.ts';
import { unitAdded } from './values/units.ts';
import { momentOfCall, today } from './values/moment.ts';
import { asKeyOf, hasSpanKeys, nullifOfSpans, spanOfFile } from './values/stored.ts';
import { alternatives, unknownType } from '../types/of.ts';
import type { TypeOf } from './values/decimals.ts';

/** Whether a word is a column that is known to hold nothing but texts. */
export const isTextColumn = (a: Analysis, word: IdExpr, c: ExprContext): boolean => {
  if (!c.sql?.typeOf || !c.sql.has(word.name)) return false;
  const given = alternatives(c.sql.typeOf(lowerExpr(a, word, c))).filter((t) => t !== types.null);
  return given.length > 0 && given.every((t) => t === types.string);
};

/** Whether an expression stands in SQL: in a clause, or in its VALUES, where no column is in scope. */
export const isSql = (c: ExprContext): boolean => c.sql !== undefined || c.alone === true;
/** Whether brackets count as SQL has it: in SQL, unless a pragma says otherwise. */
export const countsAsSql = (c: ExprContext): boolean => isSql(c) && !c.scope.hasIndexBase;

/** `of[at]`: an element, a character, a map's value, a field of a struct. */
export const lowerSqlIndex = (a: Analysis, e: IndexExpr, c: ExprContext): PlanExpr => {
  const of = lowerExpr(a, e.expr, c);
  const at = lowerValue(a, e.index, c);
  const isName = at.kind === 'literal' && at.value.type === types.string;
  if (isName && alternatives(a.typeOfExpr(of, c.input)).every((t) => t.kind === 'record'))
    return { kind: 'index', of, at, base: 1, byName: true };
  const typeOf = c.sql?.typeOf;
  if (!hasSpanKeys(of, typeOf)) return callOf('array_extract', of, asKeyOf(of, at, typeOf));
  const keys = castTo(callOf('map_keys', of), { kind: 'list', element: { kind: 'plain', type: types.duration } });
  return callOf('array_extract', callOf('map_values', of), callOf('list_position', keys, at));
};

/** `of[from:to:step]`; bounds that are left out are the ends. */
export const lowerSqlSlice = (a: Analysis, e: SliceExpr, c: ExprContext): PlanExpr => {
  const bound = (part: SliceExpr['from'], end: number): PlanExpr =>
    part ? lowerExpr(a, part, c) : literal(intValue(end));
  const parts = [lowerExpr(a, e.expr, c), bound(e.from, -openBound), bound(e.to, openBound)];
  return callOf('array_slice', ...parts, ...(e.step ? [lowerExpr(a, e.step, c)] : []));
};

/** The functions that operators stand for. */
const operatorFunctions: Readonly<Record<Exclude<SqlOperator, '!~' | '~*' | '!~*' | '//'>, string>> = {
  '->': 'json_extract',
  '->>': 'json_extract_string',
  '**': 'pow',
  '^@': 'starts_with',
  '<<': 'shift_left',
  '>>': 'shift_right',
  '@>': 'list_has_all',
  '<@': 'list_has_all',
  '&&': 'list_has_any',
  '&': 'and_bits',
  glob: 'glob_matches',
};
/** What else the operators between lists mean elsewhere. */
const otherwise: Readonly<Partial<Record<string, string>>> = {
  '&&': 'between conditions write AND; between lists it is whether they have an element in common',
  '@>': 'between JSON write json_contains(a, b); between lists it is whether the left has all elements of the right',
  '<@': 'between JSON write json_contains(b, a); between lists it is whether the right has all elements of the left',
};
/** An operator between lists whose operands are known to be none is a fault. */
export const checkLists = (a: Analysis, e: BinaryExpr, operands: readonly PlanExpr[], typeOf: TypeOf): void => {
  const hint = otherwise[e.op];
  if (hint === undefined) return;
  const wrong = operands
    .flatMap((x) => alternatives(x.kind === 'literal' ? x.value.type : (typeOf?.(x) ?? unknownType)))
    .find((t) => t.kind === 'primitive' && t !== types.null && t !== unknownType);
  if (wrong) a.fault(`${e.op} stands between lists, not ${typeText(wrong)}`, e, hint);
};
/** An operator that SQL alone has; undefined for others. */
export const sqlOperator = (op: string, left: PlanExpr, right: PlanExpr, c: ExprContext): PlanExpr | undefined => {
  // Of whole numbers the quotient has no fraction; of others both operators are the same, but for a divisor of zero.
  if (op === '//')
    return wideResult(
      {
        kind: 'arithmetic',
        operator: '/',
        left,
        right,
        sql: true,
        whole: true,
        ...(c.attempt && { attempt: true }),
      },
      c,
    );
  if (!Object.hasOwn(operatorFunctions, op)) return undefined;
  const name = operatorFunctions[op as keyof typeof operatorFunctions];
  if (op === '<@') return callOf(name, right, left);
  if (op === '->' || op === '->>')
    return { kind: 'call', name, arguments: ofOnePath(left, right), sql: true, ...(c.attempt && { attempt: true }) };
  const isShift = op === '<<' || op === '>>';
  if (!(isShift || op === '&') || !(isWide(left, c.sql?.typeOf) || (!isShift && isWide(right, c.sql?.typeOf))))
    return callOf(name, left, right);
  // Of integers of 128 bits the result has as many.
  const operands = [left, right, ...(isShift ? [literal(intValue(128))] : [])];
  return castTo({ kind: 'call', name, arguments: operands, sql: true }, { kind: 'wide', unsigned: false });
};

/**
 * What `->` and `->>` are given: of steps one behind the other, to names and places that are written out, the first value
 * and one path. Step by step an object between them was parsed and written again: two steps took five times as long.
 */
const ofOnePath = (left: PlanExpr, right: PlanExpr): readonly PlanExpr[] => {
  if (left.kind !== 'call' || left.name !== 'json_extract' || left.arguments.length !== 2) return [left, right];
  const [value, before] = left.arguments as readonly [PlanExpr, PlanExpr];
  const [first, second] = [stepsIn(before), stepsIn(right)];
  return first === undefined || second === undefined
    ? [left, right]
    : [value, literal(stringValue(`$${first}${second}`))];
};
/** The steps to one place as a path has them behind its $; undefined for others, and for what is no literal. */
const stepsIn = (e: PlanExpr): string | undefined => {
  if (e.kind !== 'literal') return undefined;
  const { type, data } = e.value;
  if (type === types.int64) return Number(data) >= 0 ? `[${String(data)}]` : undefined;
  if (type !== types.string) return undefined;
  const text = stringData(data);
  if (text.startsWith('/')) return undefined;
  if (!text.startsWith('$')) return `."${text.replace(/["\\]/g, '\\$&')}"`;
  return plainPath.test(text) ? text.slice(1) : undefined;
};
/** A path of names without quotes and of places from the first one on. */
const plainPath = /^\$(?:\.[^."[*]+|\[\d+\])*$/;

/** LIKE and ILIKE with a pattern that is worked out for each row, or with an escape character. */
export const lowerPattern = (
  a: Analysis,
  operand: PlanExpr,
  pattern: PlanExpr,
  e: BinaryExpr,
  c: ExprContext,
): PlanExpr => {
  const name = e.op.endsWith('ilike') ? 'ilike_escape' : 'like_escape';
  return callOf(name, operand, pattern, e.escape ? lowerExpr(a, e.escape, c) : literal(stringValue('')));
};

/**
 * Calls that SQL has a meaning of its own for: constructors, and functions that take a lambda. Undefined for others.
 */
export const lowerSqlCall = (a: Analysis, name: string, e: CallExpr, c: ExprContext): PlanExpr | undefined => {
  const signature = a.environment.functions.find(name);
  if (signature?.lambda) return lowerLambdaCall(a, signature, e, c);
  const moment = e.args.length === 0 ? momentOfCall(a, name) : undefined;
  if (moment) return moment;
  const values = (): PlanExpr[] => e.args.map((arg) => lowerArg(a, arg, c));
  switch (name) {
    case 'list_value':
    case 'list_pack':
    case 'array_value':
    case 'unpivot_list':
      return { kind: 'array', elements: values().map((value) => ({ spread: false, value })) };
    case 'row':
      return a.recordOfColumns(values().map((value, i) => ({ name: `c${i}`, value })));
    case 'struct_pack': {
      const elems = e.args.map(namedElements);
      return elems.every((x) => x !== undefined)
        ? lowerExpr(a, { kind: 'record', elems: elems.flat(), start: e.start, end: e.end }, c)
        : a.wrong('struct_pack takes named values: write struct_pack(name := value, ...)', e);
    }
    case 'range':
    case 'generate_series':
      return lowerTimeRange(
        a,
        name,
        e.args.filter((arg) => arg.kind !== 'lambda' && arg.kind !== 'function-ref'),
        c,
      );
    case 'date':
    case 'date_add':
    case 'date_sub':
    case 'add':
    case 'subtract':
    case 'multiply':
    case 'divide':
    case 'mod':
      return lowerNamedOperator(a, name, e, c);
    case 'dateadd':
    case 'timestampadd': {
      const sum = unitAdded(e, (word) => isTextColumn(a, word, c));
      return sum
        ? lowerExpr(a, sum, c)
        : a.wrong(
            `${name} takes a unit, a number and a time`,
            e,
            `write ${name}('day', 3, t), or t + n * interval '1 day'`,
          );
    }
    case 'time_bucket': {
      const size = e.args[0]?.kind === 'literal' ? lowerSpanText(a, e.args[0], c) : undefined;
      return size && callOf(name, size, ...values().slice(1));
    }
    case 'bit_length':
    case 'octet_length':
      return lengthOfBits(name, values());
    case 'timezone': {
      const [zone, time, ...more] = values();
      return zone && time && more.length === 0 ? atZone(time, zone) : undefined;
    }
    case 'make_timestamptz': {
      const given = values();
      const made = callOf('make_timestamp', ...given.slice(0, 6));
      if (given.length === 7) return atZone(made, given[6]!);
      return given.length === 1 || given.length === 6
        ? castTo(made, { kind: 'timestamp', unit: 1, zoned: true })
        : undefined;
    }
    case 'alias': {
      const [only] = e.args;
      return e.args.length === 1 && only && only.kind !== 'lambda' && only.kind !== 'function-ref'
        ? literal(stringValue(a.nameOf(only, true)))
        : undefined;
    }
    case 'ago':
      return e.args.length === 1
        ? { kind: 'arithmetic', operator: '-', left: a.now(), right: values()[0]!, sql: true }
        : undefined;
    case 'age':
      return e.args.length === 1 ? callOf(name, today(a), ...values()) : undefined;
    case 'to_years':
    case 'to_months':
    case 'to_quarters':
    case 'to_decades':
    case 'to_centuries':
    case 'to_millennia':
      return lowerInterval(a, e, c);
    case 'if':
    case 'iff': {
      if (e.args.length !== 3) return undefined;
      const [test, ...branches] = values();
      const [then, otherwise] = alikeNumbers(c.sql?.typeOf, branches);
      return { kind: 'conditional', test: sqlCondition(test!), then: then!, otherwise: otherwise! };
    }
    case 'nullif':
      return nullifOfSpans(values(), c.sql?.typeOf) ?? nullifOfText(values());
    case 'greatest':
    case 'least': {
      const given = values();
      const spans = given.map((value) => spanOfFile(value, c.sql?.typeOf));
      const isOfFile = spans.some((value, i) => value !== given[i]);
      const alike = alikeNumbers(c.sql?.typeOf, readBeside(c, isOfFile ? spans : given));
      return alike === given ? undefined : { kind: 'call', name, arguments: alike, sql: true };
    }
    case 'coalesce':
    case 'ifnull':
      return callOf(name, ...alikeNumbers(c.sql?.typeOf, values()));
    default:
      return lowerListAggregate(a, name, e, values);
  }
};

/** `nullif` of a text that the query writes down beside something else, which is compared as `=` does. */
const nullifOfText = ([value, other, ...more]: readonly PlanExpr[]): PlanExpr | undefined => {
  const isText = (e: PlanExpr | undefined): boolean => e?.kind === 'literal' && e.value.type === types.string;
  if (!value || !other || more.length > 0 || isText(value) === isText(other)) return undefined;
  const test: PlanExpr = { kind: 'compare', operator: '==', left: value, right: other, sql: true };
  return { kind: 'conditional', test, then: literal(nullValue), otherwise: value };
};

/** Bits are texts of as many characters; undefined for lengths of other values. */
const lengthOfBits = (
  name: 'bit_length' | 'octet_length',
  [bits, ...others]: readonly PlanExpr[],
): PlanExpr | undefined => {
  if (!bits || others.length > 0 || !isBits(bits)) return undefined;
  const length: PlanExpr = { kind: 'call', name: 'length', arguments: [bits], sql: true };
  if (name === 'bit_length') return length;
  return {
    kind: 'arithmetic',
    operator: '/',
    left: { kind: 'arithmetic', operator: '+', left: length, right: literal(intValue(7)), sql: true },
    right: literal(intValue(8)),
    sql: true,
  };
};

const namedOperators = {
  date_add: '+',
  date_sub: '-',
  add: '+',
  subtract: '-',
  multiply: '*',
  divide: '//',
  mod: '%',
} as const;
/** Calls that are an operator or a cast by another name. */
const lowerNamedOperator = (
  a: Analysis,
  name: 'date' | keyof typeof namedOperators,
  e: CallExpr,
  c: ExprContext,
): PlanExpr | undefined => {
  const [left, right, ...more] = e.args;
  const span = { start: e.start, end: e.end };
  if (!left || left.kind === 'lambda' || left.kind === 'function-ref' || more.length > 0) return undefined;
  if (name === 'date')
    return right
      ? undefined
      : castTo(lowerExpr(a, left, c), { kind: 'date' }, { attempt: c.attempt ?? false, written: 'date(..)' });
  return right && right.kind !== 'lambda' && right.kind !== 'function-ref'
    ? lowerExpr(a, { kind: 'binary', op: namedOperators[name], left, right, ...span }, c)
    : undefined;
};

/** `list_sum(l)` is the aggregate `sum` over the elements, for every aggregate that has no function of that name. */
const lowerListAggregate = (
  a: Analysis,
  name: string,
  e: CallExpr,
  values: () => readonly PlanExpr[],
): PlanExpr | undefined => {
  const aggregate = /^list_(.+)$/.exec(name)?.[1];
  if (
    aggregate === undefined ||
    a.environment.functions.find(name) ||
    !a.environment.aggregates.find(aggregate) ||
    e.args.length === 0
  )
    return undefined;
  const [list, ...others] = values();
  const args = [list!, literal(stringValue(aggregate)), ...others];
  return { kind: 'call', name: 'list_aggregate', arguments: args, sql: true };
};

const lowerArg = (a: Analysis, arg: Arg, c: ExprContext): PlanExpr =>
  isFunctionArg(arg) ? noValue(a, arg) : lowerValue(a, arg, c);
export const isFunctionArg = (arg: Arg): arg is FunctionRef | LambdaNode =>
  arg.kind === 'lambda' || arg.kind === 'function-ref';
/** The fault of a function where a value has to be; an arrow may be meant as JSON's. */
export const noValue = (a: Analysis, arg: FunctionRef | LambdaNode): PlanExpr =>
  a.wrong(
    'function value may only be passed to a function',
    arg,
    arg.kind === 'lambda' && arg.isArrow ? "JSON's arrow needs parentheses here: write (j -> k)" : undefined,
  );

/** The named values of an argument: a column has its own name; undefined for what has none. */
const namedElements = (e: Arg): readonly RecordElem[] | undefined => {
  if (e.kind === 'record') return e.ofCall ? e.elems : undefined;
  if (e.kind !== 'id' && e.kind !== 'dot') return undefined;
  const name: NameNode = e.kind === 'dot' ? e.name : { kind: 'name', text: e.name, start: e.start, end: e.end };
  return [{ kind: 'record-field', name, expr: e, start: e.start, end: e.end }];
};
/** `x -> 'a' || x` begins with JSON's arrow, but where a lambda has to be. */
const asLambda = (arg: Arg): Arg => {
  const found = isFunctionArg(arg) ? undefined : withoutArrow(arg);
  return found ? { kind: 'lambda', params: [found.param], body: found.body, start: arg.start, end: arg.end } : arg;
};
/** What is behind the arrow that an expression begins with, and the name before it. */
const withoutArrow = (e: Expr): { readonly param: NameNode; readonly body: Expr } | undefined => {
  if (e.kind !== 'binary') return undefined;
  if (e.op === '->' && e.left.kind === 'id') {
    const { name, start, end } = e.left;
    return { param: { kind: 'name', text: name, start, end }, body: e.right };
  }
  const found = withoutArrow(e.left);
  return found && { ...found, body: { ...e, left: found.body } };
};
const lowerLambdaCall = (a: Analysis, f: FunctionSignature, e: CallExpr, c: ExprContext): PlanExpr => {
  const [list, second, ...others] = e.args;
  const lambda = second && asLambda(second);
  const { least, most } = f.lambda!;
  const wrong = (text: string, place: Arg | CallExpr): PlanExpr => a.wrong(`${f.name}: ${text}`, place);
  if (!list || !lambda || e.args.length > f.argumentsMax)
    return wrong(`${f.argumentsMin} to ${f.argumentsMax} arguments required`, e);
  if (lambda.kind !== 'lambda') return wrong('the second argument must be a lambda: write lambda x: ...', lambda);
  if (lambda.params.length < least || lambda.params.length > most)
    return wrong(`a lambda of ${least} to ${most} parameters required`, lambda);
  const values = [list, ...others].map((arg) => lowerArg(a, arg, c));
  const around = new Around(a, c, lambda);
  const body = lowerExpr(a, lambda.body, around.context);
  return {
    kind: 'call',
    name: f.name,
    arguments: [...values, ...around.values],
    lambda: { parameters: lambda.params.length, values: values.length, body },
  };
};

/** Of VALUES, where no column is in scope. */
const noNames = (a: Analysis): SqlNames => ({
  name: (id) => a.wrong(`"${id.name}" is not a column or table`, id),
  qualified: (dot) => a.wrong(`"${dot.expr.name}" is not a column or table`, dot),
  row: () => thisExpr,
  has: () => false,
  hasTable: () => false,
  aggregate: undefined,
  window: undefined,
});

/** What the body of a lambda sees: its parameters, and columns of the row around, which are noted. */
class Around {
  readonly context: ExprContext;
  /** Expressions over the row around. */
  readonly values: PlanExpr[] = [];
  private readonly keys = new Map<string, number>();
  private readonly params: readonly NameNode[];

  constructor(a: Analysis, c: ExprContext, { params }: LambdaNode) {
    this.params = params;
    const scope = new Scope(c.scope);
    const sql = c.sql ?? noNames(a);
    const { aggregate, window } = sql;
    for (const p of params) scope.symbols.set(p.text, { kind: 'column' });
    const names: SqlNames = {
      name: (id) => a.at(id, this.parameter(id.name) ?? this.value(sql.name(id))),
      qualified: (dot) => {
        const parameter = this.parameter(dot.expr.name);
        return a.at(dot, parameter ? columnOf(parameter, dot.name.text) : this.value(sql.qualified(dot)));
      },
      row: () => this.value(sql.row()),
      has: (name, column) => this.parameter(name) !== undefined || sql.has(name, column),
      hasTable: sql.hasTable,
      aggregate: aggregate && ((call) => this.value(aggregate(call))),
      window: window && ((e) => this.value(window(e))),
      ...(sql.clause !== undefined && { clause: sql.clause }),
    };
    this.context = { ...c, scope, sql: names };
  }

  private parameter(name: string): PlanExpr | undefined {
    const lower = name.toLowerCase();
    const at = this.params.findLastIndex((p) => p.text.toLowerCase() === lower);
    return at < 0 ? undefined : fieldOf(thisExpr, `p${at}`);
  }

  private value(e: PlanExpr): PlanExpr {
    if (e.kind === 'literal') return e;
    const key = exprKey(e);
    let index = this.keys.get(key);
    if (index === undefined) this.keys.set(key, (index = this.values.push(e) - 1));
    return fieldOf(thisExpr, `c${index}`);
  }
}
