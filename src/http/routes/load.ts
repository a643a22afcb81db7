/** Loads: a body becomes a commit, and what cannot be read of it another, where the client says so. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Static, Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import type { FaultRule } from '../../formats/faults/faults.ts';
import type { BodyForm, UpsertForm } from '../../formats/format.types.ts';
import { checkGoesOn, type FormatName, formatTable } from '../../formats/formats.ts';
import type { Pool } from '../../lake/lake.types.ts';
import { sendCommit, warningHeader } from '../commit-answer.ts';
import { commitNote } from '../commit-note.ts';
import { requestCodings } from '../bodies/encoding.ts';
import { dataFormat, requestCharset } from '../bodies/negotiate.ts';
import {
  boolParameter,
  boolSchema,
  delimiterParameter,
  delimiterSchema,
  dialectParameters,
  dialectSchemas,
  errorsRule,
  errorsSchema,
  rejectedSchema,
  utf8Refused,
  utf8Schema,
} from '../bodies/parameters.ts';
import { loadRequest, stageRequest, type WantedLoad } from '../load.ts';
import { named, record, timeValue, layoutValue } from '../bodies/records.ts';
import { previewLoad, previewRequest } from '../preview.ts';
import { sendValue } from '../reply.ts';
import { CommitResult, count, Time, array, nullable, layout } from '../schemas.ts';
import { remembered } from '../known.ts';
import { rejectsOf } from '../rejected.ts';
import { type Call, type Route, route } from '../route.ts';
import { commitErrors, dataErrors, readErrors } from '../route-errors.ts';
import { branchParams, commitHeaders, committed, here, revert } from './branch.ts';
import type { LoadStaged, PreviewTold } from '../bodies/load.types.ts';
import { type Value, stringValue, intValue, nullValue, boolValue } from '../../vectors/value.ts';
import { arrayType, types } from '../../vectors/type.ts';

/** A load that waits for a transaction. */
const stagedValue = ({ id, untilMs, outcome: { records } }: LoadStaged): Value =>
  named(
    'api.StagedResponse',
    record({ id: stringValue(id), records: intValue(records), until: timeValue(BigInt(untilMs) * 1_000_000n) }),
  );
/** What a load would come to. */
const loadPreviewValue = ({
  format,
  why,
  doubts,
  type,
  records,
  isAll,
  rows,
  fields,
  layout,
  warnings,
  fault,
}: PreviewTold): Value =>
  named(
    'api.LoadPreview',
    record({
      format: stringValue(format),
      why: stringValue(why),
      doubts: textsValue(doubts),
      type: type === undefined ? nullValue : stringValue(type),
      records: intValue(records),
      complete: boolValue(isAll),
      rows: textsValue(rows),
      fields: textsValue(fields),
      layout: layoutValue(layout),
      warnings: textsValue(warnings),
      fault: fault === undefined ? nullValue : stringValue(fault),
    }),
  );
const textsValue = (texts: readonly string[]): Value => ({ type: arrayType(types.string), data: [...texts] });

/** The answer to a load with `stage=T`. */
const Staged = Type.Object(
  {
    id: Type.String({ description: 'Names it in `load` of a transaction.' }),
    records: count('Records of it.'),
    until: Time,
  },
  { $id: 'Staged', description: 'A load that a transaction may commit, once.' },
);
/** What a load of a body would come to. */
const LoadPreview = Type.Object(
  {
    format: Type.String({ description: 'Name of the format that it is read as.' }),
    why: Type.String({ description: 'What says so.' }),
    doubts: array(Type.String(), { description: 'Why that may be wrong, or the values others than meant.' }),
    type: nullable(Type.String({ description: 'Type of the records that were read, as SUP; a long one is cut.' })),
    records: count('Records that were read for this, 1,000 at most.'),
    complete: Type.Boolean({ description: 'Whether they are known to be all.' }),
    rows: array(Type.String(), { description: 'The first of them, as SUP; long ones are cut.' }),
    fields: array(Type.String(), { description: 'Names of their fields, the first 1,000.' }),
    layout,
    warnings: array(Type.String()),
    fault: nullable(
      Type.String({ description: 'With `cut=T`: what ended the reading, which may be that the body is cut.' }),
    ),
  },
  { $id: 'LoadPreview', description: 'What a load would come to. Nothing was loaded.' },
);

/** Query parameters that say how a body is read. */
const formSchemas = {
  'csv.delim': Type.Optional(delimiterSchema),
  ...dialectSchemas,
  unnest: Type.Optional(boolSchema('T: each element of a JSON array at the top is a record')),
  utf8: Type.Optional(utf8Schema),
  errors: Type.Optional(errorsSchema),
  time: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'field whose values become times: texts of times, or numbers since 1970 in seconds, milliseconds, microseconds or nanoseconds, by their size; what is none stays as it is',
    }),
  ),
};
const formQuery = Type.Object(formSchemas);
const cutSchema = boolSchema('T: the body is only the beginning of one; what its end cuts is left out of the preview');
/** What those parameters and the headers can be wrong in. */
const formErrors = [
  ...dataErrors,
  'csv-delimiter',
  'csv-dialect',
  'charset-unknown',
  'parameter-bool',
  'utf8-rule',
  'not-utf8',
  'errors-rule',
  'errors-format',
] as const satisfies Route['errors'];
/** Formats that a dialect is told of. */
const arrayHint = 'the body is one array, and so is the record: with ?unnest=T each element is a record';

