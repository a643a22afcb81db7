/**
 * The terms on which a client wants a commit: `If-Match`, the tip that it knows, and `Idempotency-Key`, under which the
 * request may be sent again.
 *
 * - The same key of the same caller on the same pool is the same commit, once, over restarts, for as long as option
 *   -retry.keep says. A request that comes while the first one is under way waits for it. One that failed made no
 *   commit: the next one is tried as if it were the first.
 * - A key that named another request is refused (422, as in the IETF draft "The Idempotency-Key HTTP Header Field"):
 *   another method, path, query string or commit message, and, once the body was read, another Content-Type or
 *   Content-Encoding or other bytes. What an earlier build kept has no body to compare.
 * - A key goes with its branch.
 */
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LakeError } from '../errors.ts';
import { parseId } from '../lake/ksuid.ts';
import type {
  CommitNote,
  CommitTerms,
  Id,
  Pool,
  PoolConfig,
  Retry,
  TipTerms,
  TransactionResult,
} from '../lake/lake.types.ts';
import { checkTip } from '../lake/commits/tip-check.ts';
import { standing } from './access/roles.ts';
import type { Call } from './route.ts';

const keyCharactersMax = 255;
const digest = (...parts: readonly string[]): string => hash('sha256', JSON.stringify(parts));

/** A request that makes a commit. */
type Asking = Pick<Call, 'service' | 'request' | 'who' | 'sent'>;
/** The branch on which it makes one. */
interface OnBranch {
  readonly pool: Pool;
  readonly branch: string;
}
/**
 * The commit that a request makes, or made when it came before. `make` is called when it makes one; the note with the
 * terms is to be asked for once the body was read. `discard`: reads what is left of a body, where the handler has not
 * read it.
 */
export const commitOnce = async (
  { service: { lake, underWay }, request: asked, who, sent }: Asking,
  { pool: target, branch }: OnBranch,
  note: CommitNote,
  make: (terms: () => CommitNote | Promise<CommitNote>) => Promise<Id>,
  discard?: () => Promise<void>,
): Promise<Id> => {
  const { method, originalUrl, headers } = asked;
  const ifTip = tipsOf(headers);
  const by = standing(who, target.config);
  const key = keyOf(headers);
  if (key === undefined) {
    // So that nobody sends a long body for nothing; it is checked again when the commit is made.
    if (ifTip) checkTip(ifTip, target.branch(branch).commit);
    return make(() => withTerms(note, ifTip ? { ifTip, ...by } : by));
  }
  const keyDigest = digest(target.config.id, who?.name ?? '', key);
  const request = digest(method, withoutPool(originalUrl), header(headers, 'superdb-commit'));
  const body = async (): Promise<string> => {
    await discard?.();
    return digest(
      header(headers, 'content-type'),
      header(headers, 'content-encoding'),
      header(headers, 'zed-commit'),
      sent!.digest('hex'),
    );
  };
  const reused = (): LakeError => new LakeError('retry-key-reused', { key });
  for (let running = underWay.get(keyDigest); running; running = underWay.get(keyDigest)) {
    if (running.request !== request) throw reused();
    // The body stays unread meanwhile: it is needed if no commit is made there.
    await running.commit.catch(() => undefined);
  }
  const before = lake.retried(keyDigest);
  if (before) {
    if (before.request !== request || (before.body !== undefined && before.body !== (await body()))) throw reused();
    return before.commit;
  }
  const commit = make(async () =>
    withTerms(note, { retry: { key: keyDigest, request, body: await body() }, ...(ifTip && { ifTip }), ...by }),
  );
  underWay.set(keyDigest, { request, commit });
  try {
    return await commit;
  } finally {
    underWay.delete(keyDigest);
  }
};

/** The key of a body that has records for several pools: the client's own, or one made of its bytes. */
export interface BodyKey {
  readonly key: string;
  readonly request: string;
  /** SHA-256 of the body. */
  readonly body: string;
  /** For how long it is known; default: as long as option -retry.keep says. */
  readonly keepMs?: number;
}
/**
 * The key under which such a body is committed once, in each of its pools; undefined: it has none. `isKnown`: its bytes
 * are a key, for the time of option -ingest.repeats. @throws retry-key-invalid
 */
export const bodyKeyOf = (
  { service: { config }, request: { method, originalUrl, headers } }: Pick<Call, 'service' | 'request'>,
  body: string,
  isKnown: boolean,
): BodyKey | undefined => {
  const key = keyOf(headers);
  const request = digest(method, originalUrl, header(headers, 'superdb-commit'));
  const { repeatsMs: keepMs } = config.ingest;
  if (key !== undefined) return { key: digest('key', key), request, body };
  return isKnown && keepMs > 0 ? { key: digest('body', request, body), request, body, keepMs } : undefined;
};
/**
 * The commit of a body's records in a pool, or the one that they made before: then `drop` is called with it, and not
 * `make`. @throws retry-key-reused
 */
