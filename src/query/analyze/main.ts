/** The main query: its pipeline, and the source that it reads when it names none. */
import { type Type, types } from '../../vectors/type.ts';
import type { Analysis } from './context.ts';
import { openScope } from './decls.ts';
import { lowerOps } from './queries.ts';
import { isRead } from './sources.ts';
import { lowerView } from './views.ts';
import type { QueryNode } from '../ast.ts';
import { fuseAll, unknownType } from '../types/of.ts';
import { isSourced } from '../plan/walk.ts';
import type { FoundSource, Pipeline, PlanOp, Scan } from '../plan/plan.ts';

/**
 * The main pipeline. Without a source of its own it reads the environment's default source, or one null where there is
 * none. Sets `a.defaultNeeded` when that source turns out to be wanted: the caller then runs the analysis again.
 */
export const lowerMain = (a: Analysis, query: QueryNode): Pipeline => {
  const { defaultSource } = a.environment;
  const found = defaultSource && a.defaultNeeded ? a.resolve(defaultSource, undefined) : [];
  const given = sourceOps(a, found);
  const input = defaultSource ? inputOf(a, given) : types.null;
  const ops = lowerOps(a, query.ops, { scope: openScope(a, query, undefined), input, hasParent: false });
  if (isSourced(ops)) return { ops: ops[0]?.kind === 'fork' ? [{ kind: 'null' }, ...ops] : ops };
  if (!defaultSource) return { ops: [{ kind: 'null' }, ...ops] };
  if (!a.defaultNeeded) {
    a.defaultNeeded = true;
    a.resolve(defaultSource, undefined);
  }
  return { ops: [...given, ...ops] };
};

const sourceOps = (a: Analysis, found: readonly FoundSource[]): readonly PlanOp[] => {
  const [first] = found;
  if (first?.kind === 'view') return lowerView(a, first, { start: -1, end: -1 })?.ops ?? [{ kind: 'empty' }];
  return first ? [{ kind: 'scan', sources: found.filter(isRead), ordered: true } satisfies Scan] : [{ kind: 'empty' }];
};
const inputOf = (a: Analysis, given: readonly PlanOp[]): Type => {
  const [first] = given;
  if (first?.kind === 'empty') return unknownType;
  return first?.kind === 'scan' && given.length === 1
    ? fuseAll(first.sources.map((s) => s.type ?? unknownType))
    : a.typeOf(given, types.null);
};
