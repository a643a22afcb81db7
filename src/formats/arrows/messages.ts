/**
 * Messages of an Arrow IPC stream (or file, which is a stream between marks): metadata and the body that belongs to it.
 * Those of a file whose first message has no length are read by its table of contents.
 */
import { LakeError } from '../../errors.ts';
import { ByteSource } from '../byte-source.ts';
import type { ReadOptions } from '../format.types.ts';
import { Spool } from '../spool.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { FlatTable } from '../arrow-schema/flat-read.ts';
import { continuation, headerCode } from '../arrow-schema/ipc.ts';
import { type Contents, contentsOf, fileMark } from './contents.ts';

/** Longest metadata of a message. */
const metadataBytesMax = 64 << 20;
/** Beyond this, detection takes the first word for text. */
const detectedSchemaBytesMax = 1 << 20;
/** No schema message is shorter: in a file a smaller word in place of its length is where its root is. */
const schemaBytesMin = 40;

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

type MessageOptions = Pick<ReadOptions, 'memory' | 'scratch' | 'parquetFileBytesMax'>;
/** The messages of one input, be it a stream or a file, one after the other. */
export class MessageReader {
  private source: ByteSource;
  private readonly bodyBytesMax: number;
  private readonly options: MessageOptions;
  private isFile = false;
  private contents: Contents | undefined;

  constructor(input: AsyncIterable<Uint8Array>, bodyBytesMax: number, options: MessageOptions) {
    this.options = options;
    this.source = this.sourceOf(input);
    this.bodyBytesMax = bodyBytesMax;
  }

  get offset(): number {
    const { offset } = this.source;
    return this.contents ? this.contents.placeOf(offset) : offset;
  }
  async close(): Promise<void> {
    await this.source.close();
    this.contents?.close();
  }

  /** The schema message that a stream begins with; undefined at the end of the input. @throws BytesFault */
  async first(detecting = false): Promise<Message | undefined> {
    const { source } = this;
    if (!(await source.need(1))) return undefined;
    if (await this.isByContents()) return this.whole();
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
  /** Whether the input is a file whose messages its table of contents tells, since the first one has no length. */
  async isByContents(): Promise<boolean> {
    if (await this.skipFileMark()) this.isFile = true;
    return this.isFile && this.hasBareSchema();
  }
  /** Behind the stream may come another one; behind that of a file comes its table of contents. */
  mayContinue(): boolean {
    return !this.isFile;
  }

  private sourceOf(input: AsyncIterable<Uint8Array>): ByteSource {
    return new ByteSource(input, { memory: this.options.memory, format: 'arrows', what: 'metadata' });
  }
  private async skipFileMark(): Promise<boolean> {
    const { source } = this;
    const { length } = fileMark;
    if (!(await source.need(length))) return false;
    for (let i = 0; i < length; i++) if (source.bytes[source.start + i] !== fileMark.charCodeAt(i)) return false;
    source.start += length;
    return true;
  }
  /** Whether there is metadata where its length should be. */
  private async hasBareSchema(): Promise<boolean> {
    const word = await this.word();
    if (word !== undefined) this.source.start -= 4;
    return word !== undefined && word > 0 && word < schemaBytesMin;
  }
  /** The schema of the file's table of contents; messages are those that it lists from here on. */
  private async whole(): Promise<Message> {
    const { source } = this;
    const contents = await contentsOf(source, this.options);
    this.contents = contents;
    await source.close();
    this.source = this.sourceOf(contents.messages());
    const body = new Spool({ format: 'arrows', what: 'message body' });
    return { kind: headerCode.schema, header: contents.schema, version: contents.version, body };
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
