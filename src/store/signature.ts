/**
 * Signature Version 4 of S3: what a request is, said in one way, and sealed with a key of the day. The key is derived
 * once a day and kept.
 *
 * Invariants:
 * - A request is signed as it goes out: path and parameters come encoded, and all headers that are given are signed.
 */
import { createHash, createHmac } from 'node:crypto';
import type { Credentials } from './credentials.ts';

/** `path`, `query`: encoded, parameters in the order of their names; `sha256`: of the body, in hexadecimal digits. */
export interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly sha256: string;
}

const algorithm = 'AWS4-HMAC-SHA256';
const scopeEnd = 'aws4_request';

export class Signer {
  private readonly region: string;
  private secret = '';
  private day = '';
  private key = Buffer.alloc(0);

  constructor(region: string) {
    this.region = region;
  }

  /** The headers of the request, those of the signature among them. */
  sign(
    { method, path, query, headers, sha256 }: SignedRequest,
    credentials: Omit<Credentials, 'expiresMs'>,
    now = new Date(),
  ): Readonly<Record<string, string>> {
    const at = now.toISOString().replace(/-|:|\.\d{3}/g, '');
    const day = at.slice(0, 8);
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const all: Record<string, string> = { ...headers, 'x-amz-content-sha256': sha256, 'x-amz-date': at };
    if (sessionToken !== undefined) all['x-amz-security-token'] = sessionToken;
    const names = Object.keys(all).sort();
    const lines = names.map((name) => `${name}:${all[name]!.trim().replace(/\s+/g, ' ')}\n`).join('');
    const signed = names.join(';');
    const scope = `${day}/${this.region}/s3/${scopeEnd}`;
    const request = createHash('sha256').update(`${method}\n${path}\n${query}\n${lines}\n${signed}\n${sha256}`);
    const text = `${algorithm}\n${at}\n${scope}\n${request.digest('hex')}`;
    const signature = createHmac('sha256', this.keyOf(secretAccessKey, day)).update(text).digest('hex');
    all['authorization'] =
      `${algorithm} Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
    return all;
  }
  private keyOf(secret: string, day: string): Buffer {
    if (secret !== this.secret || day !== this.day) {
      this.key = [day, this.region, 's3', scopeEnd].reduce(
        (key, part) => createHmac('sha256', key).update(part).digest(),
        Buffer.from(`AWS4${secret}`),
      );
      this.secret = secret;
      this.day = day;
    }
    return this.key;
  }
}
