/** What readers and writers of all formats have in common. */
import type { FormatFacts, FormatName } from '../format-names.ts';
import type { ChunkBuffers } from '../vectors/texts/chunk-buffers.ts';
import type { RecordType } from '../vectors/type.ts';
import { levelsMax } from '../vectors/type-limits.ts';
import type { Value } from '../vectors/value.ts';
import type { Vector } from '../vectors/vector.ts';
import type { BlockHelper } from './blocks.ts';
import type { ContentCoding } from './codings/encoding.ts';
import type { CsvDialect } from './csv/dialect.ts';
import type { FaultOptions } from './faults/faults.ts';
import type { ReadMemory } from './read-memory.ts';
import type { ScratchBytes } from './spool.ts';

export type { FormatName };
/** What is read of shippers, by the endpoints of their protocols alone: nobody names it, and it is never written. */
export type IngestName =
  | 'otlp-logs'
  | 'otlp-logs-json'
  | 'otlp-traces'
  | 'otlp-traces-json'
  | 'otlp-metrics'
  | 'otlp-metrics-json';
/** What a load can be read as. */
export type InputName = FormatName | IngestName;
/** What the beginning of an input shows. */
export interface Detection {
  readonly format: FormatName;
  /** What of the input shows the format. */
  readonly why: string;
  /** Why that may be wrong, or may be read otherwise than it is meant. */
  readonly doubts: readonly string[];
}

/** What a reader is told of its input, and what it may take. Each format looks at the options that concern it. */
export interface ReadOptions extends FaultOptions {
  /** What the input is called in error texts of the caller; readers do not put it into theirs. */
  readonly name?: string;
  /** One character; CSV only. Default: what the first lines show, else a comma. */
  readonly csvDelimiter?: string;
  /** CSV and TSV: what else differs from the plain dialect. */
  readonly csv?: CsvDialect;
  /** JSON: elements of an array at the top are values of their own. */
  readonly unnest?: boolean;
  /** CSV and TSV: a quote within a cell is a fault. Default: stray quotes vanish. */
  readonly strictQuotes?: boolean;
  /** Most rows in a batch. Default 4096. */
  readonly batchRows?: number;
  /** Deepest nesting of a value. Default 1,000. */
  readonly nestingMax?: number;
  /** Longest single value (or line) in bytes. Default 50 MB. */
  readonly valueBytesMax?: number;
  /** Content codings that the input has, in the order in which they were applied. Default: none. */
  readonly contentCodings?: readonly ContentCoding[];
  /** Encoding of a text that is not UTF-8. Default: UTF-8, or UTF-16 where its byte order mark is. */
  readonly charset?: string;
  /** `refuse`: strings that are no UTF-8 are a fault. Default: they are kept as they are. */
  readonly utf8?: 'refuse';
  /** Most bytes that a compressed input may expand to. Default: no limit. */
  readonly expandedBytesMax?: number;
  /** Longest BSUP frame, before and after expansion. Default 128 MiB. */
  readonly bsupFrameBytesMax?: number;
  /** Longest CSUP object (header, descriptors and data of up to 120,000 values). Default 256 MiB. */
  readonly csupObjectBytesMax?: number;
  /** Longest body of an Arrow message, and what its compressed buffers may expand to. Default 512 MiB. */
  readonly arrowBodyBytesMax?: number;
  /** Longest Parquet file: it is kept whole, since its table of contents comes last. Default 1 GiB. */
  readonly parquetFileBytesMax?: number;
  /** Longest request of a protocol that is read as a whole (OTLP), without its content codings. Default 64 MiB. */
  readonly ingestBodyBytesMax?: number;
  /** What the reader may hold at once, beside the batches that it gave out. Default: no limit. */
  readonly memory?: ReadMemory;
  /** Waits until no other load of the thread holds much in one piece, as this one is about to. Default: goes on. */
  readonly alone?: () => Promise<void>;
  /** Opens a scratch file for what must be there as a whole before it can be read. Default: that stays in memory. */
  readonly scratch?: () => ScratchBytes;
  /** Most shapes and most columns of the values of one load; readers do not count them. Default: no limit. */
  readonly typesMax?: number;
  readonly columnsMax?: number;
  /** The input is the beginning of one: where it ends says nothing against a format. Default: it is all of it. */
  readonly isCut?: boolean;
  /** Most bytes that detection looks at. Default 10 MB. */
  readonly lookAheadBytesMax?: number;
  /** Told which format was found, where none was said. */
  readonly detected?: (detection: Detection) => void;
  /** Told of pieces of the input that were copied and are not looked at any more. */
  readonly copied?: (bytes: Uint8Array) => void;
  /** Told of values that could not be kept as they are in the input. The same text comes once at most. */
  readonly warn?: (text: string) => void;
  /**
   * Does a piece of work on a long value, so that it can be stopped in the middle (vectors/stop.ts). Default: just does
   * it.
   */
  readonly turn?: <T>(work: () => T) => T;
  /** Asks for another thread to help with a long input; undefined: there is none. */
  readonly helper?: (setup: BlockSetup) => Promise<BlockHelper | undefined>;
}