export const commitKeyedOnce = async (
  { service: { lake, underWay }, who, request: { headers } }: Pick<Call, 'service' | 'who' | 'request'>,
  pool: PoolConfig,
  key: BodyKey | undefined,
  { make, drop }: { readonly make: (terms: CommitTerms) => Promise<Id>; readonly drop: (commit: Id) => Promise<void> },
): Promise<Id> => {
  const by = standing(who, pool);
  if (!key) return make(by);
  const { request, body, keepMs } = key;
  const keyDigest = digest(pool.id, who?.name ?? '', key.key);
  for (let running = underWay.get(keyDigest); running; running = underWay.get(keyDigest))
    await running.commit.catch(() => undefined);
  const before = lake.retried(keyDigest, keepMs);
  if (before) {
    if (before.request !== request || (before.body !== undefined && before.body !== body))
      throw new LakeError('retry-key-reused', { key: header(headers, 'idempotency-key') });
    await drop(before.commit);
    return before.commit;
  }
  const commit = make({ retry: { key: keyDigest, request, body }, ...by });
  underWay.set(keyDigest, { request, commit });
  try {
    return await commit;
  } finally {
    underWay.delete(keyDigest);
  }
};
/**
 * The commits of a transaction, one each of `count`, or those that it made before under its key. Each commit has a key
 * of its own, made of the request's, so that all of them are known again.
 */
export const transactOnce = async (
  { service: { lake, underWay }, request: { method, originalUrl, headers }, who, sent }: Asking,
  count: number,
  make: (retryOf: (index: number) => Retry | undefined) => Promise<TransactionResult>,
): Promise<TransactionResult | { readonly before: readonly Id[] }> => {
  const key = keyOf(headers);
  if (key === undefined) return make(() => undefined);
  const keyDigest = digest('transaction', who?.name ?? '', key);
  const request = digest(method, originalUrl, header(headers, 'superdb-commit'));
  const body = digest(
    header(headers, 'content-type'),
    header(headers, 'content-encoding'),
    header(headers, 'zed-commit'),
    sent!.digest('hex'),
  );
  const keyAt = (index: number): string => digest(keyDigest, String(index));
  for (let running = underWay.get(keyDigest); running; running = underWay.get(keyDigest))
    await running.commit.catch(() => undefined);
  const before = Array.from({ length: count }, (_, index) => lake.retried(keyAt(index)));
  // Under the first one's key any body is known, whatever the number of its commits.
  if (before[0] && (before[0].request !== request || before[0].body !== body))
    throw new LakeError('retry-key-reused', { key });
  const known = before.flatMap((one) => one?.commit ?? []);
  if (known.length === count) return { before: known };
  const result = make((index) => ({ key: keyAt(index), request, body }));
  const commit = result.then(({ transaction }) => transaction);
  // Whoever waits for it looks what became of it.
  commit.catch(() => undefined);
  underWay.set(keyDigest, { request, commit });
  try {
    return await result;
  } finally {
    underWay.delete(keyDigest);
  }
};
/** The key of the commit that a load makes of its faulty records beside its own. */
export const rejectedRetry = (retry: Retry): Retry => ({ ...retry, key: digest(retry.key, 'rejected') });

const withTerms = (note: CommitNote, terms: CommitTerms): CommitNote =>
  Object.keys(terms).length > 0 ? { ...note, terms } : note;
const header = (headers: IncomingHttpHeaders, name: string): string => {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
};
/** The pool may be named by its id one time and by its name the next. */
const withoutPool = (url: string): string => url.replace(/^\/+pool\/[^/]*/, '');

const keyOf = (headers: IncomingHttpHeaders): string | undefined => {
  if (headers['idempotency-key'] === undefined) return undefined;
  const key = header(headers, 'idempotency-key');
  if (key === '' || key.length > keyCharactersMax)
    throw new LakeError('retry-key-invalid', { length: key.length, limit: keyCharactersMax });
  return key;
};

/** The condition on which a client wants what makes no commit under a key. @throws if-match-invalid */
export const tipTerms = (headers: IncomingHttpHeaders): TipTerms => {
  const ifTip = tipsOf(headers);
  return ifTip ? { ifTip } : {};
};
/** The tips that the client allows; undefined for any. Several lines are one list. */
const tipsOf = (headers: IncomingHttpHeaders): readonly Id[] | undefined => tipsIn(headers['if-match']?.trim());
/** Those that a text allows which is written like the header. @throws if-match-invalid */
export const tipsIn = (text: string | undefined): readonly Id[] | undefined => {
  if (text === undefined || text === '*') return undefined;
  return text.split(',').map((part) => {
    const id = parseId(/^"([^"]*)"$/.exec(part.trim())?.[1] ?? '');
    if (id === undefined) throw new LakeError('if-match-invalid', { value: text });
    return id;
  });
};
