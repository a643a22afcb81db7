/** Every error of the catalogue, its tokens and its bucket, word for word and in the words of its specification. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventsId, moviesId } from './folder-catalogue.ts';
import { presignedUrl, signedHeaders } from './sign.ts';
import { bearer, credentialsOf, type IcebergTest, startIceberg } from './support.ts';

let open: IcebergTest;
let guarded: IcebergTest;
beforeAll(async () => {
  open = await startIceberg();
  guarded = await startIceberg({ keys: { all: ['reader'] } });
});
afterAll(async () => {
  await open.close();
  await guarded.close();
});

test.each([
  ['GET', '/iceberg/v1/nothing', 404, 'NotFoundException', '/iceberg/v1/nothing: not an endpoint of the catalogue'],
  ['PUT', '/iceberg/v1/config', 405, 'MethodNotAllowedException', 'PUT /iceberg/v1/config: method not allowed'],
  [
    'GET',
    '/iceberg/v1/config?warehouse=ice',
    404,
    'NoSuchWarehouseException',
    'warehouse ice does not exist: expected lake, or lake@REF with a branch, tag, commit or time',
  ],
  [
    'GET',
    '/iceberg/v1/namespaces/a%1Fb',
    404,
    'NoSuchNamespaceException',
    'namespace a.b does not exist: pools are tables of namespace lake',
  ],
  ['GET', '/iceberg/v1/namespaces/lake/tables/x', 404, 'NoSuchTableException', 'table lake.x does not exist'],
  [
    'GET',
    '/iceberg/v1/namespaces/lake/views/x',
    404,
    'NoSuchViewException',
    'view lake.x does not exist: the catalogue has no views',
  ],
  [
    'POST',
    '/iceberg/v1/tables/rename',
    403,
    'ForbiddenException',
    'POST /iceberg/v1/tables/rename: the catalogue is read-only; write to pools with the service itself',
  ],
  [
    'GET',
    '/iceberg/v1/namespaces/lake/views',
    406,
    'UnsupportedOperationException',
    'GET /iceberg/v1/namespaces/lake/views: not supported by this catalogue',
  ],
  [
    'GET',
    '/iceberg/v1/namespaces/lake/tables?pageSize=0',
    400,
    'BadRequestException',
    'invalid query param "pageSize": 0: expected a positive number',
  ],
])('%s %s: %i %s', async (method, path, code, type, message) => {
  const { status, value, headers } = await open.json(method, path);
  expect([status, value]).toEqual([code, { error: { message, type, code } }]);
  expect([headers.get('content-type'), headers.get('cache-control')]).toEqual(['application/json', 'no-store']);
});

test.each([
  [
    'grant_type=x',
    400,
    'unsupported_grant_type',
    'grant type x is not supported: expected client_credentials or token-exchange',
  ],
  ['grant_type=client_credentials', 400, 'invalid_request', 'invalid token request: client_secret is missing'],
  ['grant_type=client_credentials&client_secret=x', 401, 'invalid_client', 'invalid client credentials'],
  [
    'grant_type=client_credentials&client_secret=KEY&scope=all',
    400,
    'invalid_scope',
    'scope all is not known: expected catalog, PRINCIPAL_ROLE:ALL or pool:TABLE',
  ],
])('%s: %i %s', async (form, code, error, description) => {
  const { status, body } = await guarded.service.ask('POST', '/iceberg/v1/oauth/tokens', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.replace('KEY', guarded.keys['all']!),
  });
  expect([status, JSON.parse(body)]).toEqual([code, { error, error_description: description }]);
});

/** How the requests of a row are signed. */
type Signed = 'unsigned' | 'by a stranger' | 'signed' | 'forged' | 'with a broken token' | 'late' | 'expired' | 'ended';
test.each<readonly [Signed, string, string, number, string, string]>([
  ['unsigned', 'GET', '/s3/lake/x', 403, 'AccessDenied', 'access denied: the request is not signed'],
  [
    'by a stranger',
    'GET',
    '/s3/lake/x',
    403,
    'InvalidAccessKeyId',
    'access key is unknown: LoadTable gives credentials for one table',
  ],
  ['forged', 'GET', '/s3/lake/x', 403, 'SignatureDoesNotMatch', 'signature does not match the request'],
  ['with a broken token', 'GET', '/s3/lake/x', 400, 'InvalidToken', 'session token is invalid'],
  ['ended', 'GET', '/s3/lake/x', 400, 'ExpiredToken', 'session token has expired: load the table again'],
  [
    'late',
    'GET',
    '/s3/lake/x',
    403,
    'RequestTimeTooSkewed',
    'request time differs from the time of the service by -1000 s: at most 900',
  ],
  ['expired', 'GET', '/s3/lake/x', 403, 'AccessDenied', 'presigned request has expired at TIME'],
  ['signed', 'GET', `/s3/lake/${moviesId}/metadata/x`, 403, 'AccessDenied', 'access denied'],
  ['signed', 'PUT', `/s3/lake/${eventsId}/metadata/x`, 403, 'AccessDenied', 'PUT: the bucket is read-only'],
  [
    'signed',
    'GET',
    '/s3/lake',
    400,
    'InvalidRequest',
    'ListObjects (1) is not supported: the bucket answers GetObject, HeadObject and ListObjectsV2',
  ],
  ['signed', 'GET', '/s3/pond/x', 404, 'NoSuchBucket', 'bucket pond does not exist: the bucket is lake'],
  ['signed', 'GET', `/s3/lake/${eventsId}/data/x`, 404, 'NoSuchKey', `key ${eventsId}/data/x does not exist`],
  [
    'signed',
    'GET',
    '/s3/lake?list-type=2&max-keys=x',
    400,
    'InvalidArgument',
    'invalid argument max-keys: x: expected a number from 0',
  ],
])('%s %s %s: %i %s', async (how, method, path, code, name, message) => {
  const url = guarded.service.url + path;
  const own = await credentialsOf(guarded, 'events', bearer(guarded.keys['all']!));
  const signers = {
    'by a stranger': { accessKeyId: 'AKIA', secretAccessKey: 'x' },
    forged: { ...own, secretAccessKey: 'x' },
    'with a broken token': { ...own, sessionToken: 'sealed_x' },
  };
  const late = new Date(Date.now() - 1_000_000);
  if (how === 'ended') guarded.clock.aheadMs = 4_000_000;
  const at = how === 'late' ? late : new Date(guarded.clock.wallMs());
  const signer = how in signers ? signers[how as keyof typeof signers] : own;
  const target = how === 'expired' ? presignedUrl(url, own, { at: late, seconds: 10 }) : url;
  const headers = how === 'unsigned' || how === 'expired' ? {} : signedHeaders(url, signer, { method, at });
  const { status, body } = await guarded.service.ask(method, target.slice(guarded.service.url.length), { headers });
  guarded.clock.aheadMs = 0;
  const [, gotName, gotMessage] = /<Code>(\w+)<\/Code><Message>(.*)<\/Message>/.exec(body)!;
  expect([status, gotName, gotMessage!.replace(/-100[01] s/, '-1000 s').replace(/at \d{4}-.*Z/, 'at TIME')]).toEqual([
    code,
    name,
    message,
  ]);
});

