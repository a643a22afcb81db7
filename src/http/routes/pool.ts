/** Pools: create, rename, delete; and the branches that are made on them. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import type { IcebergMapping, IcebergMode, SortOrder, PoolConfig, BranchRecord } from '../../lake/lake.types.ts';
import { base62 } from '../../lake/ksuid.ts';
import { checkName, commitOf, poolParams } from '../bodies/parameters.ts';
import { named, record, timeValue, idValue, layoutValue, pathsType } from '../bodies/records.ts';
import { checkIdentity } from '../identity-check.ts';
import { sendValue } from '../reply.ts';
import { type Link, type Route, route } from '../route.ts';
import { changeErrors } from '../route-errors.ts';
import { Time, ShownId, layout, keys, idText, newName } from '../schemas.ts';
import { pathsFormat } from '../bodies/fields.ts';
import { type Value, stringValue, intValue } from '../../vectors/value.ts';

const poolValue = (pool: PoolConfig): Value =>
  named(
    'pools.Config',
    record({
      ts: timeValue(pool.tsNs),
      name: stringValue(pool.name),
      id: idValue(pool.id),
      layout: layoutValue(pool.layout),
      seek_stride: intValue(pool.seekStride),
      threshold: intValue(pool.threshold),
      ...(pool.identity && { identity: { type: pathsType, data: pool.identity.map((path) => [...path]) } }),
    }),
  );
/** A branch: answer of branch creation. */
const branchValue = (branch: BranchRecord): Value =>
  named(
    'branches.Config',
    record({ ts: timeValue(branch.tsNs), name: stringValue(branch.name), commit: idValue(branch.commit) }),
  );
/** A pool and its `main` branch: answer of pool creation. */
const createdValue = (pool: PoolConfig, branch: BranchRecord): Value =>
  named('db.BranchMeta', record({ pool: poolValue(pool), branch: branchValue(branch) }));

/** Integers that a JSON number of JavaScript holds exactly. */
const integerMax = Number.MAX_SAFE_INTEGER;
/** A pool in answers. */
const Pool = Type.Object(
  {
    ts: Time,
    name: Type.String({ description: 'Unique in the lake.' }),
    id: ShownId,
    layout,
    seek_stride: Type.Integer({ description: 'Bytes.' }),
    threshold: Type.Integer({ description: 'Bytes: about where a load cuts its data objects.' }),
  },
  { $id: 'Pool', description: 'A pool: records of any shape, with branches.' },
);
/** A branch in answers. */
const Branch = Type.Object(
  { ts: Time, name: Type.String(), commit: ShownId },
  { $id: 'Branch', description: 'A branch; `commit` is all zeros while it has none.' },
);
/** The answer of `POST /pool`. */
const CreatedPool = Type.Object(
  { pool: Pool, branch: Branch },
  { $id: 'CreatedPool', description: 'A new pool and its branch `main`.' },
);
const poolName = (description: string) =>
  Type.String({
    minLength: 1,
    not: { enum: ['HEAD', '.', '..'] },
    description: `${description} At most 65,536 bytes (option \`-name.max\`). Not \`HEAD\`, \`.\` or \`..\`.`,
  });
const iceberg = Type.String({
  enum: ['off', 'lazy', 'eager'],
  description:
    'Whether the pool is an Iceberg table: `off` (default) not; `lazy`: its files are made when an engine asks for the table; `eager`: after each commit.',
});
const icebergMapping = Type.String({
  enum: ['typed', 'variant'],
  description:
    'Where a table has fields of several kinds of values: `typed` (default): each kind in a column of its own; `variant`: in one column of variants, for engines that read format version 3. Another mapping is another table, whose files are made then.',
});
const identity = Type.Union([
  Type.Array(Type.Array(Type.String()), {
    format: pathsFormat,
    maxItems: 16,
    description:
      'Paths of the fields that tell records apart, such as `[["id"]]`; empty: none, records are compared as whole values. Merges, reverts and picks then go by these fields. Loads do not look at it: what is double is reported.',
  }),
  Type.Null(),
]);
/** The body of `POST /pool`. */
const NewPool = Type.Object(
  {
    name: poolName('Unique in the lake.'),
    layout: Type.Optional(
      Type.Object({
        order: Type.Optional(
          Type.String({ pattern: '^([aA][sS][cC]|[dD][eE][sS][cC])$', description: '`asc` (default) or `desc`.' }),
        ),
        keys: Type.Optional(keys),
      }),
    ),
    thresh: Type.Optional(
      Type.Integer({
        format: 'int64',
        minimum: 0,
        maximum: integerMax,
        description: 'Bytes: about where a load cuts its data objects. 0: the default, 524288000.',
      }),
    ),
    seek_stride: Type.Optional(
      Type.Integer({ minimum: 0, maximum: integerMax, description: 'Bytes. 0: the default, 65536.' }),
    ),
    iceberg: Type.Optional(iceberg),
    iceberg_mapping: Type.Optional(icebergMapping),
    identity: Type.Optional(identity),
  },
  { $id: 'NewPool' },
);
/** The body of `PUT /pool/:pool`. */
const PoolChange = Type.Object(
  {
    name: Type.Optional(poolName('Unique in the lake.')),
    iceberg: Type.Optional(iceberg),
    iceberg_mapping: Type.Optional(icebergMapping),
    identity: Type.Optional(identity),
  },
  { $id: 'PoolChange', minProperties: 1 },
);
/** The body of `POST /pool/:pool`. */
const NewBranch = Type.Object(
  {
    name: newName,
    commit: idText,
  },
  { $id: 'NewBranch', description: 'A branch at a commit; the zero id is where an empty `main` is.' },
);