const previewExample = {
  format: 'json',
  why: 'its beginning reads as JSON',
  doubts: [],
  type: '{ts:string,level:string,text:string}',
  records: 1,
  complete: true,
  rows: ['{ts:"2026-11-21T12:00:00Z",level:"info",text:"hello"}'],
  fields: ['ts', 'level', 'text'],
  layout: { order: 'asc', keys: [['ts']] },
  warnings: [],
  fault: null,
};

export const loadRoutes: readonly Route[] = [
  route({
    id: 'load',
    tag: 'Data',
    method: 'POST',
    path: '/pool/:pool/branch/:branch',
    summary: 'Load data',
    need: 'writer of pool',
    writes: true,
    params: branchParams,
    description:
      'A load is one commit, or none: if a body breaks anywhere, nothing of it is there. With `errors=skip` records that cannot be read are left out: the answer counts them and has the first 100, or the pool `rejected` gets all of them; `errors=wrap` keeps them as error values in their place. With `stage=T` it is kept for a transaction (`POST /transaction`), for an hour and not over a restart; `DELETE /load/{id}` drops it. With `upsert=T` each record replaces those of the same identity; records without one are added. When the answer comes the data is on disk. With `dryrun=T` nothing is loaded: the answer tells the format and why it is that, what speaks against it, the type of the first 1,000 records, and three of them; with `cut=T` besides, the body may be only the beginning of what is to be loaded. A text is UTF-8, or what `charset` in the Content-Type says, or UTF-16 with a byte order mark.',
    query: Type.Object({
      ...formSchemas,
      dryrun: Type.Optional(boolSchema('T: dry run, only report what it would load, by the first 1,000 records')),
      cut: Type.Optional(cutSchema),
      rejected: Type.Optional(rejectedSchema),
      upsert: Type.Optional(
        boolSchema(
          'T: records replace those of the same identity, which the pool must have; the last one of a body counts',
        ),
      ),
      stage: Type.Optional(
        boolSchema(
          'T: no commit is made; the answer names the load for `POST /transaction`, which may commit it within an hour',
        ),
      ),
      delete: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'with upsert=T: the field that is true in records that only take those of their identity away',
        }),
      ),
    }),
    body: 'data',
    takes: commitHeaders,
    examples: { 'One record': { ts: '2026-11-21T12:00:00Z', level: 'info', text: 'hello' } },
    answers: {
      200: {
        ...committed(
          'The commit; `warnings` is empty. With `errors=skip` or `wrap` also what was faulty, but not when the same `Idempotency-Key` came again. A header `Warning` says which columns of Parquet and Arrow could not be kept digit by digit. With `stage=T` the name of the staged load, with `dryrun=T` what it would come to, and no `ETag`.',
        ),
        value: Type.Union([CommitResult, Staged, LoadPreview]),
        headers: [],
        links: {
          revert,
          tip: { to: 'getBranch', parameters: here },
          progress: { to: 'loadProgress', parameters: { id: '$response.header.X-Request-ID' } },
        },
        example: { commit: '0x178f59ec85db0a8c7d3d5ed926f7f4d11add9066', warnings: [] },
      },
    },
    errors: [
      ...commitErrors,
      ...formErrors,
      'preview-terms',
      'preview-cut',
      'rejected-alone',
      'rejected-same',
      'load-all-faulty',
      'auth-role',
      'stage-terms',
      'stages-full',
      'upsert-identity',
      'upsert-delete-alone',
      'upsert-delete-none',
      'upsert-identity-other',
      'upsert-large',
      'transaction-empty',
      'rewrite-overtaken',
      ...readErrors,
    ],
    handler: async (call) => {
      const { service, request, reply, params, query, response } = call;
      const { format, form, errors, contentCodings } = bodyOf(call);
      const note = commitNote(request.headers);
      const target = service.lake.pool(params.pool);
      target.branch(params.branch);
      // Not when all of the body was read.
      service.lake.checkWrites();
      const rejects = rejectsOf(call, target, errors);
      const upsert = upsertOf(target, boolParameter('upsert', query.upsert), query.delete);
      const isStaged = boolParameter('stage', query.stage);
      const isCut = boolParameter('cut', query.cut);
      if (boolParameter('dryrun', query.dryrun)) {
        if (isStaged) throw new LakeError('preview-terms', { what: 'stage=T' });
        const into = { pool: target, branch: params.branch };
        const read = { format, form, contentCodings, isCut };
        return sendValue(reply, loadPreviewValue(await previewLoad(call, into, read)), response);
      }
      if (isCut) throw new LakeError('preview-cut');
      if (isStaged) checkStaged(request.headers, query.rejected);
      const { branch } = params;
      const wanted: WantedLoad = { pool: target, branch, format, form, contentCodings, rejects, upsert, note };
      if (isStaged) return sendValue(reply, stagedValue(await stageRequest(call, wanted)), response);
      const { commit, outcome, rejected } = await loadRequest(call, wanted);
      const { warnings = [], isOneArray, records = 0, faults } = outcome ?? {};
      if (warnings.length > 0) reply.header('warning', warningHeader(warnings));
      return sendCommit(reply, commit, response, {
        warnings: [],
        ...(isOneArray && { hint: arrayHint }),
        ...(faults && { faults: { ...faults, records, ...(rejected !== undefined && { rejected }) } }),
      });
    },
  }),
  route({
    id: 'preview',
    tag: 'Data',
    method: 'POST',
    path: '/preview',
    summary: 'Look into data before a pool is made for it',
    need: 'writer',
    query: Type.Object({ ...formSchemas, cut: Type.Optional(cutSchema) }),
    description:
      'What a load of the body would come to: the format and why it is that, what speaks against it, the type of the first 1,000 records, three of them, and a key that suits them. Nothing is loaded. A load with `dryrun=T` tells the same of a pool that is there. A long body need not be sent whole: its beginning will do, with `cut=T`.',
    body: 'data',
    examples: { 'One record': { ts: '2026-11-21T12:00:00Z', level: 'info', text: 'hello' } },
    answers: { 200: { text: 'What it would come to.', value: LoadPreview, example: previewExample } },
    errors: formErrors,
    handler: async (call) => {
      const { reply, query, response } = call;
      const { errors: _, ...read } = bodyOf(call);
      const told = await previewRequest(call, { ...read, isCut: boolParameter('cut', query.cut) });
      return sendValue(reply, loadPreviewValue(told), response);
    },
  }),
];

