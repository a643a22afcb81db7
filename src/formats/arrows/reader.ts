/**
 * Reads Arrow IPC streams (and files, which are streams between marks): a message at a time, and of its rows some at a
 * time.
 */
import { LakeError } from '../../errors.ts';
import { cutBySize } from '../../vectors/shown-size.ts';
import { sizeOf } from '../../vectors/sizes.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { Column } from '../columns/types.ts';
import { type Losses, lossesOf } from '../columns/decimals.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { ReadMemory } from '../read-memory.ts';
import { type RowWindowOptions, RowWindows, batchBytesMax } from '../row-windows.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { BatchReader, joined } from './batch-read.ts';
import { type BufferOptions, TooMuch } from './buffers.ts';
import type { FlatTable } from '../arrow-schema/flat-read.ts';
import { headerCode } from '../arrow-schema/ipc.ts';
import { type Message, MessageReader, tooLarge } from './messages.ts';
import { readSchema } from '../arrow-schema/schema-read.ts';

const bodyBytesMax = 512 << 20;

/** @throws LakeError `format-broken`, `format-too-large`, after giving out what came before */
export async function* readArrows(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const { batchRows } = readLimits(options);
  const bytesMax = options.arrowBodyBytesMax ?? bodyBytesMax;
  const messages = new MessageReader(input, bytesMax, options);
  const lost = options.warn && lossesOf('arrows', options.warn);
  let values = 0;
  let stream: Stream | undefined;
  try {
    for (
      let schema = await messages.first();
      schema;
      schema = messages.mayContinue() ? await messages.first() : undefined
    ) {
      stream = new Stream(
        schema,
        { memory: options.memory ?? new ReadMemory(), scratch: options.scratch, expandedBytesMax: bytesMax, lost },
        { batchRows, turn: options.turn },
      );
      for (let message = await messages.next(); message; message = await messages.next()) {
        try {
          for (const window of stream.take(message)) {
            for (const batch of cutBySize(window, { bytesMax: batchBytesMax, rowsMax: batchRows })) {
              yield batch;
              values += batch.length;
            }
          }
        } finally {
          message.body.close();
        }
      }
      stream.close();
    }
    if (messages.offset === 0) throw new BytesFault('arrow/ipc: could not read message schema: EOF');
  } catch (problem) {
    if (problem instanceof TooMuch)
      throw tooLarge(`compressed buffers expand to more than ${bytesMax} bytes`, messages.offset);
    throw problem instanceof BytesFault
      ? new LakeError(
          'format-broken',
          { format: 'arrows', fault: problem.message, place: ` (byte ${messages.offset})`, values },
          { cause: problem },
        )
      : problem;
  } finally {
    stream?.close();
    await messages.close();
  }
}

/** What speaks against the input being Arrow: undefined if a schema of moderate size can be read, or a file's mark. */
export const probeArrows = async (input: AsyncIterable<Uint8Array>): Promise<string | undefined> => {
  const messages = new MessageReader(input, bodyBytesMax, {});
  try {
    if (await messages.isByContents()) return undefined;
    const schema = await messages.first(true);
    if (!schema) return 'arrow/ipc: could not read message schema: EOF';
    columnsOf(schema);
    return undefined;
  } catch (problem) {
    if (problem instanceof BytesFault) return problem.message;
    throw problem;
  } finally {
    await messages.close();
  }
};

const columnsOf = (message: Message): readonly Column[] => {
  if (message.kind !== headerCode.schema)
    throw new BytesFault('arrow/ipc: could not read message schema: another message comes first');
  return readSchema(message.header);
};

/** `lost`: of a column, told of decimals whose digits do not fit. */
interface StreamOptions extends BufferOptions {
  readonly lost?: ((column: string) => Losses) | undefined;
}
/** Of the windows that rows are read in. */
type WindowOptions = Pick<RowWindowOptions, 'batchRows' | 'turn'>;

/** A schema and the dictionaries that came so far. */
class Stream {
  readonly columns: readonly Column[];
  private readonly options: StreamOptions;
  private readonly windows: WindowOptions;
  private readonly dictionaries = new Map<number, Vector>();
  /** Columns by the dictionary that they look up. */
  private readonly coded = new Map<number, Column>();
  /** Bytes of the dictionaries. */
  private held = 0;

  constructor(schema: Message, options: StreamOptions, windows: WindowOptions) {
    this.columns = columnsOf(schema);
    this.options = options;
    this.windows = windows;
    for (const c of this.columns) this.note(c);
  }

  /** The records of a message, if it has any, some at a time. @throws BytesFault, TooMuch, LakeError format-memory */
  *take(message: Message): Generator<Vector> {
    const { header } = message;
    if (message.kind === headerCode.recordBatch) return yield* this.records(message);
    if (message.kind === headerCode.schema) throw new BytesFault('a second schema');
    if (message.kind !== headerCode.dictionaryBatch) return;
    const id = header.id(0);
    const batch = header.table(1);
    const column = this.coded.get(id);
    if (!column || !batch) throw new BytesFault(`dictionary ${id} that no column has`);
    this.define(id, column, { message, batch, isDelta: header.bool(2) });
  }

  close(): void {
    this.options.memory.free(this.held);
    this.held = 0;
  }

  private *records(message: Message): Generator<Vector> {
    const reader = this.readerOf(message, message.header);
    const { memory } = this.options;
    const windows = new RowWindows({ ...this.windows, memory, format: 'arrows' });
    try {
      for (let from = 0; from < reader.rows; ) {
        const window = windows.next(reader.rows - from, {
          read: (rows) => reader.records(this.columns, from, rows, windows),
          again: () => undefined,
        });
        yield window;
        from += window.length;
      }
    } finally {
      reader.close();
    }
  }

  private define(
    id: number,
    column: Column,
    { message, batch, isDelta }: { readonly message: Message; readonly batch: FlatTable; readonly isDelta: boolean },
  ): void {
    const { memory } = this.options;
    const reader = this.readerOf(message, batch);
    let made = 0;
    const hold = (bytes: number): void => {
      memory.hold(bytes, { format: 'arrows', what: `dictionary ${id}` });
      made += bytes;
    };
    try {
      const values = joined(this.dictionaries.get(id), reader.dictionary(column, hold), isDelta);
      const before = this.dictionaries.get(id);
      // With null behind them there are tags and slots beside the values.
      const kept = dictionarySize(values);
      const gone = before ? dictionarySize(before) : 0;
      hold(kept);
      made -= kept;
      memory.free(gone);
      this.held += kept - gone;
      this.dictionaries.set(id, values);
    } finally {
      memory.free(made);
      reader.close();
    }
  }
  private readerOf(message: Message, batch: FlatTable): BatchReader {
    return new BatchReader(message, batch, { ...this.options, dictionaries: this.dictionaries });
  }

  private note(column: Column): void {
    if (column.dictionary) this.coded.set(column.dictionary.id, column);
    const { type } = column;
    switch (type.kind) {
      case 'list':
      case 'fixed-list':
        return this.note(type.item);
      case 'struct':
        return type.fields.forEach((f) => this.note(f));
      case 'union':
        return type.members.forEach((m) => this.note(m));
      case 'map':
        this.note(type.key);
        return this.note(type.value);
      case 'run-end':
        return this.note(type.values);
      default:
        return undefined;
    }
  }
}

const dictionarySize = (values: Vector): number => sizeOf(values) + values.length * 8;
