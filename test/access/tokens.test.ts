/** JSON Web Tokens of an issuer, with real keys and a real server that publishes them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createServer, type Server } from 'node:http';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { base64url, type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { Tokens } from '../../src/http/access/tokens.ts';
import { startService, type TestService } from '../support/service/server.ts';

interface Signer {
  readonly kid: string;
  readonly algorithm: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}
const signer = async (kid: string, algorithm: string): Promise<Signer> => ({
  kid,
  algorithm,
  ...(await generateKeyPair(algorithm, { extractable: true })),
});
const published = async (signers: readonly Signer[]): Promise<string> =>
  JSON.stringify({
    keys: await Promise.all(
      signers.map(async ({ kid, algorithm, publicKey }) => ({
        ...(await exportJWK(publicKey)),
        kid,
        alg: algorithm,
        use: 'sig',
      })),
    ),
  });

const issuer = 'https://issuer.example';
const nowSeconds = (): number => Math.floor(Date.now() / 1000);
const claims = (more: JWTPayload = {}): JWTPayload => ({
  iss: `${issuer}/`,
  aud: 'lake',
  sub: 'ann',
  exp: nowSeconds() + 600,
  roles: ['reader'],
  ...more,
});
const signed = (
  { kid, algorithm, privateKey }: Signer,
  payload: JWTPayload,
  header: Readonly<Record<string, string>> = {},
): Promise<string> => new SignJWT(payload).setProtectedHeader({ alg: algorithm, kid, ...header }).sign(privateKey);

let keyServer: Server;
let service: TestService;
let rs: Signer;
let es: Signer;
let ed: Signer;
let rotated: Signer;
let stranger: Signer;
let answer: () => { readonly status: number; readonly body: string; readonly location?: string };
let asked = 0;
beforeAll(async () => {
  [rs, es, ed, rotated, stranger] = (await Promise.all([
    signer('rs', 'RS256'),
    signer('es', 'ES256'),
    signer('ed', 'EdDSA'),
    signer('rotated', 'RS256'),
    signer('rs', 'RS256'),
  ])) as [Signer, Signer, Signer, Signer, Signer];
  const keys = await published([rs, es, ed]);
  answer = () => ({ status: 200, body: keys });
  keyServer = createServer((_request, response) => {
    asked++;
    const { status, body, location } = answer();
    response
      .writeHead(status, { 'content-type': 'application/json', ...(location !== undefined && { location }) })
      .end(body);
  });
  await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve));
  service = await startService([
    '-auth.domain',
    issuer,
    '-auth.audience',
    'lake',
    '-auth.clientid',
    'console',
    '-auth.jwks',
    keysUrl(),
  ]);
});
afterAll(async () => {
  await service.close();
  keyServer.close();
});
const keysUrl = (): string => `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/keys`;
const identity = async (token: string): Promise<{ readonly status: number; readonly body: string }> =>
  service.ask('GET', '/auth/identity', { headers: { accept: 'application/json', authorization: `Bearer ${token}` } });
const refusal = '{"type":"Error","kind":"missing authentication credentials","error":"invalid token"}\n';

describe('tokens', () => {
  test('RS256, ES256 and EdDSA tokens of the issuer are taken, their keys fetched once', async () => {
    for (const by of [rs, es, ed])
      expect(JSON.parse((await identity(await signed(by, claims()))).body)).toMatchObject({
        user_id: 'ann',
        roles: ['reader'],
      });
    expect(asked).toBe(1);
  });

  test('clients are told how to log in', async () => {
    expect((await service.ask('GET', '/auth/method', { headers: { accept: 'application/json' } })).body).toBe(
      `{"kind":"auth0","auth0":{"audience":"lake","client_id":"console","domain":"${issuer}"}}\n`,
    );
  });

  test('a token that was not made by the issuer, for us, and for now is refused', async () => {
    const unsigned = `${base64url.encode('{"alg":"none"}')}.${base64url.encode(JSON.stringify(claims()))}.`;
    const head = `${base64url.encode('{"alg":"HS256","kid":"rs"}')}.${base64url.encode(JSON.stringify(claims()))}`;
    const withPublicKey = `${head}.${createHmac('sha256', await exportSPKI(rs.publicKey))
      .update(head)
      .digest('base64url')}`;
    const good = await signed(rs, claims());
    const [header, , signature] = good.split('.');
    const tokens = {
      unsigned,
      withPublicKey,
      'other issuer': await signed(rs, claims({ iss: 'https://other.example/' })),
      'other audience': await signed(rs, claims({ aud: 'mail' })),
      'no audience': await signed(rs, (({ aud: _aud, ...rest }) => rest)(claims())),
      expired: await signed(rs, claims({ exp: nowSeconds() - 60 })),
      'not yet': await signed(rs, claims({ nbf: nowSeconds() + 120 })),
      'no end': await signed(rs, (({ exp: _exp, ...rest }) => rest)(claims())),
      'no time': await signed(rs, claims({ exp: 1e300 })),
      'beyond the year 9999': await signed(rs, claims({ exp: 253_402_300_800 })),
      'made in the future': await signed(rs, claims({ iat: nowSeconds() + 120 })),
      'made at no time': await signed(rs, claims({ iat: -1e300 })),
      'not before no time': await signed(rs, claims({ nbf: -1 })),
      nobody: await signed(rs, (({ sub: _sub, ...rest }) => rest)(claims())),
      'key of a stranger': await signed(stranger, claims()),
      'keys of its own': await signed(stranger, claims(), { jku: keysUrl() }),
      'changed claims': `${header}.${base64url.encode(JSON.stringify(claims({ roles: ['admin'] })))}.${signature}`,
      'too long': await signed(rs, claims({ more: 'x'.repeat(20_000) })),
      RS512: await new SignJWT(claims())
        .setProtectedHeader({ alg: 'RS512', kid: 'rs' })
        .sign((await generateKeyPair('RS512')).privateKey),
    };
    for (const [what, token] of Object.entries(tokens)) {
      const { status, body } = await identity(token);
      expect({ what, status, body }).toEqual({ what, status: 401, body: refusal });
    }
  });

  test('clocks may differ by the option', async () => {
    const slightly = [
      { exp: nowSeconds() - 10 },
      { iat: nowSeconds() + 10 },
      { nbf: nowSeconds() + 10 },
      { exp: 253_402_300_799, iat: 0, nbf: 0 },
    ];
    for (const times of slightly) expect((await identity(await signed(rs, claims(times)))).status).toBe(200);
  });

  test('roles are a list or a text with spaces; what is none is left out; none at all may do nothing', async () => {
    const rolesOf = async (roles: unknown): Promise<unknown> =>
      (JSON.parse((await identity(await signed(es, claims({ roles })))).body) as { readonly roles: unknown }).roles;
    expect(await rolesOf('reader writer:a b')).toEqual(['reader', 'writer:a']);
    expect(await rolesOf(['owner', 5, 'admin:', 'writer:a:b', { admin: true }])).toEqual(['writer:a:b']);
    expect(await rolesOf(undefined)).toEqual([]);
    const answered = await service.ask('POST', '/pool', {
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${await signed(es, claims({ roles: undefined }))}`,
      },
      body: '{name:"x"}',
    });
    expect(answered.status).toBe(403);
  });

  test('a key that the issuer made later is found, an unknown one does not make us ask again and again', async () => {
    const tokens = new Tokens({
      issuer,
      audience: 'lake',
      keysFrom: keysUrl(),
      rolesClaim: 'roles',
      skewSeconds: 0,
      keysMs: 30_000,
    });
    await tokens.principal(await signed(rs, claims()));
    const before = asked;
    for (let i = 0; i < 20; i++) await expect(tokens.principal(await signed(rotated, claims()))).rejects.toThrow();
    expect(asked - before).toBeLessThanOrEqual(1);
    const keys = await published([rs, rotated]);
    answer = () => ({ status: 200, body: keys });
    expect(
      (
        await new Tokens({
          issuer,
          audience: 'lake',
          keysFrom: keysUrl(),
          rolesClaim: 'roles',
          skewSeconds: 0,
          keysMs: 30_000,
        }).principal(await signed(rotated, claims()))
      ).name,
    ).toBe('ann');
  });

  test("without the issuer's keys nobody is let in, and it is told as our trouble", async () => {
    const { answer: good } = { answer };
    for (const [body, status] of [
      ['', 500],
      ['no JSON', 200],
      ['{"keys":5}', 200],
    ] as const) {
      answer = () => ({ status, body });
      const tokens = new Tokens({
        issuer,
        audience: 'lake',
        keysFrom: keysUrl(),
        rolesClaim: 'roles',
        skewSeconds: 0,
        keysMs: 30_000,
      });
      await expect(tokens.principal(await signed(rs, claims()))).rejects.toMatchObject({ name: 'KeysUnavailable' });
    }
    answer = () => ({ status: 500, body: '' });
    const without = await startService(['-auth.domain', issuer, '-auth.audience', 'lake', '-auth.jwks', keysUrl()]);
    const answered = await without.ask('GET', '/auth/identity', {
      headers: { accept: 'application/json', authorization: `Bearer ${await signed(rs, claims())}` },
    });
    expect({ status: answered.status, body: answered.body }).toEqual({
      status: 503,
      body: '{"type":"Error","kind":"overloaded","error":"signing keys of the token issuer are temporarily unavailable"}\n',
    });
    await without.close();
    // A redirect leads to no other place than the one that was named.
    answer = () => ({ status: 302, body: '', location: 'http://169.254.169.254/latest/meta-data' });
    const tokens = new Tokens({
      issuer,
      audience: 'lake',
      keysFrom: keysUrl(),
      rolesClaim: 'roles',
      skewSeconds: 0,
      keysMs: 30_000,
    });
    await expect(tokens.principal(await signed(rs, claims()))).rejects.toThrow(/169\.254\.169\.254/);
    answer = good;
  });

  test('keys may come from a file', async () => {
    let elapsed = 0;
    const clock = { wallMs: () => Date.now(), elapsedMs: () => elapsed };
    const path = join(service.directory, 'issuer.json');
    const tokens = new Tokens({
      issuer,
      audience: 'lake',
      keysFrom: path,
      rolesClaim: 'roles',
      skewSeconds: 0,
      keysMs: 30_000,
      clock,
    });
    await expect(tokens.principal(await signed(es, claims()))).rejects.toMatchObject({ name: 'KeysUnavailable' });
    writeFileSync(path, await published([es]));
    await expect(tokens.principal(await signed(es, claims()))).rejects.toMatchObject({ name: 'KeysUnavailable' });
    elapsed = 1000;
    expect((await tokens.principal(await signed(es, claims()))).grants).toEqual([{ role: 'reader' }]);
  });
});
