/**
 * The audit log's lines: who changed what, and who was refused. Values are what the client sent, as JSON: a line is
 * always one line.
 *
 * - A request that may change something has a line, each commit that a query makes has one, and so has each refusal,
 *   also one that the client sees as a pool that is not there.
 * - A line has the answer's status: it is written when both the handler and the connection are done with the request,
 *   whoever left first, and that of a commit of a query as soon as its answer has begun.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LakeError, type ErrorCode } from '../../errors.ts';
import type { Lake, Pool } from '../../lake/lake.types.ts';
import { errorAnswer } from '../reply.ts';
import { shownTarget } from '../url.ts';
import { poolNamed, type Refusal } from './access.ts';
import type { Change } from './lake-view.ts';
import type { Principal } from './roles.ts';

/**
 * One line. `who` is absent without access control and for who could not be identified. `path` has the parameters that
 * the endpoint takes and no other, lest a token stand in it. `pool`, `branch` and `tag`: those that the path of a
 * write names, as they were when it came. `commit`: what a write made; a query that makes commits has a line for each, with `pool`
 * and `branch`. `view`: one that a query made, gave a new `version` or, without one, dropped. `refused`: the role that
 * was lacking (on `pool`, where there is one), or `token`, `host`, `origin`.
 */
export interface AuditEntry {
  readonly time: string;
  readonly request: string;
  readonly who?: string;
  readonly from: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly refused?: Refusal['lacks'];
  readonly pool?: string;
  readonly branch?: string;
  readonly tag?: string;
  readonly commit?: string;
  readonly view?: string;
  readonly version?: string;
}

/** Of requests that the log tells of, and what they made. */
const commits = new WeakMap<FastifyReply, { made: string | undefined }>();
/** Notes the commit that a request made. */
export const noteCommit = (reply: FastifyReply, commit: string): void => {
  const noted = commits.get(reply);
  if (noted) noted.made = commit;
};

/** Refusals that an error says by itself. */
const refusals: Partial<Readonly<Record<ErrorCode, Refusal['lacks']>>> = {
  'auth-missing': 'token',
  'auth-invalid': 'token',
  'origin-foreign': 'origin',
  'host-foreign': 'host',
  'oauth-client': 'token',
  's3-unsigned': 'token',
  's3-access-key-unknown': 'token',
  's3-signature-wrong': 'token',
  's3-token-invalid': 'token',
  's3-token-expired': 'token',
};

/** What an error says by itself of who asked; undefined: nothing. */
export const refusalOf = (error: unknown): Refusal['lacks'] | undefined =>
  error instanceof LakeError ? refusals[error.code] : undefined;

/** What each line says of a request. `id`: as its header came, byte by byte. */
export const entryOf = ({
  id,
  who,
  ...of
}: Pick<AuditEntry, 'who' | 'from' | 'method' | 'path' | 'status'> & { readonly id: string }): AuditEntry => ({
  time: new Date().toISOString(),
  request: Buffer.from(id, 'latin1').toString('utf8'),
  ...(who !== undefined && { who }),
  ...of,
});

/** `writes`: it may change the lake. */
interface AuditedRoute {
  readonly writes?: boolean;
}

/** One request, from its admission to its lines. */
export class AuditTrail {
  who: Principal | undefined;
  private readonly write: (entry: AuditEntry) => void;
  private readonly row: AuditedRoute;
  private readonly request: FastifyRequest;
  private readonly reply: FastifyReply;
  private target: Target;
  private readonly refusals = new Map<string, Refusal>();
  private changes: Change[] = [];
  private status: number | undefined;
  /** A view's change has its own line. */
  private isTold = false;

  constructor(
    write: (entry: AuditEntry) => void,
    lake: Lake,
    row: AuditedRoute,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    this.write = write;
    this.row = row;
    this.request = request;
    this.reply = reply;
    commits.set(reply, { made: undefined });
    this.target = row.writes ? targetOf(lake, request.params as PathParams) : {};
  }

  /** What its sender may not do; the same again is one line. */
  refused(refusal: Refusal): void {
    this.refusals.set(`${refusal.lacks} ${refusal.pool ?? ''}`, refusal);
  }
  /** The request is about this pool, which its path does not name. */
  about(target: Required<Pick<Target, 'pool' | 'branch'>>): void {
    this.target = target;
  }
  /** A commit that a query made. */
  changed(change: Change): void {
    this.changes.push(change);
    if ('view' in change) this.isTold = true;
    if (this.status !== undefined) this.tellChanges(this.status);
  }
  /** The answer has this status, though it may go on for long. */
  begun(status: number): void {
    this.status = status;
    this.tellChanges(status);
  }

  /** Runs the handler; the lines are written when it has ended and the connection is done. */
  async follow<T>(handle: () => Promise<T>): Promise<T> {
    const { raw } = this.reply;
    const closed = new Promise<void>((resolve) => {
      raw.once('close', resolve);
    });
    let failure: unknown;
    try {
      return await handle();
    } catch (error) {
      failure = error ?? new Error();
      throw error;
    } finally {
      void closed.then(() => {
        this.end(failure);
      });
    }
  }

  private end(failure: unknown): void {
    const lacks = refusalOf(failure);
    if (lacks) this.refused({ lacks });
    const status = failure === undefined ? this.reply.statusCode : errorAnswer(failure).status;
    const commit = commits.get(this.reply)?.made;
    this.tellChanges(status);
    for (const refusal of this.refusals.values())
      this.tell(status, { refused: refusal.lacks, ...(refusal.pool !== undefined && { pool: `0x${refusal.pool}` }) });
    if (this.row.writes && this.refusals.size === 0 && !this.isTold)
      this.tell(status, { ...this.target, ...(commit !== undefined && { commit: `0x${commit}` }) });
  }
  private tellChanges(status: number): void {
    for (const change of this.changes.splice(0))
      this.tell(
        status,
        'view' in change
          ? { view: `0x${change.view}`, ...(change.version !== undefined && { version: `0x${change.version}` }) }
          : { pool: `0x${change.pool}`, branch: change.branch, commit: `0x${change.commit}` },
      );
  }
  private tell(
    status: number,
    more: Pick<AuditEntry, 'refused' | 'pool' | 'branch' | 'tag' | 'commit' | 'view' | 'version'>,
  ): void {
    const { id, ip, method } = this.request;
    this.write({
      ...entryOf({
        id,
        ...(this.who && { who: this.who.name }),
        from: ip,
        method,
        path: shownTarget(this.request),
        status,
      }),
      ...more,
    });
  }
}

interface PathParams {
  readonly pool?: string;
  readonly branch?: string;
  readonly tag?: string;
  readonly revision?: string;
}
type Target = Pick<AuditEntry, 'pool' | 'branch' | 'tag'>;
/** The pool that a path names, if it is there, and the branch or tag; a revision may be a branch. */
const targetOf = (lake: Lake, { pool: reference, branch, tag, revision }: PathParams): Target => {
  const pool = reference === undefined ? undefined : poolNamed(lake, reference);
  if (!pool) return {};
  const named =
    branch ?? (revision !== undefined && isBranch(lake.pool(`0x${pool.id}`), revision) ? revision : undefined);
  return {
    pool: `0x${pool.id}`,
    ...(named !== undefined && { branch: named }),
    ...(tag !== undefined && { tag }),
  };
};
const isBranch = (pool: Pool, name: string): boolean => pool.branches().some((branch) => branch.name === name);
