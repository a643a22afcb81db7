/** The bucket over real HTTP: objects, ranges, listings, and signatures that are good or not. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { icebergSecret } from '../../src/commands/iceberg-secret.ts';
import { LakeError } from '../../src/errors.ts';
import { Seals } from '../../src/http/iceberg/seals.ts';
import { checkSignature, signatureOf } from '../../src/http/iceberg/signature.ts';
import { signingKeyOf } from '../../src/store/signature.ts';
import type { Answer } from '../support/service/server.ts';
import { eventsId, folderCatalogue, moviesId } from './folder-catalogue.ts';
import { presignedUrl, signedHeaders, type Signer } from './sign.ts';
import { credentialsOf, type IcebergTest, rawAsk, startIceberg, tablePath } from './support.ts';

let iceberg: IcebergTest;
let events: Signer & { readonly sessionToken: string };
let movies: Signer & { readonly sessionToken: string };
const keys: string[] = [];
const sizes = new Map<string, number>();
beforeAll(async () => {
  iceberg = await startIceberg();
  events = await credentialsOf(iceberg, 'events');
  movies = await credentialsOf(iceberg, 'movies');
  for (const { path, size } of await folderCatalogue().list(`${eventsId}/`, { max: 100 })) {
    keys.push(path);
    sizes.set(path, size);
  }
});
afterAll(async () => {
  await iceberg.close();
});

const ask = (
  path: string,
  { signer, method = 'GET', headers = {} }: { signer?: Signer; method?: string; headers?: Record<string, string> } = {},
): Promise<Answer> =>
  iceberg.service.ask(method, path, {
    headers: signer ? signedHeaders(iceberg.service.url + path, signer, { method, headers }) : headers,
  });
const codeOf = ({ status, body }: Pick<Answer, 'status' | 'body'>): string =>
  `${status} ${/<Code>(\w+)<\/Code>/.exec(body)?.[1]}`;

describe('objects', () => {
  test('come whole, by both addresses of the bucket, as they are', async () => {
    for (const key of keys)
      for (const root of ['/s3/lake', '/lake']) {
        const response = await fetch(`${iceberg.service.url}${root}/${key}`, {
          headers: signedHeaders(`${iceberg.service.url}${root}/${key}`, events),
        });
        const bytes = new Uint8Array(await response.arrayBuffer());
        expect([response.status, bytes.length]).toEqual([200, sizes.get(key)]);
        const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
        expect(response.headers.get('etag')).toBe(`"${etag}"`);
        expect(response.headers.get('accept-ranges')).toBe('bytes');
        expect(Date.parse(response.headers.get('last-modified')!)).toBeLessThanOrEqual(Date.now());
      }
  });

  test('have their size by HEAD', async () => {
    const { status, headers, body } = await ask(`/s3/lake/${keys[0]}`, { signer: events, method: 'HEAD' });
    expect([status, headers.get('content-length'), body]).toEqual([200, String(sizes.get(keys[0]!)), '']);
  });

  test('that cannot be read are answered with the reason, and cut off where some of it has been sent', async () => {
    const fault = new LakeError('object-unread', { id: '0', place: 'block 0', fault: 'EIO: i/o error, read' });
    const { catalogue } = iceberg;
    try {
      catalogue.unread = { after: 0, fault };
      const { status, headers, body } = await ask(`/s3/lake/${keys[0]}`, {
        signer: events,
        headers: { range: 'bytes=1-4' },
      });
      expect([codeOf({ status, body }), body.includes('EIO: i/o error, read')]).toEqual(['500 InternalError', true]);
      expect([headers.get('etag'), headers.get('content-range')]).toEqual([null, null]);
      catalogue.unread = { after: 1, fault };
      await expect(ask(`/s3/lake/${keys[0]}`, { signer: events })).rejects.toThrow();
    } finally {
      catalogue.unread = undefined;
    }
  });

  test('come in ranges, and a range beyond the end is none', async () => {
    const key = keys[0]!;
    const size = sizes.get(key)!;
    const whole = (await ask(`/lake/${key}`, { headers: {} })).body;
    expect(whole.length).toBeGreaterThan(0);
    const ranges: readonly (readonly [string, number, number, number])[] = [
      ['bytes=0-3', 206, 0, 4],
      ['bytes=4-7', 206, 4, 8],
      ['bytes=-5', 206, size - 5, size],
      [`bytes=${size - 1}-`, 206, size - 1, size],
      [`bytes=10-${size + 1000}`, 206, 10, size],
      [`bytes=-${size + 1}`, 206, 0, size],
      [`bytes=${size}-`, 416, 0, 0],
      [`bytes=${size + 5}-${size + 9}`, 416, 0, 0],
      [`bytes=${'9'.repeat(400)}-`, 416, 0, 0],
      ['bytes=-0', 416, 0, 0],
      ['bytes=7-3', 200, 0, size],
      ['bytes=0-1,3-4', 200, 0, size],
      ['lines=1-2', 200, 0, size],
    ];
    for (const [range, wanted, start, end] of ranges) {
      const { status, headers, body } = await ask(`/s3/lake/${key}`, { signer: events, headers: { range } });
      expect([range, status, headers.get('content-length')]).toEqual([
        range,
        wanted,
        String(wanted === 416 ? body.length : end - start),
      ]);
      const place = wanted === 206 ? `bytes ${start}-${end - 1}/${size}` : wanted === 416 ? `bytes */${size}` : null;
      expect(headers.get('content-range')).toBe(place);
      if (wanted === 416) expect(body).toContain('<Code>InvalidRange</Code>');
    }
    const { status, headers } = await ask(`/s3/lake/${key}`, {
      signer: events,
      method: 'HEAD',
      headers: { range: 'bytes=0-3' },
    });
    expect([status, headers.get('content-length')]).toEqual([206, '4']);
  });

  test('are compared with what a client has', async () => {
    const path = `/s3/lake/${keys[0]}`;
    const etag = (await ask(path, { signer: events })).headers.get('etag')!;
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await ask(path, { signer: events, headers })).status;
    const past = new Date(0).toUTCString();
    const future = new Date(Date.now() + 1e8).toUTCString();
    expect([
      await status({ 'if-match': etag }),
      await status({ 'if-match': '"other"' }),
      await status({ 'if-none-match': etag }),
      await status({ 'if-none-match': '"other"', 'if-modified-since': future }),
      await status({ 'if-modified-since': future }),
      await status({ 'if-modified-since': past }),
      await status({ 'if-unmodified-since': past }),
      await status({ 'if-unmodified-since': future }),
      await status({ 'if-range': etag, range: 'bytes=0-1' }),
      await status({ 'if-range': '"other"', range: 'bytes=0-1' }),
    ]).toEqual([200, 412, 304, 200, 304, 200, 412, 200, 206, 200]);
    expect(codeOf(await ask(path, { signer: events, headers: { 'if-match': '"x"' } }))).toBe('412 PreconditionFailed');
  });

  test('that are not there, and paths that lead out, are a 404', async () => {
    for (const key of [
      `${eventsId}/metadata/none.avro`,
      `${eventsId}/metadata/`,
      `${eventsId}/other/${keys[0]!.split('/')[2]}`,
      `${eventsId}/metadata/..`,
      `${eventsId}/metadata/../../../fixture.py`,
      `${eventsId}/metadata/..%2f..%2f..%2ffixture.py`,
      `${eventsId}/%2e%2e/%2e%2e/fixture.py`,
      `${eventsId}//metadata/x`,
      `${eventsId}/metadata/.hidden`,
      `${eventsId}/metadata/x%00.avro`,
      `${eventsId}/metadata\\x.avro`,
      `${eventsId}/metadata/x/y`,
    ]) {
      const path = `/s3/lake/${key}`;
      const headers = signedHeaders(iceberg.service.url, events, { path });
      expect([key, codeOf(await rawAsk(iceberg.service, 'GET', path, headers))]).toEqual([key, '404 NoSuchKey']);
      expect([key, codeOf(await rawAsk(iceberg.service, 'GET', path))]).toEqual([key, '404 NoSuchKey']);
    }
    expect(codeOf(await rawAsk(iceberg.service, 'GET', `/s3/lake/${eventsId}/%ff`))).toBe('400 InvalidArgument');
    expect(codeOf(await ask('/s3/other/x'))).toBe('404 NoSuchBucket');
    expect(codeOf(await ask('/s3'))).toBe('400 InvalidRequest');
  });

  test('are not written, and have nothing else', async () => {
    for (const method of ['PUT', 'POST', 'DELETE', 'PATCH'])
      expect(codeOf(await ask(`/s3/lake/${keys[0]}`, { method }))).toBe('403 AccessDenied');
    for (const name of ['acl', 'tagging', 'uploadId=1', 'versionId=1'])
      expect(codeOf(await ask(`/s3/lake/${keys[0]}?${name}`))).toBe('400 InvalidRequest');
    expect((await ask(`/s3/lake/${keys[0]}?x-id=GetObject`)).status).toBe(200);
  });
});
describe('listings', () => {
  const list = (query: string, signer?: Signer): Promise<Answer> =>
    ask(`/s3/lake?list-type=2${query}`, signer ? { signer } : {});
  const listedKeys = ({ body }: Answer): readonly string[] =>
    [...body.matchAll(/<Key>([^<]*)<\/Key>/g)].map((m) => m[1]!);
  const prefixesOf = ({ body }: Answer): readonly string[] =>
    [...body.matchAll(/<CommonPrefixes><Prefix>([^<]*)</g)].map((m) => m[1]!);

  test('have the files of a table, in order, page by page', async () => {
    expect(listedKeys(await list('', events))).toEqual(keys);
    expect(listedKeys(await list(`&prefix=${eventsId}%2Fdata%2F`, events))).toEqual(
      keys.filter((key) => key.includes('/data/')),
    );
    const seen: string[] = [];
    let token = '';
    do {
      const page = await list(`&max-keys=3${token && `&continuation-token=${token}`}`, events);
      seen.push(...listedKeys(page));
      expect(page.body).toContain(`<KeyCount>${listedKeys(page).length}</KeyCount>`);
      token = /<NextContinuationToken>([^<]*)</.exec(page.body)?.[1] ?? '';
      expect(page.body).toContain(`<IsTruncated>${token !== ''}</IsTruncated>`);
    } while (token !== '');
    expect(seen).toEqual(keys);
    expect(listedKeys(await list(`&start-after=${keys[2]}`, events))).toEqual(keys.slice(3));
    expect(listedKeys(await list('&max-keys=0', events))).toEqual([]);
  });

  test('have folders where a delimiter is given', async () => {
    expect(prefixesOf(await list('&delimiter=%2F', events))).toEqual([`${eventsId}/`]);
    const inside = await list(`&delimiter=%2F&prefix=${eventsId}%2F`, events);
    expect([prefixesOf(inside), listedKeys(inside)]).toEqual([[`${eventsId}/data/`, `${eventsId}/metadata/`], []]);
    const first = await list(`&delimiter=%2F&prefix=${eventsId}%2F&max-keys=1`, events);
    const token = /<NextContinuationToken>([^<]*)</.exec(first.body)![1];
    const second = await list(`&delimiter=%2F&prefix=${eventsId}%2F&max-keys=1&continuation-token=${token}`, events);
    expect([prefixesOf(first), prefixesOf(second)]).toEqual([[`${eventsId}/data/`], [`${eventsId}/metadata/`]]);
    expect(second.body).toContain('<IsTruncated>false</IsTruncated>');
  });

  test("never have another table's", async () => {
    expect(codeOf(await list(`&prefix=${moviesId}%2F`, events))).toBe('403 AccessDenied');
    expect(listedKeys(await list('', movies)).every((key) => key.startsWith(moviesId))).toBe(true);
    expect(listedKeys(await list(`&prefix=${eventsId.slice(0, 4)}`, movies)).length).toBeGreaterThan(0);
    expect(listedKeys(await list(`&start-after=zzz`, movies))).toEqual([]);
    const stranger = Buffer.from(`${eventsId}/`).toString('base64url');
    expect(
      listedKeys(await list(`&continuation-token=${stranger}`, movies)).every((key) => key.startsWith(moviesId)),
    ).toBe(true);
  });

  test('write what XML cannot hold in other ways', async () => {
    const { body } = await list('&prefix=%3Cx%26%01&delimiter=%22');
    expect(body).toContain('<Prefix>&lt;x&amp;\uFFFD</Prefix><Delimiter>&quot;</Delimiter>');
    expect((await list('&prefix=%3Cx%26%01&encoding-type=url')).body).toContain('<Prefix>%3Cx%26%01</Prefix>');
  });

  test('refuse what they do not know', async () => {
    expect(codeOf(await ask('/s3/lake'))).toBe('400 InvalidRequest');
    expect(codeOf(await ask('/s3/lake?versions'))).toBe('400 InvalidRequest');
    for (const query of ['&max-keys=x', '&max-keys=-1', '&encoding-type=xml', '&prefix=a&prefix=b', '&prefix=%F'])
      expect([query, codeOf(await list(query))]).toEqual([query, '400 InvalidArgument']);
    expect((await ask('/s3/lake?location')).body).toContain('<LocationConstraint');
    expect((await ask('/s3/lake/', { method: 'HEAD' })).status).toBe(200);
  });
});

