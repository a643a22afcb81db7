/**
 * Access control: from a request's token to a principal, and from a route and a principal to yes or no.
 *
 * - A token is a local API key or a JSON Web Token, in `Authorization: Bearer`, as a shipper's password or key, or behind
 *   the session cookie of our own pages.
 * - Who may not read a pool does not learn that it is there: its name is not found. Who may read but not write it is
 *   told so (403).
 * - A cookie counts for our own pages, and for those of origins that an option names.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { LakeError } from '../../errors.ts';
import type { AuthConfig } from '../../config/serve.ts';
import type { PoolConfig } from '../../lake/lake.types.ts';
import type { LakeServices } from '../../workers/pool.types.ts';
import { KeysUnavailable } from './issuer-keys.ts';
import { isKey, keyPrincipal, type KeyRing } from './keys.ts';
import { Rechecks } from './rechecks.ts';
import { mayOnLake, mayOnPool, type PoolName, type Principal, type Role } from './roles.ts';
import { Sessions } from './sessions.ts';
import { type Clock, systemClock, TokenRefused, Tokens } from './tokens.ts';

/**
 * What a route asks for: `open` to everybody, `known` to everybody with a token, a role on the lake, or a role on the
 * pool that its path names.
 */
export type Need = 'open' | 'known' | Role | `${Role} of pool`;

/** The access control of a service that has one. */
export interface Access {
  /** Who sends a request. @throws auth-missing, auth-invalid, auth-keys-unavailable */
  identify(headers: IncomingHttpHeaders): Promise<Identified>;
  readonly sessions: Sessions;
  /**
   * Calls when keys were added or revoked, here or at the issuer, and otherwise twice in `-auth.jwks.ttl`: time to look
   * again whether who is still connected may be. Returns the call that ends it.
   */
  onRecheck(listener: () => void): () => void;
}
/** Who sent a request and with which token. `byCookie`: the token is that of a session. */
export interface Identified {
  readonly principal: Principal;
  readonly token: string;
  readonly byCookie: boolean;
}

/** What access control is made of. `ring`: the lake's API keys, where the options ask for keys. */
interface AccessOptions {
  readonly auth: AuthConfig;
  readonly ring?: KeyRing;
  /** Told why a token was refused. */
  readonly refused?: (reason: unknown) => void;
  readonly clock?: Clock;
}

/** The access control that the options ask for; undefined for none. */
export const accessOf = ({ auth, ring, refused, clock = systemClock }: AccessOptions): Access | undefined => {
  if (!auth.keys && auth.domain === '') return undefined;
  // Twice in that time: a look fetches keys that are half as old.
  const rechecks = new Rechecks(auth.keysMs / 2);
  const sessions = new Sessions(auth.sessionMs, clock);
  ring?.onChange?.(() => {
    rechecks.tell();
  });
  const tokens =
    auth.domain === ''
      ? undefined
      : new Tokens({
          issuer: auth.domain,
          audience: auth.audience,
          keysFrom: auth.keysFrom,
          keysMs: auth.keysMs,
          rolesClaim: auth.rolesClaim,
          skewSeconds: auth.skewMs / 1000,
          clock,
          keysChanged: () => {
            rechecks.tell();
          },
        });
  const owner = async (token: string): Promise<Principal> => {
    try {
      const principal =
        ring && isKey(token) ? keyPrincipal(token, ring) : tokens ? await tokens.principal(token) : undefined;
      if (!principal) throw new TokenRefused('no such key');
      if (principal.expiresMs !== undefined && principal.expiresMs <= clock.wallMs())
        throw new TokenRefused('it has expired');
      return principal;
    } catch (error) {
      refused?.(error);
      if (error instanceof KeysUnavailable) throw new LakeError('auth-keys-unavailable', {}, { cause: error });
      throw new LakeError('auth-invalid', {}, { cause: error });
    }
  };
  return {
    sessions,
    onRecheck: (listener) => rechecks.add(listener),
    identify: async ({ authorization, cookie }) => {
      if (authorization !== undefined) {
        const token = tokenOf(authorization);
        if (token === undefined) throw new LakeError('auth-invalid');
        return { principal: await owner(token), token, byCookie: false };
      }
      const token = sessions.token(cookie);
      if (token === undefined) throw new LakeError('auth-missing');
      return { principal: await owner(token), token, byCookie: true };
    },
  };
};

/**
 * The token of an Authorization header. Programs that ship logs have it as a password, whatever the name beside it, or
 * as the key of a service that they know: Elasticsearch's `ApiKey`, with an id before it and in base 64, and `Splunk`.
 */
const tokenOf = (authorization: string): string | undefined => {
  const [, scheme, text] = /^(Bearer|Basic|ApiKey|Splunk) +(\S+)$/i.exec(authorization) ?? [];
  if (scheme === undefined || text === undefined) return undefined;
  if (/^(bearer|splunk)$/i.test(scheme)) return text;
  const pair = Buffer.from(text, 'base64').toString('latin1');
  const token = /^[^:]*:(\S+)$/.exec(pair)?.[1];
  if (!/^apikey$/i.test(scheme)) return token;
  // A key alone is base 64 too: of random bytes, of which one in eight keys has a colon, but none is text.
  return token !== undefined && /^[\x20-\x7e]+$/.test(pair) ? token : text;
};

/**
 * What somebody may not do: the role that they lack, on the lake, or on a pool that is there. `token`: they are nobody;
 * `host`, `origin`: they came the wrong way.
 */
export interface Refusal {
  readonly lacks: Role | 'token' | 'host' | 'origin';
  readonly pool?: string;
}

/** The pool that a path names, if it is there. */
interface NamedPool {
  readonly reference: string;
  readonly found: PoolName | undefined;
}

/**
 * Refuses what a principal may not do; `refused` is told what they lack.
 * @throws auth-role, pool-not-found
 */
export const checkNeed = (
  need: Need,
  principal: Principal,
  pool: NamedPool | undefined,
  refused?: (refusal: Refusal) => void,
): void => {
  if (need === 'open' || need === 'known') return;
  const [role, ofPool] = need.split(' ') as [Role, 'of'?];
  const { name } = principal;
  if (!ofPool) {
    if (mayOnLake(principal, role)) return;
    refused?.({ lacks: role });
    throw new LakeError('auth-role', { name, role, where: 'the lake' });
  }
  // Who may not read it gets the same from the same place.
  const { reference, found } = pool!;
  if (found && mayOnPool(principal, role, found)) return;
  const isReadable = found && mayOnPool(principal, 'reader', found);
  if (found) refused?.({ lacks: isReadable ? role : 'reader', pool: found.id });
  if (!isReadable) throw new LakeError('pool-not-found', { pool: reference });
  throw new LakeError('auth-role', { name, role, where: `pool ${found.name}` });
};

/** The pool that a reference names; undefined if there is none. */
export const poolNamed = (lake: Pick<LakeServices, 'pool'>, reference: string): PoolConfig | undefined => {
  try {
    return lake.pool(reference).config;
  } catch (error) {
    if (error instanceof LakeError && error.code === 'pool-not-found') return undefined;
    throw error;
  }
};
