/** A query: its values one by one as they come, or its answer's bytes in any format. */
import { LakeFailure } from './failure.ts';
import { JsupReader, MalformedAnswer } from './jsup.ts';
import { linesOf } from './lines.ts';
import type { Requests } from './requests.ts';
import type { Type } from './types.ts';
import type { LakeValue } from './values.ts';

/** Media types of the formats that a query answers in. */
export const mediaTypes = {
  arrows: 'application/vnd.apache.arrow.stream',
  bsup: 'application/x-bsup',
  csup: 'application/x-csup',
  csv: 'text/csv',
  json: 'application/json',
  jsup: 'application/x-jsup',
  line: 'application/x-line',
  ndjson: 'application/x-ndjson',
  parquet: 'application/x-parquet',
  sup: 'application/x-sup',
  tsv: 'text/tab-separated-values',
  zeek: 'application/x-zeek',
} as const;
/** A format that a query answers in. */
export type Format = keyof typeof mediaTypes;

/** What a query reads where its text does not say it, and how it is found while it runs. */
export interface QueryOptions {
  /** Queried where the text names no pool. */
  readonly pool?: string;
  /** `main` unless told. */
  readonly branch?: string;
  /** From where brackets count where the text has no `pragma index_base`; as the service is set unless told. */
  readonly indexBase?: 0 | 1;
  /**
   * Names the query, so that `queryProgress` and `cancelQuery` find it from the first moment on; the service makes one
   * up unless told.
   */
  readonly requestId?: string;
  /** Number of an event that the answer is to know of, in the place of that of `connect`. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}
/** What the service read for a query; `updatedAt` is when this was told. */
export interface QueryStats {
  readonly startedAt: Date;
  readonly updatedAt: Date;
  readonly bytesRead: number;
  readonly bytesMatched: number;
  readonly recordsRead: number;
  readonly recordsMatched: number;
}
/** A value with its type and the output it came out of, `main` unless the query names others. */
export interface TypedValue<T = LakeValue> {
  readonly value: T;
  readonly type: Type;
  readonly channel: string;
}

/**
 * A query that runs when it is read, once: `for await (const row of lake.query('from events | count() by kind'))`.
 * Leaving the loop cancels it. A failure before or amid the rows is thrown as a `LakeFailure`.
 */
export class Query<T = LakeValue> implements AsyncIterable<T> {
  readonly text: string;
  /** The service's id of the running query, from the first value on. */
  requestId: string | undefined;
  /** What was read, once the values have ended. */
  stats: QueryStats | undefined;
  /** What the text may not mean as it was written, such as names that no row has, before the first value. */
  readonly warnings: string[] = [];
  private readonly requests: Requests;
  private readonly options: QueryOptions;
  private readonly abort = new AbortController();

  constructor(requests: Requests, text: string, options: QueryOptions) {
    this.text = text;
    this.requests = requests;
    this.options = options;
  }

  /** Ends it, here and in the service. */
  cancel(): void {
    this.abort.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const { value } of this.typed()) yield value;
  }

  /** The values with their types: for the order of fields, names of types, members of unions. */
  async *typed(): AsyncGenerator<TypedValue<T>> {
    const response = await this.send('jsup', { ctrl: 'T' });
    const reader = new JsupReader();
    let channel = 'main';
    for await (const line of linesOf(response.body!)) {
      if (line === '') continue;
      const message = reader.read(line);
      if (message.kind === 'value') yield { value: message.value as T, type: message.type, channel };
      else if (message.name === 'QueryChannelSet') channel = textOf(message.value, 'channel');
      else if (message.name === 'QueryWarning') this.warnings.push(textOf(message.value, 'warning'));
      else if (message.name === 'QueryError')
        throw new LakeFailure(textOf(message.value, 'error'), {
          status: response.status,
          requestId: this.requestId,
        });
      else if (message.name === 'QueryStats') this.stats = statsOf(message.value);
    }
    // The statistics are the last message: without them the connection was cut.
    if (!this.stats) throw new MalformedAnswer('the answer was cut off');
  }

  /** All values. */
  async all(): Promise<T[]> {
    const values: T[] = [];
    for await (const value of this) values.push(value);
    return values;
  }
  /** The first value; the rest is cancelled. */
  async first(): Promise<T | undefined> {
    for await (const value of this) return value;
    return undefined;
  }
  /**
   * The answer's bytes as they come; `control`: in BSUP and JSUP, with the messages about the query between the values.
   */
  async bytes(format: Format, options: { readonly control?: boolean } = {}): Promise<ReadableStream<Uint8Array>> {
    return (await this.send(format, options.control ? { ctrl: 'T' } : {})).body!;
  }
  /**
   * An Arrow IPC stream of all rows as one record type: fields that a row lacks are null. `lake-data-service/client/arrow`
   * makes a table of it.
   */
  async arrow(): Promise<ReadableStream<Uint8Array>> {
    return (await this.send('arrows', { fuse: 'T' })).body!;
  }
  /** The whole answer as text. */
  async asText(format: Format = 'sup'): Promise<string> {
    return (await this.send(format)).text();
  }

  private async send(format: Format, query: Readonly<Record<string, string>> = {}): Promise<Response> {
    const { pool, branch, indexBase, requestId, after, signal } = this.options;
    const head = pool === undefined && branch === undefined ? undefined : { pool, branch };
    const response = await this.requests.send({
      method: 'POST',
      path: ['query'],
      query,
      headers: {
        Accept: mediaTypes[format],
        'Content-Type': 'application/json',
        'X-Request-ID': requestId,
        ...(after !== undefined && { 'Lake-After': String(after) }),
      },
      text: this.text,
      body: JSON.stringify({ query: this.text, head, index_base: indexBase }),
      signal: signal ? AbortSignal.any([signal, this.abort.signal]) : this.abort.signal,
    });
    this.requestId = response.headers.get('x-request-id') ?? undefined;
    return response;
  }
}

const textOf = (json: unknown, name: string): string => String((json as Readonly<Record<string, unknown>>)[name]);

interface WireTime {
  readonly sec: number;
  readonly ns: number;
}
const dateOf = ({ sec, ns }: WireTime): Date => new Date(sec * 1000 + ns / 1e6);
const statsOf = (json: unknown): QueryStats => {
  const stats = json as Readonly<Record<string, number>> & {
    readonly start_time: WireTime;
    readonly update_time: WireTime;
  };
  return {
    startedAt: dateOf(stats.start_time),
    updatedAt: dateOf(stats.update_time),
    bytesRead: stats['bytes_read']!,
    bytesMatched: stats['bytes_matched']!,
    recordsRead: stats['records_read']!,
    recordsMatched: stats['records_matched']!,
  };
};
