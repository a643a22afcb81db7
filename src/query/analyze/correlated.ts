/**
 * Pipelines that depend on outer values, made into pipelines that run once for many of them.
 *
 * What comes in is one record `{id,c0,c1,..}` for each combination of outer values. The part that does not depend on
 * them is joined to it, equalities of its filters becoming hash keys; from there on each row goes along with its record
 * as `{outer,row}`, and what operators do to all rows (limits, groups, distinctness) they do to the rows of each
 * record. A pipeline with an operator that has no such form runs once for each combination instead (mode `each`).
 */
import type { Analysis } from './context.ts';
import { splitCondition } from './joins.ts';
import {
  bodyIn,
  callOf,
  compareOf,
  conjunction,
  conjuncts,
  exprsOf,
  fieldOf,
  isSourced,
  literal,
  mapParts,
  movePaths,
  partsOf,
  pipelinesOf,
  thisExpr,
} from '../plan/walk.ts';
import { boolValue, nullValue } from '../../vectors/value.ts';
import { unknownType } from '../types/of.ts';
import type { AbsentRow, Correlated, PlanExpr, PlanOp, RecordElement, WindowGroup } from '../plan/plan.ts';

type Ops = readonly PlanOp[];
type Join = Extract<PlanOp, { kind: 'join' }>;

/**
 * The pipeline, which reads nothing but its own sources and `outer` values of that level, in the best form it has.
 * `exists`: only whether there are rows matters.
 */
export const correlated = (a: Analysis, given: Ops, level: number, exists: boolean): Correlated => {
  const ops = exists ? withoutOutput(given) : given;
  try {
    const lifted = new Lift(a, level).pipeline(ops);
    return { mode: 'joined', level, pipeline: { ops: exists ? [...firstMatches(lifted), onlyId] : lifted } };
  } catch (error) {
    if (!(error instanceof NoForm)) throw error;
    return { mode: 'each', level, pipeline: { ops } };
  }
};

/** Without what is done to rows at the end that leaves some where there were some: their columns are not wanted. */
const withoutOutput = (ops: Ops): Ops => {
  const last = ops.at(-1);
  const isOutput =
    last?.kind === 'values' || last?.kind === 'sort' || last?.kind === 'distinct' || last?.kind === 'pass';
  return isOutput && ops.length > 1 ? withoutOutput(ops.slice(0, -1)) : ops;
};

/** The pipeline cannot run for many outer values at once. */
class NoForm extends Error {}

/** One match of each record is enough if nothing behind the join could take it away. */
const firstMatches = (ops: Ops): Ops => {
  const [join, ...rest] = ops;
  return join?.kind === 'join' && rest.every((op) => op.kind === 'values' || op.kind === 'sort')
    ? [{ ...join, firstOnly: true }, ...rest]
    : ops;
};

const outerRecord = fieldOf(thisExpr, 'outer');
const outerId = fieldOf(outerRecord, 'id');
const rowOfPair = fieldOf(thisExpr, 'row');
const record = (fields: Readonly<Record<string, PlanExpr>>): PlanExpr => ({
  kind: 'record',
  elements: Object.entries(fields).map(([name, value]): RecordElement => ({ kind: 'field', name, value })),
});

/** Of a match nothing is wanted but whose it is. */
const onlyId: PlanOp = { kind: 'values', exprs: [record({ outer: record({ id: outerId }), row: literal(nullValue) })] };

class Lift {
  private readonly a: Analysis;
  private readonly level: number;
  constructor(a: Analysis, level: number) {
    this.a = a;
    this.level = level;
  }

  pipeline(ops: Ops): Ops {
    const { free, bound } = this.split(ops);
    const [first, ...rest] = bound;
    if (free.length === 0) return this.follow(this.source(first), rest);
    if (first?.kind === 'join' && first.right && this.depends(first.right.ops))
      return this.follow(this.joinFree(free, first), rest);
    let filters = 0;
    while (bound[filters]?.kind === 'filter') filters++;
    const conditions = bound.slice(0, filters).flatMap((op) => (op.kind === 'filter' ? conjuncts(op.expr) : []));
    return this.follow(this.cross(free, conditions), bound.slice(filters));
  }

