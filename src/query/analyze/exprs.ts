/** Expressions of the syntax tree to expressions of the plan. */
import { RE2JS } from 're2js';
import { messageOf } from '../../errors.ts';
import { daysOfMonth, fitsInt64, parseTime, timesHeld } from '../../vectors/literal.ts';
import { charge } from '../../vectors/stop.ts';
import { type Type, types, membersOf } from '../../vectors/type.ts';
import { intValue, missing, nullValue, stringValue, typeValue, stringData, typeData } from '../../vectors/value.ts';
import { lowerAgg, lowerCall } from './calls.ts';
import { typeHint } from './hints.ts';
import type { Analysis } from './context.ts';
import { castType, declaredType, literalValue, typeValueExpr } from './literals.ts';
import { lowerSubquery, sourced, subqueryOf } from './queries.ts';
import type {
  ArrayExpr,
  BinaryExpr,
  CallExpr,
  CaseExpr,
  CastExpr,
  DateExpr,
  DotExpr,
  Expr,
  FStringExpr,
  IdExpr,
  LiteralExpr,
  OrderKey,
  RecordExpr,
  SetExpr,
  Span,
  SubstringExpr,
  WindowExpr,
} from '../ast.ts';
import { callOf, columnOf, compareOf, fieldOf, literal, thisExpr } from '../plan/walk.ts';
import type { ArithmeticOperator, CompareOperator, PlanExpr, PlanOp, RecordElement } from '../plan/plan.ts';
import { constantOf, inNamedQuery } from './decls.ts';
import { once } from './once.ts';
import type { Scope } from './scope.ts';
import { isOpen } from '../types/check.ts';
import { alternatives, recordOf, unknownType } from '../types/of.ts';
import { meantOf } from '../sql/names.ts';
import {
  betweenSymmetric,
  checkOneColumn,
  distinctFrom,
  lowerArrayOf,
  lowerCorrelatedIn,
  lowerQuantified,
} from '../sql/correlate.ts';
import { decimalOfText, isBeyondDecimals, scaleOfResult, scaleOfText } from '../sql/values/decimals.ts';
import { decimalPrecisionMax, wideTypeOf } from '../sql/values/types.ts';
import {
  checkLists,
  countsAsSql,
  isSql,
  lowerPattern,
  lowerSqlIndex,
  lowerSqlSlice,
  sqlOperator,
} from '../sql/elements.ts';
import { conditionIn } from '../sql/conditions.ts';
import { asSqlValue, negatedSpan, spanOfFile, spansAlike, spansAlikeIn, storedColumn } from '../sql/values/stored.ts';
import {
  joinedParts,
  besideClock,
  besideFloat,
  besideTime,
  castTo,
  lackingType,
  lowerSqlCast,
  lowerSqlDate,
  unknownSqlType,
} from '../sql/values/casts.ts';
import { rowAmong, rowsBeside } from '../sql/rows-in.ts';
import { alikeNumbers, ofOneWidth, wideResult } from '../sql/values/numbers.ts';
import { dateArithmetic, lowerInterval, lowerIntervalArithmetic } from '../sql/values/intervals.ts';
import { columnsOf } from '../sql/tables.ts';
import { lowerWindow } from '../sql/windows.ts';

/** How names resolve inside the clause of a SQL operator. */
export interface SqlNames {
  /** A column, alias or table. */
  readonly name: (id: IdExpr) => PlanExpr;
  /** `x.y`: a table's column, or a field of a column. */
  readonly qualified: (dot: DotExpr & { readonly expr: IdExpr }) => PlanExpr;
  /** What `this` is. */
  readonly row: () => PlanExpr;
  /** True if a name (of a table's column) resolves here or further out. */
  readonly has: (name: string, column?: string) => boolean;
  /** True if there is a table of that name here or further out. */
  readonly hasTable: (name: string) => boolean;
  /** An aggregate call; undefined where none may stand. */
  readonly aggregate: ((call: AggregateCall) => PlanExpr) | undefined;
  /** GROUPING(..); undefined where it may not stand. */
  readonly grouping?: ((e: CallExpr) => PlanExpr) | undefined;
  /** A window function; undefined where none may stand, which `clause` names. */
  readonly window: ((e: WindowExpr) => PlanExpr) | undefined;
  readonly clause?: string;
  /** The type of an expression over the rows, by what pools hold at present. */
  readonly typeOf?: (e: PlanExpr) => Type;
  /** A call of UNNEST, of this list; undefined where it may not stand. */
  readonly unnest?: (call: CallExpr, list: PlanExpr) => PlanExpr;
}

/** A call of an aggregate function, however it was written. */
export interface AggregateCall {
  readonly name: string;
  readonly place: Span;
  readonly argument?: Expr;
  /** Arguments behind the first. */
  readonly others?: readonly Expr[];
  readonly distinct: boolean;
  readonly filter?: Expr;
  /** ORDER BY inside of the parentheses, or WITHIN GROUP where it says the same. */
  readonly order?: readonly OrderKey[];
  /** The argument is taken in descending order: of quantiles. */
  readonly descending?: true;
  /** EXPORT_STATE: the state is wanted. */
  readonly exported?: true;
}

