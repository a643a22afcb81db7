/** Calls: built-in functions, user functions specialised by the functions passed to them, lambdas, `map`, aggregates inside expressions. */
import type { Analysis } from './analyze-context.ts';
import { type AggregateCall, type ExprContext, checkRegexp, lowerExpr } from './analyze-exprs.ts';
import type { AggExpr, Arg, CallExpr, Expr, FnDecl, LambdaNode, NameNode, Span } from './ast.ts';
import { functionHint } from './hints.ts';
import { callOf, fieldOf, literal } from './plan-walk.ts';
import type { FunctionSignature, PlanExpr } from './plan.ts';
import { type FunctionBinding, Scope } from './scope.ts';
import { types } from '../vectors/type.ts';
import { nullValue } from '../vectors/value.ts';
import { unknownType } from './types-of.ts';

/** A call: of a lambda or user function, else of an aggregate, else of a built-in function. What is none of these is a fault. */
export const lowerCall = (a: Analysis, e: CallExpr, c: ExprContext): PlanExpr => {
  if (e.callee.kind === 'lambda') return callUser(a, { kind: 'user', decl: e.callee, scope: c.scope }, e, c);
  const binding = functionNamed(a, e.callee, c.scope);
  if (binding === 'other') return a.wrong(`"${e.callee.text}" is not a function`, e);
  if (binding?.kind === 'user') return callUser(a, binding, e, c);
  if (c.scope.lookup(e.callee.text)?.kind === 'parameter') return a.wrong(`function called via parameter "${e.callee.text}" is bound to a non-function`, e);
  const name = binding?.name ?? e.callee.text.toLowerCase();
  const attempt = c.sql && !binding && name === 'try' ? lowerAttempt(a, e, c) : undefined;
  if (attempt) return attempt;
  const call = aggregateCall(a, e, c.scope);
  if (call) return lowerAggregateCall(a, call, c);
  const symbol = c.scope.lookup(e.callee.text), via = binding && symbol?.kind === 'function' && !symbol.declared;
  return callBuiltin(a, name, e, c, via ? `function "${name}" called via parameter "${e.callee.text}": ` : '');
};

/** `TRY(e)` of SQL: null where the expression is an error, and casts in it that fail are null too. */
const lowerAttempt = (a: Analysis, e: CallExpr, c: ExprContext): PlanExpr | undefined => {
  const [only] = e.args;
  if (e.args.length !== 1 || !only || isFunctionArg(only)) return undefined;
  const value = lowerExpr(a, only, { ...c, attempt: true });
  return { kind: 'conditional', test: callOf('is_error', value), then: literal(nullValue), otherwise: value };
};

