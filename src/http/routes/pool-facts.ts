/** What is known of a pool: its size, its identity, where its values are in an Iceberg table. */
import { Type } from 'typebox';
import type { IcebergDescription } from '../../iceberg/catalogue.types.ts';
import type { Identity, PoolStats } from '../../lake/lake.types.ts';
import { parseTime } from '../../vectors/literal.ts';
import { arrayType, recordType, types } from '../../vectors/type.ts';
import { arrayValue, intValue, nullValue, stringValue, type Value } from '../../vectors/value.ts';
import { boolParameter, boolSchema, poolParams } from '../bodies/parameters.ts';
import { idValue, named, record } from '../bodies/records.ts';
import { escapedName } from '../iceberg/names.ts';
import type { IdentityCheck } from '../identity-check.ts';
import { sendValue } from '../reply.ts';
import { type Route, route } from '../route.ts';
import { array, count, nullable, ShownId, Time } from '../schemas.ts';

/** Size of `main` and the time it spans, if its key is a time. */
const statsValue = (stats: PoolStats): Value => {
  const start = stats.span && parseTime(stats.span.min.text);
  const end = stats.span && parseTime(stats.span.max.text);
  const span =
    start === undefined || end === undefined
      ? nullValue
      : named(
          'nano.Span',
          record({
            ts: { type: types.time, data: start },
            // The reference counts the last nanosecond too.
            dur: named('nano.Duration', intValue(BigInt(end) - BigInt(start) + 1n)),
          }),
        );
  return named('exec.PoolStats', record({ size: intValue(stats.size), span }));
};
const icebergColumnType = recordType([
  ...['path', 'type', 'column', 'iceberg'].map((name) => ({ name, type: types.string })),
  { name: 'note', type: types.string, optional: true },
]);
/** A pool as an Iceberg table. `table`: its name in the catalogue. */
const icebergValue = ({ setting, mapping, columns }: IcebergDescription, table: string): Value =>
  record({
    setting: stringValue(setting),
    mapping: stringValue(mapping),
    table: stringValue(table),
    columns: {
      type: arrayType(icebergColumnType),
      data: columns.map(({ path, type, column, iceberg, note }) => [path, type, column, iceberg, note]),
    },
  });
/** The identity of a pool, and what is known of double ones. */
const identityValue = (identity: Identity, check: IdentityCheck | undefined): Value => {
  const done = check?.state === 'done' ? check : undefined;
  return record({
    identity: { type: arrayType(arrayType(types.string)), data: identity.map((path) => [...path]) },
    check: check
      ? record({
          commit: idValue(check.commit),
          state: stringValue(check.state),
          double: done ? intValue(done.double) : nullValue,
          records: done ? intValue(done.records) : nullValue,
          sample: arrayValue([...(done?.sample ?? [])]),
          error: check.state === 'failed' ? stringValue(check.error) : nullValue,
        })
      : nullValue,
  });
};