/** Where an expression stands. */
export interface ExprContext {
  readonly scope: Scope;
  /** The type of `this`. */
  readonly input: Type;
  /** Present in the clauses of SQL operators. */
  readonly sql?: SqlNames;
  /** Within TRY: casts that fail give null. */
  readonly attempt?: true;
  /** In SQL's VALUES, where no column is in scope: names in double quotes are strings. */
  readonly alone?: true;
}

/**
 * The plan's expression for one of the syntax tree, its place noted. What has a fault, which `a` notes, gives something
 * that stands in for it.
 */
export const lowerExpr = (a: Analysis, e: Expr, c: ExprContext): PlanExpr => {
  charge(exprBytes, 'the plan of a query');
  return a.at(e, lower(a, e, c));
};
/** What an expression takes in a plan, with its place and its type, about. */
const exprBytes = 512;

const lower = (a: Analysis, e: Expr, c: ExprContext): PlanExpr => {
  const sub = (part: Expr): PlanExpr => lowerExpr(a, part, c);
  switch (e.kind) {
    case 'literal':
      return isSql(c) ? decimalLiteral(a, e) : literal(literalValue(a, e));
    case 'date':
      return c.sql
        ? lowerSqlDate(a, e, { faultOf: faultOfTime, advice: timeAdvice })
        : c.alone
          ? stillDate(e, lowerDate(a, e))
          : lowerDate(a, e);
    case 'interval':
      return lowerInterval(a, e, c)!;
    case 'type-value':
      return typeValueExpr(a, e.type, c.scope, e);
    case 'fstring':
      return lowerFString(a, e, c);
    case 'id':
      return lowerId(a, e, c);
    case 'unary':
      return (
        (c.sql && e.op === '-' ? lowerIntervalArithmetic(a, e, c) : undefined) ??
        (e.op === '+'
          ? sub(e.operand)
          : e.op === '!'
            ? { kind: 'not', operand: conditionIn(c, sub(e.operand)) }
            : negated(sub(e.operand), c))
      );
    case 'binary':
      return lowerBinary(a, e, c);
    case 'between': {
      const [value, lower, upper] = [e.expr, e.lower, e.upper].map((x) => lowerValue(a, x, c)) as [
        PlanExpr,
        PlanExpr,
        PlanExpr,
      ];
      const within = once(a, { value, lower, upper }, ({ value: v, lower: from, upper: to }) =>
        e.symmetric
          ? betweenSymmetric(v, from, to)
          : { kind: 'and', left: comparison(c, v, '>=', from), right: comparison(c, v, '<=', to) },
      );
      return negateIf(e.negated, within);
    }
    case 'is-null': {
      const isNull: PlanExpr = { kind: 'isNull', operand: sub(e.expr), ...(isSql(c) && { sql: true }) };
      return e.negated ? { kind: 'not', operand: isNull } : isNull;
    }
    case 'conditional':
      return {
        kind: 'conditional',
        test: conditionIn(c, sub(e.condition)),
        then: lowerValue(a, e.then, c),
        otherwise: lowerValue(a, e.otherwise, c),
      };
    case 'case':
      return lowerCase(e, c, (part) => lowerValue(a, part, c));
    case 'cast':
      return lowerCast(a, e, c);
    case 'index': {
      if (countsAsSql(c)) return lowerSqlIndex(a, e, c);
      const at = sub(e.index);
      const isName = at.kind === 'literal' && at.value.type === types.string;
      return {
        kind: 'index',
        of: sub(e.expr),
        at,
        base: c.scope.indexBase,
        ...(isName && { byName: true }),
        ...(c.sql && { sql: true }),
      };
    }
    case 'slice':
      return countsAsSql(c) || e.step || (!e.from && !e.to)
        ? lowerSqlSlice(a, e, c)
        : {
            kind: 'slice',
            of: sub(e.expr),
            ...(e.from ? { from: sub(e.from) } : {}),
            ...(e.to ? { to: sub(e.to) } : {}),
            base: c.scope.indexBase,
            ...(c.sql && { sql: true }),
          };
    case 'dot':
      return lowerDot(a, e, c);
    case 'call':
      return lowerCall(a, e, c);
    case 'agg':
      return lowerAgg(a, e, c);
    case 'record':
      return lowerRecord(a, e, c);
    case 'array':
    case 'set':
      return lowerElements(a, e, c);
    case 'map':
      return {
        kind: 'map',
        entries: e.entries.map((x) => ({ key: lowerValue(a, x.key, c), value: lowerValue(a, x.value, c) })),
      };
    case 'tuple':
      return a.recordOfColumns(e.elems.map((x, i) => ({ name: `c${i}`, value: sub(x) })));
    case 'subquery':
      return a.at(e.query, lowerSubquery(a, e.query, c.sql ? 'sqlScalar' : 'scalar', c));
    case 'array-subquery':
      return e.ofColumn ? lowerArrayOf(a, e, c) : a.at(e.query, lowerSubquery(a, e.query, 'collected', c));
    case 'exists':
      return lowerSubquery(a, e.query, 'exists', c);
    case 'extract':
      return lowerExtract(a, e, c);
    case 'substring':
      return lowerSubstring(a, e, c);
    case 'window':
      return lowerWindow(a, e, c);
    case 'quantified':
      return lowerQuantified(a, e, c);
    case 'columns':
      return a.wrong('columns(..) stands in the clauses of SELECT after its FROM', e, 'write the columns one by one');
  }
};

