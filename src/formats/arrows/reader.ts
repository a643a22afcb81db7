/** Reads Arrow IPC streams (and files, which are streams between marks), a record batch at a time. */
import { LakeError } from '../../errors.ts';
import { type Vector, slice } from '../../vectors/vector.ts';
import type { Column } from '../column-types.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { BytesFault } from '../type-bytes.ts';
import { BatchReader, TooMuch, joined } from './batch-read.ts';
import { headerCode } from './ipc.ts';
import { type Message, MessageReader, tooLarge } from './messages.ts';
import { readSchema } from './schema-read.ts';

const bodyBytesMax = 512 << 20;

/** @throws LakeError `format-broken`, `format-too-large`, after giving out what came before */
export async function* readArrows(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const { batchRows } = readLimits(options), bytesMax = options.arrowBodyBytesMax ?? bodyBytesMax;
  const messages = new MessageReader(input, bytesMax, options.memory);
  let values = 0;
  try {
    for (let schema = await messages.first(); schema; schema = messages.mayContinue() ? await messages.first() : undefined) {
      const stream = new Stream(schema, bytesMax);
      for (let message = await messages.next(); message; message = await messages.next()) {
        const batch = stream.take(message);
        for (let start = 0; batch && start < batch.length; start += batchRows) {
          yield slice(batch, start, Math.min(start + batchRows, batch.length));
        }
        values += batch?.length ?? 0;
      }
    }
    if (messages.offset === 0) throw new BytesFault('arrow/ipc: could not read message schema: EOF');
  } catch (problem) {
    if (problem instanceof TooMuch) throw tooLarge(`compressed buffers expand to more than ${bytesMax} bytes`, messages.offset);
    throw problem instanceof BytesFault ? new LakeError('format-broken', { format: 'arrows', fault: problem.message, place: ` (byte ${messages.offset})`, values }, { cause: problem }) : problem;
  } finally {
    await messages.close();
  }
}

/** What speaks against the input being Arrow: undefined if a schema of moderate size can be read. */
export const probeArrows = async (input: AsyncIterable<Uint8Array>): Promise<string | undefined> => {
  const messages = new MessageReader(input, bodyBytesMax);
  try {
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
  if (message.kind !== headerCode.schema) throw new BytesFault('arrow/ipc: could not read message schema: another message comes first');
  return readSchema(message.header);
};

/** A schema and the dictionaries that came so far. */
class Stream {
  private readonly columns: readonly Column[];
  private readonly bytesMax: number;
  private readonly dictionaries = new Map<number, Vector>();
  /** Columns by the dictionary that they look up. */
  private readonly coded = new Map<number, Column>();

  constructor(schema: Message, bytesMax: number) {
    this.columns = columnsOf(schema);
    this.bytesMax = bytesMax;
    for (const c of this.columns) this.note(c);
  }

  /** The records of a message, if it has any. @throws BytesFault */
  take(message: Message): Vector | undefined {
    const { header } = message;
    if (message.kind === headerCode.recordBatch) return new BatchReader(message, header, this.dictionaries, this.bytesMax).records(this.columns);
    if (message.kind === headerCode.schema) throw new BytesFault('a second schema');
    if (message.kind !== headerCode.dictionaryBatch) return undefined;
    const id = header.id(0), batch = header.table(1), column = this.coded.get(id);
    if (!column || !batch) throw new BytesFault(`dictionary ${id} that no column has`);
    const values = new BatchReader(message, batch, this.dictionaries, this.bytesMax).dictionary(column);
    this.dictionaries.set(id, joined(this.dictionaries.get(id), values, header.bool(2)));
    return undefined;
  }

  private note(column: Column): void {
    if (column.dictionary) this.coded.set(column.dictionary.id, column);
    const { type } = column;
    switch (type.kind) {
      case 'list': case 'fixed-list': return this.note(type.item);
      case 'struct': return type.fields.forEach((f) => this.note(f));
      case 'union': return type.members.forEach((m) => this.note(m));
      case 'map':
        this.note(type.key);
        return this.note(type.value);
      case 'run-end': return this.note(type.values);
      default: return undefined;
    }
  }
}
