/** Pipe operators of the syntax tree to operators of the plan. */
import { isAggregate } from './calls.ts';
import { lowerAggregate, lowerAggregates, lowerLoneAggregate } from './aggregates.ts';
import {
  type LoweredAssignment,
  assignablePath,
  lowerAssignment,
  putFault,
  recordFault,
  renameFault,
  sourcePath,
  targetPath,
} from './assignments.ts';
import type { Analysis } from './context.ts';
import { openScope } from './decls.ts';
import { type ExprContext, lowerExpr, lowerUnnested } from './exprs.ts';
import { lowerJoin } from './joins.ts';
import { type Flow, lowerBody, lowerOps, lowerQuery } from './queries.ts';
import { lowerSearch } from './search.ts';
import { lowerFrom, lowerLoad } from './sources.ts';
import { lowerChangeRows, lowerMergeRows } from './changes.ts';
import { lowerCreateView, lowerDropView, lowerRenameView } from './views.ts';
import { lowerSwitch } from './switch.ts';
import type { AssignmentsOp, CallOp, CountOp, Expr, Op, OrderKey, Span, UnnestOp } from '../ast.ts';
import { foreignStatement } from '../parse/foreign-syntax.ts';
import { operatorHint } from './hints.ts';
import type { Assignment, FieldPath, PlanExpr, PlanOp, SortKey } from '../plan/plan.ts';
import { Scope } from './scope.ts';
import { lowerSqlOp } from '../sql/queries.ts';

/**
 * The plan's operators for one of the syntax tree: one for most, several for SQL and user operators, none for some that
 * have a fault.
 */
export const lowerOp = (a: Analysis, op: Op, flow: Flow): readonly PlanOp[] => {
  const c: ExprContext = { scope: flow.scope, input: flow.input };
  const expr = (e: Expr): PlanExpr => lowerExpr(a, e, c);
  switch (op.kind) {
    case 'sql-op':
      return lowerSqlOp(a, op.query, flow);
    case 'fork-op':
      return [{ kind: 'fork', branches: op.branches.map((b) => lowerBody(a, b, flow, flow.input)) }];
    case 'switch-op':
      return [lowerSwitch(a, op, flow)];
    case 'search-op':
      return [{ kind: 'filter', expr: lowerSearch(a, op.search, c) }];
    case 'assert-op':
      return [{ kind: 'assert', expr: expr(op.expr), text: op.text }];
    case 'sort-op':
      return [lowerSort(a, op, c)];
    case 'top-op':
      return [{ ...lowerSort(a, op, c), kind: 'top', count: topCount(a, op.limit, c) }];
    case 'call-op':
      return lowerCallOp(a, op, flow);
    case 'count-op':
      return lowerCount(a, op, c);
    case 'cut-op': {
      const assignments = lowerCut(a, op.assignments, c);
      const fault = recordFault(assignments.map((x) => x.target));
      const made: PlanOp = { kind: 'cut', assignments };
      if (fault) {
        a.fault(fault, spanOf(op.assignments));
        a.places.untyped.add(made);
      }
      return [made];
    }
    case 'put-op':
      return [
        lowerPut(
          a,
          op.assignments.map((x) => lowerAssignment(a, x, c, 'that')),
          op,
        ),
      ];
    case 'rename-op':
      return [lowerRename(a, op, c)];
    case 'distinct-op':
      return [{ kind: 'distinct', expr: expr(op.expr) }];
    case 'drop-op':
      return [{ kind: 'drop', paths: op.fields.flatMap((f) => dropPath(a, f, c)) }];
    case 'head-op':
      return [{ kind: 'head', count: countOf(a, op.count, c) }];
    case 'tail-op':
      return [{ kind: 'tail', count: countOf(a, op.count, c) }];
    case 'skip-op':
      return [{ kind: 'skip', count: countOf(a, op.count, c) }];
    case 'where-op':
      return [{ kind: 'filter', expr: expr(op.expr) }];
    case 'uniq-op':
      return [{ kind: 'uniq', withCount: op.counted }];
    case 'fuse-op':
      return [{ kind: 'fuse' }];
    case 'pass-op':
      return [{ kind: 'pass' }];
    case 'join-op':
      return [lowerJoin(a, op, flow)];
    case 'shapes-op':
      return [{ kind: 'shapes', expr: op.expr ? expr(op.expr) : { kind: 'this' } }];
    case 'from-op':
      return lowerFrom(a, op.source, flow).ops;
    case 'merge-op':
      if (flow.previous?.kind !== 'fork' && flow.previous?.kind !== 'switch')
        a.fault('merge operator must follow fork or switch', op);
      return [{ kind: 'merge', keys: sortKeys(a, op.keys, false, c) }];
    case 'unnest-op':
      return [lowerUnnest(a, op, flow, c)];
    case 'values-op':
      return [{ kind: 'values', exprs: op.exprs.map(expr) }];
    case 'load-op':
      return lowerLoad(a, op);
    case 'create-view-op':
      return lowerCreateView(a, op);
    case 'change-rows-op':
      return lowerChangeRows(a, op);
    case 'rename-view-op':
      return lowerRenameView(a, op);
    case 'merge-rows-op':
      return lowerMergeRows(a, op);
    case 'drop-view-op':
      return lowerDropView(a, op);
    case 'output-op':
      return [{ kind: 'output', channel: op.name.text }];
    case 'debug-op':
      return [{ kind: 'debug', expr: op.expr ? expr(op.expr) : { kind: 'this' } }];
    case 'scope-op':
      return lowerQuery(a, op.body, flow);
    case 'assignments-op':
      return lowerAssignments(a, op, c);
    case 'aggregate-op':
      return lowerAggregate(a, op, c);
    case 'expr-op':
      return lowerExprOp(a, op.expr, c);
  }
};

