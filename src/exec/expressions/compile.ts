/** Expressions of the plan to functions over vectors. See evaluator.ts for how they are used. */
import { strict as assert } from 'node:assert';
import { type Type, types } from '../../vectors/type.ts';
import { mayHaveLongDecimals } from '../../vectors/decimal.ts';
import { charge } from '../../vectors/stop.ts';
import { typesOf } from '../../vectors/fuse.ts';
import { type Value, stringData, typeData } from '../../vectors/value.ts';
import { type Vector, bools, constant, noRows, nulls, valueAt } from '../../vectors/vector.ts';
import { constantOf, vectorOf } from '../../vectors/builder.ts';
import { intValue, stringValue, underValue } from '../../vectors/value.ts';
import type { PlanExpr, PlanFunction } from '../../query/plan/plan.ts';
import { functionNamed } from '../functions/functions.ts';
import type { CallContext, Evaluate } from '../functions/row.ts';
import { fieldOf, indexVector, nullWhereMissing, sliceVector } from './access.ts';
import { apply } from './apply.ts';
import { arithmetic, negate } from './arithmetic.ts';
import { type Zeros, sqlArithmetic } from './sql/arithmetic.ts';
import { attempted } from './sql/attempt.ts';
import { mayHaveSpans } from './sql/span-arithmetic.ts';
import { nullsOfCalls, writtenIn } from './sql/refusals.ts';
import { exactCall, negateLong } from './sql/long-decimals.ts';
import { decimalArithmetic } from './sql/decimals.ts';
import { castToName, castVector } from './cast.ts';
import { compareVectors } from './compare.ts';
import { strictness } from './sql/compare.ts';
import {
  columnsFrom,
  concatKernel,
  fstringOf,
  listFrom,
  mapElements,
  mapFrom,
  recordFrom,
  recordOf,
} from './construct.ts';
import { inColumn, inVector, isEmptyList } from './contains.ts';
import type { AsyncEvaluator, Evaluator, ExpressionContext } from './evaluator.ts';
import { caseOf, coalesceOf, conditional, isNullVector, logical, notVector } from './logic.ts';
import { ilikeRows, likeRows } from './like.ts';
import { matchVector, regexpTest, testRows } from './regexp.ts';
import { errors, overlay, tidy, truth, truthOf } from './rows.ts';
import { foldedSearch, foldedTest, likeSearch, searchPattern, searchText, searchValue } from './search.ts';
import { withoutUnions } from './lift.ts';
import { sqlConcat } from './sql/concat.ts';
import { isUnshared, shared } from './shared.ts';
import { sqlCastVector } from './sql/cast.ts';
import { bucketsOfStored } from './time-bytes.ts';
import { call, callDepth, callDepthMax, driven, drivenAsync, wait, waitOnce } from './suspend.ts';

/** Compiles an expression without subqueries that have to be awaited. */
export const compileExpression = (expr: PlanExpr, context: ExpressionContext): Evaluator => {
  const evaluate = compile(expr, context);
  return outermost(needsDriver(expr) ? driven(evaluate, context.callDepth ?? 0) : evaluate);
};
/**
 * Compiles a condition of which nobody asks but in which rows it is true (`truthOf`, `isTrue`): its answer need not be
 * tidy. Filters over fields of 8 shapes of records, with their group by: 0.6 to 0.7 of the time (JSONBench 3 to 5).
 */
export const compileCondition = (expr: PlanExpr, context: ExpressionContext): AsyncEvaluator => {
  if (needsDriver(expr)) return compileAsync(expr, context);
  const evaluate = compile(expr, context);
  return (batch) => (batch.length === 0 ? noRows : evaluate(batch));
};
/** Compiles any expression; what operators use. */
export const compileAsync = (expr: PlanExpr, context: ExpressionContext): AsyncEvaluator => {
  if (!needsDriver(expr)) return compileExpression(expr, context);
  const evaluate = drivenAsync(compile(expr, context), context.callDepth ?? 0);
  return (batch) => {
    if (batch.length === 0) return noRows;
    const result = evaluate(batch);
    return result instanceof Promise ? result.then(tidy) : tidy(result);
  };
};
/** The value of an expression that depends on no row; what analysis folds constants with. */
export const evaluateConstant = (expr: PlanExpr, functions: readonly PlanFunction[]): Value =>
  valueAt(compileExpression(expr, { functions, names: new Map() })(nulls(1)), 0);

