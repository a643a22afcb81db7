/** Pools: create, rename, delete, figures; and the branches that are made on them. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import type { IcebergMapping, IcebergMode, SortOrder } from '../../lake/lake.types.ts';
import { base62 } from '../../lake/ksuid.ts';
import { boolParameter, boolSchema, checkName, commitOf, poolParameter } from '../bodies/parameters.ts';
import { branchValue, createdValue, icebergValue, identityValue, statsValue } from '../bodies/records.ts';
import { checkIdentity } from '../identity-check.ts';
import { escapedName } from '../iceberg/names.ts';
import { sendValue } from '../reply.ts';
import { type Link, type Route, route } from '../route.ts';
import { changeErrors } from '../route-errors.ts';
import {
  Branch,
  CreatedPool,
  IcebergTable,
  NewBranch,
  NewPool,
  PoolChange,
  PoolIdentity,
  PoolStats,
} from '../schemas.ts';

const poolParams = Type.Object({ pool: poolParameter });
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
