/** The audit log's lines: who changed what, and who was refused. Values are what the client sent, as JSON: a line is always one line. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Route } from '../route.ts';
import type { Change } from './lake-view.ts';
import type { Principal } from './roles.ts';

/** One line. `who` is absent without access control and for who could not be identified. `commit`: what a write made; a query that makes commits has a line for each. */
export interface AuditEntry {
  readonly time: string;
  readonly request: string;
  readonly who?: string;
  readonly from: string;
  readonly method: string;
  readonly path: string;
  readonly status?: number;
  readonly pool?: string;
  readonly branch?: string;
  readonly commit?: string;
}

const refusedFor: ReadonlySet<number> = new Set([401, 403]);
/** Whether an answered request gets a line. */
export const isAudited = (row: Pick<Route, 'writes'>, status: number): boolean => row.writes === true || refusedFor.has(status);

const commits = new WeakMap<FastifyReply, string>();
/** Notes the commit that a request made. */
export const noteCommit = (reply: FastifyReply, commit: string): void => { commits.set(reply, commit); };

/** The line of a request. `change`: of one commit that a query made; its line has pool and branch instead of a status. */
export const auditEntry = (request: FastifyRequest, reply: FastifyReply, who: Principal | undefined, change?: Change): AuditEntry => {
  const commit = change?.commit ?? commits.get(reply);
  return {
    time: new Date().toISOString(), request: Buffer.from(request.id, 'latin1').toString('utf8'), ...(who && { who: who.name }), from: request.ip, method: request.method, path: request.originalUrl,
    ...(change ? { pool: `0x${change.pool}`, branch: change.branch } : { status: reply.statusCode }), ...(commit !== undefined && { commit: `0x${commit}` }),
  };
};
