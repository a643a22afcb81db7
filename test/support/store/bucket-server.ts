/**
 * A small store of objects on loopback, for tests: what of S3 a lake asks for, in memory. A real
 * store is in `moto.ts`; faults come from `fault-proxy.ts` between.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as later } from 'node:timers/promises';

interface Stored {
  readonly bytes: Buffer;
  readonly meta: Readonly<Record<string, string>>;
  readonly etag: string;
  readonly modifiedMs: number;
}
/** `objects`: by bucket and key, `/BUCKET/KEY`. `requests`: method and path with parameters of each. */
export interface BucketServer {
  readonly endpoint: string;
  readonly objects: Map<string, Stored>;
  readonly requests: string[];
  /** Parts of objects that were asked for. */
  readonly ranges: { readonly key: string; readonly offset: number; readonly bytes: number }[];
  /** How long each takes, and each put. */
  rangeMs: number;
  putMs: number;
  /**
   * None is answered before none more came for so long; those that are answered together are a round: what waits for an
   * answer comes in a later one.
   */
  quietMs: number;
  rounds: number;
  /** So many were under way at once. */
  mostAtOnce: number;
  /** Whether it heeds If-None-Match. */
  conditional: boolean;
  /** The process may end while it is there. */
  unref(): void;
  close(): Promise<void>;
}

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) parts.push(chunk);
  return Buffer.concat(parts);
};
const metaOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (name.startsWith('x-amz-meta-') ? [[name, String(value)]] : [])),
  );
const md5 = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex');
const escape = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

/** Starts one on a free port. `pageKeys`: of one answer to a listing. */
export const startBucketServer = async ({ pageKeys = 1000 } = {}): Promise<BucketServer> => {
  const objects = new Map<string, Stored>();
  const uploads = new Map<string, { meta: Record<string, string>; parts: Map<number, Buffer> }>();
  const requests: string[] = [];
  const ranges: BucketServer['ranges'] = [];
  let atOnce = 0;
  const held: (() => void)[] = [];
  let holding: NodeJS.Timeout | undefined;
  const quiet = (): Promise<void> =>
    new Promise((resolve) => {
      held.push(resolve);
      clearTimeout(holding);
      holding = setTimeout(() => {
        server.rounds++;
        for (const go of held.splice(0)) go();
      }, server.quietMs);
    });
  const refuse = (response: ServerResponse, status: number, code: string): void => {
    response.writeHead(status, { 'content-type': 'application/xml' });
    response.end(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
  };
  const list = (path: string, query: URLSearchParams): string => {
    const start = `${path.replace(/\/$/, '')}/`;
    const prefix = start + (query.get('prefix') ?? '');
    const after = query.get('continuation-token') ?? start + (query.get('start-after') ?? '');
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const page = keys.slice(0, pageKeys);
    const items = page.map(
      (key) =>
        `<Contents><Key>${escape(key.slice(start.length))}</Key><Size>${objects.get(key)!.bytes.length}</Size><LastModified>${new Date(objects.get(key)!.modifiedMs).toISOString()}</LastModified></Contents>`,
    );
    const isMore = page.length < keys.length;
    return `<ListBucketResult><IsTruncated>${isMore}</IsTruncated>${isMore ? `<NextContinuationToken>${escape(page.at(-1)!)}</NextContinuationToken>` : ''}${items.join('')}</ListBucketResult>`;
  };
  const put = (key: string, bytes: Buffer, meta: Record<string, string>): string => {
    const etag = `"${md5(bytes)}"`;
    objects.set(key, { bytes, meta, etag, modifiedMs: Date.now() });
    return etag;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url!, 'http://x');
    const key = decodeURIComponent(url.pathname);
    const { searchParams: query } = url;
    requests.push(`${request.method} ${request.url}`);
    const body = await bodyOf(request);
    if (request.method === 'PUT' && server.putMs > 0) await later(server.putMs);
    const upload = uploads.get(query.get('uploadId') ?? '');
    switch (request.method) {
      case 'PUT': {
        if (query.has('partNumber')) {
          if (!upload) return refuse(response, 404, 'NoSuchUpload');
          upload.parts.set(Number(query.get('partNumber')), body);
          response.writeHead(200, { etag: `"${md5(body)}"` }).end();
          return;
        }
        if (server.conditional && request.headers['if-none-match'] === '*' && objects.has(key))
          return refuse(response, 412, 'PreconditionFailed');
        response.writeHead(200, { etag: put(key, body, metaOf(request)) }).end();
        return;
      }
      case 'POST': {
        if (query.has('uploads')) {
          const id = randomUUID();
          uploads.set(id, { meta: metaOf(request), parts: new Map() });
          response.end(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
          return;
        }
        if (!upload) return refuse(response, 404, 'NoSuchUpload');
        const bytes = Buffer.concat([...upload.parts].sort(([a], [b]) => a - b).map(([, part]) => part));
        put(key, bytes, upload.meta);
        uploads.delete(query.get('uploadId')!);
        response.end('<CompleteMultipartUploadResult></CompleteMultipartUploadResult>');
        return;
      }
      case 'DELETE':
        objects.delete(key);
        response.writeHead(204).end();
        return;
      default: {
        if (query.has('list-type')) {
          response.end(list(key, query));
          return;
        }
        const stored = objects.get(key);
        if (!stored) return refuse(response, 404, 'NoSuchKey');
        const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
        const { length: all } = stored.bytes;
        if (from !== undefined && Number(from) >= all) return refuse(response, 416, 'InvalidRange');
        const bytes = from === undefined ? stored.bytes : stored.bytes.subarray(Number(from), Number(to) + 1);
        if (from !== undefined) {
          ranges.push({ key, offset: Number(from), bytes: bytes.length });
          server.mostAtOnce = Math.max(server.mostAtOnce, ++atOnce);
          response.once('close', () => atOnce--);
          if (server.rangeMs > 0) await later(server.rangeMs);
          if (server.quietMs > 0) await quiet();
        }
        response.writeHead(from === undefined ? 200 : 206, {
          etag: stored.etag,
          'content-length': bytes.length,
          ...(from !== undefined && { 'content-range': `bytes ${from}-${Number(from) + bytes.length - 1}/${all}` }),
          ...stored.meta,
        });
        response.end(request.method === 'HEAD' ? undefined : bytes);
      }
    }
  };
  const http = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const server: BucketServer = {
    endpoint: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    objects,
    requests,
    ranges,
    rangeMs: 0,
    putMs: 0,
    quietMs: 0,
    rounds: 0,
    mostAtOnce: 0,
    conditional: true,
    unref: () => {
      http.unref();
    },
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return server;
};
