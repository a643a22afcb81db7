/**
 * Sessions of our own pages: a browser's EventSource and WebSocket cannot send a token, so a page changes its token for
 * a cookie once.
 *
 * - The cookie is HttpOnly and SameSite=Strict, holds 256 random bits, and is kept here as its hash. Sessions end with
 *   the service, with their token, or after `ttlMs`.
 * - The oldest ends when there are too many.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Principal } from './roles.ts';
import type { Clock } from './tokens.ts';

const cookieName = 'lake_session';
const sessionsMax = 10_000;

/** `until`: of `performance.now()`, which nobody sets; `expiresMs`: of the token, by the issuer's clock. */
interface Session {
  readonly token: string;
  readonly until: number;
  readonly expiresMs: number;
}

export class Sessions {
  private readonly ttlMs: number;
  private readonly openSessions = new Map<string, Session>();
  private readonly clock: Clock;
  constructor(ttlMs: number, clock: Clock) {
    this.ttlMs = ttlMs;
    this.clock = clock;
  }

  /** Opens one for the owner of a token; the value of `Set-Cookie`. `secure`: the page came by HTTPS. */
  open(token: string, { expiresMs = Infinity }: Principal, secure: boolean): string {
    const { wallMs, elapsedMs } = this.clock;
    const secret = randomBytes(32).toString('base64url');
    const leftMs = Math.min(this.ttlMs, expiresMs - wallMs());
    if (this.openSessions.size >= sessionsMax) this.openSessions.delete(this.openSessions.keys().next().value!);
    this.openSessions.set(keyOf(secret), { token, until: elapsedMs() + this.ttlMs, expiresMs });
    return cookie(secret, Math.max(0, Math.floor(leftMs / 1000)), secure);
  }
  /**
   * The token behind a request's cookie. It is checked again each time: a key that was revoked, here or at the issuer,
   * has no sessions.
   */
  token(cookies: string | undefined): string | undefined {
    const secret = secretOf(cookies);
    const session = secret === undefined ? undefined : this.openSessions.get(keyOf(secret));
    if (!session) return undefined;
    if (session.until > this.clock.elapsedMs() && session.expiresMs > this.clock.wallMs()) return session.token;
    this.openSessions.delete(keyOf(secret!));
    return undefined;
  }
  /** Ends the request's session; the value of `Set-Cookie` that removes its cookie. */
  close(cookies: string | undefined, secure: boolean): string {
    const secret = secretOf(cookies);
    if (secret !== undefined) this.openSessions.delete(keyOf(secret));
    return cookie('', 0, secure);
  }
}

const keyOf = (secret: string): string => createHash('sha256').update(secret).digest('base64');
const secretOf = (cookies: string | undefined): string | undefined =>
  cookies === undefined ? undefined : /(?:^|;\s*)lake_session=([^;\s]+)/.exec(cookies)?.[1];
const cookie = (value: string, seconds: number, secure: boolean): string =>
  `${cookieName}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
