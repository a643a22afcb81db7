/** Who may read which table, by keys, by tokens that were exchanged for them, and by the credentials of files. */
import { rm } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../support/service/server.ts';
import { eventsId, folderCatalogue, moviesId } from './folder-catalogue.ts';
import { signedHeaders, type Signer } from './sign.ts';
import {
  bearer,
  credentialsOf,
  errorOf,
  type IcebergTest,
  type Json,
  type JsonAnswer,
  lakeKey,
  startIceberg,
  tablePath,
} from './support.ts';

let iceberg: IcebergTest;
const files = new Map<string, string>();
beforeAll(async () => {
  iceberg = await startIceberg({
    keys: {
      all: ['reader'],
      writer: ['writer:events'],
      movies: ['reader:movies'],
      byId: [`reader:0x${'0'.repeat(40)}`, 'reader:events'],
      nothing: ['reader:no such pool'],
      brief: ['reader'],
    },
    flags: ['-audit', '/dev/null'],
  });
  for (const id of [eventsId, moviesId]) files.set(id, (await folderCatalogue().list(`${id}/`, { max: 1 }))[0]!.path);
});
afterAll(async () => {
  await iceberg.close();
});

const key = (name: string): string => iceberg.keys[name]!;
const get = (path: string, token?: string): Promise<JsonAnswer> =>
  iceberg.json('GET', `/iceberg/v1/${path}`, token === undefined ? {} : bearer(token));
const tablesOf = async (token: string): Promise<readonly string[]> =>
  ((await get('namespaces/lake/tables', token)).value['identifiers'] ?? []).map((each) => each['name']!);
const exchange = async (
  fields: Readonly<Record<string, string>> | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonAnswer> => {
  const answer = await iceberg.service.ask('POST', '/iceberg/v1/oauth/tokens', {
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: typeof fields === 'string' ? fields : new URLSearchParams(fields).toString(),
  });
  return { ...answer, value: JSON.parse(answer.body) as Json };
};
const token = async (fields: Readonly<Record<string, string>>): Promise<string> =>
  (await exchange({ grant_type: 'client_credentials', ...fields })).value['access_token']!;
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});
const fileBy = (signer: Signer, id: string): Promise<Answer> => {
  const path = `/s3/lake/${files.get(id)!}`;
  return iceberg.service.ask('GET', path, { headers: signedHeaders(iceberg.service.url + path, signer) });
};
const codeOf = ({ status, body }: Answer): string => `${status} ${/<Code>(\w+)<\/Code>/.exec(body)?.[1]}`;

describe('the catalogue', () => {
  test('is for who has a key', async () => {
    for (const authorization of [
      'Bearer None',
      'Bearer',
      'Bearer lake_000000000000_x',
      'Basic YTpi',
      'Bearer sealed_x',
    ])
      for (const path of ['config', 'namespaces', 'namespaces/lake/tables/events']) {
        const answer = await iceberg.json('GET', `/iceberg/v1/${path}`, { authorization });
        expect([authorization, errorOf(answer)]).toEqual([authorization, '401 NotAuthorizedException 401']);
        expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      }
    expect(errorOf(await get('config'))).toBe('401 NotAuthorizedException 401');
    // What nobody may do is not told before that.
    expect(errorOf(await iceberg.json('POST', '/iceberg/v1/namespaces/lake/tables'))).toBe(
      '401 NotAuthorizedException 401',
    );
    expect((await get('config', key('nothing'))).status).toBe(200);
  });

  test('has the tables that one may read, and no others', async () => {
    expect(await tablesOf(key('all'))).toEqual(['events', 'movies']);
    expect(await tablesOf(key('writer'))).toEqual(['events']);
    expect(await tablesOf(key('movies'))).toEqual(['movies']);
    expect(await tablesOf(key('byId'))).toEqual(['events']);
    expect(await tablesOf(key('nothing'))).toEqual([]);
    const hidden = await iceberg.json('GET', tablePath('events'), bearer(key('movies')));
    const missing = await iceberg.json('GET', tablePath('evenings'), bearer(key('movies')));
    expect(hidden.body.replace('events', 'evenings')).toBe(missing.body);
    expect(errorOf(hidden)).toBe('404 NoSuchTableException 404');
    expect((await iceberg.service.ask('HEAD', tablePath('events'), { headers: bearer(key('movies')) })).status).toBe(
      404,
    );
    // A name that is of several pools for somebody else is of one for who sees one.
    iceberg.catalogue.tablesNow.push({ pool: 'x', name: 'EVENTS' }, { pool: 'y', name: 'Events' });
    expect((await iceberg.json('GET', tablePath('eVents'), bearer(key('byId')))).status).toBe(200);
    expect((await iceberg.json('GET', tablePath('eVents'), bearer(key('all')))).status).toBe(404);
    iceberg.catalogue.tablesNow.splice(2);
    // A writer does not write here either.
    expect(errorOf(await iceberg.json('DELETE', tablePath('events'), bearer(key('writer'))))).toBe(
      '403 ForbiddenException 403',
    );
  });

  test('has an ETag for each who asks', async () => {
    const headers = bearer(key('all'));
    const etag = (await iceberg.json('GET', tablePath('events'), headers)).headers.get('etag')!;
    const status = async (who: string): Promise<number> =>
      (await iceberg.json('GET', tablePath('events'), { ...bearer(key(who)), 'if-none-match': etag })).status;
    expect([await status('all'), await status('writer'), await status('movies')]).toEqual([304, 200, 404]);
  });
});

