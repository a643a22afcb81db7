/**
 * The terms on which a client wants a commit: `If-Match`, the tip that it knows, and `Idempotency-Key`, under which the request may be sent again.
 *
 * - The same key of the same caller on the same pool is the same commit, once, over restarts, for as long as option -retry.keep says. A request that comes while the first one is
 *   under way waits for it. One that failed made no commit: the next one is tried as if it were the first.
 * - A key that named another request is refused (422, as in the IETF draft "The Idempotency-Key HTTP Header Field"). Bodies are not compared.
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LakeError } from '../errors.ts';
import { base62, parseId } from '../lake/ksuid.ts';
import type { CommitNote, CommitTerms, Id, Lake } from '../lake/lake.types.ts';
import type { Call } from './route.ts';

const keyCharactersMax = 255;
const digest = (...parts: readonly string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/** Commits that are under way, by the digest of their key. */
export type UnderWay = Map<string, { readonly request: string; readonly commit: Promise<Id> }>;

/** The commit that a request makes, or made when it came before. `make` is given the note with the terms. */
export const commitOnce = async (call: Pick<Call<{ readonly pool: string; readonly branch: string }>, 'service' | 'request' | 'params' | 'who'>, note: CommitNote, make: (note: CommitNote) => Promise<Id>): Promise<Id> => {
  const { service: { lake, underWay }, request, params, who } = call;
  const ifTip = tipsOf(request.headers), key = keyOf(request.headers);
  if (key === undefined) {
    if (ifTip) checkNow(lake, params, ifTip);
    return make(withTerms(note, ifTip && { ifTip }));
  }
  const pool = lake.pool(params.pool).config.id, retry = { key: digest(pool, who?.name ?? '', key), request: digest(request.method, withoutPool(request.originalUrl), header(request.headers, 'superdb-commit')) };
  for (;;) {
    const before = made(lake, underWay, retry.key);
    if (!before) break;
    if (before.request !== retry.request) throw new LakeError('retry-key-reused', { key });
    const commit = await Promise.resolve(before.commit).catch(() => undefined);
    if (commit !== undefined) return commit;
  }
  const commit = make(withTerms(note, { retry, ...(ifTip && { ifTip }) }));
  underWay.set(retry.key, { request: retry.request, commit });
  try {
    return await commit;
  } finally {
    underWay.delete(retry.key);
  }
};
const made = (lake: Lake, underWay: UnderWay, key: string): { readonly request: string; readonly commit: Id | Promise<Id> } | undefined => underWay.get(key) ?? lake.retried(key);

/** So that nobody sends a long body for nothing; it is checked again when the commit is made. @throws tip-moved, branch-not-found */
const checkNow = (lake: Lake, { pool, branch }: { readonly pool: string; readonly branch: string }, ifTip: readonly Id[]): void => {
  const { commit } = lake.pool(pool).branch(branch);
  if (!ifTip.includes(commit)) throw new LakeError('tip-moved', { tip: base62(commit) }, { details: { commit: `0x${commit}` } });
};

const withTerms = (note: CommitNote, terms: CommitTerms | undefined): CommitNote => (terms ? { ...note, terms } : note);
const header = (headers: IncomingHttpHeaders, name: string): string => {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
};
/** The pool may be named by its id one time and by its name the next. */
const withoutPool = (url: string): string => url.replace(/^\/+pool\/[^/]*/, '');

const keyOf = (headers: IncomingHttpHeaders): string | undefined => {
  if (headers['idempotency-key'] === undefined) return undefined;
  const key = header(headers, 'idempotency-key');
  if (key === '' || key.length > keyCharactersMax) throw new LakeError('retry-key-invalid', { length: key.length, limit: keyCharactersMax });
  return key;
};

/** The tips that the client allows; undefined for any. */
const tipsOf = (headers: IncomingHttpHeaders): readonly Id[] | undefined => {
  const text = header(headers, 'if-match').trim();
  if (text === '' || text === '*') return undefined;
  return text.split(',').map((part) => {
    const id = parseId(/^"([^"]*)"$/.exec(part.trim())?.[1] ?? '');
    if (id === undefined) throw new LakeError('if-match-invalid', { value: text });
    return id;
  });
};
