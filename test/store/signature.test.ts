/** Signatures of requests to stores, against AWS's own library and the example in its documentation. */
import { createHash } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import { expect, test } from 'vitest';
import { Signer, escaped } from '../../src/store/signature.ts';
import { Sha256 } from '../support/sha256.ts';
import { randomOf, seedOf } from '../support/random.ts';

const nothing = createHash('sha256').digest('hex');

test('the example of the documentation', () => {
  const headers = new Signer('us-east-1').sign(
    {
      method: 'GET',
      path: '/test.txt',
      query: '',
      headers: { host: 'examplebucket.s3.amazonaws.com', range: 'bytes=0-9' },
      sha256: nothing,
    },
    { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
    new Date('2013-05-24T00:00:00Z'),
  );
  expect(headers['authorization']).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
      'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, ' +
      'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
});

test('requests are signed as the library signs them, whatever day and key the one before had', async () => {
  const seed = seedOf(Date.now());
  const random = randomOf(seed);
  const signer = new Signer('eu-central-1');
  for (let n = 0; n < 300; n++) {
    const text = (): string =>
      Array.from({ length: 1 + random.below(12) }, () => random.pick([...' aZ9-_.~/+=&%ü()*'])).join('');
    const query = Object.fromEntries(Array.from({ length: random.below(4) }, () => [text(), text()]));
    const credentials = {
      accessKeyId: random.pick(['a', 'b']),
      secretAccessKey: random.pick(['s', 't/+']),
      ...(random.below(2) === 0 && { sessionToken: 'token==' }),
    };
    const path = `/${text().split('/').map(escaped).join('/')}`;
    const headers = { host: 'store:9000', 'x-amz-meta-key': escaped(text()), 'content-type': ` a  b${'\t'}c ` };
    const sha256 = random.hex(32);
    const at = new Date(1e12 + random.below(1000) * 86_400_000 + random.below(86_400_000));
    const names = Object.keys(query).sort((a, b) => (escaped(a) < escaped(b) ? -1 : 1));
    const own = signer.sign(
      {
        method: 'PUT',
        path,
        query: names.map((name) => `${escaped(name)}=${escaped(query[name]!)}`).join('&'),
        headers,
        sha256,
      },
      credentials,
      at,
    );
    const library = new SignatureV4({
      credentials,
      region: 'eu-central-1',
      service: 's3',
      sha256: Sha256,
      uriEscapePath: false,
      applyChecksum: false,
    });
    const made = await library.sign(
      {
        method: 'PUT',
        protocol: 'http:',
        hostname: 'store',
        path,
        query,
        headers: { ...headers, 'x-amz-content-sha256': sha256 },
      },
      { signingDate: at },
    );
    expect(own, `seed ${seed}`).toEqual(made.headers);
  }
});
