/**
 * Access control: from a request's token to a principal, and from a route and a principal to yes or no.
 *
 * - A token is a local API key or a JSON Web Token, in `Authorization: Bearer`, or behind the session cookie of our own pages.
 * - Who may not read a pool does not learn that it is there: its name is not found. Who may read but not write it is told so (403).
 * - A request with a cookie must come from our own pages, whatever it asks for; one with a token in a header cannot come from a foreign page, which has none.
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LakeError } from '../../errors.ts';
import type { AuthConfig } from '../../config/serve.ts';
import { isKey, keyPrincipal, type KeyRing } from './keys.ts';
import { mayOnLake, mayOnPool, type PoolName, type Principal, type Role } from './roles.ts';
import { Sessions } from './sessions.ts';
import { KeysUnavailable, TokenRefused, Tokens } from './tokens.ts';

/** What a route asks for: `open` to everybody, `known` to everybody with a token, a role on the lake, or a role on the pool that its path names. */
export type Need = 'open' | 'known' | Role | `${Role} of pool`;

/** The access control of a service that has one. */
export interface Access {
  /** Who sends a request. @throws auth-missing, auth-invalid, auth-keys-unavailable */
  identify(headers: IncomingHttpHeaders): Promise<Identified>;
  readonly sessions: Sessions;
  /** Calls when keys were added or revoked. */
  onKeysChange(listener: () => void): void;
  /** Notes whose query a request id is. */
  owns(id: string, principal: Principal): void;
  /** Whether somebody may ask about a query: it is theirs, or they administer the lake. */
  mayAsk(id: string, principal: Principal): boolean;
}
/** Who sent a request and with which token. `byCookie`: the token is that of a session. */
export interface Identified { readonly principal: Principal; readonly token: string; readonly byCookie: boolean }

/** What access control is made of. `ring`: the lake's API keys, where the options ask for keys. */
interface AccessOptions {
  readonly auth: AuthConfig;
  readonly ring?: KeyRing;
  /** Told why a token was refused. */
  readonly refused?: (reason: string) => void;
}

/** Tokens whose signature is known to be right, and queries whose owner is known, at most. */
const cacheMax = 1000, ownersMax = 10_000;

/** The access control that the options ask for; undefined for none. */
export const accessOf = ({ auth, ring, refused }: AccessOptions): Access | undefined => {
  if (!auth.keys && auth.domain === '') return undefined;
  const tokens = auth.domain === '' ? undefined : new Tokens({ issuer: auth.domain, audience: auth.audience, keysFrom: auth.keysFrom, rolesClaim: auth.rolesClaim, skewSeconds: auth.skewMs / 1000 });
  const sessions = new Sessions(auth.sessionMs), checked = new Map<string, Principal>();

  /** A token's signature is checked once; its time each time. */
  const byToken = async (token: string): Promise<Principal> => {
    const key = createHash('sha256').update(token).digest('base64');
    let principal = checked.get(key);
    if (!principal) {
      principal = await tokens!.principal(token);
      if (checked.size >= cacheMax) checked.delete(checked.keys().next().value!);
      checked.set(key, principal);
    }
    return principal;
  };
  const owner = async (token: string): Promise<Principal> => {
    try {
      const principal = ring && isKey(token) ? keyPrincipal(token, ring) : tokens ? await byToken(token) : undefined;
      if (!principal) throw new TokenRefused('no such key');
      if (principal.expiresMs !== undefined && principal.expiresMs <= Date.now()) throw new TokenRefused('it has expired');
      return principal;
    } catch (error) {
      refused?.(error instanceof Error ? error.message : String(error));
      if (error instanceof KeysUnavailable) throw new LakeError('auth-keys-unavailable', {}, { cause: error });
      throw new LakeError('auth-invalid', {}, { cause: error });
    }
  };
  const owners = new Map<string, string>();
  return {
    sessions,
    onKeysChange: (listener) => { ring?.onChange?.(listener); },
    owns: (id, { name }) => {
      if (owners.size >= ownersMax) owners.delete(owners.keys().next().value!);
      owners.set(id, name);
    },
    mayAsk: (id, principal) => owners.get(id) === principal.name || mayOnLake(principal, 'admin'),
    identify: async ({ authorization, cookie }) => {
      if (authorization !== undefined) {
        const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
        if (token === undefined) throw new LakeError('auth-invalid');
        return { principal: await owner(token), token, byCookie: false };
      }
      const token = sessions.token(cookie);
      if (token === undefined) throw new LakeError('auth-missing');
      return { principal: await owner(token), token, byCookie: true };
    },
  };
};

/** Refuses what a principal may not do. `pool`: the one that the path names, if it is there. @throws auth-role, pool-not-found */
export const checkNeed = (need: Need, principal: Principal, pool: { readonly reference: string; readonly found: PoolName | undefined } | undefined): void => {
  if (need === 'open' || need === 'known') return;
  const [role, ofPool] = need.split(' ') as [Role, 'of'?];
  if (!ofPool) {
    if (!mayOnLake(principal, role)) throw new LakeError('auth-role', { name: principal.name, role, where: 'the lake' });
    return;
  }
  // A pool that is not there is for the handler to tell.
  if (!pool?.found) return;
  if (mayOnPool(principal, role, pool.found)) return;
  if (!mayOnPool(principal, 'reader', pool.found)) throw new LakeError('pool-not-found', { pool: pool.reference });
  throw new LakeError('auth-role', { name: principal.name, role, where: `pool ${pool.found.name}` });
};
