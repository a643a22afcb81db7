/**
 * Messages of an Arrow IPC stream (or file, which is a stream between marks): metadata and the body that belongs to it.
 */
import { LakeError } from '../../errors.ts';
import { ByteSource } from '../byte-source.ts';
import type { ReadOptions } from '../format.types.ts';
import { Spool } from '../spool.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { FlatTable } from '../arrow-schema/flat-read.ts';
import { continuation } from '../arrow-schema/ipc.ts';

/** Longest metadata of a message. */
const metadataBytesMax = 64 << 20;
/** Beyond this, detection takes the first word for text. */
const detectedSchemaBytesMax = 1 << 20;

/** One message, whole. */
export interface Message {
  /** One of `headerCode`. */
  readonly kind: number;
  readonly header: FlatTable;
  /** Of the metadata: V5 is `metadataVersion`. */
  readonly version: number;
  /** To be closed. */
  readonly body: Spool;
}

const cut = (what: string): BytesFault => new BytesFault(`arrow/ipc: could not read message ${what}: unexpected EOF`);

/** What is longer than the option allows. */
export const tooLarge = (fault: string, offset: number): LakeError =>
  new LakeError('format-too-large', {
    format: 'arrows',
    fault: `arrow/ipc: ${fault}`,
    place: ` (option -arrows.body.max, byte ${offset})`,
  });

/** The messages of one input, be it a stream or a file, one after the other. */
export class MessageReader {
  private readonly source: ByteSource;
  private readonly bodyBytesMax: number;
  private readonly options: Pick<ReadOptions, 'memory' | 'scratch'>;
  private isFile = false;

  constructor(
    input: AsyncIterable<Uint8Array>,
    bodyBytesMax: number,
    options: Pick<ReadOptions, 'memory' | 'scratch'>,
  ) {
    this.options = options;
    this.source = new ByteSource(input, { memory: options.memory, format: 'arrows', what: 'metadata' });
    this.bodyBytesMax = bodyBytesMax;
  }

  get offset(): number {
    return this.source.offset;
  }
  close(): Promise<void> {
    return this.source.close();
  }

  /** The schema message that a stream begins with; undefined at the end of the input. @throws BytesFault */
  async first(detecting = false): Promise<Message | undefined> {
    const { source } = this;
    if (!(await source.need(1))) return undefined;
    if (await this.skipFileMark()) this.isFile = true;
    const length = await this.metadataLength();
    if (detecting && (length ?? 0) > detectedSchemaBytesMax)
      throw new BytesFault('schema message length exceeds 1 MiB');
    if (!length) throw new BytesFault('arrow/ipc: could not read message schema: EOF');
    return this.message(length, 'schema');
  }
  /** The next message of the stream; undefined at its end. @throws BytesFault */
  async next(): Promise<Message | undefined> {
    const length = await this.metadataLength();
    return length ? this.message(length, 'batch') : undefined;
  }
  /** Behind the stream may come another one; behind that of a file comes its table of contents. */
  mayContinue(): boolean {
    return !this.isFile;
  }

  private async skipFileMark(): Promise<boolean> {
    const { source } = this;
    if (!(await source.need(8))) return false;
    const mark = 'ARROW1\0\0';
    for (let i = 0; i < 8; i++) if (source.bytes[source.start + i] !== mark.charCodeAt(i)) return false;
    source.start += 8;
    return true;
  }
  /** 0 at a mark of the end, undefined at the end of the input. */
  private async metadataLength(): Promise<number | undefined> {
    let word = await this.word();
    if (word === continuation) word = await this.word();
    return word;
  }
  private async word(): Promise<number | undefined> {
    const { source } = this;
    if (!(await source.need(4))) {
      if (source.end > source.start) throw new BytesFault('arrow/ipc: could not read message length: unexpected EOF');
      return undefined;
    }
    const { bytes, start } = source;
    source.start += 4;
    return (bytes[start] | (bytes[start + 1] << 8) | (bytes[start + 2] << 16) | (bytes[start + 3] << 24)) >>> 0;
  }
  private async message(length: number, what: string): Promise<Message> {
    if (length > metadataBytesMax)
      throw new BytesFault(`arrow/ipc: ${what} message of ${length} bytes (limit ${metadataBytesMax})`);
    const message = FlatTable.root(await this.take(length, what));
    const header = message.table(2);
    const bodyLength = message.size(3);
    if (!header) throw new BytesFault('arrow/ipc: message without a header');
    if (bodyLength > this.bodyBytesMax)
      throw tooLarge(`message body of ${bodyLength} bytes (limit ${this.bodyBytesMax})`, this.offset);
    return { kind: message.uint8(1), header, version: message.int16(0), body: await this.spooled(bodyLength, what) };
  }
  private async spooled(length: number, what: string): Promise<Spool> {
    const body = new Spool({ ...this.options, format: 'arrows', what: 'message body' });
    try {
      for (let left = length; left > 0; ) {
        const bytes = await this.source.some(left);
        if (!bytes) throw cut(`${what} body`);
        body.append(bytes);
        left -= bytes.length;
      }
      return body;
    } catch (problem) {
      body.close();
      throw problem;
    }
  }
  private async take(length: number, what: string): Promise<Uint8Array> {
    const { source } = this;
    if (!(await source.need(length))) throw cut(what);
    const bytes = new Uint8Array(length);
    bytes.set(source.bytes.subarray(source.start, source.start + length));
    source.start += length;
    return bytes;
  }
}