const ofPool = (to: string, more: Readonly<Record<string, string>> = {}): Link => ({
  to,
  parameters: { pool: '$response.body#/pool/id', ...more },
});
const ofMain = (to: string): Link => ofPool(to, { branch: 'main' });
const ofBranch = (to: string): Link => ({
  to,
  parameters: { pool: '$request.path.pool', branch: '$response.body#/name' },
});

export const poolRoutes: readonly Route[] = [
  route({
    id: 'createPool',
    tag: 'Pools',
    method: 'POST',
    path: '/pool',
    summary: 'Create a pool with a branch main',
    need: 'writer',
    writes: true,
    body: NewPool,
    examples: {
      'In order of the time': { name: 'logs', layout: { order: 'desc', keys: [['ts']] } },
      'As the defaults have it': { name: 'movies' },
      'Records known by a field': { name: 'people', layout: { keys: [['id']] }, identity: [['id']] },
    },
    answers: {
      200: {
        text: 'The pool and its branch.',
        value: CreatedPool,
        links: {
          load: ofMain('load'),
          tip: ofMain('getBranch'),
          deleteRows: ofMain('deleteData'),
          stats: ofPool('poolStats'),
          rename: ofPool('renamePool'),
          remove: ofPool('deletePool'),
          branch: ofPool('createBranch'),
        },
      },
    },
    errors: [
      ...changeErrors,
      'pool-name-missing',
      'name-reserved',
      'pool-exists',
      'view-exists',
      'name-long',
      'order-unknown',
      'size-negative',
      'iceberg-unknown',
      'iceberg-mapping-unknown',
      'body-paths',
      'identity-invalid',
      'identity-long',
    ],
    handler: async (call) => {
      const {
        name,
        layout,
        thresh: threshold,
        seek_stride: seekStride,
        iceberg,
        iceberg_mapping: icebergMapping,
        identity,
      } = await call.body();
      checkIdentity(identity ?? undefined);
      const mode = icebergOf(iceberg);
      const mapping = mappingOf(icebergMapping);
      const order = orderOf(layout?.order);
      const keys = layout?.keys;
      if (!name) throw new LakeError('pool-name-missing');
      checkName('pool', name, call.service.config.nameBytesMax);
      checkSize('thresh', threshold);
      checkSize('seek_stride', seekStride);
      const { pool, branch } = await call.service.lake.createPool({
        name,
        ...(order && { order }),
        ...(keys && { keys }),
        ...(threshold !== undefined && { threshold }),
        ...(seekStride !== undefined && { seekStride }),
        ...(mode !== undefined && mode !== 'off' && { iceberg: mode }),
        ...(mapping && { icebergMapping: mapping }),
        ...(identity && { identity }),
      });
      return sendValue(call.reply, createdValue(pool, branch), call.response);
    },
  }),
  route({
    id: 'renamePool',
    tag: 'Pools',
    method: 'PUT',
    path: '/pool/:pool',
    summary: 'Rename a pool, set its identity or whether it is an Iceberg table',
    need: 'admin of pool',
    writes: true,
    silent: true,
    params: poolParams,
    description:
      'Its id, its branches and its data stay. What is not named stays as it is, and so does its own name beside other settings. The records of `main` are then looked at for double identities in the background; `GET /pool/{pool}/identity` tells what was found.',
    body: PoolChange,
    examples: {
      'A new name': { name: 'films' },
      'An Iceberg table': { iceberg: 'lazy' },
      'An Iceberg table with variants': { iceberg: 'lazy', iceberg_mapping: 'variant' },
      'An identity': { identity: [['id']] },
    },
    answers: { 204: { text: 'It is so.' } },
    errors: [
      ...changeErrors,
      'pool-not-found',
      'pool-name-missing',
      'name-reserved',
      'pool-exists',
      'view-exists',
      'name-long',
      'iceberg-unknown',
      'iceberg-mapping-unknown',
      'body-paths',
      'identity-invalid',
      'identity-long',
    ],
    handler: async (call) => {
      const { name, iceberg, iceberg_mapping: icebergMapping, identity } = await call.body();
      const { lake, config, identities } = call.service;
      checkIdentity(identity ?? undefined);
      const mode = icebergOf(iceberg);
      const mapping = mappingOf(icebergMapping);
      const isSet = mode !== undefined || mapping !== undefined || identity !== undefined;
      if (!name && (name !== undefined || !isSet)) throw new LakeError('pool-name-missing');
      if (name) checkName('pool', name, config.nameBytesMax);
      const { id, name: before } = lake.pool(call.params.pool).config;
      // Its own name alone is a conflict, as SuperDB has it; beside settings it names the pool that they are for.
      if (name && !(isSet && name.normalize('NFC') === before)) await lake.renamePool(base62(id), name);
      if (isSet)
        await lake.setPool(base62(id), {
          ...(mode && { iceberg: mode }),
          ...(mapping && { icebergMapping: mapping }),
          ...(identity !== undefined && { identity: identity ?? [] }),
        });
      if (identity) identities.begin(lake.pool(base62(id)));
      return call.reply.code(204).send();
    },
  }),
  route({
    id: 'deletePool',
    tag: 'Pools',
    method: 'DELETE',
    path: '/pool/:pool',
    summary: 'Delete a pool with all its branches and data',
    need: 'admin of pool',
    writes: true,
    silent: true,
    params: poolParams,
    description: 'This cannot be undone.',
    answers: { 204: { text: 'It is gone, and its name is free.' } },
    errors: [...changeErrors, 'pool-not-found'],
    handler: async ({ service, params, reply }) => {
      await service.lake.deletePool(params.pool);
      return reply.code(204).send();
    },
  }),
  route({
    id: 'createBranch',
    tag: 'Branches',
    method: 'POST',
    path: '/pool/:pool',
    summary: 'Create a branch at a commit',
    need: 'writer of pool',
    writes: true,
    params: poolParams,
    body: NewBranch,
    examples: { 'Where an empty main is': { name: 'trial', commit: '0x0000000000000000000000000000000000000000' } },
    answers: {
      200: {
        text: 'The branch.',
        value: Branch,
        links: {
          load: ofBranch('load'),
          tip: ofBranch('getBranch'),
          remove: ofBranch('deleteBranch'),
          merge: {
            to: 'merge',
            parameters: { pool: '$request.path.pool', branch: 'main', child: '$response.body#/name' },
          },
        },
      },
    },
    errors: [
      ...changeErrors,
      'pool-not-found',
      'commit-invalid',
      'commit-not-found',
      'commit-file-missing',
      'branch-name-missing',
      'name-reserved',
      'branch-exists',
      'tag-exists',
      'vacuumed',
      'name-long',
    ],
    handler: async (call) => {
      const { name, commit: text = '' } = await call.body();
      const pool = call.service.lake.pool(call.params.pool);
      const commit = commitOf(text);
      if (!name) throw new LakeError('branch-name-missing');
      checkName('branch', name, call.service.config.nameBytesMax);
      return sendValue(call.reply, branchValue(await pool.createBranch(name, commit)), call.response);
    },
  }),
];

/** 0 means the default. */
const checkSize = (name: string, bytes = 0): void => {
  if (bytes < 0) throw new LakeError('size-negative', { name, bytes });
};

const icebergOf = (text: string | undefined): IcebergMode | 'off' | undefined => {
  if (text === undefined || text === 'off' || text === 'lazy' || text === 'eager') return text;
  throw new LakeError('iceberg-unknown', { value: text });
};
const mappingOf = (text: string | undefined): IcebergMapping | undefined => {
  if (text === undefined || text === 'typed' || text === 'variant') return text;
  throw new LakeError('iceberg-mapping-unknown', { value: text });
};

const orderOf = (text: string | undefined): SortOrder | undefined => {
  if (text === undefined) return undefined;
  const order = text.toLowerCase();
  if (order !== 'asc' && order !== 'desc') throw new LakeError('order-unknown', { order: text });
  return order;
};
