/** What the catalogue answers of its one namespace and its tables. */
import type { FastifyReply } from 'fastify';
import { LakeError } from '../../errors.ts';
import type { IcebergTable } from '../../iceberg/catalogue.types.ts';
import { sendText } from '../reply.ts';
import { poolId, tablesOf } from './callers.ts';
import { type CatalogueCall, parameter } from './calls.ts';
import { sendJson } from './faults.ts';
import { escapedName, lakeName, tableNamed } from './names.ts';
import { fileConfig, locationOf, windowTag } from './vending.ts';

/** GET namespaces */
export const namespaces = async (call: CatalogueCall): Promise<unknown> => {
  const parent = parameter(call, 'parent');
  if (parent) checkNamespace(parent.split('\u001f'));
  return sendJson(call.reply, 200, { namespaces: parent ? [] : [[lakeName]] });
};

const checkNamespace = (namespace: readonly string[]): void => {
  if (!isLake(namespace)) throw new LakeError('iceberg-namespace-missing', { namespace: namespace.join('.') });
};
const isLake = (namespace: readonly string[]): boolean => namespace.length === 1 && namespace[0] === lakeName;

/** GET or HEAD of a namespace */
export const namespace = async ({ namespace: name, request, reply }: CatalogueCall): Promise<unknown> => {
  checkNamespace(name);
  return request.method === 'HEAD' ? reply.code(204).send() : sendJson(reply, 200, { namespace: name, properties: {} });
};

const pageSizeMax = 10_000;
/** GET tables: all of them, or a page. */
export const tables = async (call: CatalogueCall): Promise<unknown> => {
  checkNamespace(call.namespace);
  const all = tablesOf(call.caller, call.iceberg);
  const token = parameter(call, 'pageToken');
  const size = pageSize(parameter(call, 'pageSize'));
  const after = token ? Buffer.from(token, 'base64url').toString() : '';
  const names = all.map(({ name }) => name).sort(compare);
  const rest = names.filter((name) => name > after);
  const page = token === undefined && size === undefined ? rest : rest.slice(0, size ?? pageSizeMax);
  return sendJson(call.reply, 200, {
    identifiers: page.map((name) => ({ namespace: [lakeName], name: escapedName(name) })),
    'next-page-token': page.length < rest.length ? Buffer.from(page.at(-1)!).toString('base64url') : null,
  });
};
const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
const pageSize = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const size = Number(text);
  if (!/^\d+$/.test(text) || size < 1)
    throw new LakeError('iceberg-parameter', { name: 'pageSize', value: text, wanted: 'a positive number' });
  return Math.min(size, pageSizeMax);
};

/**
 * The table that a call names. Below a namespace that is not there there is no table either: Spark looks whether
 * `lake.events.refs` is one, and goes on only then. @throws iceberg-table-missing
 */
const tableOf = ({ caller, iceberg, namespace: name, table: asked, audit }: CatalogueCall): IcebergTable => {
  const missing = (): LakeError => new LakeError('iceberg-table-missing', { table: [...name, asked].join('.') });
  if (!isLake(name)) throw missing();
  const found = tableNamed(tablesOf(caller, iceberg), asked);
  if (found) return found;
  const hidden = audit && tableNamed(iceberg.catalogue.tables(), asked);
  if (hidden) audit.refused({ lacks: 'reader', pool: poolId(hidden.pool) });
  throw missing();
};

/** GET of a table: its metadata, and credentials for its files. */
export const loadTable = async (call: CatalogueCall): Promise<unknown> => {
  const { caller, iceberg, request, reply, warehouse } = call;
  const table = tableOf(call);
  const snapshots = parameter(call, 'snapshots') ?? 'all';
  if (snapshots !== 'all' && snapshots !== 'refs')
    throw new LakeError('iceberg-parameter', { name: 'snapshots', value: snapshots, wanted: 'all or refs' });
  const tag = windowTag(iceberg, caller, request, snapshots);
  const known = etagOf(request.headers['if-none-match'], tag);
  const loaded = await iceberg.catalogue.load(table.pool, {
    ...(warehouse.pin !== undefined && { pin: warehouse.pin }),
    ...(known !== undefined && { etag: known }),
    signal: endOf(reply),
  });
  if (loaded === undefined) throw new LakeError('iceberg-table-missing', { table: `${lakeName}.${call.table}` });
  reply.header('cache-control', 'private, no-cache');
  if (loaded === 'unchanged') return reply.code(304).header('etag', taggedBy(known!, tag)).send();
  const config = { ...loaded.config, ...fileConfig(iceberg, caller, table, request) };
  // The metadata of a table with many commits are long: they are not read here.
  const metadata = snapshots === 'all' ? loaded.json : withRefsAlone(loaded.json);
  const text = `{"metadata-location":${JSON.stringify(`s3://${lakeName}/${loaded.location}`)},"metadata":${metadata},"config":${JSON.stringify(config)},"storage-credentials":${JSON.stringify([{ prefix: locationOf(table), config }])}}`;
  return sendText(reply.header('etag', taggedBy(loaded.etag, tag)), 200, 'application/json', text);
};

/** The ETag of an answer: that of its metadata, and what else it depends on. */
const taggedBy = (etag: string, tag: string): string => `${etag.slice(0, -1)}.${tag}"`;
/** The ETag of the metadata that a client has, where all else of the answer is the same too. */
const etagOf = (header: string | undefined, tag: string): string | undefined => {
  for (const [, etag, of] of (header ?? '').matchAll(/("[^"]+)\.([0-9a-f]{16})"/g)) if (of === tag) return `${etag}"`;
  return undefined;
};

/** Aborted when the client goes away before the answer's end. */
const endOf = ({ raw }: FastifyReply): AbortSignal => {
  const end = new AbortController();
  raw.on('close', () => {
    if (!raw.writableFinished) end.abort();
  });
  return end.signal;
};

interface Metadata {
  readonly snapshots?: readonly { readonly 'snapshot-id': number }[];
  readonly refs?: Readonly<Record<string, { readonly 'snapshot-id': number }>>;
}
/** Metadata with the snapshots that a ref names, and no others. */
const withRefsAlone = (json: string): string => {
  const metadata = JSON.parse(json) as Metadata;
  const ids = new Set(Object.values(metadata.refs ?? {}).map((ref) => ref['snapshot-id']));
  return JSON.stringify({
    ...metadata,
    snapshots: (metadata.snapshots ?? []).filter((snapshot) => ids.has(snapshot['snapshot-id'])),
  });
};

/** HEAD of a table */
export const hasTable = async (call: CatalogueCall): Promise<unknown> => {
  const { pool } = tableOf(call);
  const { pin } = call.warehouse;
  const isThere = pin === undefined || (await call.iceberg.catalogue.load(pool, { pin, signal: endOf(call.reply) }));
  if (!isThere) throw new LakeError('iceberg-table-missing', { table: `${lakeName}.${call.table}` });
  return call.reply.code(204).send();
};

/** GET credentials: new ones for the files of a table. */
export const credentials = async (call: CatalogueCall): Promise<unknown> => {
  const table = tableOf(call);
  const config = fileConfig(call.iceberg, call.caller, table, call.request);
  call.reply.header('cache-control', 'no-store');
  return sendJson(call.reply, 200, { 'storage-credentials': [{ prefix: locationOf(table), config }] });
};

/** GET or HEAD of a view: there are none. */
export const view = async ({ namespace: name, view: asked }: CatalogueCall): Promise<unknown> => {
  throw new LakeError('iceberg-view-missing', { view: [...name, asked].join('.') });
};