test('signatures that cannot be read, ranges beyond the end and files that changed are told with their place', async () => {
  const own = await credentialsOf(guarded, 'events', bearer(guarded.keys['all']!));
  const path = own.location.replace('s3://lake', '/s3/lake');
  const message = async (more: Readonly<Record<string, string>>): Promise<string | undefined> => {
    const headers = { ...signedHeaders(guarded.service.url + path, own), ...more };
    return /<Message>(.*)<\/Message>/.exec((await guarded.service.ask('GET', path, { headers })).body)?.[1];
  };
  expect(await message({ authorization: 'AWS4-HMAC-SHA256 x' })).toBe(
    'signature is malformed: expected AWS4-HMAC-SHA256 Credential=.., SignedHeaders=.., Signature=..',
  );
  expect(await message({ range: 'bytes=999999-' })).toMatch(
    /^range bytes=999999- is beyond the object, which has \d+ bytes$/,
  );
  expect(await message({ 'if-match': '"x"' })).toBe('If-Match does not match');
});

test('a flood of forged signatures harms nobody', async () => {
  const own = await credentialsOf(guarded, 'events', bearer(guarded.keys['all']!));
  const path = own.location.replace('s3://lake', '/s3/lake');
  const forged = signedHeaders(guarded.service.url + path, { ...own, secretAccessKey: 'x' });
  const counts = new Map<number, number>();
  const bad = async (): Promise<void> => {
    for (let i = 0; i < 40; i++) {
      const { status } = await guarded.service.ask('GET', path, { headers: forged });
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
  };
  const good = async (): Promise<number> => {
    const headers = signedHeaders(guarded.service.url + path, own);
    return (await guarded.service.ask('GET', path, { headers })).status;
  };
  const flood = Promise.all(Array.from({ length: 50 }, bad));
  expect(await good()).toBe(200);
  await flood;
  expect([...counts]).toEqual([[403, 2_000]]);
  expect(await good()).toBe(200);
});