describe('tokens', () => {
  test('are given for a key in the body, by its parts, or by HTTP Basic', async () => {
    const [, id, secret] = /^lake_([^_]+)_(.*)$/.exec(key('movies'))! as unknown as [string, string, string];
    const grant = { grant_type: 'client_credentials' };
    const bodies = [
      await exchange({ ...grant, client_secret: key('movies') }),
      await exchange({ ...grant, client_id: 'me', client_secret: key('movies'), scope: 'catalog' }),
      await exchange({ ...grant, client_id: id, client_secret: secret, scope: 'PRINCIPAL_ROLE:ALL' }),
      await exchange({ ...grant, client_id: `lake_${id}`, client_secret: secret }),
      await exchange({ ...grant, scope: 'catalog' }, basic(id, secret)),
      await exchange(grant, basic('anybody', key('movies'))),
    ];
    for (const { status, value, headers } of bodies) {
      expect([status, value['token_type'], headers.get('cache-control')]).toEqual([200, 'bearer', 'no-store']);
      expect(value['expires_in']).toBe(3600);
      expect(await tablesOf(value['access_token']!)).toEqual(['movies']);
    }
    expect(bodies[2]!.value['scope']).toBe('PRINCIPAL_ROLE:ALL');
  });

  test('are for some tables where the scope says so, and for no more afterwards', async () => {
    const narrow = await token({ client_secret: key('all'), scope: 'pool:movies' });
    expect(await tablesOf(narrow)).toEqual(['movies']);
    expect(errorOf(await iceberg.json('GET', tablePath('events'), bearer(narrow)))).toBe(
      '404 NoSuchTableException 404',
    );
    expect(await tablesOf(await token({ client_secret: key('all'), scope: 'pool:movies pool:events' }))).toEqual([
      'events',
      'movies',
    ]);
    const exchanged = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: narrow,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    };
    expect(await tablesOf((await exchange({ ...exchanged, scope: 'catalog' })).value['access_token']!)).toEqual([
      'movies',
    ]);
    const wider = await exchange({ ...exchanged, scope: 'pool:events' });
    expect([wider.status, wider.value['error']]).toEqual([400, 'invalid_scope']);
    for (const scope of ['pool:none', 'pools:movies', 'admin'])
      expect(
        (await exchange({ grant_type: 'client_credentials', client_secret: key('all'), scope })).value,
      ).toMatchObject({
        error: 'invalid_scope',
        error_description: expect.stringContaining(scope),
      });
  });

  test('are exchanged for new ones, until they end', async () => {
    const first = await token({ client_secret: key('all') });
    const fields = { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', subject_token: first };
    iceberg.clock.aheadMs = 3_000_000;
    const second = (await exchange(fields)).value['access_token']!;
    iceberg.clock.aheadMs = 4_000_000;
    expect(errorOf(await get('config', first))).toBe('401 NotAuthorizedException 401');
    expect((await get('config', second)).status).toBe(200);
    expect((await exchange(fields)).value['error']).toBe('invalid_client');
    // Java's clients show their key beside a token that has ended.
    const [, id, secret] = /^lake_([^_]+)_(.*)$/.exec(key('all'))! as unknown as [string, string, string];
    expect((await exchange(fields, basic(id, secret))).status).toBe(200);
    iceberg.clock.aheadMs = 0;
  });

  test.each([
    ['', 400, 'unsupported_grant_type'],
    ['grant_type=password&client_secret=x', 400, 'unsupported_grant_type'],
    ['grant_type=client_credentials', 400, 'invalid_request'],
    ['grant_type=client_credentials&client_secret=', 400, 'invalid_request'],
    ['grant_type=client_credentials&client_secret=wrong', 401, 'invalid_client'],
    ['grant_type=client_credentials&client_secret=a%20b', 401, 'invalid_client'],
    ['grant_type=client_credentials&client_secret=sealed_x', 401, 'invalid_client'],
    ['grant_type=client_credentials&client_secret=a&client_secret=b', 400, 'invalid_request'],
    ['grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange', 400, 'invalid_request'],
  ])('%s gives none', async (body, status, error) => {
    const answer = await exchange(body);
    expect([answer.status, answer.value]).toMatchObject([status, { error, error_description: expect.any(String) }]);
  });

  test('are asked for by a form, of bounded size', async () => {
    const json = await exchange('{}', { 'content-type': 'application/json' });
    expect([json.status, json.value['error']]).toEqual([400, 'invalid_request']);
    const long = await exchange(`grant_type=${'x'.repeat(100_000)}`);
    expect([long.status, long.value['error']]).toEqual([413, 'invalid_request']);
    expect((await exchange('x', { origin: 'http://evil.example' })).status).toBe(403);
  });

  test('are of use in the catalogue alone', async () => {
    const sealed = await token({ client_secret: key('all') });
    const { status } = await iceberg.service.ask('GET', '/auth/identity', { headers: bearer(sealed) });
    expect(status).toBe(401);
    const { sessionToken } = await credentialsOf(iceberg, 'events', bearer(key('all')));
    expect((await get('config', sessionToken)).status).toBe(401);
  });
});

