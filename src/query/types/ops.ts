/** Types of streams: what an operator makes of the type of its input, and the faults found on the way. */
import { type RecordType, type Type, arrayType, errorType, recordType, types } from '../../vectors/type.ts';
import { fieldHint } from '../analyze/hints.ts';
import type { AbsentRow, AggregateForm, FieldPath, PlanExpr, PlanOp, WindowCall } from '../plan/plan.ts';
import { RecordDraft } from './draft.ts';
import {
  alternatives,
  either,
  fieldType,
  fuseAll,
  fuseKnown,
  hasUnknown,
  numberIn,
  orNull,
  recordOf,
  unknownType,
} from './of.ts';
import { type TypeChecker, isOpen } from './check.ts';

/** The type of the values that come out of these operators. */
export const pipelineType = (c: TypeChecker, ops: readonly PlanOp[], input: Type): Type =>
  ops.reduce((t, op) => {
    const made = c.remembered(op, t, () => opType(c, op, t));
    return c.places.untyped.has(op) ? unknownType : made;
  }, input);

/** The type of the values that come out of one operator. */
const opType = (c: TypeChecker, op: PlanOp, input: Type): Type => {
  switch (op.kind) {
    case 'scan':
      return fuseAll(op.sources.map(c.typeOfSource));
    case 'null':
      return types.null;
    case 'empty':
      return unknownType;
    case 'pass':
    case 'head':
    case 'tail':
    case 'skip':
    case 'fuse':
      return input;
    case 'uniq':
      return op.withCount ? unknownType : input;
    case 'values':
      return fuseAll(op.exprs.map((e) => c.expr(e, op.alone ? types.null : input)));
    case 'filter':
      c.predicate(op.expr, input);
      return input;
    case 'assert':
      c.expr(op.expr, input);
      return either(
        input,
        errorType(
          recordType([
            { name: 'message', type: types.string },
            { name: 'expr', type: types.string },
            { name: 'on', type: input },
          ]),
        ),
      );
    case 'distinct':
    case 'debug':
      c.expr(op.expr, input);
      return input;
    case 'shapes':
      c.expr(op.expr, input);
      return unknownType;
    case 'cut':
      for (const a of op.assignments) c.expr(a.value, input);
      return op.assignments.length === 0
        ? unknownType
        : pathsType(
            op.assignments.map((a) => ({
              target: a.target,
              type: c.places.twice.has(a.value) ? c.again(a.value, input) : c.quietly(() => c.expr(a.value, input)),
            })),
          );
    case 'put':
      return putType(
        input,
        op.assignments.map((a) => ({ target: a.target, type: c.expr(a.value, input) })),
      );
    case 'rename':
      return renameType(c, input, op.assignments);
    case 'drop':
      return tooMany(op.paths, input) ? unknownType : op.paths.reduce((t, path) => dropType(c, t, path), input);
    case 'sort':
    case 'top':
    case 'merge':
      for (const k of op.keys) c.expr(k.expr, input);
      return input;
    case 'count':
      return countType(c, op, input);
    case 'output':
      return unknownType;
    case 'load':
      return types.bytes;
    case 'changeRows':
      return unknownType;
    case 'changeView':
      return unknownType;
    case 'unnest':
      return unnestType(c, op, input);
    case 'aggregate':
      return aggregateType(c, op, input);
    case 'window':
      return windowType(c, op, input);
    case 'join':
      return joinType(c, op, input);
    case 'setOperation':
      if (op.right) c.pipeline(op.right, types.null);
      return input;
    case 'recursive': {
      const all = fuseKnown(c.pipeline(op.first, types.null), c.pipeline(op.next, types.null));
      return op.keyed ? c.pipeline(op.keyed.pipeline, types.null) : all;
    }
    case 'working':
      return op.columns ? recordType(op.columns.map((name) => ({ name, type: unknownType }))) : unknownType;
    case 'shared':
      return c.pipeline(op.body, types.null);
    case 'lateral':
      return lateralType(c, op, input);
    case 'groupSlice':
      c.expr(op.group, input);
      return input;
    case 'fork':
      return fuseAll(op.branches.map((b) => c.pipeline(b, input)));
    case 'combine':
      return fuseAll(op.branches.map((b) => c.pipeline(b, types.null)));
    case 'switch':
      if (op.dropMissing) c.expr(op.dropMissing, input);
      for (const x of op.cases) if (x.test) c.expr(x.test, input);
      return fuseAll(op.cases.map((x) => c.pipeline(x.branch, input)));
    case 'fromEach':
      c.expr(op.expr, input);
      return unknownType;
  }
};

interface TypedPath {
  readonly target: FieldPath;
  readonly type: Type;
}

/** The record that these paths build. */
const pathsType = (list: readonly TypedPath[], on?: RecordType): Type => {
  const draft = new RecordDraft();
  if (on) draft.fuse(on);
  for (const x of list) draft.add(x.target, x.type);
  return draft.type();
};

const putType = (input: Type, list: readonly TypedPath[]): Type => {
  const record = recordOf(input);
  if (record === 'dynamic') return unknownType;
  if (!record) return unknownType;
  const out = pathsType(list, record);
  return alternatives(input).length === 1 ? out : unknownType;
};

