/** UPDATE and DELETE: they are compiled where they are asked for, so that faults are told, and where they are done. */
import type { ChangeRowsOp, QueryNode, SqlOp } from '../ast.ts';
import type { PlanOp, SourceRequest } from '../plan/plan.ts';
import { putFault } from './assignments.ts';
import type { Analysis } from './context.ts';
import { lowerAlone } from './queries.ts';
import { Scope } from './scope.ts';
import { isRead } from './sources.ts';

/** The query of what a statement changes. */
export const queryOfChange = ({ query, start, end }: ChangeRowsOp): QueryNode => {
  const op: SqlOp = { kind: 'sql-op', query, start, end };
  return { kind: 'query', decls: [], ops: [op], start, end };
};

/** UPDATE or DELETE as an operator that stands alone. */
export const lowerChangeRows = (a: Analysis, op: ChangeRowsOp): readonly PlanOp[] => {
  const { source, verb, targets } = op;
  const { origin } = source;
  if (a.environment.mode !== 'lake') {
    a.fault(`${verb.toUpperCase()} needs a lake: files are not changed`, source);
    return [{ kind: 'empty' }];
  }
  if (origin.kind !== 'source-text') return [{ kind: 'empty' }];
  const twice = putFault(targets.map((path) => path.map(({ text }) => text)));
  if (twice !== undefined) a.fault(`${verb.toUpperCase()}: ${twice}`, op);
  const request: SourceRequest = {
    kind: 'name',
    name: origin.text,
    ...(source.commit && { commit: source.commit.text }),
    forLoad: true,
    verb,
  };
  const [target] = a.resolve(request, source);
  const { indexBase } = a.environment;
  const scope = new Scope(undefined);
  if (indexBase !== undefined) scope.pragmas.indexBase = indexBase;
  const pipeline = lowerAlone(a, queryOfChange(op), scope);
  if (a.typesKnown) a.check(pipeline);
  if (!target || !isRead(target)) return [{ kind: 'empty' }];
  const text = a.texts.text;
  return [{ kind: 'null' }, { kind: 'changeRows', verb, target, text, ...(indexBase !== undefined && { indexBase }) }];
};