  /**
   * The longest part at the front that does not depend on outer values. Of an inner join on them the condition becomes
   * a filter behind it.
   */
  private split(ops: Ops): { readonly free: Ops; readonly bound: Ops } {
    const at = ops.findIndex((op) => this.depends([op]));
    if (at < 0) return { free: ops, bound: [] };
    const op = ops[at];
    // Of a semi join the first match counts that fulfils all of the condition.
    if (
      op.kind !== 'join' ||
      (op.style !== 'inner' && op.style !== 'cross') ||
      op.firstOnly ||
      !op.right ||
      this.depends(op.right.ops)
    )
      return { free: ops.slice(0, at), bound: ops.slice(at) };
    const equal = op.equal.filter((k) => !this.reads(k.left) && !this.reads(k.right));
    const moved = op.equal
      .filter((k) => !equal.includes(k))
      .map((k) => compareOf(underSide(k.left, op.leftName), '==', underSide(k.right, op.rightName)));
    const rest = op.residual ? conjuncts(op.residual) : [];
    const kept = conjunction(rest.filter((e) => !this.reads(e)));
    const filter = conjunction([...moved, ...rest.filter((e) => this.reads(e))]);
    const join: PlanOp = { ...without(op), equal, ...(kept ? { residual: kept } : {}) };
    const inner = this.split([
      ...ops.slice(0, at),
      join,
      ...(filter ? [{ kind: 'filter', expr: filter } as const] : []),
      ...ops.slice(at + 1),
    ]);
    return inner;
  }

  /** The pipeline without outer values, joined to them. */
  private cross(free: Ops, conditions: readonly PlanExpr[]): Ops {
    const own = conjunction(conditions.filter((e) => !this.reads(e)));
    const condition = conjunction(conditions.filter((e) => this.reads(e)).map((e) => this.expr(e)));
    const right: Ops = own ? [...free, { kind: 'filter', expr: own }] : free;
    if (right.length === 1 && right[0].kind === 'null') {
      const start: Ops = [{ kind: 'values', exprs: [record({ outer: thisExpr, row: nullExpr })] }];
      return condition ? [...start, { kind: 'filter', expr: condition }] : start;
    }
    const split = splitCondition(this.a, condition, 'outer', 'row');
    return [
      {
        kind: 'join',
        style: 'inner',
        right: { ops: right },
        leftName: 'outer',
        rightName: 'row',
        ...split,
        nullsMatch: false,
        loose: true,
        ...(isSteady(right) ? { kept: true as const } : {}),
      },
    ];
  }

  /** A source with branches that depend on outer values. */
  private source(op: PlanOp | undefined): Ops {
    if (op?.kind === 'combine' || op?.kind === 'fork')
      return [{ kind: 'fork', branches: op.branches.map((b) => ({ ops: this.pipeline(b.ops) })) }];
    throw new NoForm();
  }

  private follow(start: Ops, rest: Ops): Ops {
    let done = start;
    for (const op of rest) {
      if (op.kind === 'join') done = this.joinLifted(done, op);
      else if (op.kind === 'setOperation') {
        const { right, ...alone } = op;
        if (!right) {
          done = [...done, op];
          continue;
        }
        done = [{ kind: 'fork', branches: [{ ops: done }, { ops: this.pipeline(right.ops) }] }, alone];
      } else if (op.kind === 'aggregate' && op.keys.length === 0) done = [...this.aggregateAll(done, op)];
      else done = [...done, ...this.op(op)];
    }
    return done;
  }

