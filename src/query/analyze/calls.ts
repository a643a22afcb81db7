/**
 * Calls: built-in functions, user functions specialised by the functions passed to them, lambdas, `map`, aggregates
 * inside expressions.
 */
import type { Analysis } from './context.ts';
import { type AggregateCall, type ExprContext, checkRegexp, lowerExpr, lowerValue } from './exprs.ts';
import type { AggExpr, Arg, CallExpr, Expr, FnDecl, LambdaNode, NameNode, Span } from '../ast.ts';
import { functionHint } from './hints.ts';
import { callOf, fieldOf, literal } from '../plan/walk.ts';
import { isFunctionArg, isSql, isTextColumn, lowerSqlCall, noValue } from '../sql/elements.ts';
import type { FunctionSignature, PlanExpr } from '../plan/plan.ts';
import { type FunctionBinding, Scope } from './scope.ts';
import { printExpr } from '../print.ts';
import { misplaced } from '../sql/names.ts';
import { types } from '../../vectors/type.ts';
import { nullValue } from '../../vectors/value.ts';
import { unknownType } from '../types/of.ts';
import { asTexts } from '../sql/values/casts.ts';
import { roundedDecimal } from '../sql/values/decimals.ts';
import { jsonOfParts } from '../sql/values/json.ts';
import { withUnitFirst } from '../sql/values/units.ts';
import { asSqlList } from '../sql/values/stored.ts';

/** Functions that make or change records out of `name := value`, and UNNEST's options. */
const takesNames = (name: string): boolean => /^(?:struct_|unnest$)/.test(name);
/**
 * Arguments of other functions go by their places: a named one would be taken for a record. It is the fault of the whole
 * call, which is not looked at further; undefined where there is none.
 */
export const refusedNames = (a: Analysis, e: CallExpr, name: string): PlanExpr | undefined => {
  const named = e.args.find((arg) => arg.kind === 'record' && arg.ofCall);
  return named && named.kind === 'record'
    ? a.wrong(`${name} takes its arguments by their places`, named, 'leave out the names and :=')
    : undefined;
};

/**
 * A call: of a lambda or user function, else of an aggregate, else of a built-in function. What is none of these is a
 * fault.
 */
export const lowerCall = (a: Analysis, e: CallExpr, c: ExprContext): PlanExpr => {
  if (e.callee.kind === 'lambda') return callUser(a, { kind: 'user', decl: e.callee, scope: c.scope }, e, c);
  const binding = functionNamed(a, e.callee, c.scope);
  if (binding === 'other') return a.wrong(`"${e.callee.text}" is not a function`, e);
  if (binding?.kind === 'user') return callUser(a, binding, e, c);
  if (c.scope.lookup(e.callee.text)?.kind === 'parameter')
    return a.wrong(`function called via parameter "${e.callee.text}" is bound to a non-function`, e);
  const name = binding?.name ?? e.callee.text.toLowerCase();
  if (c.sql?.grouping && groupingNames.has(name)) return c.sql.grouping(e);
  const attempt = c.sql && !binding && name === 'try' ? lowerAttempt(a, e, c) : undefined;
  if (attempt) return attempt;
  const refused = c.sql && !takesNames(name) ? refusedNames(a, e, name) : undefined;
  if (refused) return refused;
  const call = aggregateCall(a, e, c.scope, c.sql !== undefined);
  if (call) return lowerAggregateCall(a, call, c);
  const symbol = c.scope.lookup(e.callee.text);
  const via = binding && symbol?.kind === 'function' && !symbol.declared;
  return callBuiltin(a, name, e, c, via ? `function "${name}" called via parameter "${e.callee.text}": ` : '');
};

/** What SQL calls to tell the groupings of a GROUP BY apart. */
const groupingNames: ReadonlySet<string> = new Set(['grouping', 'grouping_id']);
/** `TRY(e)` of SQL: null where the expression is an error, and casts in it that fail are null too. */
const lowerAttempt = (a: Analysis, e: CallExpr, c: ExprContext): PlanExpr | undefined => {
  const [only] = e.args;
  if (e.args.length !== 1 || !only || isFunctionArg(only)) return undefined;
  const value = lowerExpr(a, only, { ...c, attempt: true });
  return { kind: 'conditional', test: callOf('is_error', value), then: literal(nullValue), otherwise: value };
};

/**
 * The function that a name stands for: a binding of the scope, undefined for what no declaration binds, `other` for
 * constants and the like.
 */
