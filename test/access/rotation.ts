/**
 * Key rotation: a random sequence of an issuer's key sets, tokens and sessions beside a model, by a clock of its own.
 *
 * - No token of a key that was taken out at least `keysMs` ago is let in, nor a session that was opened by one.
 * - No token of a key that has been there for `againMs` is refused, nor its session, while the issuer's keys can be
 *   had.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { parseServe } from '../../src/config/serve.ts';
import { accessOf } from '../../src/http/access/access.ts';
import { againMs } from '../../src/http/access/issuer-keys.ts';
import { randomOf } from '../support/random.ts';

interface Key {
  readonly kid: string;
  readonly jwk: JWK;
  readonly privateKey: CryptoKey;
}
/** A token or a session's cookie, by the number of its key. */
interface Pass {
  readonly key: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly expiresMs: number;
}
/** Since when a key is there, or is not. */
interface Place {
  isThere: boolean;
  sinceMs: number;
}

const keysMs = 30_000;
const issuer = 'https://issuer.example';
const startMs = Date.UTC(2026, 0);
const keyCount = 5;
const skewMs = 30_000;

let made: Promise<readonly Key[]> | undefined;
/** Two keys of each two have one id: the one takes the other's place. */
const keysOf = (): Promise<readonly Key[]> =>
  (made ??= Promise.all(
    Array.from({ length: keyCount }, async (_, i): Promise<Key> => {
      const { publicKey, privateKey } = await generateKeyPair('EdDSA', { extractable: true });
      const kid = `key-${Math.floor(i / 2)}`;
      return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'EdDSA', use: 'sig' } };
    }),
  ));

/** Runs one sequence; counts what was asked. @throws Error for a verdict that the model does not know */
export const runRotation = async (
  folder: string,
  seed: number,
  steps = 60,
): Promise<Readonly<Record<string, number>>> => {
  const random = randomOf(seed);
  const keys = await keysOf();
  const file = join(folder, `keys-${seed}.json`);
  const counts = { asked: 0, 'let in': 0, refused: 0, 'key sets': 0 };
  const config = parseServe([
    '-auth.domain',
    issuer,
    '-auth.audience',
    'lake',
    '-auth.jwks',
    file,
    '-auth.jwks.ttl',
    `${keysMs}ms`,
    '-auth.session.ttl',
    '10m',
  ]);
  if ('help' in config) throw new Error('no flags of a service');
  let nowMs = 0;
  let brokenSinceMs: number | undefined;
  let brokenUntilMs = -Infinity;
  const access = accessOf({ auth: config.auth, clock: { wallMs: () => startMs + nowMs, elapsedMs: () => nowMs } })!;
  const places: Place[] = keys.map((_, i) => ({ isThere: i % 2 === 0, sinceMs: -Infinity }));
  const passes: Pass[] = [];
  const publish = (): void => {
    counts['key sets']++;
    const there = keys.filter((_, i) => places[i]!.isThere).map(({ jwk }) => jwk);
    // A file is replaced: who reads it meanwhile gets the one or the other.
    writeFileSync(`${file}.new`, brokenSinceMs === undefined ? JSON.stringify({ keys: there }) : '{');
    renameSync(`${file}.new`, file);
  };
  const put = (i: number, isThere: boolean): void => {
    if (places[i]!.isThere !== isThere) places[i] = { isThere, sinceMs: nowMs };
  };
  const turn = (): void => {
    const i = random.below(keyCount);
    const other = i ^ 1;
    put(i, !places[i]!.isThere);
    if (places[i]!.isThere && other < keyCount) put(other, false);
    publish();
  };
  const breakOrMend = (): void => {
    if (brokenSinceMs === undefined) brokenSinceMs = nowMs;
    else {
      brokenSinceMs = undefined;
      brokenUntilMs = nowMs;
    }
    publish();
  };
  const issue = async (): Promise<void> => {
    const key = random.below(keyCount);
    const { kid, privateKey } = keys[key]!;
    const seconds = Math.floor((startMs + nowMs) / 1000);
    const expires = seconds + 1 + random.below(400);
    const token = await new SignJWT({
      iss: issuer,
      aud: 'lake',
      sub: `user ${key}`,
      roles: ['reader'],
      iat: seconds,
      exp: expires,
    })
      .setProtectedHeader({ alg: 'EdDSA', kid })
      .sign(privateKey);
    passes.push({ key, headers: { authorization: `Bearer ${token}` }, expiresMs: expires * 1000 - startMs + skewMs });
  };
  const ask = async (pass: Pass): Promise<void> => {
    const { isThere, sinceMs } = places[pass.key]!;
    const name = `user ${pass.key}`;
    const here = `seed ${seed}, at ${nowMs} ms, ${name}`;
    const verdict = await access.identify(pass.headers).catch((error: unknown) => error as Error);
    const goneMs = isThere ? 0 : nowMs - sinceMs;
    const hadMs = isThere ? nowMs - sinceMs : 0;
    const isOver = pass.expiresMs <= nowMs;
    const isWell = brokenSinceMs === undefined && nowMs - brokenUntilMs >= againMs;
    counts.asked++;
    if (verdict instanceof Error) {
      counts.refused++;
      if (!isOver && isWell && hadMs >= againMs)
        throw new Error(`${here}: refused, though its key is there (${verdict.message})`);
      return;
    }
    counts['let in']++;
    const isTheirs = verdict.principal.name === name;
    if (isOver || goneMs >= keysMs || !isTheirs)
      throw new Error(`${here}: let in as ${verdict.principal.name}, ${goneMs} ms after its key went`);
    if (!verdict.byCookie && random.below(3) === 0) {
      const cookie = access.sessions.open(verdict.token, verdict.principal, false).split(';')[0]!;
      passes.push({
        key: pass.key,
        headers: { cookie },
        expiresMs: Math.min(pass.expiresMs, nowMs + config.auth.sessionMs),
      });
    }
  };
  publish();
  for (let step = 0; step < steps; step++) {
    nowMs += random.pick([0, 10, 500, 2000, 7000, 16_000, 31_000]);
    const kind = random.below(20);
    if (kind < 3) turn();
    else if (kind === 3) breakOrMend();
    else if (kind < 8 || passes.length === 0) await issue();
    else await ask(random.pick(passes));
  }
  for (const pass of passes) await ask(pass);
  return counts;
};
