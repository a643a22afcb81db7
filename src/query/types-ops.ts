/** Types of streams: what an operator makes of the type of its input, and the faults found on the way. */
import { type RecordType, type Type, arrayType, recordType, types } from '../vectors/type.ts';
import type { FieldPath, PlanOp } from './plan.ts';
import { alternatives, fieldType, fuseAll, fuseKnown, recordOf, unknownType } from './types-of.ts';
import { type TypeChecker, isOpen } from './types-check.ts';

/** The type of the values that come out of these operators. */
export const pipelineType = (c: TypeChecker, ops: readonly PlanOp[], input: Type): Type =>
  ops.reduce((t, op) => c.remembered(op, t, () => opType(c, op, t)), input);

/** The type of the values that come out of one operator. */
const opType = (c: TypeChecker, op: PlanOp, input: Type): Type => {
  switch (op.kind) {
    case 'scan': return fuseAll(op.sources.map((s) => s.type ?? unknownType));
    case 'null': return types.null;
    case 'empty': return unknownType;
    case 'rows': return fuseAll(op.rows.map((e) => c.expr(e, types.null)));
    case 'pass': case 'head': case 'tail': case 'skip': case 'fuse': return input;
    case 'uniq': return op.withCount ? recordType([{ name: 'value', type: input }, { name: 'count', type: types.int64 }]) : input;
    case 'values': return fuseAll(op.exprs.map((e) => c.expr(e, input)));
    case 'filter':
      c.predicate(op.expr, input);
      return input;
    case 'assert': case 'distinct': case 'debug':
      c.expr(op.expr, input);
      return op.kind === 'assert' ? unknownType : input;
    case 'shapes': return c.expr(op.expr, input);
    case 'cut':
      // The reference looks at the expressions of a cut twice, and so reports their faults twice.
      for (const a of op.assignments) c.expr(a.value, input);
      return pathsType(op.assignments.map((a) => ({ target: a.target, type: c.again(a.value, input) })));
    case 'put': return putType(input, op.assignments.map((a) => ({ target: a.target, type: c.expr(a.value, input) })));
    case 'rename': return renameType(input, op.assignments);
    case 'drop': return op.paths.reduce((t, path) => dropType(c, t, path), input);
    case 'sort': case 'top': case 'merge':
      for (const k of op.keys) c.expr(k.expr, input);
      return input;
    case 'count': return countType(c, op, input);
    case 'output': return unknownType;
    case 'load': return types.bytes;
    case 'unnest': return unnestType(c, op, input);
    case 'aggregate': return aggregateType(c, op, input);
    case 'join': return joinType(c, op, input);
    case 'fork': return fuseAll(op.branches.map((b) => c.pipeline(b, input)));
    case 'combine': return fuseAll(op.branches.map((b) => c.pipeline(b, types.null)));
    case 'switch':
      if (op.dropMissing) c.expr(op.dropMissing, input);
      for (const x of op.cases) if (x.test) c.expr(x.test, input);
      return fuseAll(op.cases.map((x) => c.pipeline(x.branch, input)));
    case 'fromEach':
      c.expr(op.expr, input);
      return unknownType;
  }
};

interface TypedPath { readonly target: FieldPath; readonly type: Type }

/** The record that these paths build. */
const pathsType = (list: readonly TypedPath[]): Type => list.reduce<Type>((t, x) => withPath(t, x.target, x.type), recordType([]));

const withPath = (t: Type, path: FieldPath, type: Type): Type => {
  const [name, ...rest] = path;
  if (name === undefined) return type;
  if (t === unknownType) return t;
  const fields = t.kind === 'record' ? [...t.fields] : [];
  const at = fields.findIndex((f) => f.name === name);
  const inner = rest.length === 0 ? type : withPath(at >= 0 ? fields[at]!.type : recordType([]), rest, type);
  const field = { name, type: inner, optional: false };
  if (at >= 0) fields[at] = field;
  else fields.push(field);
  return recordType(fields);
};

const putType = (input: Type, list: readonly TypedPath[]): Type => {
  const record = recordOf(input);
  if (record === 'dynamic') return unknownType;
  if (!record) return unknownType;
  const out = list.reduce<Type>((t, x) => withPath(t, x.target, x.type), record);
  return alternatives(input).length === 1 ? out : unknownType;
};

