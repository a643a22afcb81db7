/** Declarations: what they bind in a scope, constants, pragmas. */
import { missing, nullValue, boolData } from '../../vectors/value.ts';
import type { Analysis } from './context.ts';
import { lowerExpr } from './exprs.ts';
import { checkNames } from './literals.ts';
import type { Decl, PragmaDecl, QueryNode } from '../ast.ts';
import { wordHint } from './hints.ts';
import { literal, mapParts, substituteRow } from '../plan/walk.ts';
import type { PlanExpr } from '../plan/plan.ts';
import { type ConstSymbol, type NullOrder, Scope, type ScopeSymbol, nullOrders } from './scope.ts';
import { types } from '../../vectors/type.ts';

/** The scope of a query: its declarations in a new scope inside `outer`. */
export const openScope = (a: Analysis, query: QueryNode, outer: Scope | undefined): Scope => {
  const scope = new Scope(outer ?? surroundings(a));
  for (const decl of query.decls) if (decl.kind !== 'pragma-decl') declare(a, scope, decl, symbolOf(decl, scope));
  for (const decl of query.decls) if (decl.kind === 'pragma-decl') applyPragma(a, scope, decl);
  for (const symbol of scope.symbols.values()) if (symbol.kind === 'const') constantOf(a, symbol);
  for (const symbol of scope.symbols.values()) if (symbol.kind === 'type') checkNames(a, symbol.decl.type, scope);
  return scope;
};

/** What holds where the text says nothing else. */
const surroundings = ({ environment: { indexBase } }: Analysis): Scope | undefined => {
  if (indexBase === undefined) return undefined;
  const scope = new Scope(undefined);
  scope.pragmas.indexBase = indexBase;
  return scope;
};

const symbolOf = (decl: Exclude<Decl, PragmaDecl>, scope: Scope): ScopeSymbol => {
  switch (decl.kind) {
    case 'const-decl':
      return { kind: 'const', decl, scope, state: 'new' };
    case 'fn-decl':
      return { kind: 'function', binding: { kind: 'user', decl, scope }, declared: true };
    case 'let-decl':
      return { kind: 'let', decl, scope };
    case 'op-decl':
      return { kind: 'op', decl, scope };
    case 'type-decl':
      return { kind: 'type', decl, scope };
  }
};

const declare = (a: Analysis, scope: Scope, decl: Exclude<Decl, PragmaDecl>, symbol: ScopeSymbol): void => {
  const { text } = decl.name;
  if (scope.symbols.has(text)) a.fault(`symbol "${text}" redefined`, decl.kind === 'op-decl' ? decl : decl.name);
  else scope.symbols.set(text, symbol);
};

/** Pragmas by their names, with what they set in a scope. */
const pragmas = { index_base: 'indexBase', pg: 'pg', default_null_order: 'nullOrder' } as const;
const isPragma = (name: string): name is keyof typeof pragmas => Object.hasOwn(pragmas, name);
const isNullOrder = (text: string): text is NullOrder => Object.hasOwn(nullOrders, text);

const applyPragma = (a: Analysis, scope: Scope, decl: PragmaDecl): void => {
  const { name, expr } = decl;
  const field = isPragma(name.text) ? pragmas[name.text] : undefined;
  if (!field)
    return a.fault(`unknown pragma "${name.text}"`, name, wordHint('pragmas', name.text, Object.keys(pragmas)));
  if (scope.pragmas[field] !== undefined) return a.fault(`"${name.text}" redefined`, name);
  const place = expr ?? name;
  const value = expr
    ? a.constant(lowerExpr(a, expr, { scope, input: types.null }))?.value
    : { type: types.bool, data: true };
  if (field === 'nullOrder') {
    const order = value?.type === types.string ? String(value.data) : '';
    if (!isNullOrder(order))
      return a.fault(`default_null_order must be ${Object.keys(nullOrders).join(', ')}, as text`, place);
    scope.pragmas.nullOrder = order;
    return;
  }
  if (field === 'pg') {
    if (value?.type !== types.bool) return a.fault('expected type bool', place);
    scope.pragmas.pg = boolData(value.data);
    return;
  }
  if (value?.type !== types.int64) return a.fault('expected integer', place);
  const base = Number(value.data);
  if (base < 0) return a.fault('expected positive integer', place);
  if (base > 1) return a.fault('index_base must be 0 or 1', name);
  scope.pragmas.indexBase = base === 1 ? 1 : 0;
};

/** Lowers the body of a named query; undefined, with a fault noted, inside of that body itself. */
export const inNamedQuery = <T>(
  a: Analysis,
  { decl }: ScopeSymbol & { readonly kind: 'let' },
  lower: () => T,
): T | undefined => {
  if (a.openQueries.has(decl)) {
    a.fault(`named query "${decl.name.text}" involved in cyclic dependency`, decl.name);
    return undefined;
  }
  a.openQueries.add(decl);
  try {
    return lower();
  } finally {
    a.openQueries.delete(decl);
  }
};

/**
 * The value of a constant, worked out when it is first asked for. One with subqueries stays an expression, whose
 * subqueries run once.
 */
export const constantOf = (a: Analysis, symbol: ConstSymbol): PlanExpr => {
  if (symbol.state === 'done') return symbol.expr!;
  if (symbol.state === 'busy')
    return a.wrong(`const "${symbol.decl.name.text}" involved in cyclic dependency`, symbol.decl.name);
  symbol.state = 'busy';
  a.inConstant++;
  const faults = a.faults.length;
  const lowered = lowerExpr(a, symbol.decl.expr, { scope: symbol.scope, input: types.null });
  a.inConstant--;
  if (a.faults.length === faults && a.typesKnown) a.checkConstant(lowered);
  const onNull = unrooted(lowered);
  symbol.expr = a.faults.length > faults ? literal(nullValue) : (a.constant(onNull) ?? onNull);
  symbol.state = 'done';
  return symbol.expr;
};

/** The expression as it is without a row: references to it are missing, subqueries on their own. */
const unrooted = (e: PlanExpr): PlanExpr => {
  const alone = (part: PlanExpr): PlanExpr => {
    if (part.kind !== 'subquery' || !part.correlated) return mapParts(part, alone);
    return { ...part, correlated: false, body: { ops: [{ kind: 'null' }, ...part.body.ops] } };
  };
  const separate = alone(e);
  return substituteRow(separate, literal(missing)) ?? separate;
};
