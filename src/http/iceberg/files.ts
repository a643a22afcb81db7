/**
 * The bucket of the tables' files: GetObject with ranges, HeadObject and ListObjectsV2 of S3, for who has credentials of
 * a table, and for that table alone.
 *
 * - Who asks without a good signature learns nothing: not whether a file is there, nor a table.
 * - Credentials stand for a key: what that may not read any more, they do not either.
 * - Without access control everybody may read, unsigned or signed by credentials that are none of ours. Ours are checked
 *   always.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LakeError } from '../../errors.ts';
import type { IcebergFile } from '../../iceberg/catalogue.types.ts';
import { parseId } from '../../lake/ksuid.ts';
import type { AuditTrail } from '../access/audit.ts';
import { rangeOf } from '../bodies/ranges.ts';
import { matchesTag } from '../bodies/tags.ts';
import { paceOf } from '../connections/pace.ts';
import { logCutAnswer } from '../log-fault.ts';
import { begun, sendChunks } from '../reply.ts';
import type { Service } from '../route.ts';
import { type FileCall, type IcebergService, poolId, sees } from './callers.ts';
import { answerBucket } from './listing.ts';
import { lakeName } from './names.ts';
import { notedSigner, signerOf } from './signers.ts';
import { bucketParameters, filesRoot, percentDecoded, type Target } from './targets.ts';

/** Answers a request to the bucket. @throws LakeError */
export const answerFiles = async (
  service: Service,
  iceberg: IcebergService,
  { request, reply, target, audit }: Asked,
): Promise<unknown> => {
  const query = bucketParameters(target.query);
  const pool = await readableBy(service, iceberg, { request, target, query, audit });
  const { method } = request;
  if (method !== 'GET' && method !== 'HEAD') throw new LakeError('s3-read-only', { method });
  const call: FileCall = { service, iceberg, request, reply, query, pool, audit };
  const { bucket, key } = placeOf(target);
  if (bucket === undefined) throw new LakeError('s3-unsupported', { what: 'ListBuckets' });
  if (bucket !== lakeName) throw new LakeError('s3-bucket-missing', { bucket });
  return key === '' ? answerBucket(call) : answerObject(call, key);
};
interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly target: Target;
  readonly audit: AuditTrail | undefined;
}

/** Bucket and key of a path; the key is as it is written, decoded. */
const placeOf = ({ path }: Target): { readonly bucket: string | undefined; readonly key: string } => {
  const below = path === filesRoot || path.startsWith(`${filesRoot}/`) ? path.slice(filesRoot.length) : path;
  const [bucket = '', ...rest] = below.slice(1).split('/');
  const key = percentDecoded(rest.join('/'));
  if (key === undefined) throw new LakeError('s3-argument', { name: 'key', value: path, wanted: 'UTF-8' });
  return { bucket: bucket === '' ? undefined : (percentDecoded(bucket) ?? bucket), key };
};
/** The pool whose files a request may read; undefined: those of all. @throws s3-.. */
const readableBy = async (
  service: Service,
  iceberg: IcebergService,
  { request, target, query, audit }: Omit<Asked, 'reply'> & { readonly query: FileCall['query'] },
): Promise<string | undefined> => {
  const { access } = service;
  const { method, headers } = request;
  const { signer } = notedSigner(request.raw) ?? {
    signer: signerOf(service, iceberg, { method, target, query, headers }),
  };
  if (!access || !signer) return signer?.pool;
  const { pool, token } = signer;
  const { principal } = await access.identify({ authorization: `Bearer ${token}` });
  if (audit) audit.who = principal;
  const table = iceberg.catalogue.tables().find((each) => each.pool === pool);
  if (table && sees({ principal }, table)) return pool;
  audit?.refused({ lacks: 'reader', pool: poolId(pool) });
  throw new LakeError('s3-denied');
};

/** Parameters of GetObject and HeadObject that change nothing here; others would be of another operation. */
const objectParameters = /^(?:X-Amz-.*|x-id|response-.*)$/;
/** What a key must be like: nothing else is asked of who has the files. */
const keyShape = /^[0-9A-Za-z]{27}\/(?:metadata|manifests|merged|data)\/[\w][\w.-]*$/;

const answerObject = async (call: FileCall, key: string): Promise<unknown> => {
  const { iceberg, pool, query, audit } = call;
  if (pool !== undefined && !key.startsWith(`${pool}/`)) {
    const other = parseId(key.split('/', 1)[0]);
    audit?.refused({ lacks: 'reader', ...(other !== undefined && { pool: other }) });
    throw new LakeError('s3-denied');
  }
  const other = [...query.keys()].find((name) => !objectParameters.test(name));
  if (other !== undefined) throw new LakeError('s3-unsupported', { what: `parameter ${other}` });
  const isTable = pool !== undefined || iceberg.catalogue.tables().some((table) => key.startsWith(`${table.pool}/`));
  const file = isTable && keyShape.test(key) ? await iceberg.catalogue.file(key) : undefined;
  if (!file) throw new LakeError('s3-key-missing', { key });
  return sendFile(call, key, file);
};

const sendFile = async ({ service, request, reply }: FileCall, key: string, file: IcebergFile): Promise<unknown> => {
  const { headers, method } = request;
  reply.headers({
    etag: file.etag,
    'last-modified': file.modified.toUTCString(),
    'accept-ranges': 'bytes',
    'x-amz-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-cache',
  });
  if (isKnown(headers, file)) return reply.code(304).send();
  const range = headers['if-range'] === undefined || headers['if-range'] === file.etag ? headers.range : undefined;
  const asked = rangeOf(range, file.size);
  if (asked === 'none') {
    reply.header('content-range', `bytes */${file.size}`);
    throw new LakeError('s3-range', { range: range!, size: file.size });
  }
  const { start, end } = asked ?? { start: 0, end: file.size };
  const chunks = method === 'HEAD' ? undefined : await begun(file.read(start, end));
  if (asked) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${file.size}`);
  const type = key.endsWith('.json') ? 'application/json' : 'application/octet-stream';
  reply.header('content-length', end - start).header('content-type', type);
  if (!chunks) return reply.send();
  const pace = paceOf(request.raw, 'answer', service.config);
  await sendChunks(reply, { chunks, pace }, type, (fault) => {
    logCutAnswer(service.log, request, reply, fault);
  });
  return reply;
};

/** Whether a client has the file already (RFC 9110, 13.2.2). @throws s3-condition */
const isKnown = (headers: FastifyRequest['headers'], { etag, modified }: IcebergFile): boolean => {
  const { 'if-match': match, 'if-none-match': none } = headers;
  const key = etag.slice(1, -1);
  const seconds = Math.floor(modified.getTime() / 1000);
  const secondsOf = (header: string | undefined): number => Date.parse(header ?? '') / 1000;
  if (match !== undefined && !matchesTag(match, key)) throw new LakeError('s3-condition', { header: 'If-Match' });
  if (match === undefined && seconds > secondsOf(headers['if-unmodified-since']))
    throw new LakeError('s3-condition', { header: 'If-Unmodified-Since' });
  return none === undefined ? seconds <= secondsOf(headers['if-modified-since']) : matchesTag(none, key);
};
