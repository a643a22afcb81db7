/** The main query: its pipeline, and the source that it reads when it names none. */
import { types } from '../../vectors/type.ts';
import type { Analysis } from './context.ts';
import { openScope } from './decls.ts';
import { lowerOps } from './queries.ts';
import type { QueryNode } from '../ast.ts';
import { fuseAll, unknownType } from '../types/of.ts';
import { isSourced } from '../plan/walk.ts';
import type { Pipeline, PlanOp, Scan } from '../plan/plan.ts';

/**
 * The main pipeline. Without a source of its own it reads the environment's default source, or one null where there is
 * none. Sets `a.defaultNeeded` when that source turns out to be wanted: the caller then runs the analysis again.
 */
export const lowerMain = (a: Analysis, query: QueryNode): Pipeline => {
  const { defaultSource } = a.environment;
  const given = defaultSource && a.defaultNeeded ? a.resolve(defaultSource, undefined) : [];
  const input = !defaultSource
    ? types.null
    : given.length === 0
      ? unknownType
      : fuseAll(given.map((s) => s.type ?? unknownType));
  const ops = lowerOps(a, query.ops, { scope: openScope(a, query, undefined), input, hasParent: false });
  if (isSourced(ops)) return { ops: ops[0]?.kind === 'fork' ? [{ kind: 'null' }, ...ops] : ops };
  if (!defaultSource) return { ops: [{ kind: 'null' }, ...ops] };
  if (!a.defaultNeeded) {
    a.defaultNeeded = true;
    a.resolve(defaultSource, undefined);
  }
  const source: PlanOp =
    given.length > 0 ? ({ kind: 'scan', sources: given, ordered: true } satisfies Scan) : { kind: 'empty' };
  return { ops: [source, ...ops] };
};
