/**
 * A bucket of an S3-compatible store: requests signed with Signature Version 4 over Node's own HTTP client. The dozen
 * of them that the lake needs is a thirtieth of the store's SDK, which has no bound on what a request may take.
 *
 * A put carries the SHA-256 of its bytes twice: signed, which a store checks that checks anything, and as a checksum,
 * which it answers; where it does not, the MD5 that its ETag is does instead. What was put is put with its SHA-256 and
 * its key beside it, and these are compared when it is got: bytes that are sound are not those of another key.
 */
import { createHash, randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, fstatSync, writeSync } from 'node:fs';
import { setTimeout as later } from 'node:timers/promises';
import { LakeError, messageOf } from '../errors.ts';
import {
  type Bucket,
  type BucketAddress,
  type BucketCounts,
  bucketName,
  type ListedKey,
  type ObjectHead,
} from './bucket.ts';
import { CredentialChain } from './credentials.ts';
import { Agents, type Answer, exchange } from './http-exchange.ts';
import { Signer, canonicalQuery, escaped } from './signature.ts';
import { elementOf, partsOf } from './xml.ts';

/** `environment`: where credentials are looked for. */
export interface S3Options extends BucketAddress {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** How long a request is tried again, all its tries together; default 30 s. */
  readonly retryMsMax?: number;
  /** How long nothing may come of one try; default 10 s. */
  readonly idleMsMax?: number;
  /** Longer files are put in parts; default 16 MiB. */
  readonly partBytes?: number;
}

const retryMsDefault = 30_000;
const idleMsDefault = 10_000;
const partBytesDefault = 16 << 20;
/** S3 takes no more. */
const partsMax = 10_000;
const partsAtOnce = 4;
const pauseMsMin = 50;
const pauseMsMax = 2000;
const shaHeader = 'x-amz-meta-sha256';
/** The key below the prefix: a copy under another prefix is the same. */
const keyHeader = 'x-amz-meta-key';
const chunkBytes = 1 << 20;

/** A request as the bucket's methods say it. `accepts`: answers besides 2xx that are no faults. */
interface Call {
  readonly what: string;
  readonly method: 'GET' | 'PUT' | 'HEAD' | 'DELETE' | 'POST';
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Of the body, if who asks has it. */
  readonly sha256?: Buffer;
  readonly sink?: () => (chunk: Uint8Array) => void;
  readonly accepts?: readonly number[];
  /** Says what is wrong with an answer that was cut or mixed up: then it is tried again. */
  readonly check?: (answer: Answer) => string | undefined;
  /** Says what is wrong with what a whole answer has: it is asked for again, and damaged where that is no better. */
  readonly damage?: (answer: Answer) => string | undefined;
}
/** `tries`: how often it was sent. */
interface Called extends Answer {
  readonly tries: number;
}

/** A fault that may pass. */
class Passing extends Error {}
/** Bytes that are not those that were put; if the way changed them, others come the next time. */
class Damaged extends Passing {}
/** What is damaged so often is damaged in the store. */
const damagedMax = 4;

export const openBucket = (options: S3Options): Bucket => new S3Bucket(options);

class S3Bucket implements Bucket {
  readonly name: string;
  readonly counts: BucketCounts = { requests: 0, retries: 0, sentBytes: 0, receivedBytes: 0, lists: 0 };
  private readonly options: S3Options;
  private readonly agents = new Agents();
  private readonly credentials: CredentialChain;
  private readonly signer: Signer;
  private readonly place: Place;
  private readonly closing = new AbortController();

