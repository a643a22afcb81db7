/**
 * Joins of SQL that keep rows without a match, where what follows throws those rows away, become joins that do not make
 * them; a left join of which nothing but those rows is wanted becomes an anti join. So the table on its other side can
 * be put in order with others, held in the place of them, and filtered before.
 *
 * What follows throws a row away if it asks something of a column that is null there: a comparison, IN or LIKE in a
 * filter behind, or the key of a join behind.
 */
import { conjuncts, pathOf, samePath } from '../plan/walk.ts';
import type { FieldPath, PlanExpr, PlanOp } from '../plan/plan.ts';
import { type Rule, filterOf } from './rule.ts';

export const outerJoin = {
  name: 'outer-join',
  apply: (ops) => withoutAbsent(narrowed(ops, nothing)),
} as const satisfies Rule;

type Ops = readonly PlanOp[];
type Join = PlanOp & { readonly kind: 'join'; readonly right: { readonly ops: Ops } };

/** Columns of a row of which a later operator wants a value, or null; other rows come to nothing. */
interface Wanted {
  readonly values: readonly FieldPath[];
  readonly nulls: readonly FieldPath[];
}
const nothing: Wanted = { values: [], nulls: [] };

/** The operators where what follows wants this of the rows that they give. */
const narrowed = (ops: Ops, behind: Wanted): Ops => {
  const out: PlanOp[] = [];
  let wanted = behind;
  for (const op of ops.toReversed()) {
    if (op.kind === 'filter') {
      wanted = together(wanted, wantedBy(op.expr));
      out.push(op);
    } else if (isPlainJoin(op)) {
      const join = narrowedJoin(op, wanted);
      const right = join.right.ops;
      const below = narrowed(right, belowRight(join, wanted));
      out.push(below === right ? join : { ...join, right: { ops: below } });
      wanted = belowLeft(join, wanted);
    } else {
      if (op.kind !== 'sort') wanted = nothing;
      out.push(op);
    }
  }
  return out.every((op, i) => op === ops[ops.length - 1 - i]) ? ops : out.reverse();
};

/** Behind an anti join nothing needs to ask that the row of its other side is not there. */
const withoutAbsent = (ops: Ops): Ops => {
  const isKnown = (op: PlanOp, i: number): op is PlanOp & { readonly kind: 'filter' } => {
    const before = ops[i - 1];
    return op.kind === 'filter' && before?.kind === 'join' && before.style === 'anti';
  };
  if (!ops.some(isKnown)) return ops;
  return ops.flatMap((op, i) => {
    if (!isKnown(op, i)) return [op];
    const { rightName } = ops[i - 1] as Join;
    return filterOf(
      conjuncts(op.expr).filter((part) => {
        const path = part.kind === 'isNull' && part.sql ? pathOf(part.operand) : undefined;
        return !path || !isBelow(path, rightName);
      }),
    );
  });
};

const isPlainJoin = (op: PlanOp): op is Join =>
  op.kind === 'join' &&
  op.right !== undefined &&
  op.loose === true &&
  op.style !== 'anti' &&
  !op.nullsMatch &&
  !op.firstOnly &&
  !op.nullAware &&
  !op.nearest;

const narrowedJoin = (join: Join, { values, nulls }: Wanted): Join => {
  const wants = (name: string): boolean => values.some((path) => isBelow(path, name));
  const { style, leftName, rightName } = join;
  const left = (style === 'right' || style === 'full') && wants(leftName);
  const right = (style === 'left' || style === 'full') && wants(rightName);
  if (left || right) return { ...join, style: narrowedStyle(style, left, right) };
  const isAlone = (key: Join['equal'][number]): boolean => {
    const path = pathOf(key.right);
    return path !== undefined && path.length > 0 && nulls.some((wanted) => samePath(wanted, [rightName, ...path]));
  };
  return style === 'left' && join.equal.some(isAlone) ? { ...join, style: 'anti' } : join;
};
/** `left`, `right`: only rows that have that side are wanted. */
const narrowedStyle = (style: Join['style'], left: boolean, right: boolean): Join['style'] => {
  if (style !== 'full' || (left && right)) return 'inner';
  return left ? 'left' : 'right';
};

/** What is wanted of the rows before a join: what is wanted of its rows, and what it asks of pairs, if it gives no others. */
const belowLeft = ({ style, leftName, equal, residual }: Join, wanted: Wanted): Wanted => {
  if (style === 'full' || style === 'right')
    return style === 'full' ? nothing : askedOfSide('left', equal, leftName, residual);
  const own = sideOf(wanted, leftName);
  return style === 'inner' ? together(own, askedOfSide('left', equal, leftName, residual)) : own;
};
const belowRight = ({ style, rightName, equal, residual }: Join, wanted: Wanted): Wanted => {
  if (style === 'full') return nothing;
  const own = style === 'inner' || style === 'right' || style === 'cross' ? sideOf(wanted, rightName) : nothing;
  return style === 'right' ? own : together(own, askedOfSide('right', equal, rightName, residual));
};
/** Columns of one side that pairs are compared by. */
const askedOfSide = (
  side: 'left' | 'right',
  equal: Join['equal'],
  name: string,
  residual: PlanExpr | undefined,
): Wanted =>
  together(
    { values: equal.flatMap((key) => strictPaths(key[side])), nulls: [] },
    residual ? { ...sideOf(wantedBy(residual), name), nulls: [] } : nothing,
  );

const sideOf = ({ values, nulls }: Wanted, name: string): Wanted => ({
  values: values.filter((path) => isBelow(path, name)).map((path) => path.slice(1)),
  nulls: nulls.filter((path) => isBelow(path, name)).map((path) => path.slice(1)),
});
const together = (a: Wanted, b: Wanted): Wanted =>
  a === nothing ? b : b === nothing ? a : { values: [...a.values, ...b.values], nulls: [...a.nulls, ...b.nulls] };
const isBelow = (path: FieldPath, name: string): boolean => path.length > 1 && path[0] === name;

/** What rows have for which a condition can be true. */
const wantedBy = (condition: PlanExpr): Wanted => {
  const values: FieldPath[] = [];
  const nulls: FieldPath[] = [];
  for (const part of conjuncts(condition)) {
    if (part.kind === 'not' && part.operand.kind === 'isNull') values.push(...strictPaths(part.operand.operand));
    // The opposite of what is null is null too.
    const asked = part.kind === 'not' && part.operand.kind !== 'isNull' ? part.operand : part;
    // What a null is equal to, and what is in a list of nulls, pipes see in their own way.
    if (!('sql' in asked) || !asked.sql) continue;
    if (asked.kind === 'compare') values.push(...strictPaths(asked.left), ...strictPaths(asked.right));
    else if (asked.kind === 'like') values.push(...strictPaths(asked.operand));
    else if (asked.kind === 'in' && !asked.ofQuery) values.push(...strictPaths(asked.left));
    else if (asked.kind === 'isNull') nulls.push(...[pathOf(asked.operand)].filter((path) => path !== undefined));
  }
  return { values, nulls };
};
/** Columns without whose values an expression is null. */
const strictPaths = (e: PlanExpr): readonly FieldPath[] => {
  if (e.kind === 'arithmetic') return [...strictPaths(e.left), ...strictPaths(e.right)];
  if (e.kind === 'negate' || e.kind === 'cast' || e.kind === 'sqlCast') return strictPaths(e.operand);
  const path = pathOf(e);
  return path && path.length > 0 ? [path] : [];
};
