/** What a row of the route table is, and what its handler is given. */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { ServeConfig } from '../config.ts';
import type { Lake } from '../lake/lake.types.ts';
import type { WorkerPool } from '../workers/pool.types.ts';
import type { EventFeed } from './events.ts';
import type { Access, Need } from './access/access.ts';
import type { AuditEntry } from './access/audit.ts';
import type { Principal } from './access/roles.ts';
import type { LakeServices } from '../workers/pool.types.ts';
import type { Metrics } from './metrics.ts';
import type { ResponseFormat } from './negotiate.ts';
import type { UnderWay } from './once.ts';
import type { RunningQueries } from './running.ts';

/** What the handlers work with. */
export interface Service {
  readonly config: ServeConfig;
  readonly version: string;
  readonly lake: Lake;
  readonly workers: WorkerPool;
  readonly log: FastifyBaseLogger;
  readonly feed: EventFeed;
  readonly metrics: Metrics;
  readonly running: RunningQueries;
  readonly underWay: UnderWay;
  /** Those of subscribers too. */
  readonly requests: { underWay: number };
  /** Whether the service is on its way out: it takes no new work. */
  readonly closing: () => boolean;
  /** Absent: everybody may do everything. */
  readonly access?: Access;
  /** Told of what was changed, and of what was refused for who asked. */
  readonly audit?: (entry: AuditEntry) => void;
}

/** One request on its way through a handler. */
export interface Call<Params = unknown, Query = unknown> {
  readonly service: Service;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly params: Params;
  readonly query: Query;
  /** The format that the client accepts. */
  readonly response: ResponseFormat;
  /** The request's id as text; names a query. */
  readonly id: string;
  /** Its Content-Type as it came. */
  readonly contentType: string | undefined;
  /** Who asks; absent without access control. */
  readonly who?: Principal;
  /** The lake as the one who asks sees it. */
  readonly visible: LakeServices;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

/** A row of the route table. Handlers send the answer themselves. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly summary: string;
  /** What it takes to use it, where there is access control. */
  readonly need: Need;
  readonly params?: TSchema;
  readonly query?: TSchema;
  /** Changes the lake: refused for web pages of foreign origins. */
  readonly writes?: boolean;
  /** Answers any method, whatever Accept says, without a request id. */
  readonly open?: boolean;
  /** OPTIONS reaches it: preflights are answered, and without their headers the handler runs. */
  readonly preflight?: boolean;
  /** Answers without a body: the format does not matter. */
  readonly silent?: boolean;
  /** Means the default format when it is accepted. */
  readonly acceptToo?: string;
  /** Default format, whatever the option says. */
  readonly defaultFormat?: 'sup';
  readonly handler: (call: Call) => Promise<unknown>;
}

/** A row whose handler sees the types of its schemas. */
export const route = <P extends TSchema, Q extends TSchema>(
  row: Omit<Route, 'handler' | 'params' | 'query'> & { readonly params?: P; readonly query?: Q; readonly handler: (call: Call<Static<P>, Static<Q>>) => Promise<unknown> },
): Route => row as unknown as Route;