/** What leaves an expression is tidy. */
const outermost =
  (evaluate: Evaluator): Evaluator =>
  (batch) =>
    batch.length === 0 ? noRows : tidy(evaluate(batch));

type Of<K extends PlanExpr['kind']> = Extract<PlanExpr, { readonly kind: K }>;
type Compilers = { readonly [K in PlanExpr['kind']]: (expr: Of<K>, context: ExpressionContext) => Evaluator };

const compile = <K extends PlanExpr['kind']>(expr: Of<K>, context: ExpressionContext): Evaluator => {
  charge(evaluatorBytes, 'the plan of a query');
  return (compilers[expr.kind as K] as (e: PlanExpr, c: ExpressionContext) => Evaluator)(expr, context);
};
/** What an expression that is made ready takes, about. */
const evaluatorBytes = 512;

const compilers: Compilers = {
  literal: ({ value }, { names }) => {
    if (value.type === types.type) bindType(typeData(value.data), names);
    const inner = vectorOf([value]);
    return (batch) => constant(inner, batch.length);
  },
  this: () => (batch) => batch,
  field: ({ of, name, sql }, context) => {
    const evaluate = compile(of, context);
    return sql
      ? (batch) => nullWhereMissing(fieldOf(evaluate(batch), name))
      : (batch) => fieldOf(evaluate(batch), name);
  },
  index: ({ of, at, base, byName, sql }, context) => {
    if (byName && at.kind === 'literal')
      return compile({ kind: 'field', of, name: stringData(at.value.data), ...(sql && { sql }) }, context);
    const left = plainIf(sql, compile(of, context));
    const right = plainIf(sql, compile(at, context));
    return sql
      ? (batch) => nullWhereMissing(indexVector(left(batch), right(batch), base, batch.length))
      : (batch) => indexVector(left(batch), right(batch), base, batch.length);
  },
  slice: ({ of, from, to, base, sql }, context) => {
    const value = plainIf(sql, compile(of, context));
    const start = from && plainIf(sql, compile(from, context));
    const end = to && plainIf(sql, compile(to, context));
    return (batch) =>
      sliceVector(
        value(batch),
        { ...(start && { from: start(batch) }), ...(end && { to: end(batch) }), base },
        batch.length,
      );
  },
  negate: ({ operand, sql }, context) =>
    unary(operand, context, (v) => {
      if (sql && mayHaveLongDecimals(v)) return negateLong(v);
      return sql && mayHaveSpans(v)
        ? sqlArithmetic('*', v, constantOf(intValue(-1), v.length), v.length)
        : negate(v, v.length, sql);
    }),
  not: ({ operand }, context) => unary(operand, context, notVector),
  and: ({ left, right }, context) => logical('and', compile(left, context), compile(right, context), isGuarded(right)),
  or: ({ left, right }, context) => logical('or', compile(left, context), compile(right, context), isGuarded(right)),
  arithmetic: (expr, context) => shared(expr, context, () => compileArithmetic(expr, context)),
  compare: ({ operator, left, right, sql }, context) =>
    binary(left, right, context, (l, r) => compareVectors(operator, l, r, l.length, sql && strictOf(left, right))),
  concat: ({ left, right, sql }, context) =>
    binary(left, right, context, (l, r) =>
      sql ? apply([l, r], l.length, sqlConcat) : apply([l, r], l.length, concatKernel, 'bare'),
    ),
  in: ({ left, right, ofQuery, ofColumn, sql }, context) =>
    binary(left, right, context, (l, r) => {
      if (ofQuery && isEmptyList(r)) return bools(new Uint8Array(l.length));
      return ofColumn
        ? inColumn(l, r, l.length, strictOf(left, right))
        : inVector(l, r, l.length, sql && strictOf(left, right));
    }),
  like: ({ operand, pattern, caseless, sql }, context) => {
    const rows = caseless ? ilikeRows(pattern) : likeRows(pattern);
    const search = likeSearch(rows);
    if (caseless) return unary(operand, context, (v) => matchVector(v, rows));
    return unary(operand, context, sql ? (v) => nullWhereNull(v, search(v)) : search);
  },
  match: ({ operand, pattern }, context) => {
    const test = regexpTest(pattern);
    return unary(operand, context, (v) => matchVector(v, (rows) => testRows(rows, test)));
  },
  isNull: ({ operand, sql }, context) => unary(operand, context, (v) => isNullVector(v, sql)),
  conditional: ({ test, then, otherwise }, context) =>
    conditional(compile(test, context), compile(then, context), compile(otherwise, context)),
  case: ({ operand, branches, otherwise, sql }, context) =>
    caseOf({
      ...(sql && { sql }),
      ...(operand && { operand: compile(operand, context) }),
      branches: branches.map((b) => ({ when: compile(b.when, context), then: compile(b.then, context) })),
      ...(otherwise && { otherwise: compile(otherwise, context) }),
    }),
  call: (expr, context) => shared(expr, context, () => compileCall(expr, context)),
  userCall: (expr, context) => compileUserCall(expr, context),
  mapElements: ({ of, parameter, body }, context) => {
    const list = compile(of, context);
    const each = compile(body, context);
    return (batch) =>
      mapElements(
        list(batch),
        batch,
        (items) => each(recordOf([{ name: parameter, values: items }], items.length)),
        batch.length,
      );
  },
  cast: (expr, context) =>
    shared(expr, context, () => {
      bindType(expr.type, context.names);
      return unary(expr.operand, context, (v) => castVector(v, expr.type));
    }),
  sqlCast: (expr, context) => shared(expr, context, () => unary(expr.operand, context, (v) => sqlCastVector(v, expr))),
  castNamed: ({ operand, name }, context) => unary(operand, context, (v) => castToName(v, name, context.names)),
  record: ({ elements }, context) => {
    const parts = elements.map((e) => ({ e, evaluate: compile(e.value, context) }));
    if (elements.every((e) => e.kind === 'field') && new Set(elements.map((e) => e.name)).size === elements.length) {
      return (batch) =>
        recordOf(
          parts.map(({ e, evaluate }) => ({ name: e.kind === 'field' ? e.name : '', values: tidy(evaluate(batch)) })),
          batch.length,
        );
    }
    return (batch) =>
      recordFrom(
        parts.map(({ e, evaluate }) =>
          e.kind === 'field'
            ? { kind: 'field', name: e.name, values: evaluate(batch) }
            : { kind: 'spread', values: evaluate(batch) },
        ),
        batch.length,
      );
  },
  array: ({ elements }, context) => compileList('array', elements, context),
  set: ({ elements }, context) => compileList('set', elements, context),
  map: ({ entries }, context) => {
    const parts = entries.map((e) => ({ key: compile(e.key, context), value: compile(e.value, context) }));
    return (batch) =>
      mapFrom(
        parts.map((p) => ({ key: p.key(batch), value: p.value(batch) })),
        batch.length,
      );
  },
  fstring: ({ parts }, context) => {
    const compiled = parts.map((p) => (typeof p === 'string' ? p : compile(p, context)));
    const texts = parts.filter((p) => typeof p === 'string').map((p) => vectorOf([stringValue(p)]));
    return (batch) =>
      compiled.length === 0
        ? constantOf(stringValue(''), batch.length)
        : fstringOf(
            compiled.map((p) => (typeof p === 'string' ? p : p(batch))),
            texts.map((t) => constant(t, batch.length)),
            batch.length,
          );
  },
  searchText: ({ operand, text }, context) => {
    const search = foldedSearch(text);
    const test = foldedTest(text);
    return unary(operand, context, (v) => searchText(v, search, test));
  },
  searchRegexp: ({ operand, pattern, anchored }, context) => {
    const test = regexpTest(anchored ? `^(?:${pattern})$` : pattern);
    return unary(operand, context, (v) => searchPattern(v, test));
  },
  searchValue: ({ operand, value, text }, context) => {
    const search = foldedSearch(text);
    const wanted = underValue(value);
    return unary(operand, context, (v) => searchValue(v, wanted, search));
  },
  subquery: (expr, context) => compileSubquery(expr, context),
  apply: (expr, context) => {
    assert(context.apply, 'the context runs subqueries');
    const outer = expr.outer.map((e) => compile(e, context));
    const run = context.apply(expr);
    return (batch) => {
      if (batch.length === 0) return noRows;
      const values = outer.map((e) => tidy(e(batch)));
      return wait(() => run(values, batch.length, callDepth()));
    };
  },
  outer: ({ level, index }, context) => {
    const { outer } = context;
    assert(outer, 'outer values are there');
    return (batch) => (batch.length === 0 ? noRows : constant(outer(level)[index]!, batch.length));
  },
  columns: ({ elements }, context) => {
    const parts = elements.map((e) => ({ e, evaluate: compile(e.value, context) }));
    return (batch) =>
      columnsFrom(
        parts.map(({ e, evaluate }) =>
          e.kind === 'field'
            ? { kind: 'field', name: e.name, values: evaluate(batch) }
            : { kind: 'spread', without: e.without, values: evaluate(batch) },
        ),
        batch.length,
      );
  },
};