const negated = (operand: PlanExpr, c: ExprContext): PlanExpr =>
  (isSql(c) ? negatedSpan(operand, c.sql?.typeOf) : undefined) ?? {
    kind: 'negate',
    operand,
    ...(isSql(c) && !c.attempt && { sql: true }),
  };

const lowerDate = (a: Analysis, e: DateExpr): PlanExpr => {
  const time: PlanExpr = { kind: 'cast', operand: literal(stringValue(e.text)), type: types.time };
  const day: PlanExpr = e.type === 'date' ? { kind: 'call', name: 'bucket', arguments: [time, oneDay] } : time;
  const found = a.constant(day) ?? day;
  const exact = parseTime(e.text);
  if (exact !== undefined && !fitsInt64(exact))
    return a.wrong(`${JSON.stringify(e.text)} is out of range: ${timesHeld}`, { start: e.textStart, end: e.end });
  return found.kind === 'literal' && found.value.type.kind === 'error'
    ? a.wrong(faultOfTime(e.text), { start: e.textStart, end: e.end }, timeAdvice)
    : found;
};
/** In VALUES, whose columns SELECT may see: what the query calls a date is known to be one. */
const stillDate = (e: DateExpr, time: PlanExpr): PlanExpr =>
  e.type === 'date' ? castTo(time, { kind: 'date' }) : time;
/** What to write instead of it. */
const timeAdvice = "write '2024-01-31' or '2024-01-31 12:30:00', from 1677 to 2262";
/** What is wrong with a text that is no time. */
const faultOfTime = (text: string): string => {
  const m = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2}))?.*)?$/.exec(text);
  if (!m) return `Could not find format for ${JSON.stringify(text)}`;
  const [, year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = m.map(Number);
  const part =
    month < 1 || month > 12
      ? 'month'
      : day < 1 || day > 31
        ? 'day'
        : hour > 23
          ? 'hour'
          : minute > 59
            ? 'minute'
            : second > 59
              ? 'second'
              : day > daysOfMonth(year, month)
                ? 'day'
                : 'year';
  return `parsing time ${JSON.stringify(text)}: ${part} out of range${part === 'year' ? ` (${timesHeld})` : ''}`;
};
const oneDay = literal({ type: types.duration, data: 86_400_000_000_000 });

/** An f-string: its texts and lowered expressions in order. */
export const lowerFString = (a: Analysis, e: FStringExpr, c: ExprContext): PlanExpr => ({
  kind: 'fstring',
  parts: e.parts.map((p) => (p.kind === 'fstring-text' ? p.text : lowerExpr(a, p.expr, c))),
});

/** The row of the place: `this`, or what SQL makes of it. */
const rowExpr = (c: ExprContext): PlanExpr => (c.sql ? c.sql.row() : { kind: 'this' });

const lowerId = (a: Analysis, e: IdExpr, c: ExprContext): PlanExpr => {
  if (e.double && c.alone) return literal(stringValue(e.name));
  if (e.name === 'this' && !e.quoted) return rowExpr(c);
  const symbol = c.scope.lookup(e.name);
  switch (symbol?.kind) {
    case 'const':
      return { ...constantOf(a, symbol) };
    case 'let':
      return (
        inNamedQuery(a, symbol, () => lowerSubquery(a, symbol.decl.query, 'scalar', { ...c, scope: symbol.scope })) ??
        literal(missing)
      );
    case 'type': {
      const type = declaredType(a, e.name, c.scope);
      return type ? literal(typeValue(type)) : a.wrong(`no such type name: "${e.name}"`, e);
    }
    case 'function':
      return a.wrong(
        `function "${e.name}" referenced but not called (consider &${e.name} to create a function value)`,
        e,
      );
    case 'template':
      return a.asCaller(symbol, () => lowerExpr(a, symbol.expr, { ...c, scope: symbol.scope }));
    case 'op':
    case 'parameter':
    case 'column':
    case undefined:
      break;
  }
  if (c.sql && symbol?.kind !== 'parameter') return c.sql.name(e);
  return named(a, fieldOf({ kind: 'this' }, e.name), e);
};

/** Notes where the name of a field access stands. */
export const named = <T extends PlanExpr>(a: Analysis, e: T, place: Span): T => {
  a.places.name.set(e, place);
  return e;
};