/** From the start of the first to the end of the last. */
const spanOf = (nodes: readonly Span[]): Span => ({ start: nodes[0].start, end: nodes.at(-1)!.end });

/** `reverse` turns the direction of every key; nulls stay where they are. */
const sortKeys = (a: Analysis, keys: readonly OrderKey[], reverse: boolean, c: ExprContext): readonly SortKey[] =>
  keys.map((k) => ({
    expr: lowerExpr(a, k.expr, c),
    order: (k.order === 'desc') !== reverse ? 'desc' : 'asc',
    nulls: k.nulls ?? 'last',
  }));

const lowerSort = (
  a: Analysis,
  op: { readonly reverse: boolean; readonly keys: readonly OrderKey[] },
  c: ExprContext,
): PlanOp & { readonly kind: 'sort' } => ({
  kind: 'sort',
  keys: sortKeys(a, op.keys, op.reverse, c),
  reverse: op.reverse && op.keys.length === 0,
});

/** The constant integer that an expression is, or what is wrong with it. */
const integerOf = (a: Analysis, e: Expr, c: ExprContext): number | 'no integer' | 'negative' => {
  const value = a.constant(lowerExpr(a, e, c))?.value;
  if (!value || value.type.kind !== 'primitive' || !/^u?int\d+$/.test(value.type.name)) return 'no integer';
  return Number(value.data) < 0 ? 'negative' : Number(value.data);
};

/** The count of head, tail, skip, limit and offset: 1 if absent. */
export const countOf = (a: Analysis, e: Expr | undefined, c: ExprContext): number => {
  if (!e) return 1;
  const faults = a.faults.length;
  const count = integerOf(a, e, c);
  if (typeof count === 'number') return count;
  if (a.faults.length > faults) return 0;
  a.fault(count === 'negative' ? 'expected positive integer' : 'expected integer', insideOf(e));
  // No row is in scope: a field is a fault of its own.
  if (e.kind === 'id' && e.name !== 'this' && !c.scope.lookup(e.name)) a.fault(`no such field "${e.name}"`, e);
  return 0;
};

/** The place of an expression, of a subquery without its parentheses. */
const insideOf = (e: Expr): Span => (e.kind === 'subquery' ? e.query : e);

const topCount = (a: Analysis, e: Expr | undefined, c: ExprContext): number => {
  if (!e) return 1;
  const faults = a.faults.length;
  const count = integerOf(a, e, c);
  if (typeof count === 'number' && count > 0) return count;
  if (a.faults.length === faults)
    a.faultOfShape(
      count === 'no integer' ? 'limit argument must be an integer' : 'limit argument value must be greater than 0',
      insideOf(e),
    );
  return 1;
};