const nullWhereNull = (v: Vector, result: Vector): Vector => {
  const codes = truthOf(v);
  return codes.includes(truth.null)
    ? overlay(
        result,
        codes.map((code) => (code === truth.null ? 1 : 0)),
        nulls(v.length),
      )
    : result;
};
/** Which sides of a comparison are literals. */
const strictOf = (left: PlanExpr, right: PlanExpr): number =>
  (isLiteral(left) ? strictness.left : 0) | (isLiteral(right) ? strictness.right : 0);
const isLiteral = (e: PlanExpr): boolean =>
  e.kind === 'literal' ||
  ((e.kind === 'record' || e.kind === 'array') && e.elements.every((x) => x.value.kind === 'literal'));

const unary = (operand: PlanExpr, context: ExpressionContext, f: (v: Vector) => Vector): Evaluator => {
  const evaluate = compile(operand, context);
  return (batch) => (batch.length === 0 ? noRows : f(evaluate(batch)));
};
const binary = (
  left: PlanExpr,
  right: PlanExpr,
  context: ExpressionContext,
  f: (l: Vector, r: Vector) => Vector,
): Evaluator => {
  const l = compile(left, context);
  const r = compile(right, context);
  return (batch) => (batch.length === 0 ? noRows : f(l(batch), r(batch)));
};
/** What arithmetic within made for this expression alone may be written over. */
const compileArithmetic = (
  { operator, left, right, sql, scale, whole, attempt }: Of<'arithmetic'>,
  context: ExpressionContext,
): Evaluator => {
  const zeros: Zeros = { ...(whole && { whole }), ...(attempt && { attempt }) };
  const l = compile(left, context);
  const r = compile(right, context);
  const inner = [left, right].some((e) => e.kind === 'arithmetic');
  const calculated = (a: Vector, b: Vector, over?: readonly Vector[]): Vector => {
    if (scale !== undefined) return decimalArithmetic(operator, a, b, scale, over, zeros);
    if (sql && operator !== '/' && (mayHaveLongDecimals(a) || mayHaveLongDecimals(b)))
      return decimalArithmetic(operator, a, b, undefined, undefined, zeros);
    return sql ? sqlArithmetic(operator, a, b, a.length, over, zeros) : arithmetic(operator, a, b, a.length, over);
  };
  return (batch) => {
    if (batch.length === 0) return noRows;
    const a = l(batch);
    const b = r(batch);
    if (sql && attempt) return attempted(calculated, a, b);
    return calculated(a, b, inner ? [a, b].filter((_, k) => isMade(k === 0 ? left : right, context)) : undefined);
  };
};
const isMade = (e: PlanExpr, context: ExpressionContext): boolean => e.kind === 'arithmetic' && isUnshared(e, context);
const compileList = (
  kind: 'array' | 'set',
  elements: readonly { readonly spread: boolean; readonly value: PlanExpr }[],
  context: ExpressionContext,
): Evaluator => {
  const parts = elements.map((e) => ({ spread: e.spread, evaluate: compile(e.value, context) }));
  return (batch) =>
    listFrom(
      kind,
      parts.map((p) => ({ spread: p.spread, values: p.evaluate(batch) })),
      batch.length,
    );
};

