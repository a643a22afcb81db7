/**
 * JSON Web Tokens of an issuer: RS256, ES256 or EdDSA by the issuer's published keys, never an unsigned one nor one signed with a shared secret.
 *
 * - Where the keys come from is the service's option alone: addresses in a token (`jku`, `x5u`) are not looked at. They are fetched as `from` fetches URLs: the address is pinned, redirects are checked.
 * - The keys are kept, and fetched again when a token names one that is not there, at most every 30 s.
 * - Roles come from one claim: a list of texts, or one text with spaces, each as in `parseGrant`; others are left out. Without any a token may do nothing.
 */
import { readFile } from 'node:fs/promises';
import { createLocalJWKSet, createRemoteJWKSet, customFetch, errors, type JSONWebKeySet, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { openUrl } from '../../workers/from-http.ts';
import { parseHttpRule } from '../../workers/from-policy.ts';
import { parseGrant, type Principal } from './roles.ts';

/** Whose tokens are taken. */
interface TokenRules {
  /** The issuer, with or without a slash at its end. */
  readonly issuer: string;
  readonly audience: string;
  /** URL or file of the issuer's keys. */
  readonly keysFrom: string;
  /** The claim that lists the roles. */
  readonly rolesClaim: string;
  /** By so much the clocks may differ. */
  readonly skewSeconds: number;
}
/** Why a token is refused: for the log, not for the client. */
export class TokenRefused extends Error { override readonly name = 'TokenRefused'; }
/** The issuer's keys could not be had: nobody's fault but ours or the issuer's. */
export class KeysUnavailable extends Error { override readonly name = 'KeysUnavailable'; }

const algorithms = ['RS256', 'ES256', 'EdDSA', 'Ed25519'];
const tokenBytesMax = 16_384, answerBytesMax = 1 << 20, fetchMsMax = 5_000, namesMax = 256;

/** Reads tokens of one issuer. */
export class Tokens {
  readonly #rules: TokenRules;
  readonly #keys: JWTVerifyGetKey;

  constructor(rules: TokenRules) {
    this.#rules = rules;
    this.#keys = /^https?:\/\//i.test(rules.keysFrom) ? remoteKeys(rules.keysFrom) : fileKeys(rules.keysFrom);
  }

  /** @throws TokenRefused, KeysUnavailable */
  async principal(token: string): Promise<Principal> {
    if (token.length > tokenBytesMax) throw new TokenRefused(`longer than ${tokenBytesMax} bytes`);
    const { issuer, audience, skewSeconds } = this.#rules, bare = issuer.replace(/\/+$/, '');
    const { payload } = await jwtVerify(token, this.#keys, { algorithms, issuer: [bare, `${bare}/`], audience, clockTolerance: skewSeconds, requiredClaims: ['exp', 'sub'] }).catch((error: unknown) => {
      if (error instanceof KeysUnavailable || error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) throw new KeysUnavailable(error.message, { cause: error });
      throw new TokenRefused(error instanceof Error ? error.message : String(error), { cause: error });
    });
    return { name: payload.sub!.slice(0, namesMax), grants: grantsOf(payload, this.#rules.rolesClaim), expiresMs: (payload.exp! + skewSeconds) * 1000 };
  }
}

const grantsOf = (payload: JWTPayload, claim: string): Principal['grants'] => {
  const value = payload[claim], texts = typeof value === 'string' ? value.split(/\s+/) : Array.isArray(value) ? value : [];
  return texts.flatMap((text) => (typeof text === 'string' ? parseGrant(text) ?? [] : []));
};

/** Read once, when the first token comes; read again while it fails. */
const fileKeys = (path: string): JWTVerifyGetKey => {
  let keys: Promise<JWTVerifyGetKey> | undefined;
  const read = async (): Promise<JWTVerifyGetKey> => createLocalJWKSet(JSON.parse(await readFile(path, 'utf8')) as JSONWebKeySet);
  return async (header, token) => {
    const found = await (keys ??= read()).catch((cause: unknown) => {
      keys = undefined;
      throw new KeysUnavailable(`${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    });
    return found(header, token);
  };
};

const remoteKeys = (address: string): JWTVerifyGetKey => {
  const rule = parseHttpRule(address.replace(/[?#].*$/s, '')), policy = { rules: rule ? [rule] : [], bytesMax: answerBytesMax, waitMsMax: fetchMsMax };
  const fetchKeys = async (url: string): Promise<Response> => {
    try {
      const answer = await openUrl({ url }, { policy }), pieces: Uint8Array[] = [];
      for await (const piece of answer.bytes) pieces.push(piece);
      const text = Buffer.concat(pieces).toString();
      JSON.parse(text);
      return new Response(text, { status: 200 });
    } catch (cause) {
      throw new KeysUnavailable(cause instanceof Error ? cause.message : String(cause), { cause });
    }
  };
  return createRemoteJWKSet(new URL(address), { timeoutDuration: fetchMsMax, cooldownDuration: 30_000, [customFetch]: fetchKeys });
};