const lowerDot = (a: Analysis, e: DotExpr, c: ExprContext): PlanExpr => {
  const found = lowerPath(a, e, c);
  if (!c.sql?.typeOf || found.kind !== 'field') return found;
  // Fields of records are found in any letter case, as columns are.
  const record = recordOf(c.sql.typeOf(found.of));
  const meant =
    record && record !== 'dynamic'
      ? meantOf(
          record.fields.map((f) => f.name),
          found.name,
        )
      : undefined;
  return meant === undefined || meant === found.name ? found : a.like(found, { ...found, name: meant });
};
const lowerPath = (a: Analysis, e: DotExpr, c: ExprContext): PlanExpr => {
  const { expr } = e;
  if (c.sql && expr.kind === 'id' && (expr.name !== 'this' || expr.quoted)) {
    const symbol = c.scope.lookup(expr.name);
    // A named query that FROM reads is a table here.
    if (
      !symbol ||
      symbol.kind === 'op' ||
      symbol.kind === 'column' ||
      (symbol.kind === 'let' && c.sql.hasTable(expr.name))
    )
      return c.sql.qualified({ ...e, expr });
  }
  // A parameter's field is known by the whole of it.
  const whole = expr.kind === 'id' && c.scope.lookup(expr.name)?.kind === 'parameter';
  return named(a, (c.sql ? columnOf : fieldOf)(lowerExpr(a, expr, c), e.name.text), whole ? e : e.name);
};

const lowerCase = (e: CaseExpr, c: ExprContext, sub: (part: Expr) => PlanExpr): PlanExpr => {
  const last = e.otherwise ? sub(e.otherwise) : c.sql ? literal(nullValue) : undefined;
  const values = alikeNumbers(c.sql?.typeOf, [...e.whens.map((w) => sub(w.then)), ...(last ? [last] : [])]);
  const otherwise = last && values.at(-1);
  const [operand, ...whens] = e.operand
    ? spansAlike([sub(e.operand), ...e.whens.map((w) => sub(w.when))], c.sql?.typeOf)
    : [undefined, ...e.whens.map((w) => conditionIn(c, sub(w.when)))];
  return {
    kind: 'case',
    ...(c.sql && { sql: true }),
    ...(operand && { operand }),
    branches: e.whens.map((_, i) => ({
      when: whens[i]!,
      then: values[i],
    })),
    ...(otherwise ? { otherwise } : {}),
  };
};

const comparisons: ReadonlySet<string> = new Set<CompareOperator>(['==', '!=', '<', '<=', '>', '>=']);
const arithmetics: ReadonlySet<string> = new Set<ArithmeticOperator>(['+', '-', '*', '/', '%']);

/** An expression that something is done with. */
export const lowerValue = (a: Analysis, e: Expr, c: ExprContext): PlanExpr =>
  asSqlValue(lowerExpr(a, e, c), c.sql?.typeOf);

const lowerBinary = (a: Analysis, e: BinaryExpr, c: ExprContext): PlanExpr => {
  const interval = c.sql && arithmetics.has(e.op) ? lowerIntervalArithmetic(a, e, c) : undefined;
  if (interval) return interval;
  const left = lowerValue(a, e.left, c);
  const list = c.sql ? lowerListQuantifier(a, e, left, c) : undefined;
  if (list) return list;
  if (e.op === 'in' || e.op === 'not in')
    return negateIf(e.op === 'not in', lowerRowIn(a, left, e, c) ?? lowerIn(a, left, e.right, c));
  if (e.op === 'like' || e.op === 'not like' || e.op === 'ilike' || e.op === 'not ilike')
    return negateIf(e.op.startsWith('not'), lowerLike(a, left, e, c));
  if (e.op === 'similar to' || e.op === 'not similar to')
    return negateIf(e.op.startsWith('not'), lowerSimilar(a, left, e.right, c));
  if (e.op === '~' || e.op === '!~' || e.op === '~*' || e.op === '!~*')
    return negateIf(e.op.startsWith('!'), lowerMatch(a, left, e.right, c, e.op.endsWith('*')));
  const right = lowerValue(a, e.right, c);
  if (e.op === 'is distinct from' || e.op === 'is not distinct from')
    return negateIf(e.op === 'is not distinct from', distinctOf(c, left, right));
  if (e.op === 'and' || e.op === 'or') return { kind: e.op, left: conditionIn(c, left), right: conditionIn(c, right) };
  const dates =
    isSql(c) && (e.op === '+' || e.op === '-') ? dateArithmetic(e.op, left, right, c.sql?.typeOf) : undefined;
  if (dates) return dates;
  if (c.sql) checkLists(a, e, [left, right], c.sql.typeOf);
  const ofSql = sqlOperator(e.op, left, right, c);
  if (ofSql) return ofSql;
  if (e.op === '||') {
    if (!isSql(c)) return { kind: 'concat', left, right };
    const [first, second] = joinedParts(c, besideList(c, [left, right]));
    return { kind: 'concat', left: first!, right: second!, sql: true };
  }
  if (comparisons.has(e.op)) return comparison(c, left, e.op as CompareOperator, right);
  if (e.op === '+' && isSql(c) && [left, right].every((x) => isList(c, x)))
    return { kind: 'concat', left, right, sql: true };
  if (arithmetics.has(e.op))
    return isSql(c)
      ? sqlArithmetic(e.op as ArithmeticOperator, left, right, c)
      : { kind: 'arithmetic', operator: e.op as ArithmeticOperator, left, right };
  throw new TypeError(`operator ${e.op}`);
};