/** Without unions where SQL asks: there a value that may be null is of its type. */
const plainIf = (sql: true | undefined, evaluate: Evaluator): Evaluator =>
  sql ? (batch) => withoutUnions(evaluate(batch)) : evaluate;

const compileCall = (
  { name, arguments: args, sql, attempt, lambda }: Of<'call'>,
  context: ExpressionContext,
): Evaluator => {
  const row = functionNamed(name);
  assert(row, `function ${name} is in the catalog`);
  const compiled = args.map((a) => plainIf(sql, compile(a, context)));
  // Later arguments are evaluated for the rows that need them only.
  if (row.name === 'coalesce') return coalesceOf(compiled);
  if (row.name === 'bucket')
    return bucketed(
      args,
      compiled,
      row.make({ literals: args.map((a) => (a.kind === 'literal' ? a.value : undefined)), names: context.names }),
      context,
    );
  const call: CallContext = {
    literals: args.map((a) => (a.kind === 'literal' ? a.value : undefined)),
    names: context.names,
    ...(attempt && { attempt }),
    ...(lambda && { lambda: { ...lambda, evaluate: compile(lambda.body, context) } }),
  };
  const evaluate = (sql && row.inSql ? row.inSql.make : row.make)(call);
  if (row.name === 'typename') {
    return (batch) => {
      bindNames(batch, context.names);
      return batch.length === 0
        ? noRows
        : evaluate(
            compiled.map((c) => c(batch)),
            batch.length,
          );
    };
  }
  if (sql)
    return nullsOfCalls(
      compiled,
      exactCall(row, evaluate),
      attempt ? [] : args.map((a) => writtenIn(a, (e) => evaluateConstant(e, context.functions))),
    );
  return (batch) =>
    batch.length === 0
      ? noRows
      : evaluate(
          compiled.map((c) => c(batch)),
          batch.length,
        );
};