  /** An operator over rows that go along with their outer values. */
  private op(op: PlanOp): Ops {
    const expr = (e: PlanExpr): PlanExpr => this.expr(e);
    switch (op.kind) {
      case 'pass':
        return [];
      case 'filter':
        return [{ kind: 'filter', expr: expr(op.expr) }];
      case 'values':
        return [{ kind: 'values', exprs: op.exprs.map((e) => record({ outer: outerRecord, row: expr(e) })) }];
      case 'sort':
      case 'top': {
        if (op.keys.length === 0) throw new NoForm();
        const sort: PlanOp = { kind: 'sort', reverse: false, keys: op.keys.map((k) => ({ ...k, expr: expr(k.expr) })) };
        return op.kind === 'sort' ? [sort] : [sort, { kind: 'groupSlice', group: outerId, skip: 0, count: op.count }];
      }
      case 'head':
        return [{ kind: 'groupSlice', group: outerId, skip: 0, count: op.count }];
      case 'skip':
        return [{ kind: 'groupSlice', group: outerId, skip: op.count }];
      case 'distinct':
        return [{ kind: 'distinct', expr: record({ id: outerId, value: expr(op.expr) }) }];
      case 'put':
        return [
          {
            kind: 'put',
            assignments: op.assignments.map((x) => ({ target: ['row', ...x.target], value: expr(x.value) })),
          },
        ];
      case 'drop':
        return [{ kind: 'drop', paths: op.paths.map((p) => ['row', ...p]) }];
      case 'rename':
        return [
          {
            kind: 'rename',
            assignments: op.assignments.map((x) => ({ from: ['row', ...x.from], to: ['row', ...x.to] })),
          },
        ];
      case 'unnest':
        if (op.into) throw new NoForm();
        if (op.expr.kind === 'record') return this.unnestBeside(op, op.expr.elements);
        return [{ kind: 'unnest', expr: record({ outer: outerRecord, row: expr(op.expr) }) }];
      case 'aggregate':
        return this.groups(op, [], undefined);
      case 'window':
        return this.window(op);
      case 'lateral':
        return this.lateral(op);
      case 'fork':
        // A group of all rows is there for outer values without rows too: these do not come into a branch.
        if (
          op.branches.some(
            (b) => isSourced(b.ops) || b.ops.some((inner) => inner.kind === 'aggregate' && inner.keys.length === 0),
          )
        )
          throw new NoForm();
        return [{ kind: 'fork', branches: op.branches.map((b) => ({ ops: this.follow([], b.ops) })) }];
      default:
        throw new NoForm();
    }
  }

  /** Groups of each record's rows. `present`: only rows for which this is true count. */
  private groups(op: Extract<PlanOp, { kind: 'aggregate' }>, before: Ops, present: PlanExpr | undefined): Ops {
    const { sortedBy: _, ...plain } = op;
    if (plain.groupsMax !== undefined) throw new NoForm();
    const expr = (e: PlanExpr): PlanExpr => this.expr(e);
    const aggregates = op.aggregates.map(({ target, aggregate }) => {
      const where = conjunction([...(present ? [present] : []), ...(aggregate.where ? [expr(aggregate.where)] : [])]);
      return {
        target: ['row', ...target],
        aggregate: {
          ...aggregate,
          ...(aggregate.argument ? { argument: expr(aggregate.argument) } : {}),
          ...(where ? { where } : {}),
        },
      };
    });
    const keys = [
      { target: ['outer'], expr: outerRecord },
      ...op.keys.map((k) => ({ target: ['row', ...k.target], expr: expr(k.expr) })),
    ];
    return [...before, { kind: 'aggregate', keys, aggregates }];
  }

  /**
   * One row for all rows of each record, also for records without rows: each record comes once more by itself and does
   * not count.
   */
  private aggregateAll(done: Ops, op: Extract<PlanOp, { kind: 'aggregate' }>): Ops {
    const alone: Ops = [{ kind: 'values', exprs: [record({ outer: thisExpr })] }];
    const rows: Ops = [
      ...done,
      { kind: 'values', exprs: [record({ outer: outerRecord, row: rowOfPair, counts: trueExpr })] },
    ];
    return this.groups(op, [{ kind: 'fork', branches: [{ ops: rows }, { ops: alone }] }], {
      kind: 'call',
      name: 'has',
      arguments: [fieldOf(thisExpr, 'counts')],
    });
  }

  private window(op: Extract<PlanOp, { kind: 'window' }>): Ops {
    const expr = (e: PlanExpr): PlanExpr => this.expr(e);
    const groups = op.groups.map(
      (g): WindowGroup => ({
        partition: [outerId, ...g.partition.map(expr)],
        order: g.order.map((k) => ({ ...k, expr: expr(k.expr) })),
        calls: g.calls.map((c) => ({
          ...c,
          arguments: c.arguments.map(expr),
          ...(c.where ? { where: expr(c.where) } : {}),
        })),
      }),
    );
    const row = fieldOf(thisExpr, op.row);
    const targets = op.groups.flatMap((g) => g.calls.map((c) => c.target));
    const fields = Object.fromEntries(targets.map((t) => [t, fieldOf(thisExpr, t)]));
    return [
      { ...op, groups },
      {
        kind: 'values',
        exprs: [record({ outer: fieldOf(row, 'outer'), row: record({ [op.row]: fieldOf(row, 'row'), ...fields }) })],
      },
    ];
  }