/** How a body is written, as far as its client says and its format leaves open. */
export interface BodyForm extends Pick<ReadOptions, 'csvDelimiter' | 'csv' | 'charset' | 'unnest' | 'utf8' | 'errors'> {
  /** The field whose values are times, in whatever type they come; what reads a body leaves it to what takes the rows. */
  readonly time?: string;
  /** Its records replace others. */
  readonly upsert?: UpsertForm;
}
/** Paths of the fields that identify a record, and the field that says that a record only takes away. */
export interface UpsertForm {
  readonly identity: readonly (readonly string[])[];
  readonly delete?: string;
}

/** What a thread has to know to read blocks as the reader would. */
export type BlockSetup = { readonly format: 'json' } | DelimitedSetup;
/** `delimiter`: one character; `names`: of the columns; `bends`: faulty rows do not end the input. */
export interface DelimitedSetup {
  readonly format: 'csv' | 'tsv';
  readonly delimiter: string;
  readonly names: readonly string[];
  readonly bends: boolean;
}

/** Limits of readers that a service is started with. */
export type FormatLimits = Pick<
  ReadOptions,
  | 'valueBytesMax'
  | 'bsupFrameBytesMax'
  | 'csupObjectBytesMax'
  | 'arrowBodyBytesMax'
  | 'parquetFileBytesMax'
  | 'ingestBodyBytesMax'
  | 'typesMax'
  | 'columnsMax'
>;

/** The limits of a reader with the defaults filled in. */
export interface ReadLimits {
  readonly batchRows: number;
  readonly nestingMax: number;
  readonly valueBytesMax: number;
}
/** Defaults: 4,096 rows, 1,000 levels, 50 MB. */
export const readLimits = (options: ReadOptions): ReadLimits => ({
  batchRows: options.batchRows ?? 4096,
  nestingMax: options.nestingMax ?? levelsMax,
  valueBytesMax: options.valueBytesMax ?? 50_000_000,
});

/** Values that may be longer than this are read as pieces of work that can be stopped. */
const longValueBytes = 1 << 20;
/**
 * Pieces of a reader's work on what a window holds: all of them until the window is filled again, if it was long then.
 */
export class ReaderTurns {
  private readonly turn: ReadOptions['turn'];
  private isLong = false;
  constructor({ turn }: ReadOptions) {
    this.turn = turn;
  }

  /** The window was filled. */
  filled({ start, end }: { readonly start: number; readonly end: number }): void {
    this.isLong = end - start > longValueBytes;
  }
  run<T>(work: () => T): T {
    return this.isLong && this.turn ? this.turn(work) : work();
  }
}

/** Bytes to batches. Broken bytes end in LakeError `format-broken`; batches given out before stay good. */
export type Reader = (input: AsyncIterable<Uint8Array>, options: ReadOptions) => AsyncIterable<Vector>;

/** The batches that a `Reader` gives of a small body, without waiting for anything. */
export type WholeReader = (body: Uint8Array, options: ReadOptions) => Iterable<Vector>;