/** Buckets of times that are cast from text: the cast is passed over where the text is stored as numbers. */
const bucketed = (
  args: readonly PlanExpr[],
  compiled: readonly Evaluator[],
  evaluate: Evaluate,
  context: ExpressionContext,
): Evaluator => {
  const plain: Evaluator = (batch) =>
    batch.length === 0
      ? noRows
      : evaluate(
          compiled.map((c) => c(batch)),
          batch.length,
        );
  const [time, size] = args;
  if (
    time?.kind !== 'cast' ||
    time.type !== types.time ||
    size?.kind !== 'literal' ||
    size.value.type !== types.duration ||
    typeof size.value.data !== 'number'
  )
    return plain;
  const text = compile(time.operand, context);
  const span = size.value.data;
  return (batch) => {
    if (batch.length === 0) return noRows;
    const v = text(batch);
    return bucketsOfStored(v, span) ?? evaluate([castVector(v, types.time), compiled[1]!(batch)], batch.length);
  };
};

/** Names of types in the rows at hand count as bound. */
const bindNames = (batch: Vector, names: Map<string, Type>): void => {
  for (const type of typesOf(batch).table) bindType(type, names);
};
/** Names in a type, also in one that the query's text has, count as bound. */
const bindType = (type: Type, names: Map<string, Type>): void => {
  const seen = new Set<Type>();
  const bound = new Set<string>();
  // The last one of a name counts, so the walk goes backwards; a type in several places is gone through once, for there
  // may be 2^40 ways to it.
  const walk = (t: Type): void => {
    if (seen.has(t)) return;
    seen.add(t);
    switch (t.kind) {
      case 'named':
        if (!bound.has(t.name)) names.set(t.name, t);
        bound.add(t.name);
        return walk(t.inner);
      case 'record':
        for (let i = t.fields.length; i-- > 0; ) walk(t.fields[i]!.type);
        return;
      case 'array':
      case 'set':
        return walk(t.element);
      case 'map':
        walk(t.value);
        return walk(t.key);
      case 'union':
        for (let i = t.members.length; i-- > 0; ) walk(t.members[i]!);
        return;
      case 'error':
        return walk(t.inner);
      default:
    }
  };
  walk(type);
};

/** Bodies of user functions, compiled at their first call: they may call one another. */
const bodies = new WeakMap<ExpressionContext, Evaluator[]>();
const bodyOf = (id: number, context: ExpressionContext): Evaluator => {
  let compiled = bodies.get(context);
  if (!compiled) bodies.set(context, (compiled = []));
  return (compiled[id] ??= compile(context.functions[id]!.body, context));
};

const compileUserCall = ({ id, arguments: args }: Of<'userCall'>, context: ExpressionContext): Evaluator => {
  const fn = context.functions[id];
  assert(fn, 'the plan has the function');
  const compiled = args.map((a) => compile(a, context));
  const levelsMax = levelsOf(context.functions);
  return (batch) => {
    if (batch.length === 0) return noRows;
    if (callDepth() >= callDepthMax) return errors(`stack overflow in function "${fn.name}"`, batch.length);
    const parameters = recordOf(
      fn.parameters.map((name, k) => ({ name, values: tidy(compiled[k]!(batch)) })),
      batch.length,
    );
    return call(bodyOf(id, context), parameters, levelsMax);
  };
};

