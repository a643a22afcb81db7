/** What the framework keeps with a route. */
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Sends an error in the words of a protocol. */
export type Refuse = (request: FastifyRequest, reply: FastifyReply, error: unknown) => FastifyReply;
/** What the framework keeps with a route: names of the query parameters that it takes. */
export interface RouteConfig {
  readonly parameters: readonly string[];
  /** Those that logs and traces may have: not the text of a query. */
  readonly shown: readonly string[];
  readonly refuse?: Refuse;
  /** It may change the lake. */
  readonly writes?: boolean;
}
