/**
 * Answers that are a commit: the one that a write made, or a branch's tip. They differ from one to the next in its id
 * alone.
 */
import type { FastifyReply } from 'fastify';
import type { Id } from '../lake/lake.types.ts';
import { type FormatName, isBinaryFormat } from '../format-names.ts';
import { zeroId } from '../lake/ksuid.ts';
import { noteCommit } from './access/audit.ts';
import { formOf, type ResponseFormat } from './bodies/negotiate.ts';
import { commitValue } from './bodies/records.ts';
import type { LoadFaults } from './bodies/load.types.ts';
import { sendBytes, valueBytes } from './reply.ts';

type Templates = Map<FormatName, { readonly bytes: Buffer; readonly at: number }>;
const loadTemplates: Templates = new Map();
const otherTemplates: Templates = new Map();

/** What If-Match takes. */
export const etagOf = (commit: Id): string => `"0x${commit}"`;

/** What a load tells beside its commit. `hint`: what the client perhaps meant. */
interface LoadTold {
  readonly warnings: readonly string[];
  readonly hint?: string;
  readonly faults?: LoadFaults;
}
/** Sends the commit that a write made; `told` of a load. */
export const sendCommit = (
  reply: FastifyReply,
  commit: Id,
  response: ResponseFormat,
  told?: LoadTold,
): FastifyReply => {
  noteCommit(reply, commit);
  return sendTip(reply, commit, response, told);
};
/** Sends a commit. */
export const sendTip = (reply: FastifyReply, commit: Id, response: ResponseFormat, told?: LoadTold): FastifyReply =>
  sendBytes(reply.header('etag', etagOf(commit)), commitBytes(commit, told, response), response);

/** The bytes of `commitValue`. */
const commitBytes = (commit: Id, told: LoadTold | undefined, response: ResponseFormat): Uint8Array =>
  fromTemplate(commit, told, response.format) ??
  valueBytes(commitValue(commit, told?.warnings, told), response.format, formOf(response));
/** The same by the answer of another commit; undefined where they differ in more than the id, or do not spell it. */
const fromTemplate = (commit: Id, told: LoadTold | undefined, format: FormatName): Uint8Array | undefined => {
  const { warnings, hint, faults } = told ?? {};
  if (hint !== undefined || faults || (warnings?.length ?? 0) > 0 || isBinaryFormat(format)) return undefined;
  const templates = warnings ? loadTemplates : otherTemplates;
  let template = templates.get(format);
  if (!template) {
    const bytes = Buffer.from(valueBytes(commitValue(zeroId, warnings), format));
    templates.set(format, (template = { bytes, at: bytes.indexOf(zeroId) }));
  }
  if (template.at < 0) return undefined;
  const answer = Buffer.from(template.bytes);
  answer.write(commit, template.at, 'latin1');
  return answer;
};

/**
 * A header `Warning` of what was done otherwise than asked: a value `299 - "text"` each, which has no characters but
 * printable ASCII (RFC 7234, 5.5).
 */
export const warningHeader = (texts: readonly string[]): string =>
  texts
    .map(
      (text) =>
        `299 - "${text.replace(/[\\"]/g, '\\$&').replace(
          /[^ -~]/gu,
          (c) =>
            `%${Buffer.from(c)
              .toString('hex')
              .toUpperCase()
              .replace(/..(?=.)/g, '$&%')}`,
        )}"`,
    )
    .join(', ');