/** Expands a user operator: its body with the arguments in place of the parameters. */
const lowerCallOp = (a: Analysis, op: CallOp, flow: Flow): readonly PlanOp[] => {
  const name = op.name.text;
  const symbol = flow.scope.lookup(name);
  if (!symbol) {
    const foreign = foreignStatement(a.text);
    if (foreign?.start === op.start) a.fault(foreign.message, foreign, foreign.hint);
    else
      a.fault(
        `no such user operator: "${name}"`,
        op,
        a.hintAt(op, () => operatorHint(name, flow.scope, a.environment)),
      );
    return [];
  }
  if (symbol.kind === 'template' && op.args.length === 0)
    return a.asCaller(symbol, () => lowerExprOp(a, symbol.expr, { scope: symbol.scope, input: flow.input }));
  if (symbol.kind !== 'op') {
    a.fault(`symbol "${name}" is not bound to an operator`, op);
    return [];
  }
  const { decl } = symbol;
  if (op.args.length !== decl.params.length) {
    const count = (n: number): string => `${n} ${n === 1 ? 'arg' : 'args'}`;
    a.fault(`${count(op.args.length)} provided when operator expects ${count(decl.params.length)}`, op);
    return [];
  }
  const open = a.operatorStack.findIndex((x) => x.decl === decl);
  if (open >= 0) {
    const names = a.operatorStack.map((x) => x.name);
    const cycle = names.slice(open);
    while (names.length < 4) names.push(...cycle);
    a.fault(
      `operator cycle found: ${names.slice(0, Math.max(4, a.operatorStack.length + 1)).join(' -> ')} -> etc...`,
      op,
    );
    return [];
  }
  const scope = new Scope(symbol.scope);
  decl.params.forEach((p, i) =>
    scope.symbols.set(p.text, {
      kind: 'template',
      expr: op.args[i] as Expr,
      scope: flow.scope,
      callers: a.operatorStack,
    }),
  );
  const callers = a.operatorStack;
  a.operatorStack = [...callers, { decl, name }];
  const ops = lowerOps(a, decl.body.ops, { ...flow, scope: openScope(a, decl.body, scope) });
  a.operatorStack = callers;
  return ops;
};

const lowerCount = (a: Analysis, op: CountOp, c: ExprContext): readonly PlanOp[] => {
  if (!op.record) return [{ kind: 'count', field: 'count' }];
  const last = op.record.elems.at(-1);
  if (!last) {
    a.fault('count record expression must not be empty', op.record);
    return [];
  }
  if (last.kind !== 'record-value' || last.expr.kind !== 'id') {
    a.fault('last element in record expression for count must be an identifier', last);
    return [];
  }
  const elems = op.record.elems.slice(0, -1);
  const field = last.expr.name;
  if (elems.length === 0) return [{ kind: 'count', expr: { kind: 'record', elements: [] }, field }];
  return [{ kind: 'count', expr: lowerExpr(a, { ...op.record, elems }, c), field }];
};

/** What has no target is looked at twice by the reference, which therefore reports its faults twice. */
const lowerCut = (a: Analysis, list: AssignmentsOp['assignments'], c: ExprContext): readonly LoweredAssignment[] => {
  const again: Analysis['faults'] = [];
  const lowered = list.flatMap((x) => {
    const before = a.faults.length;
    const made = lowerAssignment(a, x, c);
    if (made && !x.target) again.push(...a.faults.slice(before));
    if (made && !x.target) a.places.twice.add(made.value);
    return made ? [made] : [];
  });
  a.faults.push(...again);
  return lowered;
};

const lowerPut = (a: Analysis, list: readonly (Assignment | undefined)[], op: Span): PlanOp => {
  const assignments = list.filter((x) => x !== undefined);
  const fault = putFault(assignments.map((x) => x.target));
  if (fault) a.fault(fault, op);
  return { kind: 'put', assignments };
};

