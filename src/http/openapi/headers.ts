/** Headers by name as the document describes them: those that requests may have, and those that answers do. */
import { type TSchema, Type } from 'typebox';
import { contentCodings } from '../../formats/codings/encoding.ts';
import { CommitMessage } from '../schemas.ts';

/** A header of requests that the document describes. */
export type RequestHeader =
  | 'Accept-Encoding'
  | 'Content-Encoding'
  | 'Idempotency-Key'
  | 'If-Match'
  | 'If-None-Match'
  | 'If-Range'
  | 'Lake-After'
  | 'Last-Event-ID'
  | 'Range'
  | 'SuperDB-Commit'
  | 'X-Lake-Pool'
  | 'X-Request-ID';
/** A header of answers that the document describes. */
export type AnswerHeader =
  | 'Accept-Ranges'
  | 'Allow'
  | 'Cache-Control'
  | 'Content-Encoding'
  | 'Content-Range'
  | 'ETag'
  | 'Lake-Event'
  | 'Last-Event-ID'
  | 'Link'
  | 'Retry-After'
  | 'Set-Cookie'
  | 'Vary'
  | 'WWW-Authenticate'
  | 'X-Accel-Buffering'
  | 'X-Request-ID';

interface HeaderRow {
  readonly description: string;
  readonly schema: TSchema;
  readonly example?: string;
}
/** How a request header is described. */
export interface RequestHeaderRow extends HeaderRow {
  /** It is JSON of the schema. */
  readonly json?: boolean;
}
/** How an answer header is described. */
export interface AnswerHeaderRow extends HeaderRow {
  /** No answer that lists it comes without. */
  readonly always?: boolean;
}

const coding = `(${[...contentCodings, 'x-gzip', 'identity'].join('|')})`;
const commitTag = '"0x[0-9a-fA-F]{40}"';

/** What a client may send. */
export const requestHeaderTable = {
  'Accept-Encoding': {
    description: 'Content codings that the answer may have. Without it there is none.',
    schema: Type.String(),
    example: 'gzip',
  },
  'Content-Encoding': {
    description: `Content codings of the body, in the order in which they were applied, at most four of ${contentCodings.join(', ')}, x-gzip, identity. A plain body that claims gzip is read as plain.`,
    schema: Type.String({ pattern: `^(${coding}(, ?${coding}){0,3})?$` }),
    example: 'gzip',
  },
  'Idempotency-Key': {
    description:
      "A text of the client's own for this one write. Sent again with the same key, the request is the same commit, once, also after a restart, for as long as option `-retry.keep` says and the branch is there. With another body, or for another request, it is a 422.",
    schema: Type.String({ minLength: 1, maxLength: 255 }),
    example: '7f9c1a52-import-2026-11-21',
  },
  'If-Match': {
    description:
      'The commit, in quotes, at which the branch must be (the `ETag` of an earlier answer), several with commas between them, or `*` for any. If the branch is elsewhere nothing is changed: 412.',
    schema: Type.String({ pattern: `^(\\*|${commitTag}(, ?${commitTag})*)$` }),
    example: '*',
  },
  'If-None-Match': {
    description:
      'Tags of answers that the client has (`ETag` of earlier ones), with commas between them: if one of them would be the answer it is a 304 without a body.',
    schema: Type.String(),
    example: 'W/"p1hBVVwNu0rjPSPwCvcN4mCYo1A"',
  },
  'If-Range': {
    description: 'The tag of the answer that the range is of: if it is another one now, all of it comes.',
    schema: Type.String(),
  },
  'Lake-After': {
    description:
      'The number of an event (`Lake-Event` of an earlier answer): the answer comes when the lake knows of it, which on a replica may be some time after its writer. If it does not come for as long as option `-after.wait` says: 504.',
    schema: Type.String({ pattern: '^[0-9]{1,15}$' }),
    example: '0',
  },
  'Last-Event-ID': {
    description: 'The `id` of the last event that the client saw: those after it come first.',
    schema: Type.String({ pattern: '^[0-9]{1,15}$' }),
    example: '7',
  },
  Range: {
    description: 'The bytes of the answer that are wanted: one range. Only an answer with a tag has ranges.',
    schema: Type.String(),
    example: 'bytes=0-1023',
  },
  'SuperDB-Commit': {
    description: 'What the commit says of itself. `Zed-Commit` is taken too.',
    schema: CommitMessage,
    json: true,
  },
  'X-Lake-Pool': {
    description: 'Name (UTF-8) or id of the pool that the records go to.',
    schema: Type.String({ minLength: 1 }),
    example: 'frontend_logs',
  },
  'X-Request-ID': {
    description:
      "A name of the client's own for the request. It comes back in the answer; that of a query or a load is the name to ask for its progress, or to cancel it.",
    schema: Type.String(),
    example: 'report-42',
  },
} as const satisfies Record<RequestHeader, RequestHeaderRow>;

/** What an answer may have. */
export const answerHeaderTable = {
  'Accept-Ranges': { description: '`bytes`: ranges of it can be had.', schema: Type.Literal('bytes'), always: true },
  Allow: { description: 'The methods that the path has.', schema: Type.String(), always: true },
  'Cache-Control': { description: 'How long it may be kept.', schema: Type.String() },
  'Content-Encoding': {
    description: 'The content coding of the body, if the request had an `Accept-Encoding` and the body is not short.',
    schema: Type.String(),
  },
  'Content-Range': {
    description: 'Which bytes these are, and how many there are in all.',
    schema: Type.String({ pattern: '^bytes ([0-9]+-[0-9]+|\\*)/[0-9]+$' }),
    always: true,
  },
  ETag: {
    description:
      'Of a commit or a branch: the commit, in quotes, as `If-Match` takes it. Of an answer: what names all that it depends on, as `If-None-Match` takes it.',
    schema: Type.String({ pattern: '^(W/)?"[^"]+"$' }),
    always: true,
  },
  'Lake-Event': {
    description:
      'The number of the last event that the answer knows of; of a write, one that is not before its own. What to send as `Lake-After` to read what was written.',
    schema: Type.String({ pattern: '^[0-9]+$' }),
    always: true,
  },
  'Last-Event-ID': {
    description: 'The event after which those of this stream come: what to come back with when none of them has come.',
    schema: Type.String({ pattern: '^[0-9]+$' }),
    always: true,
  },
  Link: {
    description: 'With `rel="help"`: where the manual describes the error.',
    schema: Type.String(),
    example: '</docs#error-pool-not-found>; rel="help"',
  },
  'Retry-After': {
    description: 'Seconds after which to try again.',
    schema: Type.String({ pattern: '^[0-9]+$' }),
    always: true,
  },
  'Set-Cookie': { description: "The session's cookie, or its end.", schema: Type.String(), always: true },
  Vary: { description: 'Headers of the request that the answer depends on.', schema: Type.String() },
  'WWW-Authenticate': { description: 'How to say who one is.', schema: Type.String(), always: true },
  'X-Accel-Buffering': {
    description: '`no`: proxies pass on what comes at once.',
    schema: Type.Literal('no'),
    always: true,
  },
  'X-Request-ID': {
    description: "The request's id: the client's own, else a new one.",
    schema: Type.String(),
    always: true,
  },
} as const satisfies Record<AnswerHeader, AnswerHeaderRow>;
