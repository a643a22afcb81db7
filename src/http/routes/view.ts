/** Views: queries that have a name, each with all the versions that it had. */
import assert from 'node:assert';
import { type Static, Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import type { ViewVersion } from '../../lake/lake.types.ts';
import type { Plan, ViewChange } from '../../query/plan/plan.ts';
import { quoteText, arrayType, types } from '../../vectors/type.ts';
import { checkName } from '../bodies/parameters.ts';
import { record, timeValue, idValue, named } from '../bodies/records.ts';
import { etagOf } from '../commit-answer.ts';
import { tipTerms } from '../idempotency.ts';
import { sendValue } from '../reply.ts';
import { type Call, type Link, type Route, route } from '../route.ts';
import { changeErrors, queryTextErrors } from '../route-errors.ts';
import { idText, Time, ShownId, nullable, array, indexBase } from '../schemas.ts';
import { type Value, stringValue, nullValue, intValue, arrayValue } from '../../vectors/value.ts';

const viewRecord = (view: ViewVersion): Value =>
  record({
    ts: timeValue(view.tsNs),
    name: stringValue(view.name),
    id: idValue(view.id),
    version: idValue(view.version),
    author: stringValue(view.author),
    columns: view.columns ? { type: arrayType(types.string), data: [...view.columns] } : nullValue,
    query: stringValue(view.query),
    index_base: view.indexBase === undefined ? nullValue : intValue(view.indexBase),
  });
/** A view at one of its versions. */
const viewValue = (view: ViewVersion): Value => named('views.Config', viewRecord(view));
/** Views at their newest versions. */
const viewsValue = (views: readonly ViewVersion[]): Value =>
  named('api.Views', record({ views: arrayValue(views.map(viewRecord)) }));

/** A view at one of its versions. */
const View = Type.Object(
  {
    ts: Time,
    name: Type.String(),
    id: ShownId,
    version: ShownId,
    author: Type.String({ description: 'Who made the version; empty without access control.' }),
    columns: nullable(array(Type.String(), { description: 'Names that its first columns get.' })),
    query: Type.String({ description: 'As it was written.' }),
    index_base: nullable(Type.Integer({ description: 'From where its brackets count, if it was said.' })),
  },
  { $id: 'View', description: 'A query with a name, at a version that was made at `ts`.' },
);
/** The answer of `GET /view`. */
const ViewList = Type.Object({ views: array(View) }, { $id: 'ViewList', description: 'The views of the lake.' });
const viewName = Type.String({
  minLength: 1,
  not: { enum: ['HEAD', '.', '..'] },
  description:
    'Unique among the pools and views of the lake. At most 65,536 bytes (option `-name.max`). Not `HEAD`, `.` or `..`.',
});
const viewText = {
  query: Type.String({
    format: 'superql',
    minLength: 1,
    description: 'SuperSQL or SQL; it may read views, and not load.',
  }),
  columns: Type.Optional(nullable(array(Type.String(), { description: 'Names that its first columns get.' }))),
  index_base: indexBase,
};
/** The body of `POST /view`. */
const NewView = Type.Object({ name: viewName, ...viewText }, { $id: 'NewView', description: 'A query and its name.' });
/** The body of `PUT /view/:view`. */
const ViewText = Type.Partial(Type.Object({ ...viewText, name: viewName }), {
  $id: 'ViewText',
  description: 'Another query, or another name.',
  oneOf: [{ required: ['query'] }, { required: ['name'] }],
});

const viewParams = Type.Object({
  view: Type.String({ description: 'name or id of the view', examples: ['recent'] }),
});
const ofView = (to: string): Link => ({ to, parameters: { view: '$response.body#/id' } });
const query = 'from movies | where this["US Gross"] > 1e8 | cut Title';
const definitionErrors = [...queryTextErrors, 'view-query-missing', 'query-index-base', 'query-long'] as const;

/**
 * What CREATE VIEW would make of a definition: its query is compiled on its own first, so that places in it are those of
 * its text. @throws query-invalid; view-query-missing
 */
const definitionOf = async (
  { service: { workers, config }, visible }: Pick<Call, 'service' | 'visible'>,
  name: string,
  { query: text, columns, index_base: base }: Static<typeof ViewText>,
): Promise<Extract<ViewChange, { readonly action: 'create' }>> => {
  if (!text) throw new LakeError('view-query-missing');
  if (text.length > config.queryTextMax)
    throw new LakeError('query-long', { length: text.length, limit: config.queryTextMax });
  if (typeof base === 'number' && base !== 0 && base !== 1) throw new LakeError('query-index-base', { value: base });
  const indexBase = typeof base === 'number' ? (base === 1 ? 1 : 0) : undefined;
  await workers.compile(text, visible, indexBase);
  const list = columns?.length ? ` (${columns.map(quoteText).join(', ')})` : '';
  const statement = `create or replace view ${quoteText(name)}${list} as\n${text}`;
  const { pipeline } = (await workers.compile(statement, visible, indexBase)).plan as Plan;
  const op = pipeline.ops.find(({ kind }) => kind === 'changeView');
  assert(op?.kind === 'changeView' && op.change.action === 'create', 'a view statement changes a view');
  return op.change;
};
const sent = async ({ reply, response }: Pick<Call, 'reply' | 'response'>, view: ViewVersion): Promise<unknown> => {
  reply.header('etag', etagOf(view.version));
  return sendValue(reply, viewValue(view), response);
};
/** The versions that the client allows; undefined for any. */
const ifVersion = ({ request }: Pick<Call, 'request'>): { readonly ifVersion?: readonly string[] } => {
  const { ifTip } = tipTerms(request.headers);
  return ifTip ? { ifVersion: ifTip } : {};
};
const changed = async (call: Call, change: Parameters<Call['visible']['changeView']>[0]): Promise<unknown> => {
  const { view } = await call.visible.changeView(change);
  // It may have gone again since.
  if (!view) throw new LakeError('view-not-found', { view: change.name });
  return sent(call, view);
};
const found = ({ visible }: Pick<Call, 'visible'>, reference: string, version?: string): ViewVersion => {
  const view = visible.view(reference, version);
  if (!view) throw new LakeError('view-not-found', { view: version ? `${reference}@${version}` : reference });
  return view;
};

export const viewRoutes: readonly Route[] = [
  route({
    id: 'createView',
    tag: 'Queries',
    method: 'POST',
    path: '/view',
    summary: 'Give a query a name, by which it is read like a pool',
    need: 'known',
    writes: true,
    body: NewView,
    description:
      'As `create view`: who may make pools may make views, and the query is compiled before it is kept. Pools and views share one space of names.',
    examples: {
      'Of pipes': { name: 'recent', query },
      SQL: { name: 'sizes', query: 'select 1, 2', columns: ['a', 'b'] },
    },
    answers: {
      200: {
        text: 'The view.',
        value: View,
        headers: ['ETag'],
        links: { view: ofView('getView'), change: ofView('putView'), remove: ofView('deleteView') },
      },
    },
    errors: [
      ...changeErrors,
      ...definitionErrors,
      'view-name-missing',
      'auth-role',
      'view-exists',
      'pool-exists',
      'name-reserved',
      'name-long',
    ],
    handler: async (call) => {
      const { name, ...definition } = await call.body();
      if (!name) throw new LakeError('view-name-missing');
      checkName('view', name, call.service.config.nameBytesMax);
      return changed(call, { ...(await definitionOf(call, name, definition)), existing: 'refuse' });
    },
  }),
  route({
    id: 'listViews',
    tag: 'Queries',
    method: 'GET',
    path: '/view',
    summary: 'The views at their newest versions',
    need: 'known',
    description: 'By their names; those that one may read. `from :views` gives the same as rows of a query.',
    answers: { 200: { text: 'The views.', value: ViewList } },
    errors: ['table-corrupt'],
    handler: async ({ visible, reply, response }) => {
      const views = [...visible.views()].sort((a, b) => (a.name < b.name ? -1 : 1));
      return sendValue(reply, viewsValue(views), response);
    },
  }),
  route({
    id: 'getView',
    tag: 'Queries',
    method: 'GET',
    path: '/view/:view',
    summary: 'A view, at its newest version or another',
    need: 'known',
    params: viewParams,
    query: Type.Object({ version: Type.Optional(idText) }),
    description: '`ETag` is the version. `from VIEW:log` lists all versions.',
    answers: { 200: { text: 'The view.', value: View, headers: ['ETag'] } },
    errors: ['view-not-found', 'table-corrupt'],
    handler: (call) => sent(call, found(call, call.params.view, call.query.version)),
  }),
  route({
    id: 'putView',
    tag: 'Queries',
    method: 'PUT',
    path: '/view/:view',
    summary: 'Give a view another query, or another name',
    need: 'known',
    writes: true,
    params: viewParams,
    takes: ['If-Match'],
    body: ViewText,
    description:
      'With `query` it is `create or replace view`, or `alter view .. as` where `If-Match` says that it must be there: a new version, for writers. With `name` it is `alter view .. rename to`, for administrators of the view; earlier versions go along. `If-Match` names the version that it must have.',
    examples: { 'Another query': { query }, 'Another name': { name: 'latest' } },
    answers: { 200: { text: 'The view at its new version.', value: View, headers: ['ETag'] } },
    errors: [
      ...changeErrors,
      ...definitionErrors,
      'view-change-both',
      'auth-role',
      'view-not-found',
      'view-moved',
      'if-match-invalid',
      'view-exists',
      'pool-exists',
      'name-reserved',
      'name-long',
    ],
    handler: async (call) => {
      const { name: to, ...definition } = await call.body();
      const name = call.visible.view(call.params.view)?.name ?? call.params.view;
      const terms = ifVersion(call);
      if (to && definition.query) throw new LakeError('view-change-both');
      if (to) {
        checkName('view', to, call.service.config.nameBytesMax);
        return changed(call, { action: 'rename', name, to, ifExists: false, ...terms });
      }
      checkName('view', name, call.service.config.nameBytesMax);
      const existing = call.request.headers['if-match'] === undefined ? 'replace' : 'require';
      return changed(call, { ...(await definitionOf(call, name, definition)), existing, ...terms });
    },
  }),
  route({
    id: 'deleteView',
    tag: 'Queries',
    method: 'DELETE',
    path: '/view/:view',
    summary: 'Drop a view with all its versions',
    need: 'known',
    writes: true,
    silent: true,
    params: viewParams,
    takes: ['If-Match'],
    description: 'For administrators of the view. Nothing hangs on it: a view that reads it says so when it is read.',
    answers: { 204: { text: 'It is gone, and its name is free.' } },
    errors: [...changeErrors, 'auth-role', 'view-not-found', 'view-moved', 'if-match-invalid'],
    handler: async (call) => {
      const name = call.visible.view(call.params.view)?.name ?? call.params.view;
      await call.visible.changeView({ action: 'drop', name, ifExists: false, ...ifVersion(call) });
      return call.reply.code(204).send();
    },
  }),
];