describe('files', () => {
  test('are for who has credentials, and those of their table', async () => {
    const path = `/s3/lake/${files.get(eventsId)!}`;
    expect(codeOf(await iceberg.service.ask('GET', path))).toBe('403 AccessDenied');
    expect(codeOf(await iceberg.service.ask('GET', path, { headers: bearer(key('all')) }))).toBe('403 AccessDenied');
    expect(codeOf(await iceberg.service.ask('GET', '/s3/lake?list-type=2'))).toBe('403 AccessDenied');
    expect(codeOf(await iceberg.service.ask('GET', '/s3/nowhere/x'))).toBe('403 AccessDenied');
    const stranger = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'x' };
    expect(codeOf(await fileBy(stranger, eventsId))).toBe('403 InvalidAccessKeyId');
    const events = await credentialsOf(iceberg, 'events', bearer(key('all')));
    expect(codeOf(await fileBy(events, eventsId))).toBe('200 undefined');
    expect(codeOf(await fileBy(events, moviesId))).toBe('403 AccessDenied');
    const movies = await credentialsOf(iceberg, 'movies', bearer(await token({ client_secret: key('movies') })));
    expect(codeOf(await fileBy(movies, moviesId))).toBe('200 undefined');
  });

  test('end with the key that they were given for, with its rights, and with the table', async () => {
    const text = await lakeKey(iceberg.directory, 'add', '-role', 'reader:events', 'going');
    const id = text.split('_')[1]!;
    const going = await credentialsOf(iceberg, 'events', bearer(text));
    const sealed = await token({ client_secret: text });
    expect(codeOf(await fileBy(going, eventsId))).toBe('200 undefined');
    const [events, ...others] = iceberg.catalogue.tablesNow;
    iceberg.catalogue.tablesNow = [{ ...events!, name: 'renamed' }, ...others];
    expect(codeOf(await fileBy(going, eventsId))).toBe('403 AccessDenied');
    iceberg.catalogue.tablesNow = others;
    expect(codeOf(await fileBy(going, eventsId))).toBe('403 AccessDenied');
    iceberg.catalogue.tablesNow = [events!, ...others];
    expect(codeOf(await fileBy(going, eventsId))).toBe('200 undefined');
    await lakeKey(iceberg.directory, 'revoke', id);
    await expect.poll(async () => codeOf(await fileBy(going, eventsId)), { timeout: 30_000 }).toBe('401 AccessDenied');
    expect((await get('config', sealed)).status).toBe(401);
  });

  test('end with a key that expires sooner than they would', async () => {
    const text = await lakeKey(iceberg.directory, 'add', '-role', 'reader', '-ttl', '30m', 'half');
    const { value } = await iceberg.json('GET', tablePath('events'), bearer(text));
    const leftMs = Number(value['config']!['s3.session-token-expires-at-ms']) - Date.now();
    expect(leftMs).toBeGreaterThan(1_700_000);
    expect(leftMs).toBeLessThanOrEqual(1_800_000);
    expect(
      Number((await exchange({ grant_type: 'client_credentials', client_secret: text })).value['expires_in']),
    ).toBeLessThanOrEqual(1800);
  });

  test('credentials and tokens show no key', async () => {
    const { sessionToken, accessKeyId, secretAccessKey } = await credentialsOf(iceberg, 'events', bearer(key('all')));
    const sealed = await token({ client_secret: key('all') });
    const secret = key('all').split('_').slice(2).join('_');
    for (const text of [sessionToken, accessKeyId, secretAccessKey, sealed])
      for (const seen of [text, Buffer.from(text.replace('sealed_', ''), 'base64url').toString('latin1')])
        expect(seen).not.toContain(secret.slice(0, 12));
  });
});