const lowerRename = (a: Analysis, op: Op & { readonly kind: 'rename-op' }, c: ExprContext): PlanOp => {
  const assignments: { from: FieldPath; to: FieldPath }[] = [];
  for (const x of op.assignments) {
    if (x.target && x.expr.kind === 'id' && x.expr.name === 'this' && !x.expr.quoted) {
      const to = targetPath(a, x.target, x, c);
      if (to) a.fault(`left-hand side and right-hand side must have the same depth (${to.join('.')} vs this)`, x);
      continue;
    }
    const to = targetPath(a, x.target ?? x.expr, x, c);
    const from = x.target ? sourcePath(a, x.expr, c) : to;
    if (!from || !to) continue;
    const fault = renameFault(to, from);
    if (fault) a.fault(fault, x);
    else assignments.push({ from, to });
  }
  return { kind: 'rename', assignments };
};

const dropPath = (a: Analysis, e: Expr, c: ExprContext): readonly FieldPath[] => {
  const found = assignablePath(a, lowerExpr(a, e, c));
  if (found && found.path.length > 0) return [a.path(found.path, found.spans)];
  a.fault(found ? "cannot drop 'this'" : 'drop: field reference required', e);
  return [];
};

const lowerUnnest = (a: Analysis, op: UnnestOp, flow: Flow, c: ExprContext): PlanOp => {
  const expr = lowerUnnested(a, op.expr, c);
  if (!op.body) return { kind: 'unnest', expr };
  const element = a.typeOf([{ kind: 'unnest', expr }], flow.input);
  return { kind: 'unnest', expr, into: lowerBody(a, op.body, flow, element) };
};

/** `a:=e, ..`: a put, or an aggregate if the right sides are aggregate calls. */
const lowerAssignments = (a: Analysis, op: AssignmentsOp, c: ExprContext): readonly PlanOp[] => {
  const aggregates = op.assignments.filter((x) => isAggregate(a, x.expr, c.scope)).length;
  if (aggregates === op.assignments.length) return lowerAggregates(a, op.assignments, c);
  if (aggregates > 0) {
    for (const x of op.assignments) if (!isAggregate(a, x.expr, c.scope)) lowerExpr(a, x.expr, c);
    a.fault('mix of aggregations and non-aggregations in assignment list', op);
    return [];
  }
  return [
    lowerPut(
      a,
      op.assignments.map((x) => lowerAssignment(a, x, c, 'that')),
      op,
    ),
  ];
};

const predicateFunctions: ReadonlySet<string> = new Set([
  'grep',
  'has',
  'has_error',
  'is',
  'is_error',
  'missing',
  'cidr_match',
  'array_contains',
  'contains',
  'ends_with',
  'isfinite',
  'isinf',
  'isnan',
  'list_contains',
  'prefix',
  'regexp_matches',
  'starts_with',
  'suffix',
]);
const valueOperators: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%', '||']);

/**
 * Whether an expression in an operator's place filters: it is boolean by its form, and so is what it is made of.
 * `open`: functions that are looked into.
 */
const isPredicate = (e: Expr, scope: Scope, open: readonly object[] = []): boolean => {
  switch (e.kind) {
    case 'binary':
      return !valueOperators.has(e.op);
    case 'unary':
      return e.op === '!' && isPredicate(e.operand, scope, open);
    case 'conditional':
      return isPredicate(e.then, scope, open) && isPredicate(e.otherwise, scope, open);
    case 'between':
    case 'is-null':
    case 'exists':
      return true;
    case 'literal':
      return e.type === 'bool';
    case 'id': {
      const symbol = scope.lookup(e.name);
      return (
        symbol?.kind === 'const' &&
        !open.includes(symbol) &&
        isPredicate(symbol.decl.expr, symbol.scope, [...open, symbol])
      );
    }
    case 'call': {
      if (e.callee.kind !== 'name') return false;
      const symbol = scope.lookup(e.callee.text);
      if (symbol?.kind !== 'function') return predicateFunctions.has(e.callee.text.toLowerCase());
      const { binding } = symbol;
      return (
        binding.kind === 'user' &&
        (open.includes(binding.decl) || isPredicate(binding.decl.body, binding.scope, [...open, binding.decl]))
      );
    }
    default:
      return false;
  }
};

/** A bare expression: an aggregate, a filter, or values. */
const lowerExprOp = (a: Analysis, e: Expr, c: ExprContext): readonly PlanOp[] => {
  if (isAggregate(a, e, c.scope)) return lowerLoneAggregate(a, e, c);
  const expr = lowerExpr(a, e, c);
  return [isPredicate(e, c.scope) ? { kind: 'filter', expr } : { kind: 'values', exprs: [expr] }];
};
