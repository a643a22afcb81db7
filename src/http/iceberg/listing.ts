/** What S3 answers of a bucket as a whole: ListObjectsV2, HeadBucket, and where it is. */
import type { FastifyReply } from 'fastify';
import { LakeError } from '../../errors.ts';
import type { IcebergCatalogue, IcebergEntry } from '../../iceberg/catalogue.types.ts';
import { sendText } from '../reply.ts';
import type { FileCall } from './callers.ts';
import { lakeName } from './names.ts';
import { s3Namespace, xml } from './xml.ts';

const keysMax = 1000;
const listParameters = /^(?:X-Amz-.*|x-id)$/;
const listNames: ReadonlySet<string> = new Set([
  'list-type',
  'prefix',
  'delimiter',
  'max-keys',
  'continuation-token',
  'start-after',
  'encoding-type',
  'fetch-owner',
]);

/** Answers a request to the bucket itself. @throws s3-unsupported, s3-argument, s3-denied */
export const answerBucket = async (call: FileCall): Promise<unknown> => {
  const { request, reply, query } = call;
  if (request.method === 'HEAD') return reply.code(200).header('x-amz-bucket-region', 'us-east-1').send();
  if (query.has('location')) return sendXml(reply, xml('LocationConstraint', '', s3Namespace));
  const other = [...query.keys()].find((name) => !listNames.has(name) && !listParameters.test(name));
  if (other !== undefined) throw new LakeError('s3-unsupported', { what: `parameter ${other}` });
  if (query.get('list-type')?.join() !== '2') throw new LakeError('s3-unsupported', { what: 'ListObjects (1)' });
  return sendXml(reply, await listObjects(call));
};
const sendXml = (reply: FastifyReply, text: string): FastifyReply => sendText(reply, 200, 'application/xml', text);

/** What a listing asks for. */
interface Wanted {
  readonly prefix: string;
  readonly delimiter: string;
  readonly max: number;
  /** Behind this key. */
  readonly after: string;
}

const listObjects = async (call: FileCall): Promise<string> => {
  const { iceberg, pool, query } = call;
  const text = (name: string): string | undefined => {
    const values = query.get(name) ?? [];
    if (values.length > 1) throw new LakeError('s3-argument', { name, value: values.join(), wanted: 'one value' });
    return values[0];
  };
  const count = text('max-keys') ?? String(keysMax);
  if (!/^\d{1,10}$/.test(count))
    throw new LakeError('s3-argument', { name: 'max-keys', value: count, wanted: 'a number from 0' });
  const encoding = text('encoding-type');
  if (encoding !== undefined && encoding !== 'url')
    throw new LakeError('s3-argument', { name: 'encoding-type', value: encoding, wanted: 'url' });
  const { 'continuation-token': token, ...asked } = {
    'continuation-token': text('continuation-token'),
    prefix: text('prefix') ?? '',
    delimiter: text('delimiter') ?? '',
    max: Math.min(Number(count), keysMax),
    after: text('start-after') ?? '',
  };
  const wanted: Wanted = {
    ...asked,
    ...(token !== undefined && { after: Buffer.from(token, 'base64url').toString() }),
  };
  const { entries, prefixes, next } = await listed(iceberg.catalogue, wanted, pool);
  const shown = (key: string): string => (encoding === 'url' ? encodeURIComponent(key).replaceAll('%2F', '/') : key);
  return xml(
    'ListBucketResult',
    {
      Name: lakeName,
      Prefix: shown(wanted.prefix),
      Delimiter: wanted.delimiter === '' ? undefined : shown(wanted.delimiter),
      MaxKeys: wanted.max,
      EncodingType: encoding,
      KeyCount: entries.length + prefixes.length,
      IsTruncated: String(next !== undefined),
      ContinuationToken: token,
      NextContinuationToken: next === undefined ? undefined : Buffer.from(next).toString('base64url'),
      StartAfter: asked.after === '' ? undefined : shown(asked.after),
      Contents: entries.map(({ path, size, etag, modified }) => ({
        Key: shown(path),
        LastModified: modified.toISOString(),
        ETag: etag,
        Size: size,
        StorageClass: 'STANDARD',
      })),
      CommonPrefixes: prefixes.map((prefix) => ({ Prefix: shown(prefix) })),
    },
    s3Namespace,
  );
};

/** Behind all keys with this beginning: keys are ASCII. */
const behind = (prefix: string): string => `${prefix}\uFFFF`;

/** A page of a listing; `next`: from behind where there is more. @throws s3-denied for what is another table's */
const listed = async (
  catalogue: IcebergCatalogue,
  { prefix, delimiter, max, after }: Wanted,
  pool: string | undefined,
): Promise<{
  readonly entries: readonly IcebergEntry[];
  readonly prefixes: readonly string[];
  readonly next?: string;
}> => {
  const own = pool === undefined ? '' : `${pool}/`;
  if (!prefix.startsWith(own) && !own.startsWith(prefix)) throw new LakeError('s3-denied');
  const below = prefix.length > own.length ? prefix : own;
  const entries: IcebergEntry[] = [];
  const prefixes: string[] = [];
  let last = after;
  for (;;) {
    const page = await catalogue.list(below, { after: last, max: keysMax });
    let jumped = false;
    for (const entry of page) {
      if (entries.length + prefixes.length >= max) return { entries, prefixes, ...(max > 0 && { next: last }) };
      const end = delimiter === '' ? -1 : entry.path.indexOf(delimiter, prefix.length);
      if (end < 0) {
        entries.push(entry);
        last = entry.path;
        continue;
      }
      const common = entry.path.slice(0, end + delimiter.length);
      prefixes.push(common);
      last = behind(common);
      jumped = true;
      break;
    }
    if (!jumped && page.length < keysMax) return { entries, prefixes };
  }
};