/** The fields that are renamed must be there; what comes out is not followed. */
const renameType = (
  c: TypeChecker,
  input: Type,
  list: readonly { readonly from: FieldPath; readonly to: FieldPath }[],
): Type => {
  for (const { from } of list) {
    let at: Type = input;
    for (const [i, name] of from.entries()) {
      const next = fieldType(at, name);
      if (!next) {
        c.fault(`no such field "${name}"`, c.places.path.get(from)?.[i], fieldHint(at, name));
        break;
      }
      at = next;
    }
  }
  return unknownType;
};

/**
 * Each of the changes makes a new type of all the fields; beyond some millions of these the type is worth less than it
 * costs.
 */
const tooMany = (changes: readonly unknown[], t: Type): boolean =>
  changes.length * alternatives(t).reduce((n, m) => n + (m.kind === 'record' ? m.fields.length : 1), 0) > 4_000_000;

const dropType = (c: TypeChecker, input: Type, path: FieldPath): Type => {
  let at: Type = input;
  for (const [i, name] of path.entries()) {
    const next = fieldType(at, name);
    if (!next) {
      c.fault(`no such field "${name}"`, c.places.path.get(path)?.[i], fieldHint(at, name));
      return i === 0 && alternatives(input).some((m) => m.kind === 'record') ? unknownType : input;
    }
    at = next;
  }
  const members = alternatives(input).map((m) => (m.kind === 'record' ? without(m, path) : m));
  return members.some((m) => m === unknownType) ? unknownType : members.reduce(fuseKnown);
};
const without = (t: RecordType, path: FieldPath): Type => {
  const [name, ...rest] = path;
  if (rest.length === 0) return recordType(t.fields.filter((f) => f.name !== name));
  return recordType(
    t.fields.map((f) => (f.name === name && f.type.kind === 'record' ? { ...f, type: without(f.type, rest) } : f)),
  );
};

const countType = (c: TypeChecker, op: PlanOp & { readonly kind: 'count' }, input: Type): Type => {
  const counter = { name: op.field, type: types.int64 };
  if (!op.expr) return recordType([{ name: 'that', type: input }, counter]);
  if (op.expr.kind === 'record' && op.expr.elements.length === 0) return recordType([counter]);
  const record = c.expr(op.expr, input);
  return record.kind === 'record'
    ? recordType([...record.fields.filter((f) => f.name !== op.field), counter])
    : unknownType;
};

const unnestType = (c: TypeChecker, op: PlanOp & { readonly kind: 'unnest' }, input: Type): Type => {
  const t = c.expr(op.expr, input);
  const members = alternatives(t);
  const isUnknown = members.includes(unknownType);
  const wrong = !isUnknown && unnestFault(members);
  if (wrong) c.fault(wrong, c.places.whole.get(op.expr));
  const element = isUnknown ? unknownType : fuseAll(members.map(elementType));
  return op.into ? c.pipeline(op.into, element) : element;
};
const unnestFault = (members: readonly Type[]): string | undefined => {
  if (members.some(isList)) return undefined;
  const records = members.filter((m) => m.kind === 'record');
  if (records.length === 0) return 'unnest value must be array or record';
  if (records.every((m) => m.fields.length !== 2)) return 'unnested record must have two fields';
  return records.some(
    (m) => m.fields.length === 2 && alternatives(m.fields[1].type).some((x) => x === unknownType || isList(x)),
  )
    ? undefined
    : 'unnested record must have array for second field';
};
const isList = (t: Type): boolean => t.kind === 'array' || t.kind === 'set';
const elementType = (t: Type): Type => {
  if (t.kind === 'array' || t.kind === 'set') return t.element;
  if (t.kind !== 'record' || t.fields.length !== 2) return unknownType;
  const [first, second] = t.fields;
  const inner = alternatives(second!.type);
  if (inner.includes(unknownType)) return recordType([first!, { ...second!, type: unknownType }]);
  const elements = inner.flatMap((m) => (m.kind === 'array' || m.kind === 'set' ? [m.element] : []));
  return inner.length > 0 && elements.length === inner.length
    ? recordType([first!, { name: second!.name, type: fuseAll(elements) }])
    : unknownType;
};

