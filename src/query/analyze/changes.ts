/** UPDATE, DELETE and MERGE INTO: they are compiled where they are asked for, so that faults are told, and where they are done. */
import type { ChangeRowsOp, MergeRowsOp, QueryNode, SqlOp } from '../ast.ts';
import type { ChangeVerb, PlanOp, SourceRequest } from '../plan/plan.ts';
import { putFault } from './assignments.ts';
import type { Analysis } from './context.ts';
import { lowerAlone } from './queries.ts';
import { Scope } from './scope.ts';
import { isRead, partAtFault } from './sources.ts';

/** The query of what a statement changes. */
export const queryOfChange = ({ query, start, end }: Pick<ChangeRowsOp, 'query' | 'start' | 'end'>): QueryNode => {
  const op: SqlOp = { kind: 'sql-op', query, start, end };
  return { kind: 'query', decls: [], ops: [op], start, end };
};

/** UPDATE or DELETE as an operator that stands alone. */
export const lowerChangeRows = (a: Analysis, op: ChangeRowsOp): readonly PlanOp[] => {
  const twice = putFault(op.targets.map((path) => path.map(({ text }) => text)));
  if (twice !== undefined) a.fault(`${op.verb.toUpperCase()}: ${twice}`, op);
  return lowerStatement(a, op, op.verb, [queryOfChange(op)]);
};
/** MERGE INTO as an operator that stands alone. */
export const lowerMergeRows = (a: Analysis, op: MergeRowsOp): readonly PlanOp[] => {
  for (const { targets } of op.clauses) {
    const twice = putFault(targets.map((path) => path.map(({ text }) => text)));
    if (twice !== undefined) a.fault(`MERGE INTO: ${twice}`, op);
  }
  const { matched, others, start, end } = op;
  // What is wrong with the third one is wrong with the first.
  const queries = [matched, others].flatMap((query) => (query ? [queryOfChange({ query, start, end })] : []));
  return lowerStatement(a, op, 'merge into', queries);
};

const lowerStatement = (
  a: Analysis,
  { source }: Pick<ChangeRowsOp, 'source'>,
  verb: ChangeVerb,
  queries: readonly QueryNode[],
): readonly PlanOp[] => {
  const { origin } = source;
  if (a.environment.mode !== 'lake') {
    a.fault(`${verb.toUpperCase()} needs a lake: files are not changed`, source);
    return [{ kind: 'empty' }];
  }
  if (origin.kind !== 'source-text') return [{ kind: 'empty' }];
  const request: SourceRequest = {
    kind: 'name',
    name: origin.text,
    ...(source.commit && { commit: source.commit.text }),
    forLoad: true,
    verb,
  };
  const [target] = a.resolve(request, origin, (fault) => partAtFault(source, fault));
  const { indexBase } = a.environment;
  const scope = new Scope(undefined);
  if (indexBase !== undefined) scope.pragmas.indexBase = indexBase;
  for (const query of queries) {
    const pipeline = lowerAlone(a, query, scope);
    if (a.typesKnown) a.check(pipeline);
    // Queries of one statement have parts in common: these are told once.
    if (a.faults.length > 0) break;
  }
  if (!target || !isRead(target)) return [{ kind: 'empty' }];
  const text = a.texts.text;
  return [{ kind: 'null' }, { kind: 'changeRows', verb, target, text, ...(indexBase !== undefined && { indexBase }) }];
};