const distinctOf = (c: ExprContext, x: PlanExpr, y: PlanExpr): PlanExpr => {
  const [left, right] = spansAlike([x, y], c.sql?.typeOf);
  return distinctFrom(left!, right!);
};
const decimalLiteral = (a: Analysis, e: LiteralExpr): PlanExpr => {
  const wide = e.type === 'int64' ? wideTypeOf(BigInt(e.text)) : undefined;
  if (wide) return castTo(literal(stringValue(e.text)), wide);
  const value = literalValue(a, e);
  const scale = value.type === types.float64 ? scaleOfText(e.text) : undefined;
  if (value.type === types.float64 && isBeyondDecimals(e.text))
    a.warn(
      `${e.text} has more digits than a decimal, which has ${decimalPrecisionMax}: it is the nearest float64; write '${e.text}'::double to say so`,
    );
  if (scale === undefined) return { kind: 'literal', value };
  return { kind: 'literal', value: decimalOfText(e.text) ?? value, scale };
};
/** Whether a value is known to be a list: the sum of two has the elements of both. */
const isList = (c: ExprContext, e: PlanExpr): boolean => {
  if (e.kind === 'array') return true;
  const type = e.kind === 'literal' ? e.value.type : c.sql?.typeOf?.(e);
  const given = type ? alternatives(type).filter((t) => t !== types.null) : [];
  return given.length > 0 && given.every((t) => t.kind === 'array');
};
/** Beside a list a value that is known to be no list and no text is an element of one, as in PostgreSQL. */
const besideList = (c: ExprContext, sides: readonly [PlanExpr, PlanExpr]): readonly PlanExpr[] => {
  const lists = sides.map((side) => isList(c, side));
  if (lists[0] === lists[1]) return sides;
  return sides.map((side, k) =>
    !lists[k] && isElement(c, side) ? { kind: 'array', elements: [{ spread: false, value: side }] } : side,
  );
};
const isElement = (c: ExprContext, e: PlanExpr): boolean => {
  const type = e.kind === 'literal' ? e.value.type : c.sql?.typeOf?.(e);
  const given = type ? alternatives(type).filter((t) => t !== types.null) : [];
  return given.length > 0 && given.every((t) => isScalar(t) && t !== types.string);
};
const isScalar = (t: Type): boolean => t !== unknownType && (t.kind === 'primitive' || t.kind === 'named');
const sqlArithmetic = (operator: ArithmeticOperator, x: PlanExpr, y: PlanExpr, c: ExprContext): PlanExpr => {
  const [left, right] = [ofOneWidth(c, x), ofOneWidth(c, y)];
  const scale = scaleOfResult(operator, left, right, c.sql?.typeOf);
  // A remainder of floats by zero is NaN, one of decimals is none.
  return wideResult(
    {
      kind: 'arithmetic',
      operator,
      left,
      right,
      sql: true,
      ...(scale !== undefined && { scale }),
      ...(operator === '%' && scale !== undefined && { whole: true }),
      ...(c.attempt && { attempt: true }),
    },
    c,
  );
};

/** `x = any(list)` and `x <> all(list)` of SQL: membership. */
const lowerListQuantifier = (a: Analysis, e: BinaryExpr, left: PlanExpr, c: ExprContext): PlanExpr | undefined => {
  const call = e.right;
  const name = call.kind === 'call' && call.callee.kind === 'name' ? call.callee.text.toLowerCase() : '';
  if (
    call.kind !== 'call' ||
    call.args.length !== 1 ||
    !comparisons.has(e.op) ||
    (name !== 'any' && name !== 'some' && name !== 'all')
  )
    return undefined;
  const [list] = call.args;
  if (!list || list.kind === 'lambda' || list.kind === 'function-ref') return undefined;
  const isAll = name === 'all';
  if (e.op !== (isAll ? '!=' : '=='))
    return a.wrong(
      `${e.op} ${name}(list) is not supported`,
      e,
      `write x ${e.op} ${name} (select unnest(list)), or list_min(list), list_max(list)`,
    );
  return negateIf(isAll, { kind: 'in', left, right: lowerExpr(a, list, c), sql: true });
};

/** A comparison; in SQL a text beside another type is cast. */
const comparison = (c: ExprContext, x: PlanExpr, operator: CompareOperator, y: PlanExpr): PlanExpr => {
  if (!c.sql) return { kind: 'compare', operator, left: x, right: y };
  const { typeOf } = c.sql;
  const alike = [x, y].map((e, i) => {
    const other = i === 0 ? y : x;
    return besideFloat(besideTime(besideClock(e, other), other, typeOf), other, typeOf);
  });
  const [left, right] = spansAlike(alike, typeOf);
  return { kind: 'compare', operator, left: spanOfFile(left!, typeOf), right: spanOfFile(right!, typeOf), sql: true };
};