  constructor(options: S3Options) {
    this.options = options;
    this.name = bucketName(options);
    this.credentials = new CredentialChain(options.environment, this.agents);
    this.signer = new Signer(options.region);
    this.place = placeOf(options);
  }
  close(): void {
    this.closing.abort();
    this.agents.close(new Error('the service is closing'));
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.putBytes(key, bytes);
  }
  async putNew(key: string, bytes: Uint8Array): Promise<boolean> {
    const { status } = await this.putBytes(key, bytes, { 'if-none-match': '*' });
    if (status !== 412) return true;
    // An earlier try may have been done, and its answer lost.
    const there = await this.get(key);
    return there !== undefined && there.equals(bytes);
  }
  private putBytes(key: string, body: Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Called> {
    const sums = sumsOf(body);
    return this.call({
      what: `putting ${key}`,
      method: 'PUT',
      key,
      headers: {
        ...headers,
        'content-type': 'application/octet-stream',
        [shaHeader]: sums.sha256.toString('hex'),
        [keyHeader]: keyText(key),
        'x-amz-checksum-sha256': sums.sha256.toString('base64'),
      },
      body,
      sha256: sums.sha256,
      ...('if-none-match' in headers && { accepts: [412] }),
      check: (answer) => (answer.status === 412 ? undefined : putFault(answer, sums)),
    });
  }

  async putFile(key: string, path: string): Promise<void> {
    const fd = openSync(path, 'r');
    try {
      const { size } = fstatSync(fd);
      const partBytes = Math.max(this.options.partBytes ?? partBytesDefault, Math.ceil(size / partsMax));
      if (size <= partBytes) await this.put(key, readFully(fd, 0, size));
      else await this.putParts(key, fd, { size, partBytes });
    } finally {
      closeSync(fd);
    }
  }
  private async putParts(
    key: string,
    fd: number,
    { size, partBytes }: { readonly size: number; readonly partBytes: number },
  ): Promise<void> {
    const sha = createHash('sha256');
    for (let at = 0; at < size; at += chunkBytes) sha.update(readFully(fd, at, Math.min(chunkBytes, size - at)));
    const sha256 = sha.digest('hex');
    const begun = await this.call({
      what: `beginning ${key}`,
      method: 'POST',
      key,
      query: { uploads: '' },
      headers: { 'content-type': 'application/octet-stream', [shaHeader]: sha256, [keyHeader]: keyText(key) },
      check: ({ body }) => (elementOf(body.toString('utf8'), 'UploadId') ? undefined : 'the answer names no upload'),
    });
    const uploadId = elementOf(begun.body.toString('utf8'), 'UploadId')!;
    const count = Math.ceil(size / partBytes);
    const tags: string[] = new Array<string>(count);
    try {
      let next = 0;
      const putSome = async (): Promise<void> => {
        for (let part = next++; part < count; part = next++) {
          const at = part * partBytes;
          const body = readFully(fd, at, Math.min(partBytes, size - at));
          tags[part] = await this.putPart(key, { uploadId, number: part + 1, body });
        }
      };
      await Promise.all(Array.from({ length: Math.min(partsAtOnce, count) }, putSome));
      await this.complete(key, { uploadId, tags, size, sha256 });
    } catch (fault) {
      await this.call({
        what: `giving up ${key}`,
        method: 'DELETE',
        key,
        query: { uploadId },
        accepts: [404],
      }).catch(() => undefined);
      throw fault;
    }
  }
  private async putPart(
    key: string,
    { uploadId, number, body }: { readonly uploadId: string; readonly number: number; readonly body: Buffer },
  ): Promise<string> {
    const sums = sumsOf(body);
    const { headers } = await this.call({
      what: `putting part ${number} of ${key}`,
      method: 'PUT',
      key,
      query: { partNumber: String(number), uploadId },
      body,
      sha256: sums.sha256,
      check: (answer) => (answer.headers.etag === undefined ? 'the answer has no ETag' : putFault(answer, sums)),
    });
    return headers.etag!;
  }
  private async complete(
    key: string,
    { uploadId, tags, size, sha256 }: { uploadId: string; tags: readonly string[]; size: number; sha256: string },
  ): Promise<void> {
    const parts = tags.map((tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
    await this.call({
      what: `ending ${key}`,
      method: 'POST',
      key,
      query: { uploadId },
      headers: { 'content-type': 'application/xml' },
      body: Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`),
      // Once it was done the upload is not known any more.
      accepts: [404],
      check: ({ status, body }) =>
        status === 200 && !/<CompleteMultipartUploadRes(ult|ponse)/.test(body.toString('latin1'))
          ? (elementOf(body.toString('utf8'), 'Message') ?? 'the answer does not say that it is done')
          : undefined,
    });
    const head = await this.head(key);
    if (!head || head.bytes !== size || head.sha256 !== sha256)
      throw this.corrupt(key, head ? `it has ${head.bytes} bytes, ${size} were put` : 'it was put and is not there');
  }

  async get(key: string): Promise<Buffer | undefined> {
    const { status, body } = await this.call({
      what: `getting ${key}`,
      method: 'GET',
      key,
      accepts: [404],
      check: (answer) => this.absence(answer),
      damage: (answer) => bytesFault(answer, key, createHash('sha256').update(answer.body)),
    });
    return status === 404 ? undefined : body;
  }
  async getRange(key: string, offset: number, length: number): Promise<Buffer | undefined> {
    const end = offset + length;
    const { status, body } = await this.call({
      what: `getting ${key}, bytes ${offset} to ${end}`,
      method: 'GET',
      key,
      headers: { range: `bytes=${offset}-${end - 1}` },
      accepts: [404, 416],
      check: (answer) => {
        if (answer.status === 404) return this.absence(answer);
        if (answer.status === 416) throw this.corrupt(key, `it ends before byte ${end}`);
        return rangeFault(answer, { offset, length });
      },
      damage: (answer) => rangeDamage(answer, key, { offset, length }),
    });
    if (status === 404) return undefined;
    // A store that knows no ranges answers all of it.
    return status === 206 ? body : body.subarray(offset, end);
  }
  async getFile(key: string, path: string): Promise<boolean> {
    const fd = openSync(path, 'w');
    let isWhole = false;
    try {
      let sha = createHash('sha256');
      let at = 0;
      const { status } = await this.call({
        what: `getting ${key}`,
        method: 'GET',
        key,
        accepts: [404],
        sink: () => {
          sha = createHash('sha256');
          at = 0;
          return (chunk) => {
            sha.update(chunk);
            for (let done = 0; done < chunk.length; )
              done += writeSync(fd, chunk, done, chunk.length - done, at + done);
            at += chunk.length;
          };
        },
        check: (answer) => this.absence(answer),
        damage: (answer) => bytesFault(answer, key, sha),
      });
      isWhole = status !== 404;
      return isWhole;
    } finally {
      closeSync(fd);
      if (!isWhole) rmSync(path, { force: true });
    }
  }
  /** A bucket that is not there is no missing object. */
  private absence({ status, body }: Answer): undefined {
    if (status === 404 && elementOf(body.toString('utf8'), 'Code') === 'NoSuchBucket')
      throw new LakeError('store-refused', { store: this.name, what: 'asking it', fault: '404 NoSuchBucket' });
  }

  async head(key: string): Promise<ObjectHead | undefined> {
    const { status, headers } = await this.call({ what: `looking at ${key}`, method: 'HEAD', key, accepts: [404] });
    const sha256 = headers[shaHeader];
    return status === 404
      ? undefined
      : { bytes: Number(headers['content-length'] ?? 0), sha256: typeof sha256 === 'string' ? sha256 : '' };
  }
  async delete(key: string): Promise<void> {
    await this.call({ what: `removing ${key}`, method: 'DELETE', key, accepts: [404] });
  }

  async *list(prefix: string, { after }: { readonly after?: string } = {}): AsyncIterable<ListedKey> {
    const from = this.options.prefix.length;
    for (let token: string | undefined, isMore = true; isMore; ) {
      this.counts.lists++;
      const { body } = await this.call({
        what: `listing ${prefix}`,
        method: 'GET',
        key: '',
        query: {
          'list-type': '2',
          prefix: `${this.options.prefix}${prefix}`,
          ...(after !== undefined && { 'start-after': `${this.options.prefix}${after}` }),
          ...(token !== undefined && { 'continuation-token': token }),
        },
        check: (answer) => (answer.body.includes('</ListBucketResult>') ? undefined : 'the answer is no whole listing'),
      });
      const text = body.toString('utf8');
      for (const part of partsOf(text, 'Contents'))
        yield {
          key: (elementOf(part, 'Key') ?? '').slice(from),
          bytes: Number(elementOf(part, 'Size') ?? 0),
          modifiedMs: Date.parse(elementOf(part, 'LastModified') ?? '') || 0,
        };
      token = elementOf(text, 'NextContinuationToken');
      isMore = elementOf(text, 'IsTruncated') === 'true' && token !== undefined;
    }
  }

  /** Sends it until it is answered, within bounds. */
  private async call(call: Call): Promise<Called> {
    const { retryMsMax = retryMsDefault } = this.options;
    const began = performance.now();
    for (let tries = 1, damaged = 0, pauseMs = pauseMsMin; ; tries++) {
      try {
        return { ...(await this.tried(call)), tries };
      } catch (fault) {
        if (this.closing.signal.aborted || !(fault instanceof Passing)) throw this.failed(call, fault, tries);
        if (fault instanceof Damaged) damaged++;
        const leftMs = retryMsMax - (performance.now() - began);
        if (leftMs <= 0 || damaged === damagedMax) throw this.failed(call, fault, tries);
        this.counts.retries++;
        await later(Math.min(leftMs, pauseMs * (0.5 + Math.random())), undefined, {
          signal: this.closing.signal,
        }).catch(() => undefined);
        pauseMs = Math.min(pauseMsMax, pauseMs * 2);
      }
    }
  }
  private failed({ what, key }: Call, fault: unknown, tries: number): unknown {
    if (fault instanceof LakeError) return fault;
    if (fault instanceof Damaged) return this.corrupt(key, fault.message);
    const text = messageOf(fault);
    return new LakeError('store-unreachable', { store: this.name, what, tries, fault: text }, { cause: fault });
  }
  private corrupt(key: string, fault: string): LakeError {
    return new LakeError('store-corrupt', { store: this.name, key, fault });
  }

  private async tried(call: Call): Promise<Answer> {
    const { method, body, sink, accepts = [], check, damage, what } = call;
    const { url, headers } = await this.signed(call);
    this.counts.requests++;
    this.counts.sentBytes += body?.length ?? 0;
    const taken = sink?.();
    const answer = await exchange(
      {
        method,
        url,
        headers,
        idleMsMax: this.options.idleMsMax ?? idleMsDefault,
        ...(body && { body }),
        ...(taken && { sink: taken }),
      },
      this.agents,
    ).catch((fault: unknown) => {
      throw new Passing(messageOf(fault), { cause: fault });
    });
    this.counts.receivedBytes += answer.body.length;
    const { status } = answer;
    if ((status >= 200 && status < 300) || accepts.includes(status)) {
      const fault = check?.(answer);
      if (fault !== undefined) throw new Passing(fault);
      const damaged = status < 300 ? damage?.(answer) : undefined;
      if (damaged !== undefined) throw new Damaged(damaged);
      return answer;
    }
    throw this.refusal(what, answer);
  }
  private refusal(what: string, { status, body }: Answer): Error {
    const text = body.toString('utf8', 0, 4096);
    const code = elementOf(text, 'Code') ?? '';
    const fault = [status, code, elementOf(text, 'Message')].filter(Boolean).join(' ');
    if (/^(ExpiredToken|InvalidToken|TokenRefreshRequired)$/.test(code)) {
      this.credentials.forget();
      return new Passing(fault);
    }
    // 409: another conditional request for the same key is under way.
    if (status >= 500 && status !== 501) return new Passing(fault);
    if ([408, 409, 429].includes(status) || /^(RequestTimeout|SlowDown|BadDigest|IncompleteBody)$/.test(code))
      return new Passing(fault);
    return new LakeError('store-refused', { store: this.name, what, fault });
  }

  private async signed({ method, key, query = {}, headers = {}, body, sha256 }: Call): Promise<{
    readonly url: URL;
    readonly headers: Readonly<Record<string, string>>;
  }> {
    const credentials = await this.credentials.get().catch((fault: unknown) => {
      const text = messageOf(fault);
      throw new LakeError('store-refused', { store: this.name, what: 'signing', fault: text }, { cause: fault });
    });
    const { base, bucketPath } = this.place;
    const path = key === '' ? bucketPath : `${bucketPath.replace(/\/$/, '')}/${keyText(this.options.prefix + key)}`;
    const parameters = canonicalQuery(Object.entries(query).map(([name, value]) => [name, [value]]));
    const request = {
      method,
      path,
      query: parameters,
      headers: { ...headers, host: base.host },
      sha256: sha256?.toString('hex') ?? (body ? createHash('sha256').update(body).digest('hex') : sumOfNothing),
    };
    const url = new URL(base);
    url.pathname = path;
    url.search = parameters;
    return { url, headers: this.signer.sign(request, credentials) };
  }
}
const sumOfNothing = createHash('sha256').digest('hex');

/** Where the bucket's keys are below: an origin and a path. */
interface Place {
  readonly base: URL;
  readonly bucketPath: string;
}
const placeOf = ({ endpoint, bucket, region, style }: S3Options): Place => {
  const base = new URL(endpoint || `https://s3.${region}.amazonaws.com`);
  if (style === 'host') base.hostname = `${bucket}.${base.hostname}`;
  return {
    base,
    bucketPath: `${base.pathname.replace(/\/$/, '')}/${style === 'path' ? escaped(bucket) : ''}`,
  };
};
/** A key as a header takes it. */
const keyText = (key: string): string => key.split('/').map(escaped).join('/');

interface Sums {
  readonly sha256: Buffer;
  /** Few stores need it. */
  readonly md5: () => string;
}
const sumsOf = (bytes: Uint8Array): Sums => ({
  sha256: createHash('sha256').update(bytes).digest(),
  md5: () => createHash('md5').update(bytes).digest('hex'),
});
/** What the store says of what it got. */
const putFault = ({ headers }: Answer, { sha256, md5 }: Sums): string | undefined => {
  const said = headers['x-amz-checksum-sha256'];
  if (said !== undefined) return said === sha256.toString('base64') ? undefined : 'the store got other bytes';
  const tag = /^"?([0-9a-f]{32})"?$/.exec(headers.etag ?? '')?.[1];
  // With a key of the customer's or of its service an ETag is no digest of the bytes.
  const isDigest = !String(headers['x-amz-server-side-encryption'] ?? '').startsWith('aws:kms');
  return tag === undefined || !isDigest || tag === md5() ? undefined : 'the store got other bytes';
};
const bytesFault = (
  { headers }: Answer,
  key: string,
  hash: { digest(encoding: 'hex'): string },
): string | undefined => {
  const said = headers[shaHeader];
  return (
    otherKey(headers, key) ??
    (said === undefined || said === hash.digest('hex')
      ? undefined
      : 'its bytes have not the checksum they were put with')
  );
};
const otherKey = (headers: Answer['headers'], key: string): string | undefined => {
  const putAs = headers[keyHeader];
  return putAs === undefined || putAs === keyText(key) ? undefined : `it was put as ${String(putAs)}`;
};

interface AskedRange {
  readonly offset: number;
  readonly length: number;
}
/** What is wrong with the answer to a range. */
const rangeFault = ({ status, headers, body }: Answer, { offset, length }: AskedRange): string | undefined => {
  if (status !== 206) return undefined;
  const said = headers['content-range'];
  const last = Math.min(offset + length, sizeIn(said)) - 1;
  if (said !== undefined && !said.startsWith(`bytes ${offset}-${last}/`)) return `the answer is ${said}`;
  const wanted = last + 1 - offset;
  return body.length === wanted ? undefined : `the answer has ${body.length} bytes of ${wanted}`;
};
/** The size of the object that an answer is a range of, as far as that says. */
const sizeIn = (range: string | undefined): number => Number(/\/(\d+)$/.exec(range ?? '')?.[1] ?? Infinity);

/** What is wrong with an object that a range is asked of, as far as that tells. */
const rangeDamage = (answer: Answer, key: string, { offset, length }: AskedRange): string | undefined => {
  const { status, headers, body } = answer;
  const said = headers['content-range'];
  const size = status === 206 ? sizeIn(said) : body.length;
  // All of it has a sum.
  if (status === 200 || (offset === 0 && body.length === size)) {
    const fault = bytesFault(answer, key, createHash('sha256').update(body));
    if (fault !== undefined) return fault;
  }
  return otherKey(headers, key) ?? (size < offset + length ? `it ends before byte ${offset + length}` : undefined);
};

const readFully = (fd: number, from: number, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length; ) {
    const n = readSync(fd, bytes, done, length - done, from + done);
    if (n === 0) throw new Error(`the file ends at byte ${from + done}`);
    done += n;
  }
  return bytes;
};

/**
 * Tries whether the store refuses to put what is there: what orders its writers. @throws store-unconditional
 */
export const checkConditional = async (bucket: Bucket): Promise<void> => {
  const key = `check/${randomUUID()}`;
  const put = (text: string): Promise<boolean> =>
    bucket.putNew(key, Buffer.from(text)).catch((fault: unknown) => {
      if (fault instanceof LakeError && fault.code === 'store-refused' && /\b501\b|NotImplemented/.test(fault.message))
        throw new LakeError('store-unconditional', { store: bucket.name, fault: fault.message }, { cause: fault });
      throw fault;
    });
  try {
    if (!(await put('first')))
      throw new LakeError('store-unconditional', {
        store: bucket.name,
        fault: 'it refused a put of what was not there',
      });
    if (await put('second'))
      throw new LakeError('store-unconditional', { store: bucket.name, fault: 'it put over what was there' });
  } finally {
    await bucket.delete(key).catch(() => undefined);
  }
};
