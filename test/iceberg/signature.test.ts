/** Signatures of any request: the service's own check beside the library that signs requests to buckets. */
import { SignatureV4 } from '@smithy/signature-v4';
import { expect, test } from 'vitest';
import { checkSignature, signatureOf } from '../../src/http/iceberg/signature.ts';
import { signingKeyOf } from '../../src/store/signature.ts';
import { randomOf, seedOf } from '../support/random.ts';
import { Sha256 } from '../support/sha256.ts';

const seed = seedOf(1);
const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';

/** Texts with what is escaped, trimmed and sorted. */
const parts = ['a', 'Z', '0', '-', '.', '_', '~', ' ', '  ', '\t', '/', '+', '=', '&', '%', '*', "'", '(', 'ü', '😀'];
const names = ['x-a', 'x-ab', 'x-a-b', 'range', 'user-agent', 'x-amz-meta-a', 'proxy-a', 'te', 'cookie'];

test(`any request is signed as the library does (SEED=${seed})`, async () => {
  const { below, pick } = randomOf(seed);
  const text = (of = parts): string => Array.from({ length: below(6) }, () => pick(of)).join('');
  for (let n = 0; n < 300; n++) {
    const query = new Map<string, string[]>();
    for (let i = below(5); i > 0; i--)
      query.set(
        `q${text()}`,
        Array.from({ length: 1 + below(3) }, () => text()),
      );
    const given = Object.fromEntries(
      names.filter(() => below(2) === 0).map((name) => [name, text(parts.slice(0, 17))]),
    );
    const signer = new SignatureV4({
      credentials: { accessKeyId: 'KEY', secretAccessKey },
      region: 'eu-1',
      service: 's3',
      sha256: Sha256,
      uriEscapePath: false,
      applyChecksum: below(2) === 0,
    });
    const path = `/lake/${encodeURIComponent(text())}`;
    const made = await signer.sign(
      {
        method: 'GET',
        protocol: 'http:',
        hostname: 'h',
        path,
        query: Object.fromEntries(query),
        headers: { host: 'h', ...given },
      },
      { signableHeaders: new Set(['host', ...Object.keys(given)]) },
    );
    const headers = Object.fromEntries(
      Object.entries(made.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const request = { method: 'GET', path, query, headers };
    const signature = signatureOf(request)!;
    const signingKey = signingKeyOf(secretAccessKey, signature);
    checkSignature(request, signature, { signingKey });
    const other = { ...request, query: new Map([...query, ['other', ['']]]) };
    expect(() => {
      checkSignature(other, signature, { signingKey });
    }).toThrow('signature does not match');
  }
});