  /** The elements of a list, each beside a value. What is no list is an error, which has the record of its row inside. */
  private unnestBeside(op: Extract<PlanOp, { kind: 'unnest' }>, [beside, list]: readonly RecordElement[]): Ops {
    if (beside?.kind !== 'field' || list?.kind !== 'field') throw new NoForm();
    const own = record({ outer: outerRecord, row: this.expr(beside.value) });
    const elements = this.expr(list.value);
    // What is no list is found when the query runs.
    this.a.stands(elements, () => unknownType);
    const pair = (of: PlanExpr): PlanExpr =>
      record({
        [beside.name]: fieldOf(fieldOf(of, beside.name), 'row'),
        [list.name]: fieldOf(of, list.name),
      });
    const fault = callOf('under', thisExpr);
    const on = fieldOf(fault, 'on');
    const wrapped = callOf('error', record({ message: fieldOf(fault, 'message'), on: pair(on) }));
    const either = (then: PlanExpr, otherwise: PlanExpr): PlanExpr => ({
      kind: 'conditional',
      test: callOf('is_error', thisExpr),
      then,
      otherwise,
    });
    const outerOf = (of: PlanExpr): PlanExpr => fieldOf(fieldOf(of, beside.name), 'outer');
    return [
      { ...op, expr: record({ [beside.name]: own, [list.name]: elements }) },
      {
        kind: 'values',
        exprs: [record({ outer: either(outerOf(on), outerOf(thisExpr)), row: either(wrapped, pair(thisExpr)) })],
      },
    ];
  }

  private lateral(op: Extract<PlanOp, { kind: 'lateral' }>): Ops {
    const { leftName, rightName } = op;
    const left = fieldOf(thisExpr, leftName);
    const right = fieldOf(thisExpr, rightName);
    const pair = record({ [leftName]: fieldOf(left, 'row'), [rightName]: right });
    const residual = op.residual && this.expr(op.residual, pair, fieldOf(left, 'outer'));
    return [
      { ...op, outer: op.outer.map((e) => this.expr(e)), ...(residual ? { residual } : {}) },
      { kind: 'values', exprs: [record({ outer: fieldOf(left, 'outer'), row: pair })] },
    ];
  }

  /** A join of which only the right side depends on outer values: it comes first then, where the style allows. */
  private joinFree(left: Ops, op: Join): Ops {
    const turned = op.style === 'inner' || op.style === 'cross' ? op.style : op.style === 'right' ? 'left' : undefined;
    // Which row of the two comes once depends on the side.
    if (!turned || !op.right || op.firstOnly) return this.joinLifted(this.cross(left, []), op);
    const { absentLeft, absentRight, ...plain } = op;
    const swapped: Join = {
      ...plain,
      style: turned,
      right: { ops: left },
      leftName: op.rightName,
      rightName: op.leftName,
      equal: op.equal.map((k) => ({ left: k.right, right: k.left })),
      ...(absentLeft && { absentRight: absentLeft }),
      ...(absentRight && { absentLeft: absentRight }),
    };
    return this.joinLifted(this.pipeline(op.right.ops), swapped);
  }

  /** A join of rows that go along with their outer values. */
  private joinLifted(done: Ops, op: Join): Ops {
    if (!op.right) throw new NoForm();
    const { leftName, rightName } = op;
    const left = fieldOf(thisExpr, leftName);
    const right = fieldOf(thisExpr, rightName);
    const dependent =
      this.depends(op.right.ops) ||
      op.style === 'right' ||
      op.style === 'full' ||
      op.equal.some((k) => this.reads(k.right));
    const orAbsent = (side: PlanExpr, row: PlanExpr, absent: AbsentRow | undefined): PlanExpr =>
      absent ? { kind: 'conditional', test: callOf('missing', side), then: absentExpr(absent), otherwise: row } : row;
    const pair = record({
      [leftName]: orAbsent(left, fieldOf(left, 'row'), op.absentLeft),
      [rightName]: orAbsent(right, dependent ? fieldOf(right, 'row') : right, op.absentRight),
    });
    const outer =
      op.style === 'right' || op.style === 'full'
        ? ({
            kind: 'conditional',
            test: { kind: 'call', name: 'missing', arguments: [left] },
            then: fieldOf(right, 'outer'),
            otherwise: fieldOf(left, 'outer'),
          } as const)
        : fieldOf(left, 'outer');
    const residual = op.residual && this.expr(op.residual, pair, fieldOf(left, 'outer'));
    const project: PlanOp = { kind: 'values', exprs: [record({ outer, row: pair })] };
    const base = { ...without(op), ...(residual ? { residual } : {}) };
    const keys = op.equal.map((k) => ({ left: this.expr(k.left), right: dependent ? this.expr(k.right) : k.right }));
    if (!dependent)
      return [...done, { ...base, equal: keys, ...(isSteady(op.right.ops) ? { kept: true as const } : {}) }, project];
    const { right: own, ...both } = base;
    const style = op.style === 'cross' ? 'inner' : op.style;
    return [
      { kind: 'fork', branches: [{ ops: done }, { ops: this.pipeline(own?.ops ?? []) }] },
      { ...both, style, equal: [{ left: outerId, right: outerId }, ...keys] },
      project,
    ];
  }