describe('signatures', () => {
  test("are checked as AWS's own examples say", async () => {
    // From "Signature Calculations for the Authorization Header" and "Authenticating Requests: Using Query Parameters".
    const headers = {
      host: 'examplebucket.s3.amazonaws.com',
      range: 'bytes=0-9',
      'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      'x-amz-date': '20130524T000000Z',
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    };
    const query = new Map(
      Object.entries({
        'X-Amz-Algorithm': ['AWS4-HMAC-SHA256'],
        'X-Amz-Credential': ['AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request'],
        'X-Amz-Date': ['20130524T000000Z'],
        'X-Amz-Expires': ['86400'],
        'X-Amz-SignedHeaders': ['host'],
        'X-Amz-Signature': ['aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404'],
      }),
    );
    const secretKey = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
    const inHeader = { method: 'GET', path: '/test.txt', query: new Map<string, string[]>(), headers };
    const inQuery = { method: 'GET', path: '/test.txt', query, headers: { host: headers.host } };
    for (const request of [inHeader, inQuery]) {
      const signature = signatureOf(request)!;
      const signingKey = signingKeyOf(secretKey, signature);
      checkSignature(request, signature, { signingKey });
      expect(() => {
        checkSignature(request, signature, { signingKey: signingKeyOf(`${secretKey}x`, signature) });
      }).toThrow('signature does not match');
      expect(() => {
        checkSignature({ ...request, path: '/test.tx' }, signature, { signingKey });
      }).toThrow(LakeError);
    }
  });

  test('in a URL are good until it ends', async () => {
    const url = `${iceberg.service.url}/s3/lake/${keys[0]}`;
    const code = async (target: string, method = 'GET'): Promise<string> => {
      const response = await fetch(target, { method });
      return codeOf({ status: response.status, body: await response.text() });
    };
    expect(await code(presignedUrl(url, events))).toBe('200 undefined');
    expect(await code(presignedUrl(url, events, { method: 'HEAD' }), 'HEAD')).toBe('200 undefined');
    const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000);
    expect(await code(presignedUrl(url, events, { at: minutesAgo(30), seconds: 3600 }))).toBe('200 undefined');
    expect(await code(presignedUrl(url, events, { at: minutesAgo(30), seconds: 60 }))).toBe('403 AccessDenied');
    expect(await code(presignedUrl(url, events, { at: minutesAgo(-30) }))).toBe('403 RequestTimeTooSkewed');
    expect(await code(presignedUrl(url, events).replace('/data/', '/metadata/'))).toBe('403 SignatureDoesNotMatch');
    expect(await code(presignedUrl(url, events), 'HEAD')).toBe('403 undefined');
    for (const seconds of [0, -1, 604_801, '1e3', ''])
      expect([seconds, await code(presignedUrl(url, events, { seconds }))]).toEqual([
        seconds,
        '400 AuthorizationHeaderMalformed',
      ]);
    const twice = `${presignedUrl(url, events)}&X-Amz-Date=20261128T000000Z`;
    expect(await code(twice)).toBe('400 AuthorizationHeaderMalformed');
    const both = await iceberg.service.ask('GET', presignedUrl(url, events).slice(iceberg.service.url.length), {
      headers: signedHeaders(url, events),
    });
    expect(codeOf(both)).toBe('400 AuthorizationHeaderMalformed');
  });

  test('of another secret, key, token, method, path, header, body, day or service are none', async () => {
    const path = `/s3/lake/${keys[0]}`;
    const url = iceberg.service.url + path;
    const good = signedHeaders(url, events);
    const send = async (headers: Record<string, string>, { method = 'GET', to = path } = {}): Promise<string> =>
      codeOf(await iceberg.service.ask(method, to, { headers }));
    const changed = (change: (authorization: string) => string): Record<string, string> => ({
      ...good,
      authorization: change(good['authorization']!),
    });
    const wrong = '403 SignatureDoesNotMatch';
    expect(await send(good)).toBe('200 undefined');
    expect(await send(signedHeaders(url, { ...events, secretAccessKey: movies.secretAccessKey }))).toBe(wrong);
    expect(await send(signedHeaders(url, { ...events, accessKeyId: movies.accessKeyId }))).toBe('400 InvalidToken');
    expect(await send(signedHeaders(url, { ...events, sessionToken: movies.sessionToken }))).toBe('400 InvalidToken');
    expect(await send({ ...good, 'x-amz-security-token': `${events.sessionToken}x` })).toBe('400 InvalidToken');
    expect(await send(good, { method: 'HEAD' })).toBe('403 undefined');
    expect(await send(good, { to: `/s3/lake/${keys[1]}` })).toBe(wrong);
    expect(await send(good, { to: `/lake/${keys[0]}` })).toBe(wrong);
    expect(await send(good, { to: `${path}?x-id=GetObject` })).toBe(wrong);
    expect(await send({ ...good, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' })).toBe(wrong);
    expect(await send(changed((text) => text.replace(/.$/, (c) => (c === '0' ? '1' : '0'))))).toBe(wrong);
    for (const name of ['__proto__', 'constructor', 'x-absent'])
      expect(await send(changed((text) => text.replace('SignedHeaders=', `SignedHeaders=${name};`)))).toBe(wrong);
    expect(await send(signedHeaders(url, events, { service: 'ec2' }))).toBe('400 AuthorizationHeaderMalformed');
    expect(await send(signedHeaders(url, events, { region: 'eu-lake-1' }))).toBe('200 undefined');
    for (const change of [
      (text: string) => text.replace('host;', ''),
      (text: string) => text.replace(/Signature=.*/, 'Signature='),
      (text: string) => text.replace(/Signature=.*/, `Signature=${'z'.repeat(64)}`),
      (text: string) => text.replace('aws4_request', 'aws5_request'),
      (text: string) => text.replace(/\/\d{8}\//, '/20200101/'),
      (text: string) => text.replace('SignedHeaders=', `SignedHeaders=${'a;'.repeat(80)}`),
      (text: string) => text.replace('AWS4-HMAC-SHA256', 'AWS4-ECDSA-P256-SHA256'),
      () => 'AWS4-HMAC-SHA256',
    ])
      expect(await send(changed(change))).toBe('400 AuthorizationHeaderMalformed');
    const { 'x-amz-date': _, ...undated } = good;
    expect(await send(undated)).toBe('400 AuthorizationHeaderMalformed');
    expect(await send({ ...good, 'x-amz-date': '20261399T000000Z' })).toBe('400 AuthorizationHeaderMalformed');
  });

  test('are good for a quarter of an hour, and credentials for their time', async () => {
    const path = `/s3/lake/${keys[0]}`;
    const at = async (minutes: number, aheadMs = 0): Promise<string> => {
      iceberg.clock.aheadMs = aheadMs;
      const headers = signedHeaders(iceberg.service.url + path, events, {
        at: new Date(iceberg.clock.wallMs() + minutes * 60_000),
      });
      const answer = codeOf(await iceberg.service.ask('GET', path, { headers }));
      iceberg.clock.aheadMs = 0;
      return answer;
    };
    expect(await Promise.all([at(0), at(14), at(-14)])).toEqual(['200 undefined', '200 undefined', '200 undefined']);
    expect([await at(16), await at(-16)]).toEqual(['403 RequestTimeTooSkewed', '403 RequestTimeTooSkewed']);
    expect(await at(0, 3_700_000)).toBe('400 ExpiredToken');
  });

  test("of one table's credentials open no other's files", async () => {
    const code = async (key: string, signer: Signer): Promise<string> =>
      codeOf(await ask(`/s3/lake/${key}`, { signer }));
    expect(await code(keys[0]!, movies)).toBe('403 AccessDenied');
    // Whether it is there is not told either.
    expect(await code(`${eventsId}/metadata/none.avro`, movies)).toBe('403 AccessDenied');
    expect(await code(`${moviesId}x/metadata/none.avro`, movies)).toBe('403 AccessDenied');
    expect(await code(`${moviesId}/metadata/none.avro`, movies)).toBe('404 NoSuchKey');
  });

  test('that another lake or a forger made are none', async () => {
    const other = new Seals(Buffer.alloc(32, 8));
    const said = { pool: eventsId, expiresMs: Date.now() + 1e6 };
    const code = async (signer: Signer): Promise<string> => codeOf(await ask(`/s3/lake/${keys[0]}`, { signer }));
    expect(await code(new Seals(icebergSecret(iceberg.directory)).credentials(said))).toBe('200 undefined');
    expect(await code(other.credentials(said))).toBe('400 InvalidToken');
    const own = new Seals(icebergSecret(iceberg.directory));
    // Sealed for the catalogue, not for files.
    expect(await code(own.credentialsOf(own.seal('catalogue', said)))).toBe('400 InvalidToken');
    for (const token of ['sealed_', 'sealed_AAAA', `sealed_${'A'.repeat(8000)}`])
      expect(await code(own.credentialsOf(token))).toBe('400 InvalidToken');
    const { sessionToken } = own.credentials(said);
    const bytes = Buffer.from(sessionToken.slice(7), 'base64url');
    for (let at = 0; at < bytes.length; at += 5) {
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1;
      expect(await code(own.credentialsOf(`sealed_${flipped.toString('base64url')}`))).toBe('400 InvalidToken');
    }
  });
});

test('behind a proxy that takes away a path and the host, a signature is that of the public URL', async () => {
  const proxied = await startIceberg({ flags: ['-iceberg.url', 'https://lakes.example:8443/data/'] });
  try {
    const { value } = await proxied.json('GET', tablePath('events'));
    const { 's3.endpoint': endpoint } = value['config']!;
    expect(endpoint).toBe('https://lakes.example:8443/data/s3');
    const signer = await credentialsOf(proxied, 'events');
    const status = async (signedUrl: string): Promise<number> => {
      const { host: _, ...headers } = signedHeaders(signedUrl, signer);
      return (await proxied.service.ask('GET', `/s3/lake/${keys[0]}`, { headers })).status;
    };
    expect(await status(`${endpoint}/lake/${keys[0]}`)).toBe(200);
    // Who does not come by the proxy signs what they send.
    expect(await status(`${proxied.service.url}/s3/lake/${keys[0]}`)).toBe(200);
    expect(await status(`${endpoint}/lake/${keys[1]}`)).toBe(403);
    expect(await status(`https://lakes.example:8443/s3/lake/${keys[0]}`)).toBe(403);
    expect(await status(`https://lakes.example/data/s3/lake/${keys[0]}`)).toBe(403);
  } finally {
    await proxied.close();
  }
});
