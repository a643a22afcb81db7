/** The answer to a write: the commit that it made. That of a load differs from one to the next in the commit's id alone. */
import type { FastifyReply } from 'fastify';
import type { Id } from '../lake/lake.types.ts';
import { LakeError } from '../errors.ts';
import { type FormatName, mediaTypeOf } from '../formats/formats.ts';
import { zeroId } from '../lake/ksuid.ts';
import { noteCommit } from './access/audit.ts';
import type { ResponseFormat } from './negotiate.ts';
import { commitValue } from './records.ts';
import { sendBytes, valueBytes } from './reply.ts';

/** Formats that spell an id as its hexadecimal digits. */
const textFormats: ReadonlySet<FormatName> = new Set<FormatName>(['json', 'ndjson', 'sup']);
const templates = new Map<FormatName, { readonly bytes: Buffer; readonly at: number }>();

const holdsIds = new Map<FormatName, boolean>();
/** What a write is answered in: all its answers hold ids, which are bytes. JSON stands in for a format that has none, so that what was done is never told as an error. */
export const writeFormat = (response: ResponseFormat): ResponseFormat => {
  let holds = holdsIds.get(response.format);
  if (holds === undefined) {
    holds = canWrite(response.format);
    holdsIds.set(response.format, holds);
  }
  return holds ? response : { format: 'json', mediaType: mediaTypeOf('json') };
};
const canWrite = (format: FormatName): boolean => {
  try {
    valueBytes(commitValue(zeroId), format);
    return true;
  } catch (problem) {
    if (problem instanceof LakeError && problem.code === 'write-type') return false;
    throw problem;
  }
};

/** What If-Match takes. */
export const etagOf = (commit: Id): string => `"0x${commit}"`;

/** Sends the commit that a write made; `warnings` of a load, null for the others. */
export const sendCommit = (reply: FastifyReply, commit: Id, response: ResponseFormat, warnings?: readonly string[]): FastifyReply => {
  noteCommit(reply, commit);
  reply.header('etag', etagOf(commit));
  return sendBytes(reply, warnings ? commitBytes(commit, warnings, response.format) : valueBytes(commitValue(commit), response.format), response);
};

/** The bytes of `commitValue(commit, warnings)`. */
const commitBytes = (commit: Id, warnings: readonly string[], format: FormatName): Uint8Array => {
  if (warnings.length > 0 || !textFormats.has(format)) return valueBytes(commitValue(commit, warnings), format);
  let template = templates.get(format);
  if (!template) {
    const bytes = Buffer.from(valueBytes(commitValue(zeroId, []), format));
    templates.set(format, (template = { bytes, at: bytes.indexOf(zeroId) }));
  }
  const answer = Buffer.from(template.bytes);
  answer.write(commit, template.at, 'latin1');
  return answer;
};
