/**
 * JSON Web Tokens of an issuer: RS256, ES256 or EdDSA by the issuer's published keys (issuer-keys.ts), never an
 * unsigned one nor one signed with a shared secret.
 *
 * - Addresses of keys in a token (`jku`, `x5u`) are not looked at.
 * - Times are seconds of this age: `exp` is asked for, a token from the future (`iat`, `nbf`) is refused.
 * - Roles come from one claim: a list of texts, or one text with spaces, each as in `parseGrant`; others are left out.
 *   Without any a token may do nothing.
 */
import { createHash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { IssuerKeys, type KeySet } from './issuer-keys.ts';
import { parseGrant, type Principal } from './roles.ts';

/** Milliseconds since 1970, and of a clock that never goes back. */
export interface Clock {
  readonly wallMs: () => number;
  readonly elapsedMs: () => number;
}
/** This machine's. */
export const systemClock: Clock = { wallMs: () => Date.now(), elapsedMs: () => performance.now() };

/** Whose tokens are taken. */
interface TokenRules {
  /** The issuer, with or without a slash at its end. */
  readonly issuer: string;
  readonly audience: string;
  /** URL or file of the issuer's keys. */
  readonly keysFrom: string;
  /** How old the keys may be that a token is held against. */
  readonly keysMs: number;
  /** The claim that lists the roles. */
  readonly rolesClaim: string;
  /** By so much the clocks may differ. */
  readonly skewSeconds: number;
  readonly clock?: Clock;
  /** Told when the issuer has other keys than before. */
  readonly keysChanged?: () => void;
}
/** Why a token is refused: for the log, not for the client; nothing in it is of the token. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
}

const algorithms = ['RS256', 'ES256', 'EdDSA', 'Ed25519'];
const tokenBytesMax = 16_384;
const namesMax = 256;
const verifiedMax = 1000;
/** The end of the year 9999. */
const secondsMax = 253_402_300_799;

/** Reads tokens of one issuer. */
export class Tokens {
  private readonly rules: TokenRules;
  private readonly clock: Clock;
  private readonly keys: IssuerKeys;

  constructor(rules: TokenRules) {
    const { keysFrom, keysMs, keysChanged, clock = systemClock } = rules;
    this.rules = rules;
    this.clock = clock;
    this.keys = new IssuerKeys({
      from: keysFrom,
      ttlMs: keysMs,
      elapsedMs: clock.elapsedMs,
      ...(keysChanged && { changed: keysChanged }),
    });
  }

  /**
   * A signature is checked once by the same keys; whether it has expired is for the caller. @throws TokenRefused,
   * KeysUnavailable
   */
  async principal(token: string): Promise<Principal> {
    if (token.length > tokenBytesMax) throw new TokenRefused('too long');
    checkForm(token);
    const keys = await this.keys.current();
    const digest = createHash('sha256').update(token).digest('base64');
    const known = keys.verified.get(digest);
    if (known) return known;
    const { by, principal } = await this.verified(token, keys);
    if (by.verified.size >= verifiedMax) by.verified.delete(by.verified.keys().next().value!);
    by.verified.set(digest, principal);
    return principal;
  }

  private async verified(
    token: string,
    current: KeySet,
  ): Promise<{ readonly by: KeySet; readonly principal: Principal }> {
    for (let by = current; ; ) {
      try {
        return { by, principal: await this.verify(token, by) };
      } catch (error) {
        // The issuer may have made its key since, or put another in its place.
        const isKeyFault =
          error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
        const other = isKeyFault ? await this.keys.other(by) : undefined;
        if (!other) throw refusal(error);
        by = other;
      }
    }
  }

  private async verify(token: string, { find }: KeySet): Promise<Principal> {
    const { issuer, audience, skewSeconds, rolesClaim } = this.rules;
    const bare = issuer.replace(/\/+$/, '');
    const nowMs = this.clock.wallMs();
    const { payload } = await jwtVerify(token, find, {
      algorithms,
      issuer: [bare, `${bare}/`],
      audience,
      clockTolerance: skewSeconds,
      requiredClaims: ['exp', 'sub'],
      currentDate: new Date(nowMs),
    });
    for (const name of ['exp', 'iat', 'nbf'] as const) checkSeconds(name, payload[name]);
    if (payload.iat !== undefined && payload.iat > nowMs / 1000 + skewSeconds)
      throw new TokenRefused('iat is in the future');
    if (typeof payload.sub !== 'string' || payload.sub === '') throw new TokenRefused('sub is no name');
    return {
      name: payload.sub.slice(0, namesMax),
      grants: grantsOf(payload, rolesClaim),
      expiresMs: (payload.exp! + skewSeconds) * 1000,
    };
  }
}

/** So that nobody asks the issuer for the sake of what is no token. @throws TokenRefused */
const checkForm = (token: string): void => {
  let algorithm: unknown;
  try {
    decodeJwt(token);
    algorithm = decodeProtectedHeader(token).alg;
  } catch (cause) {
    throw new TokenRefused('no token', { cause });
  }
  if (!algorithms.some((known) => known === algorithm)) throw new TokenRefused('its algorithm is not taken');
};

/** @throws TokenRefused for what is no time */
const checkSeconds = (name: string, value: unknown): void => {
  if (value === undefined || (typeof value === 'number' && value >= 0 && value <= secondsMax)) return;
  throw new TokenRefused(`${name} is no time`);
};

/** The library's texts may hold what the token holds: its codes do not. */
const refusal = (error: unknown): TokenRefused => {
  if (error instanceof TokenRefused) return error;
  const {
    code = 'ERR_TOKEN',
    claim,
    reason,
  } = error as { readonly code?: string; readonly claim?: string; readonly reason?: string };
  return new TokenRefused(
    [code, claim, reason].filter((text) => text !== undefined && text !== 'unspecified').join(' '),
    { cause: error },
  );
};

const grantsOf = (payload: JWTPayload, claim: string): Principal['grants'] => {
  const value = payload[claim];
  const texts = typeof value === 'string' ? value.split(/\s+/) : Array.isArray(value) ? value : [];
  return texts.flatMap((text) => (typeof text === 'string' ? (parseGrant(text) ?? []) : []));
};