/** How values are written. Each format looks at the options that concern it. */
export interface WriteOptions {
  /** Blanks per level for SUP and JSON; 0 (default) is one value a line. */
  readonly pretty?: number;
  /** No header line; CSV and TSV. */
  readonly noHeader?: boolean;
  /** One character; CSV only. Default a comma. */
  readonly csvDelimiter?: string;
  /** JSON: all values in one array on one line, `[]` for none, as HTTP answers have it. */
  readonly httpArray?: boolean;
  /**
   * JSUP: say `"opt":false` of fields that are not optional and `"fields":null` of `{}`, as the reference's program
   * does; the interface does not.
   */
  readonly optFlags?: boolean;
  /** JSUP: number the channels (`channel_id`) in their messages, as zed-js wants them. */
  readonly channelIds?: boolean;
  /** Zeek: what it has no type for is written as text, not refused. */
  readonly othersAsText?: boolean;
  /** Arrow: as a file, not as a stream. */
  readonly arrowFile?: boolean;
  /** SUP: names that match this pattern keep their definitions from value to value. */
  readonly persist?: string;
  /** BSUP: compress frames that get smaller by it. Default true. */
  readonly bsupCompress?: boolean;
  /** BSUP: a frame ends when its values, not compressed, have this many bytes. Default 524,288. */
  readonly bsupFrameBytes?: number;
  /**
   * What a writer may gather of rows and bytes before it gives some out, at the moment. Default: as much as the format
   * wants. What is written is the same, in smaller frames, objects and groups.
   */
  readonly gatherBytesMax?: () => number;
  /** The bytes are a part of an answer that several threads write: those that `joinParts` (parts.ts) puts together. */
  readonly part?: boolean;
  /**
   * Whether the reader waits for bytes, rather than we for the reader. BSUP then does not compress large frames.
   * Default: never.
   */
  readonly isAwaited?: () => boolean;
  /** Where to take the memory of large chunks from. */
  readonly buffers?: ChunkBuffers;
}

/**
 * Messages between the values of a query's answer; BSUP and JSUP only. The value is a plain record: `channel`; `error`;
 * or `start_time`, `update_time` (times), `bytes_read`, `bytes_matched`, `records_read`, `records_matched`. They come
 * before `end()`.
 */
export interface ControlMessage {
  readonly type: 'QueryChannelSet' | 'QueryChannelEnd' | 'QueryStats' | 'QueryError' | 'QueryWarning';
  readonly value: Value;
}

/**
 * Batches to bytes. Chunks are the caller's to keep or transfer, with their buffers; none is empty. @throws LakeError
 * for what the format cannot hold
 */
export interface Writer {
  /** Rows before one that the format cannot hold are given out before it throws: read the chunks as they come. */
  write(batch: Vector): Iterable<Uint8Array>;
  /**
   * What the format has at its end; nothing can be written afterwards. `rowType`: of the rows, if it is known and none
   * came; files of columns then have those.
   */
  end(rowType?: RecordType): Iterable<Uint8Array>;
  /** Only on formats that have control messages. */
  control?(message: ControlMessage): Iterable<Uint8Array>;
}

export type SelectFusing = 'always' | 'gathered';

/** A row of the table. Without a reader the format is only written. */
export interface Format extends FormatFacts {
  readonly name: FormatName;
  readonly readAs?: FormatName;
  /** Holds records alone. */
  readonly recordsOnly?: boolean;
  /** Without rows it says all the same of what type they are. */
  readonly hasTypeAlone?: boolean;
  /**
   * All records have one type: rows of SELECT, whose nulls are of their columns' types, are fused to it. `gathered`:
   * where none of them comes before all that they are made of has been read, so that nobody waits for them longer;
   * `always`: in files, of which nothing can be read before the last record is there.
   */
  readonly fusesSelect?: SelectFusing;
  /** Where a record cannot be read, its reader finds the next one. */
  readonly goesOn?: boolean;
  /** Has control messages between its values. */
  readonly control?: boolean;
  /**
   * Tells from the beginning of an input what speaks against the format, where that is better than reading values;
   * undefined: nothing does.
   */
  readonly probe?: (input: AsyncIterable<Uint8Array>) => Promise<string | undefined>;
  readonly reader?: Reader;
  /** Reads a small body that is there as a whole (`WholeReader`). */
  readonly whole?: WholeReader;
  readonly writer: (options: WriteOptions) => Writer;
}
