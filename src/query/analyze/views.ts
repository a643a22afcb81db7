/** Views: reading one is reading its query, in a scope of its own; making one looks at its query first. */
import { types } from '../../vectors/type.ts';
import type { CreateViewOp, DropViewOp, QueryNode, RenameViewOp, Span, SqlAlias, SqlBody } from '../ast.ts';
import type { Pipeline, PlanOp, ViewSource } from '../plan/plan.ts';
import { aliased } from '../sql/tables.ts';
import type { Analysis } from './context.ts';
import { lowerAlone } from './queries.ts';
import { Scope } from './scope.ts';

/** So deep views may read views: each takes a part of the stack. */
const depthMax = 64;

/** What reading a view gives. */
export interface LoweredView {
  readonly ops: readonly PlanOp[];
  readonly body?: SqlBody;
}

/** The operators of a view's query; undefined, with a fault noted, for one that reads itself. */
export const lowerView = (a: Analysis, view: ViewSource, place: Span): LoweredView | undefined => {
  const { name, columns, indexBase, isNewest, handle } = view;
  // An earlier version may be read by a later one.
  const key = isNewest ? keyOf(name) : handle;
  const open = a.openViews;
  const first = open.find((one) => one.place)?.place ?? place;
  const at = open.findIndex((one) => one.key === key);
  if (at >= 0) {
    const way = [...open.slice(at), { name }].map((one) => one.name).join(' -> ');
    a.fault(`view "${name}" reads itself: ${way}`, first);
    return undefined;
  }
  if (open.length >= depthMax) {
    a.fault(`views read views more than ${depthMax} deep`, first);
    return undefined;
  }
  open.push({ key, name, place });
  try {
    const query = a.texts.queryOf(view, place);
    const { ops } = inScope(a, query, indexBase);
    const alias = columns && aliasOf(name, columns, place);
    return alias ? { ops: aliased(a, ops, alias, name, types.null).ops } : { ops, ...bodyOf(query) };
  } finally {
    open.pop();
  }
};
const keyOf = (name: string): string => `newest ${name}`;
const inScope = (a: Analysis, query: QueryNode, indexBase: 0 | 1 | undefined): Pipeline => {
  const scope = new Scope(undefined);
  if (indexBase !== undefined) scope.pragmas.indexBase = indexBase;
  return lowerAlone(a, query, scope);
};
const aliasOf = (name: string, columns: readonly string[], { start, end }: Span): SqlAlias => ({
  kind: 'sql-alias',
  name: { kind: 'name', text: name, start, end },
  columns: columns.map((text) => ({ kind: 'name', text, start, end })),
  start,
  end,
});
const bodyOf = ({ ops: [op, ...others] }: QueryNode): { readonly body?: SqlBody } =>
  op?.kind === 'sql-op' && others.length === 0 ? { body: op.query.body } : {};

/** The query is compiled as it will be where it is read: what is wrong with it is told before it is kept. */
export const lowerCreateView = (a: Analysis, op: CreateViewOp): readonly PlanOp[] => {
  const { query, existing, text } = op;
  const name = op.name.text;
  if (a.environment.mode !== 'lake') {
    a.fault(`${existing === 'require' ? 'ALTER' : 'CREATE'} VIEW needs a lake: files have no views`, op.name);
    return [{ kind: 'empty' }];
  }
  if (name === '') a.fault('a view needs a name', op.name);
  const { indexBase } = a.environment;
  const columns = op.columns?.map((column) => column.text);
  a.openViews.push({ key: keyOf(name), name });
  const { ops } = inScope(a, query, indexBase);
  const { start, end } = op.name;
  const named = op.columns
    ? aliased(a, ops, { kind: 'sql-alias', name: op.name, columns: op.columns, start, end }, name, types.null).ops
    : ops;
  a.openViews.pop();
  if (a.typesKnown) a.check({ ops: named });
  const definition = { name, query: text, ...(columns && { columns }), ...(indexBase !== undefined && { indexBase }) };
  return [{ kind: 'null' }, { kind: 'changeView', change: { action: 'create', existing, ...definition } }];
};

/** ALTER VIEW .. RENAME to an operator. */
export const lowerRenameView = (a: Analysis, { name, to, ifExists }: RenameViewOp): readonly PlanOp[] => {
  if (a.environment.mode !== 'lake') {
    a.fault('ALTER VIEW needs a lake: files have no views', name);
    return [{ kind: 'empty' }];
  }
  if (to.text === '') a.fault('a view needs a name', to);
  const change = { action: 'rename', name: name.text, to: to.text, ifExists } as const;
  return [{ kind: 'null' }, { kind: 'changeView', change }];
};

/** DROP VIEW to an operator. */
export const lowerDropView = (a: Analysis, { name, ifExists }: DropViewOp): readonly PlanOp[] => {
  if (a.environment.mode !== 'lake') {
    a.fault('DROP VIEW needs a lake: files have no views', name);
    return [{ kind: 'empty' }];
  }
  return [{ kind: 'null' }, { kind: 'changeView', change: { action: 'drop', name: name.text, ifExists } }];
};