test('what was given out without access control lets nobody in once there is some', async () => {
  const open = await startIceberg();
  const signer = await credentialsOf(open, 'events');
  const answer = await open.service.ask('POST', '/iceberg/v1/oauth/tokens', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials&client_secret=whatever',
  });
  const { access_token: sealed } = JSON.parse(answer.body) as Record<string, string>;
  expect((await open.json('GET', '/iceberg/v1/config', bearer(sealed!))).status).toBe(200);
  await open.close();
  expect((await get('config', sealed!)).status).toBe(401);
  expect(codeOf(await fileBy(signer, eventsId))).toBe('400 InvalidToken');
});

test('the audit log has who was refused, and no secret', async () => {
  const guarded = await startIceberg({ keys: { movies: ['reader:movies'] } });
  await guarded.service.close();
  const audit = join(guarded.directory, 'audit.ndjson');
  const again = await startIceberg({ directory: guarded.directory, keys: {}, flags: ['-audit', audit] });
  const mine = bearer(guarded.keys['movies']!);
  await again.json('GET', tablePath('events'), mine);
  await again.json('GET', tablePath('events'), bearer('None'));
  const path = `/s3/lake/${files.get(eventsId)!}`;
  await again.service.ask('GET', `${path}?x-id=secret`);
  const movies = await credentialsOf(again, 'movies', mine);
  await again.service.ask('GET', path, { headers: signedHeaders(again.service.url + path, movies) });
  await again.close();
  const lines = readFileSync(audit, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ who, status, refused, path }) => ({ who, status, refused, path }))).toEqual([
    { who: 'movies', status: 404, refused: 'reader', path: tablePath('events') },
    { who: undefined, status: 401, refused: 'token', path: tablePath('events') },
    { who: undefined, status: 403, refused: 'token', path },
    { who: 'movies', status: 403, refused: 'reader', path },
  ]);
  await rm(guarded.directory, { recursive: true, force: true });
});