const renameType = (input: Type, list: readonly { readonly from: FieldPath; readonly to: FieldPath }[]): Type => {
  if (alternatives(input).length !== 1) return unknownType;
  const record = recordOf(input);
  if (record === 'dynamic' || !record) return unknownType;
  return list.reduce<Type>((t, { from, to }) => renamed(t, from, to), record);
};
const renamed = (t: Type, from: FieldPath, to: FieldPath): Type => {
  if (t.kind !== 'record') return unknownType;
  const [name, ...rest] = from;
  if (rest.length === 0 && t.fields.some((f) => f.name === to[0])) return unknownType;
  return recordType(t.fields.map((f) => {
    if (f.name !== name) return f;
    return rest.length === 0 ? { ...f, name: to[0]! } : { ...f, type: renamed(f.type, rest, to.slice(1)) };
  }));
};

const dropType = (c: TypeChecker, input: Type, path: FieldPath): Type => {
  let at: Type = input;
  for (const [i, name] of path.entries()) {
    const next = fieldType(at, name);
    if (!next) {
      c.fault(`no such field "${name}"`, c.places.path.get(path)?.[i]);
      return input;
    }
    at = next;
  }
  const members = alternatives(input).map((m) => (m.kind === 'record' ? without(m, path) : m));
  return members.some((m) => m === unknownType) ? unknownType : members.reduce(fuseKnown);
};
const without = (t: RecordType, path: FieldPath): Type => {
  const [name, ...rest] = path;
  if (rest.length === 0) return recordType(t.fields.filter((f) => f.name !== name));
  return recordType(t.fields.map((f) => (f.name === name && f.type.kind === 'record' ? { ...f, type: without(f.type, rest) } : f)));
};

const countType = (c: TypeChecker, op: PlanOp & { readonly kind: 'count' }, input: Type): Type => {
  const counter = { name: op.field, type: types.int64 };
  if (!op.expr) return recordType([{ name: 'that', type: input }, counter]);
  const record = c.expr(op.expr, input);
  return record.kind === 'record' ? withPath(record, [op.field], types.int64) : unknownType;
};

const unnestType = (c: TypeChecker, op: PlanOp & { readonly kind: 'unnest' }, input: Type): Type => {
  const t = c.expr(op.expr, input);
  const members = alternatives(t);
  if (members.length === 1 && members[0]!.kind === 'record' && members[0]!.fields.length !== 2) {
    c.fault('unnested record must have two fields', c.places.whole.get(op.expr));
  }
  const element = members.some(isOpen) ? unknownType : fuseAll(members.map(elementType));
  return op.into ? c.pipeline(op.into, element) : element;
};
const elementType = (t: Type): Type => {
  if (t.kind === 'array' || t.kind === 'set') return t.element;
  if (t.kind !== 'record' || t.fields.length !== 2) return unknownType;
  const [first, second] = t.fields;
  const inner = alternatives(second!.type);
  if (inner.length !== 1 || (inner[0]!.kind !== 'array' && inner[0]!.kind !== 'set')) return unknownType;
  return recordType([first!, { name: second!.name, type: inner[0]!.element }]);
};

const aggregateType = (c: TypeChecker, op: PlanOp & { readonly kind: 'aggregate' }, input: Type): Type => {
  const paths: TypedPath[] = op.keys.map((k) => ({ target: k.target, type: c.expr(k.expr, input) }));
  for (const { target, aggregate } of op.aggregates) {
    const argument = aggregate.argument ? c.expr(aggregate.argument, input) : undefined;
    if (aggregate.where) c.predicate(aggregate.where, input);
    paths.push({ target, type: resultType(aggregate.name, argument) });
  }
  return pathsType(paths);
};
const resultType = (name: string, argument: Type | undefined): Type => {
  if (name === 'count' || name === 'dcount') return types.int64;
  if (name === 'collect' && argument && alternatives(argument).every((m) => !isOpen(m))) return arrayType(argument);
  return unknownType;
};

const joinType = (c: TypeChecker, op: PlanOp & { readonly kind: 'join' }, input: Type): Type => {
  const right = op.right ? c.pipeline(op.right, types.null) : unknownType;
  const left = op.right ? input : unknownType;
  for (const k of op.equal) {
    c.expr(k.left, left);
    c.expr(k.right, right);
  }
  const pair = recordType([{ name: op.leftName, type: left }, { name: op.rightName, type: right }]);
  if (op.residual) c.predicate(op.residual, pair);
  const leftOptional = op.style === 'right' || op.style === 'full', rightOptional = op.style === 'left' || op.style === 'full' || op.style === 'anti';
  return recordType([{ name: op.leftName, type: left, optional: leftOptional }, { name: op.rightName, type: right, optional: rightOptional }]);
};
