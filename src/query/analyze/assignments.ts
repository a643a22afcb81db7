/** Paths that are assigned to, and the checks of a list of assignments. */
import type { Analysis } from './context.ts';
import { type ExprContext, lowerExpr } from './exprs.ts';
import type { Assignment, Expr, Span } from '../ast.ts';
import type { FieldPath, PlanExpr } from '../plan/plan.ts';

/**
 * The path of field names that a lowered expression is, constant string indexes included; undefined for anything else.
 */
export const assignablePath = (
  a: Analysis,
  e: PlanExpr,
): { readonly path: FieldPath; readonly spans: readonly Span[] } | undefined => {
  const path: string[] = [];
  const spans: Span[] = [];
  const nowhere: Span = { start: -1, end: -1 };
  for (let at = e; at.kind !== 'this'; ) {
    if (at.kind === 'field') {
      path.unshift(at.name);
      spans.unshift(a.places.name.get(at) ?? a.places.whole.get(at) ?? nowhere);
      at = at.of;
    } else if (at.kind === 'index') {
      const name = a.constant(at.at)?.value.data;
      if (typeof name !== 'string') return undefined;
      path.unshift(name);
      spans.unshift(a.places.whole.get(at.at) ?? nowhere);
      at = at.of;
    } else return undefined;
  }
  return { path, spans };
};

/** The path that the left side of an assignment names. `this` is a fault, and so is what is no path. */
export const targetPath = (a: Analysis, target: Expr, assignment: Span, c: ExprContext): FieldPath | undefined => {
  const faults = a.faults.length;
  const found = assignablePath(a, lowerExpr(a, target, c));
  if (!found) {
    if (a.faults.length === faults) a.fault('illegal left-hand side of assignment', assignment);
    return undefined;
  }
  if (found.path.length === 0) {
    a.fault("cannot assign to 'this'", assignment);
    return undefined;
  }
  return a.path(found.path, found.spans);
};

/** The path that the right side of a renaming names. */
export const sourcePath = (a: Analysis, source: Expr, c: ExprContext): FieldPath | undefined => {
  const faults = a.faults.length;
  const found = assignablePath(a, lowerExpr(a, source, c));
  if (found && found.path.length > 0) return a.path(found.path, found.spans);
  if (a.faults.length === faults)
    a.fault(found ? "cannot assign to 'this'" : 'illegal right-hand side of assignment', source);
  return undefined;
};

/** An assignment with its target, written or implied. */
export interface LoweredAssignment {
  readonly target: FieldPath;
  readonly value: PlanExpr;
}

/**
 * `[target :=] expr` of cut and put. Without a target a path names itself, with its nesting; other expressions have
 * their implied name. `thisName`: what an unnamed `this` is called; absent where it is a fault.
 */
export const lowerAssignment = (
  a: Analysis,
  e: Assignment,
  c: ExprContext,
  thisName?: string,
): LoweredAssignment | undefined => {
  const value = lowerExpr(a, e.expr, c);
  if (e.target) {
    const target = targetPath(a, e.target, e, c);
    return target && { target, value };
  }
  const found = assignablePath(a, value);
  if (!found || e.expr.kind === 'literal') return { target: [a.nameOf(e.expr, false)], value };
  if (found.path.length > 0) return { target: a.path(found.path, found.spans), value };
  if (thisName !== undefined) return { target: [thisName], value };
  a.fault("cannot assign to 'this'", e);
  return undefined;
};

const isPrefix = (p: FieldPath, q: FieldPath): boolean => p.length <= q.length && p.every((name, i) => name === q[i]);

/**
 * The fault of paths that shall build one record, in this order: a repeated field, or a nested record whose fields are
 * not next to each other.
 */
export const recordFault = (paths: readonly FieldPath[]): string | undefined => {
  for (const [i, path] of paths.entries()) {
    const before = paths.slice(0, i);
    if (before.some((p) => isPrefix(path, p) || isPrefix(p, path))) return `duplicate field: "${path.join('.')}"`;
    const last = before.at(-1);
    if (!last) continue;
    for (let n = path.length - 1; n > 0; n--) {
      const parent = path.slice(0, n);
      if (isPrefix(parent, last)) break;
      if (before.some((p) => isPrefix(parent, p)))
        return `fields in record ${closedAt(path, last, before).join('.')} must be adjacent`;
    }
  }
  return undefined;
};
/** The outermost record of the path that was begun before and left since. */
const closedAt = (path: FieldPath, last: FieldPath, before: readonly FieldPath[]): FieldPath => {
  for (let n = 1; n < path.length; n++) {
    const parent = path.slice(0, n);
    if (!isPrefix(parent, last) && before.some((p) => isPrefix(parent, p))) return parent;
  }
  return path;
};

/** The fault of a put: one path twice, or a path and a part of it. */
export const putFault = (paths: readonly FieldPath[]): string | undefined => {
  const sorted = [...paths].sort((p, q) =>
    p.join('\u0000') < q.join('\u0000') ? -1 : p.join('\u0000') > q.join('\u0000') ? 1 : 0,
  );
  for (const [i, path] of sorted.entries()) {
    const before = sorted[i - 1];
    if (!before || !isPrefix(before, path)) continue;
    return before.length === path.length
      ? `multiple assignments to ${path.join('.')}`
      : `conflicting nested assignments to ${before.join('.')} and ${path.join('.')}`;
  }
  return undefined;
};

/** The fault of one renaming. */
export const renameFault = (to: FieldPath, from: FieldPath): string | undefined => {
  if (to.length !== from.length)
    return `left-hand side and right-hand side must have the same depth (${to.join('.')} vs ${from.join('.')})`;
  for (let i = 0; i < to.length - 1; i++)
    if (to[i] !== from[i])
      return `cannot rename ${to.join('.')} to ${from.join('.')} (differ in ${to[i]} vs ${from[i]})`;
  return undefined;
};