const functionNamed = (a: Analysis, name: NameNode, scope: Scope): FunctionBinding | 'other' | undefined => {
  const symbol = scope.lookup(name.text);
  switch (symbol?.kind) {
    case 'function':
      return symbol.binding;
    case 'template': {
      const { expr } = symbol;
      const asArg = expr as Arg;
      return asArg.kind === 'function-ref' || asArg.kind === 'lambda' || asArg.kind === 'id'
        ? (bindingOf(a, asArg, symbol.scope) ?? 'other')
        : 'other';
    }
    case 'const':
    case 'let':
      return 'other';
    default:
      return undefined;
  }
};

/** The function that an argument stands for, or undefined if it is an ordinary expression. */
const bindingOf = (a: Analysis, arg: Arg, scope: Scope): FunctionBinding | undefined => {
  if (arg.kind === 'lambda') return { kind: 'user', decl: arg, scope };
  if (arg.kind === 'function-ref') {
    const found = functionNamed(a, arg.name, scope);
    if (found && found !== 'other') return found;
    // One that is not there is a fault where it is called.
    const name = arg.name.text.toLowerCase();
    return { kind: 'builtin', name: a.environment.functions.find(name) ? name : arg.name.text };
  }
  if (arg.kind !== 'id') return undefined;
  const symbol = scope.lookup(arg.name);
  if (symbol?.kind === 'function' && !symbol.declared) return symbol.binding;
  if (symbol?.kind === 'template') return bindingOf(a, symbol.expr as Arg, symbol.scope);
  return undefined;
};

const headOf = (decl: FnDecl | LambdaNode): { readonly name: string; readonly params: readonly string[] } => ({
  name: decl.kind === 'fn-decl' ? decl.name.text : 'lambda',
  params: decl.params.map((p) => p.text),
});

type UserBinding = Extract<FunctionBinding, { readonly kind: 'user' }>;

const callUser = (a: Analysis, f: UserBinding, e: CallExpr, c: ExprContext): PlanExpr => {
  const { name, params } = headOf(f.decl);
  if (e.args.length !== params.length)
    return a.wrong(
      `"${name}": expected ${params.length} params but called with ${e.args.length}`,
      e.callee.kind === 'lambda' ? e.callee : e,
    );
  const bindings = e.args.map((arg) => bindingOf(a, arg, c.scope));
  const values: PlanExpr[] = [];
  e.args.forEach((arg, i) => {
    if (!bindings[i] && !isFunctionArg(arg)) values.push(lowerExpr(a, arg, c));
  });
  const call: PlanExpr = { kind: 'userCall', id: userFunction(a, f, bindings), arguments: values };
  // What comes out of a function that calls others which it is given is not followed, as in v0.2.0.
  if (bindings.some((b) => b !== undefined)) a.places.untyped.add(call);
  return call;
};

/** The id of the plan's function for a user function with these functions passed to it. */
const userFunction = (a: Analysis, f: UserBinding, bindings: readonly (FunctionBinding | undefined)[]): number => {
  const { name, params } = headOf(f.decl);
  const head = { name, parameters: params.filter((_, i) => !bindings[i]) };
  return a.specialise(f, bindings, head, () => {
    const scope = new Scope(f.scope);
    params.forEach((param, i) => {
      const binding = bindings[i];
      scope.symbols.set(param, binding ? { kind: 'function', binding, declared: false } : { kind: 'parameter' });
    });
    return lowerExpr(a, f.decl.body, { scope, input: unknownType });
  });
};

