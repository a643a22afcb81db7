/** Signs requests to S3 as AWS describes it (Signature Version 4), apart from the library that the service checks by. */
import { createHash, createHmac } from 'node:crypto';

export interface Signer {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}
interface SignOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly at?: Date;
  readonly region?: string;
  readonly service?: string;
  /** As it is sent, where that is not how `URL` writes it. */
  readonly path?: string;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const canonicalQuery = (url: URL): string =>
  url.search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = '', value = ''] = pair.split('=');
      return `${escaped(decodeURIComponent(name))}=${escaped(decodeURIComponent(value))}`;
    })
    .sort()
    .join('&');
const dateOf = (at: Date): string => at.toISOString().replace(/[:-]|\.\d+/g, '');

const signatureOf = (
  { secretAccessKey }: Signer,
  { date, region, service, canonical }: Readonly<Record<'date' | 'region' | 'service' | 'canonical', string>>,
): string => {
  const day = date.slice(0, 8);
  const text = ['AWS4-HMAC-SHA256', date, `${day}/${region}/${service}/aws4_request`, sha256(canonical)].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  return hmac(key, text).toString('hex');
};

/** The headers that a signed request has. */
export const signedHeaders = (
  target: string,
  signer: Signer,
  { method = 'GET', headers = {}, at = new Date(), region = 'us-east-1', service = 's3', path }: SignOptions = {},
): Record<string, string> => {
  const url = new URL(target);
  const date = dateOf(at);
  const all: Record<string, string> = {
    host: url.host,
    'x-amz-date': date,
    'x-amz-content-sha256': sha256(''),
    ...(signer.sessionToken !== undefined && { 'x-amz-security-token': signer.sessionToken }),
    ...headers,
  };
  const names = Object.keys(all).sort();
  const canonical = [
    method,
    path ?? url.pathname,
    canonicalQuery(url),
    ...names.map((name) => `${name}:${all[name]!.trim()}`),
    '',
    names.join(';'),
    all['x-amz-content-sha256'],
  ].join('\n');
  const signature = signatureOf(signer, { date, region, service, canonical });
  const { host: _, ...sent } = all;
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${signer.accessKeyId}/${date.slice(0, 8)}/${region}/${service}/aws4_request, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
};

/** A presigned URL. */
export const presignedUrl = (
  target: string,
  { accessKeyId, sessionToken, ...signer }: Signer,
  { method = 'GET', at = new Date(), seconds = 60 }: SignOptions & { readonly seconds?: number | string } = {},
): string => {
  const url = new URL(target);
  const date = dateOf(at);
  const region = 'us-east-1';
  const parameters = {
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${accessKeyId}/${date.slice(0, 8)}/${region}/s3/aws4_request`,
    'X-Amz-Date': date,
    'X-Amz-Expires': String(seconds),
    ...(sessionToken !== undefined && { 'X-Amz-Security-Token': sessionToken }),
    'X-Amz-SignedHeaders': 'host',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const canonical = [
    method,
    url.pathname,
    canonicalQuery(url),
    `host:${url.host}`,
    '',
    'host',
    'UNSIGNED-PAYLOAD',
  ].join('\n');
  const signature = signatureOf({ accessKeyId, ...signer }, { date, region, service: 's3', canonical });
  return `${url.href}&X-Amz-Signature=${signature}`;
};