  /** The expression over `{outer,row}`, or over what `row` and `outer` say. */
  private expr(e: PlanExpr, row: PlanExpr = rowOfPair, outer: PlanExpr = outerRecord): PlanExpr {
    const visit = (part: PlanExpr): PlanExpr => {
      switch (part.kind) {
        case 'this':
          return row;
        case 'outer':
          return part.level === this.level ? this.a.like(part, fieldOf(outer, `c${part.index}`)) : part;
        case 'subquery':
          return part.correlated
            ? { ...part, body: { ops: [{ kind: 'values', exprs: [row] }, ...part.body.ops] } }
            : part;
        case 'mapElements':
          if (this.reads(part.body)) throw new NoForm();
          return this.a.like(part, { ...part, of: visit(part.of) });
        default:
          if (part.kind === 'call' && part.lambda && this.reads(part.lambda.body)) throw new NoForm();
          return this.a.like(part, project(mapParts(part, visit)));
      }
    };
    return visit(e);
  }

  private reads(e: PlanExpr): boolean {
    if (e.kind === 'outer') return e.level === this.level;
    const body = bodyIn(e);
    if (body && this.reads(body)) return true;
    return partsOf(e).some((part) => this.reads(part));
  }

  private depends(ops: Ops): boolean {
    return ops.some((op) => exprsOf(op).some((e) => this.reads(e)) || pipelinesOf(op).some((p) => this.depends(p.ops)));
  }
}

const nullExpr = literal(nullValue);
const trueExpr = literal(boolValue(true));

/** `{a:x}.a` is `x`. */
const project = (e: PlanExpr): PlanExpr => {
  if (e.kind !== 'field' || e.of.kind !== 'record') return e;
  const { name } = e;
  const element = e.of.elements.findLast((x) => x.kind === 'field' && x.name === name);
  return element ? element.value : e;
};

const absentExpr = (row: AbsentRow): PlanExpr => ({
  kind: 'record',
  elements: row.map((column) => ({
    kind: 'field',
    name: column.name,
    value: column.row ? absentExpr(column.row) : nullExpr,
  })),
});

const without = (op: Join): Join => {
  const { residual: _, kept: __, absentLeft: ___, absentRight: ____, ...rest } = op;
  return rest;
};

/** A key of one side over the pair. */
const underSide = (e: PlanExpr, name: string): PlanExpr => movePaths(e, (path) => [name, ...path]);

/**
 * True if the pipeline gives the same rows each time that it runs within a query: it reads no rows of a recursion
 * around it.
 */
export const isSteady = (ops: Ops): boolean => !readsWorking(ops, new Set());

/** Whether a pipeline reads the rows of a recursion that goes on around it, in subqueries too. */
export const readsWorking = (ops: Ops, inside: ReadonlySet<number>): boolean =>
  ops.some((op) => {
    if (op.kind === 'working') return !inside.has(op.id);
    const known =
      op.kind === 'recursive' ? new Set([...inside, op.id, op.all ?? op.id, op.keyed?.log ?? op.id]) : inside;
    return (
      pipelinesOf(op).some((p) => readsWorking(p.ops, known)) || exprsOf(op).some((e) => subqueryReadsWorking(e, known))
    );
  });

/** The same for the subqueries of an expression. */
export const subqueryReadsWorking = (e: PlanExpr, inside: ReadonlySet<number>): boolean => {
  if (e.kind === 'subquery' && readsWorking(e.body.ops, inside)) return true;
  if (e.kind === 'apply' && readsWorking(e.body.pipeline.ops, inside)) return true;
  const body = bodyIn(e);
  if (body && subqueryReadsWorking(body, inside)) return true;
  return partsOf(e).some((part) => subqueryReadsWorking(part, inside));
};