/** The function that a name stands for: a binding of the scope, undefined for what no declaration binds, `other` for constants and the like. */
const functionNamed = (a: Analysis, name: NameNode, scope: Scope): FunctionBinding | 'other' | undefined => {
  const symbol = scope.lookup(name.text);
  switch (symbol?.kind) {
    case 'function': return symbol.binding;
    case 'template': {
      const { expr } = symbol;
      const asArg = expr as Arg;
      return asArg.kind === 'function-ref' || asArg.kind === 'lambda' || asArg.kind === 'id' ? bindingOf(a, asArg, symbol.scope) ?? 'other' : 'other';
    }
    case 'const': case 'let': return 'other';
    default: return undefined;
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

const isFunctionArg = (arg: Arg): arg is Exclude<Arg, Expr> => arg.kind === 'lambda' || arg.kind === 'function-ref';

const headOf = (decl: FnDecl | LambdaNode): { readonly name: string; readonly params: readonly string[] } =>
  ({ name: decl.kind === 'fn-decl' ? decl.name.text : 'lambda', params: decl.params.map((p) => p.text) });

type UserBinding = Extract<FunctionBinding, { readonly kind: 'user' }>;

const callUser = (a: Analysis, f: UserBinding, e: CallExpr, c: ExprContext): PlanExpr => {
  const { name, params } = headOf(f.decl);
  if (e.args.length !== params.length) return a.wrong(`"${name}": expected ${params.length} params but called with ${e.args.length}`, e.callee.kind === 'lambda' ? e.callee : e);
  const bindings = e.args.map((arg) => bindingOf(a, arg, c.scope));
  const values: PlanExpr[] = [];
  e.args.forEach((arg, i) => { if (!bindings[i] && !isFunctionArg(arg)) values.push(lowerExpr(a, arg, c)); });
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
const callBuiltin = (a: Analysis, name: string, e: CallExpr, c: ExprContext, via: string): PlanExpr => {
  if (name === 'map') return lowerMap(a, e, c);
  if (name === 'position' && e.args.length === 1) {
    const [only] = e.args;
    if (only?.kind === 'binary' && only.op === 'in') return { kind: 'call', name, arguments: [lowerExpr(a, only.right, c), lowerExpr(a, only.left, c)] };
  }
  const values = e.args.map((arg) => {
    if (!isFunctionArg(arg)) return lowerExpr(a, arg, c);
    return a.wrong('function value may only be passed to a function', arg);
  });
  const signature = signatureIn(a, name, c);
  if (!signature) a.fault(`${via}no such function`, e, a.hintAt(e, () => functionHint(name, c.scope, a.environment)));
  // The arguments have faults of their own.
  if (!signature || !countFits(a, signature, e.args.length, e, via)) return { kind: 'cast', operand: { kind: 'array', elements: values.map((value) => ({ spread: false, value })) }, type: types.null };
  if (name === 'grep') checkGrep(a, values[0], e.args[0]);
  return { kind: 'call', name, arguments: values, ...(c.sql && { sql: true }) };
};

/** A function as the place of its call knows it: some stand in SQL alone. */
const signatureIn = (a: Analysis, name: string, c: ExprContext): FunctionSignature | undefined => {
  const found = a.environment.functions.find(name), limited = c.sql ? undefined : found?.sqlOnly;
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
  if (pattern?.kind === 'literal' && typeof pattern.value.data === 'string' && place) checkRegexp(a, pattern.value.data, place);
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
    if (!signature) a.fault('no such function', fn, a.hintAt(fn, () => functionHint(binding.name, c.scope, a.environment)));
    if (!signature || !countFits(a, signature, 1, e)) return container;
    return { kind: 'mapElements', of: container, parameter: 'value', body: { kind: 'call', name: binding.name, arguments: [element] } };
  }
  const { name, params } = headOf(binding.decl), [param] = params;
  if (params.length !== 1 || param === undefined) return a.wrong(`"${name}": expected ${params.length} params but called with 1`, fn);
  const id = userFunction(a, binding, [undefined]);
  // The body of the function itself, unless it is being lowered right now: a call of it works then, too.
  return { kind: 'mapElements', of: container, parameter: param, body: { kind: 'userCall', id, arguments: [fieldOf({ kind: 'this' }, param)] } };
};

/** A call that can only be an aggregate's. */
export const markedAggregate = (e: AggExpr): AggregateCall => ({ name: e.name.text.toLowerCase(), place: e, ...(e.arg ? { argument: e.arg } : {}), distinct: e.distinct, ...(e.filter ? { filter: e.filter } : {}) });

/** The aggregate that a call is: its name is an aggregate's, no declaration hides it, and no built-in function takes that many arguments. */
export const aggregateCall = (a: Analysis, e: Expr, scope: Scope): AggregateCall | undefined => {
  if (e.kind === 'agg') return markedAggregate(e);
  if (e.kind !== 'call' || e.callee.kind !== 'name') return undefined;
  const name = e.callee.text.toLowerCase(), symbol = scope.lookup(e.callee.text);
  if (!a.environment.aggregates.find(name) || symbol?.kind === 'function' || symbol?.kind === 'template') return undefined;
  const f = a.environment.functions.find(name);
  if (f && e.args.length > 1) return undefined;
  if (e.args.length > a.environment.aggregates.find(name)!.argumentsMax) {
    a.fault('too many arguments', e);
    return { name, place: e, distinct: false };
  }
  const [argument, second] = e.args;
  if ((argument && isFunctionArg(argument)) || (second && isFunctionArg(second))) return undefined;
  return { name, place: e, ...(argument ? { argument } : {}), ...(second ? { second } : {}), distinct: false };
};

/** True if the call is one of an aggregate; notes nothing. */
export const isAggregate = (a: Analysis, e: Expr, scope: Scope): boolean => {
  if (e.kind === 'agg') return true;
  if (e.kind !== 'call' || e.callee.kind !== 'name') return false;
  const name = e.callee.text.toLowerCase(), symbol = scope.lookup(e.callee.text);
  if (!a.environment.aggregates.find(name) || symbol?.kind === 'function' || symbol?.kind === 'template') return false;
  return !(a.environment.functions.find(name) && e.args.length > 1);
};

/** A call that can only be an aggregate's: its result where the clause collects aggregates, else a fault. */
export const lowerAgg = (a: Analysis, e: AggExpr, c: ExprContext): PlanExpr => lowerAggregateCall(a, aggregateCall(a, e, c.scope)!, c);

const lowerAggregateCall = (a: Analysis, call: AggregateCall, c: ExprContext): PlanExpr => {
  if (c.sql?.aggregate) return c.sql.aggregate(call);
  return c.sql ? a.wrong(`aggregate function "${call.name}" called in non-aggregate context`, call.place) : a.misplacedAggregate(call.place);
};
