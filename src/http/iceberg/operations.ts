/**
 * The endpoints of Iceberg's REST specification: what each does here. What only reads is answered, what would write is
 * refused (403 ForbiddenException), and what this catalogue does not do is a 406.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LakeError } from '../../errors.ts';
import { type CatalogueCall, parameter } from './calls.ts';
import { sendJson } from './faults.ts';
import { lakeName, prefixOf, warehouseNamed, warehouseOfPrefix } from './names.ts';
import * as reads from './tables.ts';
import { catalogueRoot, percentDecoded, type Target } from './targets.ts';
import { exchangeToken } from './tokens.ts';

type Method = 'GET' | 'HEAD' | 'POST' | 'DELETE';
type Handler = (call: CatalogueCall) => Promise<unknown>;
/** `write`: refused, since nothing is written here; `none`: not supported. */
type Answer = Handler | 'write' | 'none';
interface Operation {
  /** As the specification writes it, without the version. */
  readonly path: string;
  readonly methods: Partial<Readonly<Record<Method, Answer>>>;
  /** Whoever asks: it is where one shows who one is. */
  readonly open?: true;
}

const namespacePath = '{prefix}/namespaces/{namespace}';
const tablePath = `${namespacePath}/tables/{table}`;
const viewPath = `${namespacePath}/views/{view}`;
const operations: readonly Operation[] = [
  { path: 'config', methods: { GET: (call) => configuration(call) } },
  { path: 'oauth/tokens', methods: { POST: exchangeToken }, open: true },
  { path: '{prefix}/namespaces', methods: { GET: reads.namespaces, POST: 'write' } },
  { path: namespacePath, methods: { GET: reads.namespace, HEAD: reads.namespace, DELETE: 'write' } },
  { path: `${namespacePath}/properties`, methods: { POST: 'write' } },
  { path: `${namespacePath}/tables`, methods: { GET: reads.tables, POST: 'write' } },
  {
    path: tablePath,
    methods: { GET: reads.loadTable, HEAD: reads.hasTable, POST: 'write', DELETE: 'write' },
  },
  { path: `${tablePath}/credentials`, methods: { GET: reads.credentials } },
  { path: `${tablePath}/plan`, methods: { POST: 'none' } },
  { path: `${tablePath}/plan/{plan}`, methods: { GET: 'none', DELETE: 'none' } },
  { path: `${tablePath}/tasks`, methods: { POST: 'none' } },
  { path: `${tablePath}/metrics`, methods: { POST: 'none' } },
  { path: `${namespacePath}/register`, methods: { POST: 'write' } },
  { path: `${namespacePath}/register-view`, methods: { POST: 'write' } },
  { path: '{prefix}/tables/rename', methods: { POST: 'write' } },
  { path: '{prefix}/transactions/commit', methods: { POST: 'write' } },
  { path: `${namespacePath}/views`, methods: { GET: 'none', POST: 'write' } },
  { path: viewPath, methods: { GET: reads.view, HEAD: reads.view, POST: 'write', DELETE: 'write' } },
  { path: '{prefix}/views/rename', methods: { POST: 'write' } },
];

/** What the configuration says that can be asked: clients do not try anything else then. */
export const endpoints: readonly string[] = operations.flatMap(({ path, methods, open }) =>
  open || path === 'config' || path === viewPath
    ? []
    : Object.entries(methods)
        .filter(([, answer]) => typeof answer === 'function')
        .map(([method]) => `${method} /v1/${path}`),
);

/** GET config: which prefix stands for the warehouse, and what can be asked. */
const configuration: Handler = async (call) => {
  const asked = parameter(call, 'warehouse') || lakeName;
  const warehouse = warehouseNamed(asked);
  if (!warehouse) throw new LakeError('iceberg-warehouse-missing', { warehouse: asked });
  return sendJson(call.reply, 200, { defaults: {}, overrides: { prefix: prefixOf(warehouse) }, endpoints });
};

/** An operation with what a path names. */
export interface Matched {
  readonly operation: Operation;
  /** By name, decoded. */
  readonly named: Readonly<Record<string, string>>;
}

/** Undefined for what is no endpoint of the specification. */
export const matchOperation = ({ path }: Target): Matched | undefined => {
  const root = `${catalogueRoot}/v1/`;
  if (!path.startsWith(root)) return undefined;
  const segments = path
    .slice(root.length)
    .split('/')
    .map((segment) => percentDecoded(segment, { plus: true }));
  if (!segments.every((segment) => segment !== undefined && segment !== '')) return undefined;
  const texts = segments as readonly string[];
  for (const operation of operations) {
    const pattern = operation.path.split('/');
    // The prefix may be left out: then it is the lake's.
    const named = namedBy(pattern, texts) ?? (pattern[0] === '{prefix}' ? namedBy(pattern.slice(1), texts) : undefined);
    if (named) return { operation, named };
  }
  return undefined;
};
const namedBy = (
  pattern: readonly string[],
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined => {
  if (pattern.length !== segments.length) return undefined;
  const named: Record<string, string> = {};
  for (const [i, part] of pattern.entries()) {
    if (part.startsWith('{')) named[part.slice(1, -1)] = segments[i];
    else if (part !== segments[i]) return undefined;
  }
  return named;
};

/** The path of an operation's route: what metrics and traces tell requests by. */
export const routeOf = ({ path }: Operation): string => `${catalogueRoot}/v1/${path}`;
export const catalogueRoutes: readonly string[] = [catalogueRoot, ...operations.map(routeOf)];

/** The answer to a method. @throws iceberg-method */
export const answerTo = ({ methods }: Operation, request: FastifyRequest, reply: FastifyReply): Answer => {
  const { method } = request;
  const answer = methods[method as Method] ?? (method === 'HEAD' ? methods.GET : undefined);
  if (answer) return answer;
  reply.header('allow', [...Object.keys(methods), 'OPTIONS'].join(', '));
  throw new LakeError('iceberg-method', { method, path: request.originalUrl });
};

/** Does what a request asks for. @throws LakeError */
export const perform = async (
  answer: Answer,
  { named }: Matched,
  call: Omit<CatalogueCall, 'warehouse' | 'namespace' | 'table' | 'view'>,
): Promise<unknown> => {
  const { method, originalUrl: path } = call.request;
  if (answer === 'write') throw new LakeError('iceberg-read-only', { method, path });
  if (answer === 'none') throw new LakeError('iceberg-unsupported', { method, path });
  const { prefix, namespace = '', table = '', view = '' } = named;
  const warehouse = prefix === undefined ? {} : warehouseOfPrefix(prefix);
  if (!warehouse) throw new LakeError('iceberg-warehouse-missing', { warehouse: prefix });
  return answer({ ...call, warehouse, namespace: namespace.split('\u001f'), table, view });
};