/** How a request says that its body is read. @throws what is wrong with that */
const bodyOf = ({
  request,
  query,
  contentType,
}: Pick<Call<unknown, Static<typeof formQuery>>, 'request' | 'query' | 'contentType'>): BodySaid => {
  const isPlain = !request.originalUrl.includes('?') && request.headers['content-encoding'] === undefined;
  return isPlain && contentType !== undefined ? plainBodyOf(contentType) : bodyWith(contentType, request, query);
};
interface BodySaid extends Pick<WantedLoad, 'contentCodings'> {
  readonly format: FormatName | 'auto';
  readonly form: BodyForm;
  readonly errors: FaultRule | undefined;
}
/** Of a request that says nothing but its type, which is the same for most. */
const plainBodyOf = remembered((contentType) => bodyWith(contentType, { headers: {} }, {}));
const bodyWith = (
  contentType: string | undefined,
  request: { readonly headers: IncomingHttpHeaders },
  query: Static<typeof formQuery>,
): BodySaid => {
  const format = dataFormat(contentType);
  const charset = requestCharset(contentType, format);
  const csvDelimiter = delimiterParameter(query['csv.delim']);
  const dialect = dialectParameters(query);
  const unnest = boolParameter('unnest', query.unnest);
  const refusesBytes = utf8Refused(query.utf8);
  const errors = errorsRule(query.errors);
  if (errors && format !== 'auto') checkGoesOn(format, errors, unnest);
  const form: BodyForm = {
    ...(charset !== undefined && { charset }),
    ...(csvDelimiter !== undefined && (format === 'csv' || format === 'auto') && { csvDelimiter }),
    ...(dialect && (format === 'auto' || formatTable[format].hasCells) && { csv: dialect }),
    ...(unnest && (format === 'json' || format === 'auto') && { unnest }),
    ...(refusesBytes && { utf8: 'refuse' as const }),
    ...(errors && { errors }),
    ...(query.time !== undefined && { time: query.time }),
  };
  return { format, form, errors, contentCodings: requestCodings(request.headers['content-encoding']) };
};

/** What belongs to a commit comes with the transaction. @throws stage-terms */
const checkStaged = (headers: IncomingHttpHeaders, rejected: string | undefined): void => {
  for (const name of ['If-Match', 'Idempotency-Key', 'SuperDB-Commit', 'Zed-Commit'])
    if (headers[name.toLowerCase()] !== undefined) throw new LakeError('stage-terms', { what: name });
  if (rejected !== undefined) throw new LakeError('stage-terms', { what: 'query param "rejected"' });
};

/** @throws upsert-identity, upsert-delete-alone */
const upsertOf = (
  { config: { name, identity } }: Pool,
  isUpsert: boolean,
  field: string | undefined,
): UpsertForm | undefined => {
  if (!isUpsert && field !== undefined) throw new LakeError('upsert-delete-alone');
  if (!isUpsert) return undefined;
  if (!identity) throw new LakeError('upsert-identity', { pool: name });
  return { identity, ...(field !== undefined && { delete: field }) };
};