const negateIf = (negated: boolean, operand: PlanExpr): PlanExpr => (negated ? { kind: 'not', operand } : operand);

/** A row among rows that the query writes down. */
const lowerRowIn = (a: Analysis, left: PlanExpr, e: BinaryExpr, c: ExprContext): PlanExpr | undefined => {
  const rows = c.sql ? rowsBeside(e.left, e.right) : undefined;
  if (!rows || left.kind !== 'record') return undefined;
  return rowAmong(
    left.elements.map((x) => x.value),
    rows.map((row) => row.elems.map((x) => lowerValue(a, x, c))),
    (x, y) => comparison(c, x, '==', y),
    () => lowerIn(a, left, e.right, c),
  );
};

/** On the right side of `in` a query is always taken as the array of its results. */
const lowerIn = (a: Analysis, left: PlanExpr, e: Expr, c: ExprContext): PlanExpr => {
  if (e.kind !== 'subquery' || !c.sql) {
    const list = elementsBeside(left, queryAsArray(a, e, c, 'array') ?? lowerExpr(a, e, c));
    const [value, right] = c.sql ? spansIn(left, list, c) : [left, list];
    return {
      kind: 'in',
      left: value,
      right,
      ...(c.sql ? { sql: true } : right.kind === 'subquery' && isOfTexts(a, right) && { ofTexts: true }),
    };
  }
  const found = lowerCorrelatedIn(a, left, e.query, c);
  if ('kind' in found) return found;
  checkOneColumn(a, e.query, found.ops);
  return lowerAmong(a, left, found.ops, e, c);
};
/** Whether a value is one of those that a query of its own gives. */
export const lowerAmong = (
  a: Analysis,
  left: PlanExpr,
  found: readonly PlanOp[],
  place: Span,
  c: ExprContext,
): PlanExpr => {
  const ops = sourced(found);
  const [column, ...others] = columnsOf(a.typeOf(ops, types.null)) ?? [];
  const ofColumn = column !== undefined && others.length === 0 && left.kind !== 'record';
  const [value, member] = ofColumn ? besideColumn(left, a.rowTypeByContent(ops, types.null), column, c) : [left];
  const right = a.at(place, subqueryOf(member ? [...found, { kind: 'values', exprs: [member] }] : found, 'list'));
  a.places.untyped.add(right);
  return { kind: 'in', left: value, right, ofQuery: true, ...(ofColumn && { ofColumn }), sql: true };
};

/** Whether a query that stands by itself gives texts, nulls and errors alone: there is nothing inside of these. */
const isOfTexts = (a: Analysis, { body, correlated }: PlanExpr & { readonly kind: 'subquery' }): boolean => {
  if (correlated) return false;
  const type = a.rowTypeByContent(body.ops, types.null);
  const members = membersOf(type);
  return members.every((m) => m === types.string || m === types.null || m.kind === 'error');
};

/** A value and the only column of a query that it is looked for in. */
const besideColumn = (left: PlanExpr, row: Type, column: string, c: ExprContext): readonly [PlanExpr, PlanExpr] => {
  const value = fieldOf(thisExpr, column);
  const record = recordOf(row);
  const type = record && record !== 'dynamic' ? record.fields.find((f) => f.name === column)?.type : undefined;
  const stored = type && storedColumn(type);
  return stored ? [left, castTo(value, stored)] : spansAlikeIn(left, value, type, c.sql?.typeOf);
};
/** Texts of a list that a time of day is looked for in are such times. */
const elementsBeside = (left: PlanExpr, right: PlanExpr): PlanExpr => {
  switch (right.kind) {
    case 'array':
      return {
        ...right,
        elements: right.elements.map((x) => (x.spread ? x : { ...x, value: besideClock(x.value, left) })),
      };
    case 'record':
      return {
        ...right,
        elements: right.elements.map((x) => (x.kind === 'field' ? { ...x, value: besideClock(x.value, left) } : x)),
      };
    case 'literal':
      return right.value.type === types.string ? besideClock(right, left) : right;
    default:
      return right;
  }
};

/** An interval and the list that it is looked for in, by their lengths. */
const spansIn = (left: PlanExpr, list: PlanExpr, c: ExprContext): readonly [PlanExpr, PlanExpr] => {
  if (list.kind !== 'array' && list.kind !== 'record') return [left, list];
  const [value, ...others] = spansAlike([left, ...list.elements.map((x) => x.value)], c.sql?.typeOf);
  return value === undefined || value === left
    ? [left, list]
    : [value, { kind: 'array', elements: others.map((of) => ({ spread: false, value: of })) }];
};