/** `via`: what the text of a fault begins with where the function is a parameter. */
const callBuiltin = (a: Analysis, name: string, given: CallExpr, c: ExprContext, via: string): PlanExpr => {
  const e = isSql(c) ? withUnitFirst(name, given, (word) => isTextColumn(a, word, c)) : given;
  if (name === 'unnest' && c.sql && e.args[0] && !isFunctionArg(e.args[0])) {
    const list = lowerExpr(a, e.args[0], c);
    return (
      c.sql.unnest?.(e, list) ??
      a.wrong('unnest stands in a select list or in FROM', e, 'write from t, unnest(t.list) as u(element)')
    );
  }
  const ofSql = isSql(c) && via === '' ? lowerSqlCall(a, name, e, c) : undefined;
  if (ofSql) return ofSql;
  if (name === 'map' && !(isSql(c) && (!e.args[1] || !bindingOf(a, e.args[1], c.scope)))) return lowerMap(a, e, c);
  if (name === 'position' && e.args.length === 1) {
    const [only] = e.args;
    if (only?.kind === 'binary' && only.op === 'in')
      return {
        kind: 'call',
        name: isSql(c) ? 'strpos' : name,
        arguments: [lowerExpr(a, only.right, c), lowerExpr(a, only.left, c)],
        ...(isSql(c) && { sql: true }),
      };
  }
  const values = e.args.map((arg) => {
    if (!isFunctionArg(arg)) return asSqlList(lowerValue(a, arg, c), c.sql?.typeOf);
    return noValue(a, arg);
  });
  const signature = signatureIn(a, name, c);
  if (!signature)
    a.fault(
      `${via}no such function`,
      e,
      a.hintAt(e, () => functionHint(name, c.scope, a.environment)),
    );
  // The arguments have faults of their own.
  if (!signature || !countFits(a, signature, e.args.length, e, via))
    return {
      kind: 'cast',
      operand: { kind: 'array', elements: values.map((value) => ({ spread: false, value })) },
      type: types.null,
    };
  if (name === 'grep') checkGrep(a, values[0], e.args[0]);
  const rounded = isSql(c) ? roundedDecimal(name, values, c.sql?.typeOf, (x) => a.constant(x)) : undefined;
  const parts = isSql(c) ? asTexts(c, name, values) : values;
  return (
    rounded ??
    (isSql(c) ? jsonOfParts(name, parts) : undefined) ?? {
      kind: 'call',
      name,
      arguments: parts,
      ...(isSql(c) && { sql: true, ...(c.attempt && { attempt: true }) }),
    }
  );
};

/** A function as the place of its call knows it: some stand in SQL alone. */
const signatureIn = (a: Analysis, name: string, c: ExprContext): FunctionSignature | undefined => {
  const found = limitedTo(a.environment.functions.find(name), isSql(c));
  return found && isSql(c) && found.inSql ? { ...found, ...found.inSql } : found;
};

const limitedTo = (found: FunctionSignature | undefined, isInSql: boolean): FunctionSignature | undefined => {
  const limited = isInSql ? undefined : found?.sqlOnly;
  if (limited === 'all') return undefined;
  return found && limited ? { ...found, argumentsMax: limited.pipeArgumentsMax } : found;
};

/** False, and a fault, when the count of arguments is not the function's. */
const countFits = (a: Analysis, f: FunctionSignature, count: number, place: Span, via = ''): boolean => {
  if (count >= f.argumentsMin && count <= f.argumentsMax) return true;
  a.fault(`${via}too ${count < f.argumentsMin ? 'few' : 'many'} arguments`, place);
  return false;
};

/** A constant pattern with metacharacters is a regular expression. */
const checkGrep = (a: Analysis, pattern: PlanExpr | undefined, place: Arg | undefined): void => {
  if (pattern?.kind === 'literal' && typeof pattern.value.data === 'string' && place)
    checkRegexp(a, pattern.value.data, place);
};

const lowerMap = (a: Analysis, e: CallExpr, c: ExprContext): PlanExpr => {
  const [of, fn] = e.args;
  if (e.args.length !== 2 || !of || !fn) return a.wrong('map requires two arguments', e);
  if (isFunctionArg(of)) return a.wrong('function value may only be passed to a function', of);
  const binding = bindingOf(a, fn, c.scope);
  if (!binding) {
    const wrong = a.wrong('second argument to map must be a function', e);
    return isFunctionArg(fn) ? wrong : lowerExpr(a, fn, c);
  }
  const container = lowerExpr(a, of, c);
  if (binding.kind === 'builtin') {
    const element = fieldOf({ kind: 'this' }, 'value');
    const signature = signatureIn(a, binding.name, c);
    if (!signature)
      a.fault(
        'no such function',
        fn,
        a.hintAt(fn, () => functionHint(binding.name, c.scope, a.environment)),
      );
    if (!signature || !countFits(a, signature, 1, e)) return container;
    return {
      kind: 'mapElements',
      of: container,
      parameter: 'value',
      body: { kind: 'call', name: binding.name, arguments: [element] },
    };
  }
  const { name, params } = headOf(binding.decl);
  const [param] = params;
  if (params.length !== 1 || param === undefined)
    return a.wrong(`"${name}": expected ${params.length} params but called with 1`, fn);
  const id = userFunction(a, binding, [undefined]);
  // The body of the function itself, unless it is being lowered right now: a call of it works then, too.
  return {
    kind: 'mapElements',
    of: container,
    parameter: param,
    body: { kind: 'userCall', id, arguments: [fieldOf({ kind: 'this' }, param)] },
  };
};