/** The answer of `GET /pool/:pool/stats`. */
const PoolStats = Type.Object(
  {
    size: count('Bytes of all data objects of main.'),
    span: nullable(Type.Object({ ts: Time, dur: Type.Integer({ description: 'Nanoseconds.' }) })),
  },
  { $id: 'PoolStats', description: 'Size of main, and the time it spans if its key is a time.' },
);
/** The answer of `GET /pool/:pool/iceberg`. */
const IcebergTable = Type.Object(
  {
    setting: Type.Enum(['off', 'lazy', 'eager']),
    mapping: Type.Enum(['typed', 'variant']),
    table: Type.String({ description: 'Name of its table in the catalogue, whether there is one or not.' }),
    columns: array(
      Type.Object({
        path: Type.String({ description: 'Of the field in the records; `[element]` and the like in lists and maps.' }),
        type: Type.String({ description: 'What kind of values of the field are there.' }),
        column: Type.String({ description: 'Where they are in the table.' }),
        iceberg: Type.String({ description: 'The type of that column.' }),
        note: Type.Optional(Type.String({ description: 'Why they are there, where that is not plain.' })),
      }),
    ),
  },
  { $id: 'IcebergTable', description: 'A pool as an Iceberg table: where the values of each field are.' },
);
/** The answer of `GET /pool/:pool/identity`. */
const PoolIdentity = Type.Object(
  {
    identity: array(array(Type.String())),
    check: nullable(
      Type.Object({
        commit: ShownId,
        state: Type.Enum(['running', 'done', 'failed']),
        double: nullable(count('Identities that several records have.')),
        records: nullable(count('Records that have one of these.')),
        sample: array(
          Type.Object({
            key: Type.Object({}, { additionalProperties: true, description: 'The fields, by their paths.' }),
            count: count('Records with it.'),
          }),
        ),
        error: nullable(Type.String({ description: 'Why it could not be looked at.' })),
      }),
    ),
  },
  {
    $id: 'PoolIdentity',
    description: 'Which fields identify a record, and which records of a commit of `main` have the same ones.',
  },
);

export const poolFactRoutes: readonly Route[] = [
  route({
    id: 'poolStats',
    tag: 'Pools',
    method: 'GET',
    path: '/pool/:pool/stats',
    summary: 'Size of main and the time it spans',
    need: 'reader of pool',
    params: poolParams,
    answers: { 200: { text: 'The figures.', value: PoolStats } },
    errors: ['pool-not-found', 'branch-not-found', 'table-corrupt'],
    handler: async ({ service, params, reply, response }) =>
      sendValue(reply, statsValue(await service.lake.pool(params.pool).stats()), response),
  }),
  route({
    id: 'poolIdentity',
    tag: 'Pools',
    method: 'GET',
    path: '/pool/:pool/identity',
    summary: 'Which fields identify a record of a pool, and which records have the same',
    need: 'reader of pool',
    params: poolParams,
    description:
      'All records of one commit of `main` are looked at, in the background, when an identity is set, and when this is asked and nothing is known since the start of the service, or with `check=T`. Records that lack one of the fields, or have null there, have no identity and are never double.',
    query: Type.Object({ check: Type.Optional(boolSchema('T: look at what main has now')) }),
    answers: {
      200: {
        text: 'The fields, and how far the look is; `check` is null for a pool without an identity.',
        value: PoolIdentity,
        example: {
          identity: [['id']],
          check: {
            commit: '0x178f59ec85db0a8c7d3d5ed926f7f4d11add9066',
            state: 'done',
            double: 1,
            records: 2,
            sample: [{ key: { id: 7 }, count: 2 }],
            error: null,
          },
        },
      },
    },
    errors: ['pool-not-found', 'table-corrupt', 'parameter-bool'],
    handler: async ({ service, params, query, reply, response }) => {
      const pool = service.lake.pool(params.pool);
      const isNew = boolParameter('check', query.check);
      const check = isNew ? service.identities.begin(pool) : service.identities.of(pool);
      return sendValue(reply, identityValue(pool.config.identity ?? [], check), response);
    },
  }),
  route({
    id: 'icebergTable',
    tag: 'Pools',
    method: 'GET',
    path: '/pool/:pool/iceberg',
    summary: 'Where the values of a pool are in its Iceberg table',
    need: 'reader of pool',
    params: poolParams,
    description: 'Fields of one type are columns of their name; what a table cannot hold so is where this says.',
    answers: { 200: { text: 'Its setting, and the columns that it has so far.', value: IcebergTable } },
    errors: ['pool-not-found', 'table-corrupt'],
    handler: async ({ service, params, reply, response }) => {
      const described = await service.catalogue.describe(params.pool);
      const { name } = service.lake.pool(params.pool).config;
      return sendValue(reply, icebergValue(described, escapedName(name)), response);
    },
  }),
];
