/**
 * Runs a query for a request and streams its answer: by POST whatever it does, by GET what reads alone, with a tag that
 * names all that the answer depends on.
 */
import { createHash } from 'node:crypto';
import { LakeError } from '../errors.ts';
import type { QueryReply } from '../workers/pool.types.ts';
import type { KeptAnswer } from '../workers/query/kept-answers.ts';
import type { Ending } from '../query/analyze.ts';
import { answerCoding, varyOf } from './bodies/encoding.ts';
import { formOf } from './bodies/negotiate.ts';
import { rangeOf } from './bodies/ranges.ts';
import { hasTag, matchesTag } from './bodies/tags.ts';
import { warningHeader } from './commit-answer.ts';
import { paceOf } from './connections/pace.ts';
import { logCutAnswer } from './log-fault.ts';
import { sendChunks } from './reply.ts';
import type { Call } from './route.ts';

/** What is asked. */
export interface QueryAsked {
  readonly text: string;
  readonly head?: { readonly pool?: string; readonly branch?: string };
  readonly indexBase?: 0 | 1;
  readonly ending?: Ending;
  /** Control messages in the body. */
  readonly control?: boolean;
}

/**
 * Answers with the rows of a query. @throws query-long; what a query can fail with before its first byte
 */
export const answerQuery = (call: Call, asked: QueryAsked): Promise<unknown> => streamed(call, asked);

/**
 * The same for a safe method: nothing is changed by it. An answer that depends on commits alone has a tag: whoever has
 * that answer is told so (304), before the query runs; who asks for its length (HEAD) or a part of it gets it from the
 * answers that are kept.
 * @throws query-writes, answer-long, answer-moved, range-none
 */
export const answerReading = async (call: Call, asked: QueryAsked): Promise<unknown> => {
  const { request, reply, response } = call;
  const reading = new Reading(call, asked);
  // Shown in a browser, data are nothing but data.
  reply.header('x-content-type-options', 'nosniff');
  try {
    return await streamed(call, asked, reading);
  } catch (error) {
    // Of what is too long to be kept a HEAD tells the rest.
    if (!(request.method === 'HEAD' && error instanceof LakeError && error.code === 'answer-long')) throw error;
    return reply.code(200).header('content-type', response.mediaType).send();
  }
};

/** What is known of an answer once its query is compiled, and what is done in place of running it. */
class Reading {
  /** Fires when the query need not run. */
  readonly ends = new AbortController();
  private readonly call: Call;
  private readonly asked: QueryAsked;
  /** Names what the answer depends on. */
  private key: string | undefined;
  private isKnown = false;
  /** The client wants another answer than there is now. */
  private isMoved = false;
  constructor(call: Call, asked: QueryAsked) {
    this.call = call;
    this.asked = asked;
  }

  /** Whether the bytes are kept before any of them goes out. */
  get isKept(): boolean {
    return this.key !== undefined && isPartOf(this.call.request);
  }

  compiled(reads: readonly string[] | undefined): void {
    const { request, reply, response, service } = this.call;
    const wanted = request.headers['if-match'];
    if (!reads) {
      reply.header('cache-control', 'no-store');
      this.isMoved = wanted !== undefined && wanted.trim() !== '*';
      if (request.method === 'HEAD' || this.isMoved) this.ends.abort();
      return;
    }
    this.key = digestOf([service.version, response.mediaType, JSON.stringify(this.asked), ...reads]);
    // Without an order of its own rows may come in another one: so it is weak.
    reply.header('etag', `W/"${this.key}"`).header('cache-control', 'no-cache');
    // Conditions in their order (RFC 9110, 13.2.2).
    this.isMoved = wanted !== undefined && !matchesTag(wanted, this.key);
    this.isKnown = !this.isMoved && matchesTag(request.headers['if-none-match'], this.key);
    if (this.isMoved || this.isKnown || service.answers.has(this.key)) this.ends.abort();
  }

  /** Sends the answer of a query that need not run. */
  async ended(): Promise<unknown> {
    const { reply, response, service } = this.call;
    if (this.isMoved) throw this.moved();
    if (this.isKnown) return reply.code(304).header('vary', varyOf(reply)).send();
    if (this.key === undefined)
      return reply
        .code(200)
        .headers({ vary: varyOf(reply), 'content-type': response.mediaType })
        .send();
    const kept = await service.answers.find(this.key);
    // Whoever had it made may have left before it was.
    if (!kept) return answerReading(this.call, this.asked);
    reply.header('vary', varyOf(reply));
    return this.send(kept);
  }