const aggregateType = (c: TypeChecker, op: PlanOp & { readonly kind: 'aggregate' }, input: Type): Type => {
  const paths: TypedPath[] = op.keys.map((k) => ({ target: k.target, type: c.expr(k.expr, input) }));
  for (const { target, aggregate } of op.aggregates) {
    if (aggregate.argument) {
      c.expr(aggregate.argument, input);
      if (c.places.twice.has(aggregate.argument)) c.again(aggregate.argument, input);
    }
    if (aggregate.where) c.predicate(aggregate.where, input);
    paths.push({ target, type: aggregateResult(c, aggregate, input) });
  }
  return pathsType(paths);
};
/** The type of an aggregate's result, by content: that of its argument where it gives one of its values. */
export const aggregateResult = (
  c: TypeChecker,
  { name, argument, arity, order }: AggregateForm & { readonly name: string; readonly argument?: PlanExpr },
  input: Type,
): Type => {
  const signature = c.knowsCasts ? c.environment.aggregates.find(name) : undefined;
  if (!signature?.gives || !argument || (arity ?? 1) > Math.max(1, signature.argumentsMin)) return unknownType;
  const ordered = argument && order ? elementOf(argument, 'argument') : argument;
  const value = ordered && (arity === undefined ? ordered : elementOf(ordered, 'value'));
  const type = value ? orNull(c.expr(value, input)) : unknownType;
  if (signature.gives === 'float64')
    return alternatives(type).every((t) => t === types.null || numberIn(t)) ? orNull(types.float64) : unknownType;
  if (signature.gives === 'fraction')
    return atFractions(type, ordered && elementOf(ordered, 'by'), (e) => c.expr(e, input));
  return signature.gives === 'array' && !hasUnknown(type) ? orNull(arrayType(type)) : type;
};
/** A value at a fraction, or a list of them at several. */
const atFractions = (value: Type, by: PlanExpr | undefined, typeOf: (e: PlanExpr) => Type): Type => {
  const fractions = by ? alternatives(typeOf(by)).filter((t) => t !== types.null) : [];
  if (hasUnknown(value) || fractions.length === 0) return unknownType;
  if (fractions.every((t) => numberIn(t))) return value;
  return fractions.every((t) => t.kind === 'array') ? orNull(arrayType(value)) : unknownType;
};
const elementOf = (e: PlanExpr, name: string): PlanExpr | undefined =>
  e.kind === 'record' ? e.elements.find((x) => x.kind === 'field' && x.name === name)?.value : undefined;

const resultType = (name: string, argument: Type | undefined): Type => {
  if (name === 'count' || name === 'dcount') return types.int64;
  if (name === 'collect' && argument && alternatives(argument).every((m) => !isOpen(m))) return arrayType(argument);
  return unknownType;
};

const windowType = (c: TypeChecker, op: PlanOp & { readonly kind: 'window' }, input: Type): Type => {
  const fields = op.groups.flatMap((g) => {
    for (const e of [...g.partition, ...g.order.map((k) => k.expr)]) c.expr(e, input);
    return g.calls.map((x) => {
      const type = windowResult(c, x, input);
      if (x.where) c.predicate(x.where, input);
      return { name: x.target, type };
    });
  });
  return recordType([{ name: op.row, type: input }, ...fields]);
};

/** The type of what a call gives over its window. */
export const windowResult = (
  c: TypeChecker,
  x: Omit<WindowCall, 'target' | 'frame'> & Partial<Pick<WindowCall, 'frame'>>,
  input: Type,
): Type => {
  const args = x.arguments.map((e) => c.expr(e, input));
  const known = args.map((t) => (hasUnknown(t) ? undefined : t));
  const [argument] = x.arguments;
  const found = c.environment.windows.find(x.name);
  const order = x.order?.length ?? 0;
  const offsets = x.frame ? [x.frame.start, x.frame.end].filter((edge) => 'argument' in edge).length : 0;
  const plain =
    order > 0 && !found?.takesOrder
      ? undefined
      : (found?.result?.(known.slice(0, known.length - order - offsets)) ?? resultType(x.name, args[0]));
  return plain === undefined || plain === unknownType
    ? aggregateResult(c, { ...x, ...(argument && { argument }) }, input)
    : plain;
};

const joinType = (c: TypeChecker, op: PlanOp & { readonly kind: 'join' }, input: Type): Type => {
  const right = op.right ? c.pipeline(op.right, types.null) : unknownType;
  const left = op.right ? input : unknownType;
  for (const k of op.equal) {
    // The names of USING may be missing.
    if (k.left === k.right) continue;
    c.expr(k.left, left);
    c.expr(k.right, right);
  }
  const pairOf = (l: Type, r: Type): Type =>
    recordType([
      { name: op.leftName, type: l },
      { name: op.rightName, type: r },
    ]);
  if (op.residual) c.predicate(op.residual, pairOf(left, right));
  return pairOf(
    op.absentLeft ? fuseKnown(left, absentType(op.absentLeft)) : left,
    op.absentRight ? fuseKnown(right, absentType(op.absentRight)) : right,
  );
};
const absentType = (row: AbsentRow): Type =>
  recordType(row.map((column) => ({ name: column.name, type: column.row ? absentType(column.row) : types.null })));

const lateralType = (c: TypeChecker, op: PlanOp & { readonly kind: 'lateral' }, input: Type): Type => {
  const right = c.correlated(op.body, op.outer, input);
  const pair = recordType([
    { name: op.leftName, type: input },
    { name: op.rightName, type: right },
  ]);
  if (op.residual) c.predicate(op.residual, pair);
  if (op.style === 'inner') return pair;
  return recordType([
    { name: op.leftName, type: input },
    op.absentRight
      ? { name: op.rightName, type: fuseKnown(right, absentType(op.absentRight)) }
      : { name: op.rightName, type: right, optional: true },
  ]);
};
