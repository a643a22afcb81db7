/**
 * Bodies as shippers send them: a protocol's decoder turns one into records of one or several pools. What becomes of a
 * pool's records is not the decoder's to know: a pool that refuses them fails alone.
 */
import type { ContentCoding } from '../../formats/codings/encoding.ts';
import type { BodyForm, ReadOptions } from '../../formats/format.types.ts';
import type { IngestName } from '../../formats/formats.ts';
import type { ObjectMeta, PoolConfig } from '../../lake/lake.types.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { WireError } from '../messages.ts';
import type { LoadReply, LoadRequest } from '../pool.types.ts';
import type { LoadWatch } from '../watches.ts';

/** Of `_bulk`: the items of a body, in their order. */
export interface BulkTold {
  /** Places in `bulkOperations`. */
  readonly operations: Uint8Array;
  /** Places in `names`. */
  readonly pools: Uint32Array;
  readonly names: readonly string[];
  /** Each document has an id or a time: the same bytes again are the same documents. */
  readonly isKnown: boolean;
  /** Of items that have one, by their place. */
  readonly ids: ReadonlyMap<number, string>;
  /** Of items that failed by themselves, by their place. */
  readonly failures: ReadonlyMap<number, WireError>;
}
/** Of HEC. `isKnown`: each event has a time, so that the same bytes again are the same events. */
export interface HecTold {
  readonly events: number;
  readonly isKnown: boolean;
}
/** Of Loki. */
export interface LokiTold {
  readonly lines: number;
}
/** Of OTLP. */
export interface OtlpTold {
  readonly records: number;
}
/** Of a batch of syslog. */
export interface SyslogTold {
  readonly messages: number;
}
/** What the answer says of a body beside its records, by protocol: plain data. */
export interface Told extends Readonly<Record<IngestName, OtlpTold>> {
  readonly bulk: BulkTold;
  readonly hec: HecTold;
  readonly 'hec-raw': HecTold;
  readonly 'loki-json': LokiTold;
  readonly 'loki-protobuf': LokiTold;
  readonly syslog: SyslogTold;
}
/** Protocols of shippers; a body has one. */
export type Protocol = keyof Told;

/** What a decoder has of its surroundings. */
export interface DecodeContext {
  readonly options: ReadOptions;
  /** Where records go that name no pool themselves. */
  readonly pool: string | undefined;
  /** The field that has their time. */
  readonly time: string | undefined;
  /** Fields of records that do not have them, by name. */
  readonly defaults: Readonly<Record<string, string>>;
  /**
   * Hands records on to a pool; resolves when more may come. `field`: they are operations by that field of its identity
   * (bulk-rows.ts).
   */
  emit(pool: string, batch: Vector, field?: string): Promise<void>;
  /** As in `IngestRequest`. @throws why it may not be asked */
  identity(pool: string): Promise<string | null | undefined>;
}
/** Reads a body to its end. @throws LakeError for what fails all of it */
export type Decoder<T> = (input: AsyncIterable<Uint8Array>, context: DecodeContext) => Promise<T>;

/** How a body is to be read. `time`: the field whose values are times, whatever their type. */
export interface IngestForm {
  readonly protocol: Protocol;
  readonly pool?: string | undefined;
  readonly time?: string | undefined;
  /** Fields that records get which do not have them, where the protocol has such. */
  readonly defaults?: Readonly<Record<string, string>> | undefined;
  /** What to do with bytes that are no UTF-8, where the protocol has texts as bytes. */
  readonly utf8?: BodyForm['utf8'] | undefined;
  readonly contentCodings?: readonly ContentCoding[] | undefined;
}

/** What the records of a pool became, by the name under which they came. */
export type PoolOutcome =
  | {
      readonly objects: readonly ObjectMeta[];
      readonly records: number;
      readonly bytes: number;
      /** The objects are for no commit: they hold operations by this field. */
      readonly field?: string | undefined;
    }
  | { readonly error: WireError };
/** Objects are in files that are synced, or inline. `digest`: SHA-256 of the body without its codings. */
export interface IngestOutcome {
  readonly pools: ReadonlyMap<string, PoolOutcome>;
  readonly told: Told[Protocol];
  readonly digest: string;
}

/** A body of a shipper. */
export interface IngestRequest<P extends Protocol = Protocol>
  extends Omit<LoadRequest, 'pool' | 'format' | 'form' | 'watch' | 'contentCodings'>,
    IngestForm {
  readonly protocol: P;
  /** Finds a pool, or makes it, once for each name; a load into it begins. @throws why it takes none */
  target(pool: string): Promise<{ readonly pool: PoolConfig; readonly watch: LoadWatch }>;
  /**
   * The only field, at the top of records, of a pool's identity; null: its identity is none such; undefined: there is no
   * pool. Default: none has any. @throws why it may not be asked
   */
  identity?(pool: string): string | null | undefined;
}
/** A pool's part of a body: to be committed, or why it cannot be. */
export type PoolReply =
  | (Pick<LoadReply, 'objects' | 'records' | 'bytes' | 'settled'> & { readonly field?: string | undefined })
  | { readonly error: unknown };
/** Nothing is committed yet. */
export interface IngestReply<P extends Protocol = Protocol> {
  readonly pools: ReadonlyMap<string, PoolReply>;
  readonly told: Told[P];
  readonly digest: string;
}