/** All results of a subquery or named query as an array; undefined for other expressions. */
const queryAsArray = (a: Analysis, e: Expr, c: ExprContext, form: 'array' | 'collected'): PlanExpr | undefined => {
  if (e.kind === 'subquery') return a.at(e, lowerSubquery(a, e.query, form, c));
  const symbol = e.kind === 'id' ? c.scope.lookup(e.name) : undefined;
  return symbol?.kind === 'let'
    ? a.at(
        e,
        inNamedQuery(a, symbol, () => lowerSubquery(a, symbol.decl.query, form, { ...c, scope: symbol.scope })) ??
          literal(missing),
      )
    : undefined;
};

/** What `unnest` opens: a query as the second field of a record stands for all its results. */
export const lowerUnnested = (a: Analysis, e: Expr, c: ExprContext): PlanExpr => {
  const [, second] = e.kind === 'record' ? e.elems : [];
  const lowered = lowerExpr(a, e, c);
  const all =
    second?.kind === 'record-field' && lowered.kind === 'record' && lowered.elements.length === 2
      ? queryAsArray(a, second.expr, c, 'array')
      : undefined;
  const [first, last] = lowered.kind === 'record' ? lowered.elements : [];
  return all && first && last
    ? a.like(lowered, { kind: 'record', elements: [first, { ...last, value: all }] })
    : lowered;
};

const lowerLike = (a: Analysis, operand: PlanExpr, e: BinaryExpr, c: ExprContext): PlanExpr => {
  const { op, right } = e;
  const caseless = op.endsWith('ilike');
  const lowered = lowerExpr(a, right, c);
  const pattern = a.constant(lowered);
  if (e.escape || (c.sql && pattern?.value.type !== types.string)) return lowerPattern(a, operand, lowered, e, c);
  if (pattern?.value.type !== types.string) {
    a.fault(`non-constant pattern for ${caseless ? 'ILIKE' : 'LIKE'} not supported`, right);
    return { kind: 'compare', operator: '==', left: operand, right: lowered };
  }
  return {
    kind: 'like',
    operand,
    pattern: stringData(pattern.value.data),
    ...(caseless ? { caseless } : {}),
    ...(isSql(c) && { sql: true }),
  };
};

/** A regular expression that has to match all of the text, line breaks included. */
const lowerSimilar = (a: Analysis, operand: PlanExpr, right: Expr, c: ExprContext): PlanExpr => {
  const lowered = lowerExpr(a, right, c);
  const pattern = a.constant(lowered);
  if (!pattern) return callOf('regexp_full_match', operand, lowered);
  if (typeof pattern.value.data !== 'string') return literal(nullValue);
  checkRegexp(a, pattern.value.data, right);
  return { kind: 'match', operand, pattern: `(?s)^(?:${pattern.value.data})$` };
};

const lowerMatch = (a: Analysis, operand: PlanExpr, right: Expr, c: ExprContext, caseless = false): PlanExpr => {
  const pattern = lowerExpr(a, right, c);
  if (c.sql && (pattern.kind !== 'literal' || pattern.value.type === types.null))
    return callOf('regexp_matches', operand, pattern, ...(caseless ? [literal(stringValue('i'))] : []));
  if (pattern.kind !== 'literal' || typeof pattern.value.data !== 'string')
    return a.wrong('right-hand side of ~ expression must be a string literal', right);
  checkRegexp(a, pattern.value.data, right);
  return { kind: 'match', operand, pattern: caseless ? `(?i)${pattern.value.data}` : pattern.value.data };
};

/** Notes a fault if the text is no regular expression. */
export const checkRegexp = (a: Analysis, pattern: string, place: Span): void => {
  try {
    RE2JS.compile(pattern);
  } catch (error) {
    const text = messageOf(error);
    a.fault(text.startsWith('error parsing regexp') ? text : `error parsing regexp: ${text}`, place);
  }
};

const lowerCast = (a: Analysis, e: CastExpr, c: ExprContext): PlanExpr => {
  if (e.target.kind === 'sql-type') return lowerSqlCast(a, { ...e, target: e.target }, c);
  const lacking = c.sql ? lackingType(a, e.target) : undefined;
  if (lacking) return lacking;
  const operand = lowerExpr(a, e.expr, c);
  const { target } = e;
  switch (target.kind) {
    case 'cast-name':
      return { kind: 'castNamed', operand, name: target.name };
    case 'cast-date': {
      const time: PlanExpr = { kind: 'cast', operand, type: types.time };
      return {
        kind: 'conditional',
        test: callOf('is_error', time),
        then: time,
        otherwise: callOf('bucket', time, oneDay),
      };
    }
    case 'id': {
      // Neither declared nor a type: a field that holds one, or its name.
      if (c.sql && !c.scope.lookup(target.name) && !c.sql.has(target.name)) return unknownSqlType(a, target);
      if (e.call && !c.scope.lookup(target.name))
        return { kind: 'call', name: 'cast', arguments: [operand, literal(missing)] };
      const type = lowerExpr(a, target, c);
      const hint = typeHint(target.name);
      if (type.kind === 'field' && hint !== undefined) a.places.hint.set(type, hint);
      if (type.kind === 'literal' && type.value.type === types.type)
        return { kind: 'cast', operand, type: typeData(type.value.data) };
      return { kind: 'call', name: 'cast', arguments: [operand, type] };
    }
    case 'type-name':
      return { kind: 'call', name: 'cast', arguments: [operand, typeValueExpr(a, target, c.scope)] };
    default:
      return { kind: 'cast', operand, type: castType(a, target, c.scope) };
  }
};

