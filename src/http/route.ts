/** What a row of the route table is, and what its handler is given. */
import type { Hash } from 'node:crypto';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { ServeConfig } from '../config/serve.ts';
import type { ErrorCode } from '../errors.ts';
import type { IcebergCatalogue } from '../iceberg/catalogue.types.ts';
import type { Id, Lake } from '../lake/lake.types.ts';
import type { WorkerPool } from '../workers/pool.types.ts';
import type { KeptAnswers } from '../workers/query/kept-answers.ts';
import type { EventFeed } from './events.ts';
import type { Access, Need } from './access/access.ts';
import type { AuditEntry, AuditTrail } from './access/audit.ts';
import type { Principal } from './access/roles.ts';
import type { LakeServices } from '../workers/pool.types.ts';
import type { HeldBodies } from './bodies/held.ts';
import type { Metrics } from './metrics.ts';
import type { ResponseFormat } from './bodies/negotiate.ts';
import type { IdentityChecks } from './identity-check.ts';
import type { AnswerHeader, RequestHeader } from './openapi/headers.ts';
import type { OriginRules } from './connections/origin.ts';
import type { Refuse } from './route-config.ts';
import type { Runs } from './runs.ts';
import type { StagedLoads } from './staged.ts';
import type { Tracing } from './tracing/tracing.ts';

/** What the handlers work with. */
export interface Service {
  readonly config: ServeConfig;
  readonly version: string;
  readonly lake: Lake;
  /** Its pools as tables. */
  readonly catalogue: IcebergCatalogue;
  readonly workers: WorkerPool;
  readonly log: FastifyBaseLogger;
  readonly feed: EventFeed;
  readonly metrics: Metrics;
  readonly runs: Runs;
  /** Looks for records of one identity. */
  readonly identities: IdentityChecks;
  /** Commits that are under way, by the digest of their key. */
  readonly underWay: Map<string, { readonly request: string; readonly commit: Promise<Id> }>;
  /** Answers of reading queries, for who asks for their length or parts. */
  readonly answers: KeptAnswers;
  readonly controlBodies: HeldBodies;
  readonly staged: StagedLoads;
  /** Beginnings of loads. */
  readonly loadBodies: HeldBodies;
  /** Those of subscribers too. */
  readonly requests: { underWay: number /** When the last one ended. */; endedAt: number };
  /** Whether the service is on its way out: it takes no new work. */
  readonly closing: () => boolean;
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing;
  /** Absent: everybody may do everything. */
  readonly access?: Access;
  readonly originRules: OriginRules;
  /** Told of what was changed, and of what was refused for who asked. */
  readonly audit?: (entry: AuditEntry) => void;
}

/** One request on its way through a handler. */
export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  readonly service: Service;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly params: Params;
  readonly query: Query;
  /** Reads the record that the row's `body` describes. @throws what is wrong with its type, its text or a field */
  readonly body: () => Promise<Body>;
  /** The format that the client accepts. */
  readonly response: ResponseFormat;
  /** The request's id as text; names a query. */
  readonly id: string;
  /** Its Content-Type as it came. */
  readonly contentType: string | undefined;
  /** Who asks; absent without access control. */
  readonly who?: Principal;
  /** Absent: nobody keeps book of it. */
  readonly audit?: AuditTrail;
  /** Gets the body's bytes as they are read; where the request has an Idempotency-Key. */
  readonly sent?: Hash;
  /** The lake as the one who asks sees it. */
  readonly visible: LakeServices;
  /** Calls when the client goes away before the answer's end; at once if it is gone. */
  readonly whenLeft: (left: () => void) => void;
}

/** What endpoints are about: the chapters of the document. */
export type Tag = 'Pools' | 'Branches' | 'Data' | 'Queries' | 'Shippers' | 'Events' | 'Service' | 'Access' | 'Pages';

/**
 * A success: its body is one value or the rows of a query in the format that the client accepts, or what `content` says
 * by media type, or nothing.
 */
export interface Answer {
  readonly text: string;
  /** Of the value as JSON. */
  readonly value?: TSchema;
  readonly rows?: boolean;
  readonly content?: Readonly<Record<string, TSchema>>;
  readonly headers?: readonly AnswerHeader[];
  /** JSON of a value that can come. */
  readonly example?: unknown;
  /** Where what it says can be used: by operation, parameters as OpenAPI's runtime expressions. */
  readonly links?: Readonly<Record<string, Link>>;
}
/** `to`: the operation's id. `parameters`: by name, as OpenAPI's runtime expressions. */
export interface Link {
  readonly to: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** What the document at /openapi.json says of a row, beyond what it takes. */
interface RouteDescription {
  /** The operation's name for programs. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  /** What the summary does not say; CommonMark. */
  readonly description?: string;
  /** Headers that it looks at, besides those that every row does. */
  readonly takes?: readonly RequestHeader[];
  /** By status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** What its handler can throw; what holds for all rows of its kind is added by `errorsOf`. */
  readonly errors: readonly ErrorCode[];
  /** Bodies that work, as JSON. */
  readonly examples?: Readonly<Record<string, unknown>>;
}

/** A row of the route table. Handlers send the answer themselves. */
export interface Route extends RouteDescription {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** What it takes to use it, where there is access control. */
  readonly need: Need;
  readonly params?: TSchema;
  readonly query?: TSchema;
  /** The record that `call.body()` reads. `data`: records in any format, as they come. */
  readonly body?: TSchema | 'data';
  /** Of a body that is data of a protocol: the types that it has, and the schema of those that are JSON. */
  readonly mediaTypes?: Readonly<Record<string, TSchema | undefined>>;
  /** The field that a body is which is no record but a text: `application/sql`, or `text/plain` without a brace. */
  readonly textField?: string;
  /** May change the lake: each request has a line in the audit log. */
  readonly writes?: boolean;
  /** Whatever Accept says, and also while the service closes. */
  readonly open?: boolean;
  /** Answers any method but TRACE, for health checks differ in what they send. */
  readonly anyMethod?: boolean;
  /**
   * OPTIONS reaches it: preflights are answered. Without their headers it tells the methods, or is any method to a row
   * that is open.
   */
  readonly preflight?: boolean;
  /**
   * Speaks another protocol, whose clients are told in its words what is wrong: sends the answer to a request that came
   * to nothing. What Accept says does not matter.
   */
  readonly refuse?: Refuse;
  /** What it sends then, by media type. */
  readonly refusal?: Readonly<Record<string, TSchema>>;
  /** Answers without a body: the format does not matter. */
  readonly silent?: boolean;
  /** The parameter `format` chooses the format of the answer; without it pages of a browser see JSON. */
  readonly formatParameter?: boolean;
  /** Means the default format when it is accepted. */
  readonly acceptToo?: string;
  readonly handler: (call: Call) => Promise<unknown>;
}

/** A row whose handler sees the types of its schemas. */
export const route = <P extends TSchema, Q extends TSchema, B extends TSchema>(
  row: Omit<Route, 'handler' | 'params' | 'query' | 'body'> & {
    readonly params?: P;
    readonly query?: Q;
    readonly body?: B | 'data';
    readonly handler: (call: Call<Static<P>, Static<Q>, Static<B>>) => Promise<unknown>;
  },
): Route => row as unknown as Route;
