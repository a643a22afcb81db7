/** Who the reader is and what they may do; the client that all parts of the console use. */
import { computed, signal } from '@preact/signals';
import { connect, type Lake, LakeFailure, type PoolInfo } from '../../src/client/client.ts';
import { failureOf } from '../../src/client/failure.ts';
import { faultText } from './text.ts';

/** What somebody may do; each includes those before it. */
type Role = 'reader' | 'writer' | 'admin';
const roles: readonly Role[] = ['reader', 'writer', 'admin'];

/** `open`: there is no access control. */
type Session =
  | { readonly kind: 'starting' }
  | { readonly kind: 'unreachable'; readonly fault: string }
  | { readonly kind: 'login'; readonly fault?: string }
  | { readonly kind: 'open' }
  | { readonly kind: 'in'; readonly name: string; readonly grants: readonly string[] };
/** The session as it stands; `starting` until the service was asked. */
export const session = signal<Session>({ kind: 'starting' });
/** The service's version; empty until it is known. */
export const version = signal('');
/** Whether pages may be shown. */
export const inside = computed(() => session.value.kind === 'open' || session.value.kind === 'in');

/** Address of the service, without a slash at its end. */
export const base = new URL('.', location.href).href.replace(/\/+$/, '');

const watched: typeof fetch = async (input, init) => {
  const { value: asker } = session;
  const response = await fetch(input, init);
  // A session that ended while the page was open: its own, for an answer may come late, when somebody else has signed
  // in.
  if (response.status === 401 && asker.kind === 'in' && session.value === asker)
    session.value = { kind: 'login', fault: 'The session has ended.' };
  return response;
};
/** The client of this page, with its session's cookie. An answer 401 ends the session. */
export const client: Lake = connect(base, { fetch: watched });

/** Sends a request that the client has no method for. `path` and `query` are not escaped. @throws LakeFailure */
export const send = async (
  method: 'GET' | 'POST',
  path: readonly string[],
  {
    query = {},
    ...init
  }: {
    readonly query?: Readonly<Record<string, string>>;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | Blob;
    readonly signal?: AbortSignal;
  },
): Promise<Response> => {
  const search = new URLSearchParams(query).toString();
  const response = await watched(`${base}/${path.map(encodeURIComponent).join('/')}${search && `?${search}`}`, {
    method,
    ...init,
  });
  if (!response.ok) throw await failureOf(response);
  return response;
};
/** Asks the service for what its client has no method for. @throws LakeFailure */
export const ask = async <T = undefined>(method: 'GET' | 'PUT', path: string, body?: unknown): Promise<T> => {
  const response = await watched(base + path, {
    method,
    headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw await failureOf(response);
  return (response.status === 204 ? undefined : await response.json()) as T;
};

/** Whether somebody may do it: on a pool, or on the lake as a whole. */
export const may = (role: Role, pool?: Pick<PoolInfo, 'id' | 'name'>): boolean => {
  const { value } = session;
  if (value.kind !== 'in') return value.kind === 'open';
  return value.grants.some((grant) => {
    const colon = grant.indexOf(':');
    const held = (colon < 0 ? grant : grant.slice(0, colon)) as Role;
    const on = colon < 0 ? undefined : grant.slice(colon + 1);
    if (roles.indexOf(held) < roles.indexOf(role)) return false;
    return on === undefined || (pool !== undefined && (on === pool.name || on.toLowerCase() === pool.id));
  });
};

/** Finds out whether one has to log in. */
export const startSession = async (): Promise<void> => {
  try {
    const { kind } = await client.authMethod();
    version.value = await client.version();
    session.value = kind === '' ? { kind: 'open' } : await identity();
  } catch (error) {
    session.value = { kind: 'unreachable', fault: faultText(error) };
  }
};
const identity = async (): Promise<Session> => {
  try {
    const { name, grants } = await client.identity();
    return { kind: 'in', name, grants };
  } catch (error) {
    if (error instanceof LakeFailure && error.status === 401) return { kind: 'login' };
    throw error;
  }
};

/** Changes a key or token for a session cookie. */
export const signIn = async (token: string): Promise<void> => {
  try {
    await connect(base, { token }).openSession();
    session.value = await identity();
  } catch (error) {
    session.value = { kind: 'login', fault: faultText(error) };
  }
};
/** Ends the session, here and in the service. */
export const signOut = async (): Promise<void> => {
  await client.closeSession().catch(() => undefined);
  session.value = { kind: 'login' };
};