const lowerRecord = (a: Analysis, e: RecordExpr, c: ExprContext): PlanExpr => {
  const elements: RecordElement[] = [];
  const own = new Set<string>();
  for (const x of e.elems) {
    if (x.kind === 'spread') {
      const value = lowerExpr(a, x.expr, c);
      // The spread of a record that is written out is merged here: its fields go to the end.
      if (value.kind === 'record' && value.elements.every((y) => y.kind === 'field')) {
        for (const y of value.elements) {
          const at = elements.findIndex((z) => z.kind === 'field' && z.name === y.name);
          if (at >= 0) elements.splice(at, 1);
          elements.push(y);
        }
      } else elements.push({ kind: 'spread', value });
      continue;
    }
    const name = x.kind === 'record-field' ? x.name.text : a.nameOf(x.expr, c.sql !== undefined);
    if (own.has(name)) {
      a.fault(`record expression: duplicate field: "${name}"`, x);
      continue;
    }
    own.add(name);
    const value = lowerExpr(a, x.expr, c);
    const at = elements.findIndex((z) => z.kind === 'field' && z.name === name);
    if (at >= 0) elements[at] = { kind: 'field', name, value };
    else elements.push({ kind: 'field', name, value });
  }
  return { kind: 'record', elements };
};

const lowerElements = (a: Analysis, e: ArrayExpr | SetExpr, c: ExprContext): PlanExpr => {
  const [only] = e.elems;
  if (e.kind === 'array' && e.elems.length === 1 && only && only.kind !== 'spread') {
    const all = queryAsArray(a, only, c, 'collected');
    if (all) return all;
  }
  return {
    kind: e.kind,
    elements: e.elems.map((x) =>
      x.kind === 'spread'
        ? { spread: true, value: lowerExpr(a, x.expr, c) }
        : { spread: false, value: lowerValue(a, x, c) },
    ),
  };
};

const lowerExtract = (a: Analysis, e: Expr & { readonly kind: 'extract' }, c: ExprContext): PlanExpr => {
  const { part } = e;
  const name =
    part.kind === 'id' && !part.double
      ? part.name
      : part.kind === 'literal' && part.type === 'string'
        ? part.text
        : undefined;
  if (name === undefined) return a.wrong('part must be an identifier or string', part);
  // Seconds since 1970 have a fraction, the other parts have none.
  if (isSql(c) && name.toLowerCase() === 'epoch')
    return { kind: 'call', name: 'epoch', arguments: [lowerExpr(a, e.expr, c)], sql: true };
  return {
    kind: 'call',
    name: 'date_part',
    arguments: [literal(stringValue(name)), lowerExpr(a, e.expr, c)],
    ...(isSql(c) && { sql: true }),
  };
};

/** A slice of a string; other values give an error, null stays null. */
const lowerSubstring = (a: Analysis, e: SubstringExpr, c: ExprContext): PlanExpr => {
  if (!e.from && !e.length) return a.wrong('FROM or FOR must be set', e);
  // In SQL the first character is the first, as its standard has it; in pipes it is as the pragma says.
  const operand = lowerExpr(a, e.expr, c);
  const base = c.sql ? 1 : c.scope.indexBase;
  const type = a.typeOfExpr(operand, c.input);
  if (!alternatives(type).some((t) => t === types.string || isOpen(t))) return a.wrong('expected type string', e.expr);
  if (type === types.null) return literal(nullValue);
  const from = e.from && lowerExpr(a, e.from, c);
  const length = e.length && lowerExpr(a, e.length, c);
  const to: PlanExpr | undefined = length && {
    kind: 'arithmetic',
    operator: '+',
    left: from ?? literal(intValue(base)),
    right: length,
  };
  const sliceOf = (of: PlanExpr): PlanExpr => ({
    kind: 'slice',
    of,
    ...(from ? { from } : {}),
    ...(to ? { to: a.constant(to) ?? to } : {}),
    base,
  });
  if (operand.kind === 'literal' && operand.value.type === types.string) return sliceOf(operand);
  const bare = callOf('under', operand);
  const isString = compareOf(callOf('typeof', bare), '==', literal(typeValue(types.string)));
  const message = literal(stringValue('SUBSTRING: string value required'));
  const wrong = callOf('error', {
    kind: 'record',
    elements: [
      { kind: 'field', name: 'message', value: message },
      { kind: 'field', name: 'on', value: operand },
    ],
  });
  return {
    kind: 'case',
    branches: [
      // `under` would open errors too.
      { when: callOf('is_error', operand), then: wrong },
      { when: { kind: 'isNull', operand }, then: literal(nullValue) },
      { when: isString, then: sliceOf(bare) },
    ],
    otherwise: wrong,
  };
};
