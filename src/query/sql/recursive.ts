/** WITH RECURSIVE to operators: `first UNION [ALL] next`, where `next` refers to the table itself. */
import { types } from '../../vectors/type.ts';
import type { Analysis } from '../analyze/context.ts';
import { type Flow, sourced } from '../analyze/queries.ts';
import type { Span, SqlUnion } from '../ast.ts';
import { isSteady } from '../analyze/correlated.ts';
import { isSourced, mapPipelines, pipelinesOf } from '../plan/walk.ts';
import type { PlanOp } from '../plan/plan.ts';
import type { CteBinding, Recursion, Scope } from '../analyze/scope.ts';
import { type LoweredSql, lowerSqlBody, lowerUnion, renameColumns, withoutRecursion } from './queries.ts';
import { columnsOf } from './tables.ts';
import { lowerUsingKey } from './using-key.ts';

/**
 * The union that a table of WITH RECURSIVE is. Where its right side does not refer to the table it is an ordinary one.
 */
export const lowerRecursive = (a: Analysis, body: SqlUnion, flow: Flow, table: CteBinding): LoweredSql => {
  const inner = withoutRecursion(flow);
  const name = table.cte.alias.name.text;
  const faults = a.faults.length;
  const left = lowerSqlBody(a, body.left, inner);
  if (a.faults.length > faults) return left;
  const first = sourced(left.ops);
  const columns = left.columns ?? columnsOf(a.typeOf(first, types.null));
  const { usingKey } = table.cte;
  const recursion: Recursion = { id: a.nextLevel++, columns, used: false, all: a.nextLevel++ };
  if (usingKey && !columns)
    a.fault(`USING KEY needs columns that are known: write with recursive ${name}(column, ..)`, usingKey[0]);
  const keyed = usingKey && columns && lowerUsingKey(a, table, usingKey, columns);
  table.recursion = recursion;
  const right = lowerSqlBody(a, body.right, inner);
  delete table.recursion;
  if (a.faults.length > faults) return left;
  if (!recursion.used && !keyed) return lowerUnion(a, body, inner);
  if (columns && right.columns && columns.length !== right.columns.length) {
    a.fault('set operations can only be applied to sources with the same number of columns', body);
  }
  const next = keepSteady(sourced(renameColumns(a, right, columns)));
  return {
    ops: [
      {
        kind: 'recursive',
        id: recursion.id,
        name,
        distinct: body.distinct,
        first: { ops: first },
        next: { ops: next },
        ...(recursion.usedAll && { all: recursion.all }),
        ...(keyed && { keyed }),
      },
    ],
    columns,
  };
};

/**
 * What a reference to the table is while the table itself is lowered; undefined, and a fault, where there may be none.
 */
export const lowerRecursiveReference = (a: Analysis, table: CteBinding, place: Span): readonly PlanOp[] | undefined => {
  const { recursion, recursive, cte } = table;
  const name = cte.alias.name.text;
  if (!recursive) a.fault('recursive WITH relations not currently supported', place, `write with recursive ${name}`);
  else if (!recursion) {
    a.fault(
      `"${name}" cannot refer to itself here: write with recursive ${name} as (first union all next), where only the query behind union uses ${name}`,
      place,
    );
  } else {
    recursion.used = true;
    return [{ kind: 'working', id: recursion.id, ...(recursion.columns ? { columns: recursion.columns } : {}) }];
  }
  return undefined;
};

/**
 * `recurring.name`: all rows of the recursion so far, of USING KEY one a key. Undefined where the text is no such
 * reference.
 */
export const lowerRecurring = (
  a: Analysis,
  text: string,
  scope: Scope,
  place: Span,
): { readonly ops: readonly PlanOp[]; readonly table: CteBinding } | undefined => {
  const name = /^recurring\.(.+)$/i.exec(text)?.[1];
  const table = name === undefined ? undefined : scope.table(name);
  if (!table) return undefined;
  const { recursion } = table;
  if (recursion?.all === undefined) {
    a.fault(`${text} stands only in the query behind union of with recursive ${table.cte.alias.name.text}`, place);
    return { ops: [], table };
  }
  recursion.used = recursion.usedAll = true;
  return {
    ops: [{ kind: 'working', id: recursion.all, ...(recursion.columns ? { columns: recursion.columns } : {}) }],
    table,
  };
};

const turned = { inner: 'inner', cross: 'cross', left: 'right', right: 'left', full: 'full' } as const;

/** Joins keep the side that is the same in each round: it is read once. */
const keepSteady = (ops: readonly PlanOp[]): readonly PlanOp[] => {
  let out: readonly PlanOp[] = [];
  for (const whole of ops) {
    const op = mapPipelines(whole, (p) => ({ ops: keepSteady(p.ops) }));
    if (op.kind !== 'join' || !op.right) out = [...out, op];
    else if (isSteady(op.right.ops)) out = [...out, { ...op, kept: true }];
    else if (
      op.style !== 'anti' &&
      !op.nearest &&
      isSourced(out) &&
      isSteady(out) &&
      !out.some((x) => pipelinesOf(x).length > 0 && x.kind === 'fork')
    ) {
      const equal = op.equal.map((k) => ({ left: k.right, right: k.left }));
      out = [
        ...op.right.ops,
        {
          ...op,
          style: turned[op.style],
          right: { ops: out },
          leftName: op.rightName,
          rightName: op.leftName,
          equal,
          kept: true,
        },
      ];
    } else out = [...out, op];
  }
  return out;
};