/** A call that can only be an aggregate's. */
export const markedAggregate = (a: Analysis, e: AggExpr): AggregateCall => {
  const name = e.name.text.toLowerCase();
  const { within } = e;
  const signature = a.environment.aggregates.find(name);
  const filtered = {
    name,
    place: e,
    distinct: e.distinct,
    ...(e.filter && { filter: e.filter }),
    ...(e.exported && { exported: e.exported }),
  };
  const given = [...(e.arg ? [e.arg] : []), ...(e.more ?? [])];
  // Quantiles are of values in order: that of the argument itself says from which end.
  if (!within && e.arg && signature?.withinGroup && e.order && given.length > 1) {
    const [key, another] = e.order;
    const other = another ?? (printExpr(key!.expr) === printExpr(e.arg) ? undefined : key);
    if (other) a.fault(`ORDER BY in ${name} must be by its argument`, other, `write ${name}(v, q order by v desc)`);
    return { ...filtered, ...called(given), ...(key!.order === 'desc' && { descending: true }) };
  }
  if (!within || !signature?.withinGroup)
    return { ...filtered, ...called(given), ...((e.order ?? within) && { order: e.order ?? within! }) };
  const [key, another] = within;
  if (another) a.fault(`${name} takes one key in WITHIN GROUP`, another);
  if (given.length > signature.argumentsMax - 1) a.fault('too many arguments', e);
  return { ...filtered, ...called([key!.expr, ...given]), ...(key!.order === 'desc' && { descending: true }) };
};
const called = ([argument, ...others]: readonly Expr[]): Pick<AggregateCall, 'argument' | 'others'> => ({
  ...(argument && { argument }),
  ...(others.length > 0 && { others }),
});

/** An aggregate as the place of its call knows it: some stand in SQL alone. */
export const aggregateIn = (a: Analysis, name: string, isSql: boolean): FunctionSignature | undefined =>
  limitedTo(a.environment.aggregates.find(name), isSql);

/**
 * The aggregate that a call is: its name is an aggregate's, no declaration hides it, and no built-in function takes
 * that many arguments.
 */
export const aggregateCall = (a: Analysis, e: Expr, scope: Scope, isSql = false): AggregateCall | undefined => {
  if (e.kind === 'agg') return markedAggregate(a, e);
  if (e.kind !== 'call' || e.callee.kind !== 'name' || !isAggregate(a, e, scope, isSql)) return undefined;
  const name = e.callee.text.toLowerCase();
  if (e.args.length > aggregateIn(a, name, isSql)!.argumentsMax) {
    a.fault('too many arguments', e);
    return { name, place: e, distinct: false };
  }
  const args = e.args.filter((x): x is Expr => !isFunctionArg(x));
  return args.length < e.args.length ? undefined : { name, place: e, ...called(args), distinct: false };
};

/** True if the call is one of an aggregate; notes nothing. */
export const isAggregate = (a: Analysis, e: Expr, scope: Scope, isSql = false): boolean => {
  if (e.kind === 'agg') return true;
  if (e.kind !== 'call' || e.callee.kind !== 'name') return false;
  const name = e.callee.text.toLowerCase();
  const symbol = scope.lookup(e.callee.text);
  const signature = aggregateIn(a, name, isSql);
  if (!signature || symbol?.kind === 'function' || symbol?.kind === 'template') return false;
  // A function of the name takes what the aggregate does not: least(1, 2, 3) and the like.
  return !(a.environment.functions.find(name) && e.args.length > Math.max(1, isSql ? signature.argumentsMax : 1));
};

/** A call that can only be an aggregate's: its result where the clause collects aggregates, else a fault. */
export const lowerAgg = (a: Analysis, e: AggExpr, c: ExprContext): PlanExpr =>
  lowerAggregateCall(a, markedAggregate(a, e), c);

const lowerAggregateCall = (a: Analysis, call: AggregateCall, c: ExprContext): PlanExpr => {
  if (c.sql?.aggregate) return c.sql.aggregate(call);
  return c.sql ? misplaced(a, call) : a.misplacedAggregate(call.place);
};
