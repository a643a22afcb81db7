/** Pools: create, rename, delete, figures; and the branches that are made on them. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import type { SortOrder } from '../../lake/lake.types.ts';
import { parseId } from '../../lake/ksuid.ts';
import { readControlBody } from '../body.ts';
import type { BodyRecord } from '../decode.ts';
import { branchValue, createdValue, statsValue } from '../records.ts';
import { sendValue } from '../reply.ts';
import { type Call, type Route, route } from '../route.ts';

const poolParams = Type.Object({ pool: Type.String({ description: 'id or name' }) });

/** The record of a control body. */
export const controlBody = ({ request, contentType, service }: Pick<Call, 'request' | 'contentType' | 'service'>): Promise<BodyRecord> =>
  readControlBody(request.raw, contentType, { bytesMax: service.config.bodyBytesMax, idleMsMax: service.config.bodyIdleMsMax });

export const poolRoutes: readonly Route[] = [
  route({
    method: 'POST', path: '/pool', summary: 'Create a pool with a branch main', need: 'writer', writes: true,
    handler: async (call) => {
      const body = await controlBody(call);
      const name = body.text('name');
      const layout = body.record('layout');
      const order = orderOf(layout?.text('order'));
      const keys = layout?.paths('keys');
      const threshold = body.integer('thresh'), seekStride = body.integer('seek_stride', 'int');
      if (!name) throw new LakeError('pool-name-missing');
      checkName('pool', name, call.service.config.nameBytesMax);
      if (name === 'HEAD') throw new LakeError('pool-name-reserved', { name });
      const { pool, branch } = await call.service.lake.createPool({
        name, ...(order && { order }), ...(keys && { keys }), ...(threshold !== undefined && { threshold }), ...(seekStride !== undefined && { seekStride }),
      });
      return sendValue(call.reply, createdValue(pool, branch), call.response);
    },
  }),
  route({
    method: 'PUT', path: '/pool/:pool', summary: 'Rename a pool', need: 'admin of pool', writes: true, silent: true, params: poolParams,
    handler: async (call) => {
      const name = (await controlBody(call)).text('name');
      if (!name) throw new LakeError('pool-name-missing');
      checkName('pool', name, call.service.config.nameBytesMax);
      await call.service.lake.renamePool(call.params.pool, name);
      return call.reply.code(204).send();
    },
  }),
  route({
    method: 'DELETE', path: '/pool/:pool', summary: 'Delete a pool with all its branches and data', need: 'admin of pool', writes: true, silent: true, params: poolParams,
    handler: async ({ service, params, reply }) => {
      await service.lake.deletePool(params.pool);
      return reply.code(204).send();
    },
  }),
  route({
    method: 'POST', path: '/pool/:pool', summary: 'Create a branch at a commit', need: 'writer of pool', writes: true, params: poolParams,
    handler: async (call) => {
      const body = await controlBody(call);
      const name = body.text('name'), text = body.text('commit') ?? '';
      const pool = call.service.lake.pool(call.params.pool);
      const commit = parseId(text);
      if (commit === undefined) throw new LakeError('commit-invalid', { id: text });
      if (!name) throw new LakeError('branch-name-missing');
      checkName('branch', name, call.service.config.nameBytesMax);
      return sendValue(call.reply, branchValue(await pool.createBranch(name, commit)), call.response);
    },
  }),
  route({
    method: 'GET', path: '/pool/:pool/stats', summary: 'Size of main and the time it spans', need: 'reader of pool', params: poolParams,
    handler: async ({ service, params, reply, response }) => sendValue(reply, statsValue(await service.lake.pool(params.pool).stats()), response),
  }),
];

const checkName = (what: 'pool' | 'branch', name: string, limit: number): void => {
  const length = Buffer.byteLength(name);
  if (length > limit) throw new LakeError('name-long', { what, length, limit });
};

const orderOf = (text: string | undefined): SortOrder | undefined => {
  if (text === undefined) return undefined;
  const order = text.toLowerCase();
  if (order !== 'asc' && order !== 'desc') throw new LakeError('order-unknown', { order: text });
  return order;
};