/**
 * Nodes of expressions that may be on the JavaScript stack within one frame; each takes some three frames of the
 * engine.
 */
const nestedNodesMax = 600;
const levels = new WeakMap<readonly PlanFunction[], number>();
const levelsOf = (functions: readonly PlanFunction[]): number => {
  let n = levels.get(functions);
  if (n === undefined)
    levels.set(
      functions,
      (n = Math.max(
        1,
        Math.floor(nestedNodesMax / (1 + functions.reduce((most, f) => Math.max(most, depthOf(f.body)), 0))),
      )),
    );
  return n;
};
const depthOf = (expr: PlanExpr): number => 1 + childrenOf(expr).reduce((most, c) => Math.max(most, depthOf(c)), 0);

const compileSubquery = ({ body, form, correlated }: Of<'subquery'>, context: ExpressionContext): Evaluator => {
  const run = context.subquery;
  assert(run, 'the context runs subqueries');
  if (correlated) return (batch) => (batch.length === 0 ? noRows : wait(() => run(body, form, batch, callDepth())));
  let known: Vector | undefined;
  const keep = (result: Vector): void => {
    known = vectorOf([valueAt(result, 0)]);
  };
  return (batch) => {
    if (batch.length === 0) return noRows;
    if (!known) waitOnce(() => run(body, form, undefined, callDepth()), keep);
    return constant(known!, batch.length);
  };
};

/** Whether evaluation can suspend: calls of user functions and subqueries. */
export const needsDriver = (expr: PlanExpr): boolean =>
  expr.kind === 'userCall' || expr.kind === 'subquery' || expr.kind === 'apply' || childrenOf(expr).some(needsDriver);

/** Whether it must not be asked of rows that need no answer: it can suspend, or end the query. */
export const isGuarded = (expr: PlanExpr): boolean => needsDriver(expr) || mayEnd(expr);
const mayEnd = (expr: PlanExpr): boolean =>
  (expr.kind === 'sqlCast' && expr.failure === 'error') || mayDivideByZero(expr) || childrenOf(expr).some(mayEnd);
const mayDivideByZero = (expr: PlanExpr): boolean => {
  if (expr.kind === 'call') return expr.sql === true && !expr.attempt && expr.name === 'div';
  return (
    expr.kind === 'arithmetic' &&
    expr.sql === true &&
    !expr.attempt &&
    (expr.operator === '/' || expr.operator === '%') &&
    !(expr.right.kind === 'literal' && Number(expr.right.value.data) !== 0)
  );
};

/** The expressions directly inside of one (bodies of subqueries are not looked into). */
const childrenOf = (expr: PlanExpr): readonly PlanExpr[] => {
  switch (expr.kind) {
    case 'literal':
    case 'this':
    case 'subquery':
    case 'outer':
      return [];
    case 'apply':
      return expr.outer;
    case 'field':
      return [expr.of];
    case 'index':
      return [expr.of, expr.at];
    case 'slice':
      return [expr.of, ...(expr.from ? [expr.from] : []), ...(expr.to ? [expr.to] : [])];
    case 'negate':
    case 'not':
    case 'like':
    case 'match':
    case 'isNull':
    case 'cast':
    case 'sqlCast':
    case 'castNamed':
    case 'searchText':
    case 'searchRegexp':
    case 'searchValue':
      return [expr.operand];
    case 'and':
    case 'or':
    case 'arithmetic':
    case 'compare':
    case 'concat':
    case 'in':
      return [expr.left, expr.right];
    case 'conditional':
      return [expr.test, expr.then, expr.otherwise];
    case 'case':
      return [
        ...(expr.operand ? [expr.operand] : []),
        ...expr.branches.flatMap((b) => [b.when, b.then]),
        ...(expr.otherwise ? [expr.otherwise] : []),
      ];
    case 'call':
      return expr.lambda ? [...expr.arguments, expr.lambda.body] : expr.arguments;
    case 'userCall':
      return expr.arguments;
    case 'mapElements':
      return [expr.of, expr.body];
    case 'record':
    case 'array':
    case 'set':
    case 'columns':
      return expr.elements.map((e) => e.value);
    case 'map':
      return expr.entries.flatMap((e) => [e.key, e.value]);
    case 'fstring':
      return expr.parts.filter((p) => typeof p !== 'string');
  }
};