  /** Keeps the bytes, and sends what was asked for of them. */
  async keep(answer: QueryReply): Promise<unknown> {
    return this.send(await this.call.service.answers.keep(this.key!, answer));
  }

  private moved(): LakeError {
    const { reply, request } = this.call;
    reply.removeHeader('etag').removeHeader('cache-control');
    return new LakeError('answer-moved', { value: request.headers['if-match']! });
  }

  private async send(kept: KeptAnswer): Promise<unknown> {
    const { request, reply, response, service } = this.call;
    const { range: wanted, 'if-range': ifRange, 'if-match': ifMatch } = request.headers;
    const tag = `"${this.key}.${kept.tag}"`;
    // The same rows may have come in another order before.
    if (ifMatch !== undefined && !hasTag(ifMatch, tag)) throw this.moved();
    reply.headers({ etag: tag, 'accept-ranges': 'bytes' });
    const range = ifRange === undefined || ifRange === tag ? rangeOf(wanted, kept.size) : undefined;
    if (range === 'none') {
      reply.header('content-range', `bytes */${kept.size}`);
      throw new LakeError('range-none', { range: wanted!, size: kept.size });
    }
    const { start, end } = range ?? { start: 0, end: kept.size };
    reply.header('content-length', end - start).header('content-type', response.mediaType);
    if (range) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${kept.size}`);
    if (request.method === 'HEAD') return reply.send();
    const pace = paceOf(request.raw, 'answer', service.config);
    await sendChunks(reply, { chunks: kept.read(start, end), pace }, response.mediaType, (fault) => {
      logCutAnswer(service.log, request, reply, fault);
    });
    return reply;
  }
}

/** An error is not the answer that the headers tell of. */
const forgetAnswer = (reply: Call['reply'], error: unknown): void => {
  reply.removeHeader('etag').removeHeader('cache-control');
  if (error instanceof LakeError && error.code === 'query-writes') reply.header('allow', 'POST');
};

/** Whether the length of an answer, a part of it, or certain bytes are asked for. */
const isPartOf = ({ method, headers }: Call['request']): boolean =>
  method === 'HEAD' || headers.range !== undefined || headers['if-match'] !== undefined;

const digestOf = (parts: readonly string[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('base64url').slice(0, 27);
};

const streamed = async (
  call: Call,
  { text, head, indexBase, ending, control = false }: QueryAsked,
  reading?: Reading,
): Promise<unknown> => {
  const { service, request, reply, response, id } = call;
  if (text.length > service.config.queryTextMax)
    throw new LakeError('query-long', { length: text.length, limit: service.config.queryTextMax });
  // Ranges are of the bytes themselves.
  const coding = reading && isPartOf(request) ? undefined : answerCoding(request.headers['accept-encoding']);
  const pace = paceOf(request.raw, 'answer', service.config);
  const channelIds = response.mediaType === 'application/x-zjson';
  const run = service.runs.beginQuery({
    id,
    text,
    owner: call.who?.name,
    whenLeft: (left) => {
      call.whenLeft(left);
    },
  });
  service.tracing?.note(request, { query: run });
  try {
    const answer = await service.workers.query({
      id,
      text,
      format: response.format,
      control,
      signal: reading ? AbortSignal.any([run.signal, reading.ends.signal]) : run.signal,
      watch: run.watch,
      client: pace,
      ...formOf(response),
      ...(channelIds && { channelIds }),
      ...(coding && { coding }),
      ...(head && { head }),
      ...(indexBase !== undefined && { indexBase }),
      ...(ending && { ending }),
      ...(reading && {
        readOnly: true,
        compiled: (reads) => {
          reading.compiled(reads);
        },
      }),
      ...(call.visible !== service.lake && { lake: call.visible }),
    });
    reply.header('vary', varyOf(reply));
    if (answer.warnings.length > 0) reply.header('warning', warningHeader(answer.warnings));
    if (coding && !answer.empty) reply.header('content-encoding', coding);
    call.audit?.begun(200);
    if (reading?.isKept) return await reading.keep(answer);
    await sendChunks(reply, { ...answer, pace }, response.mediaType, (fault) => {
      logCutAnswer(service.log, request, reply, fault);
    });
    return reply;
  } catch (error) {
    if (reading?.ends.signal.aborted) return reading.ended();
    if (reading) forgetAnswer(reply, error);
    run.failed(error);
    throw error;
  } finally {
    run.ended();
  }
};
