/** Writes JSON: one value a line, over several lines, or all in one array. */
import type { TextOut } from '../../vectors/texts/out.ts';
import { type Vector, dataAt, typeAt } from '../../vectors/vector.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { chunkBytes, chunkText } from '../row-chunks.ts';
import { type JsonContext, jsonContext, jsonRowPrinter } from './rows.ts';
import { jsonText } from './text.ts';

export const createJsonWriter = (options: WriteOptions): Writer => new JsonWriter(options);

/** A class: of generators in a literal the engine makes a new class of objects for each answer. */
class JsonWriter implements Writer {
  private readonly out: TextOut;
  private readonly isArray: boolean;
  private readonly isPart: boolean;
  private readonly indent: number;
  private readonly context: JsonContext;
  private isFirst: boolean;

  constructor(options: WriteOptions) {
    const { httpArray = false, pretty = 0, part } = options;
    this.out = chunkText(options);
    this.isArray = httpArray;
    this.isPart = Boolean(part);
    this.indent = httpArray ? 0 : pretty;
    this.context = jsonContext();
    this.isFirst = !part;
  }

  *write(batch: Vector): Generator<Uint8Array> {
    const { out, isArray } = this;
    const print =
      this.indent > 0
        ? (row: number): void => out.text(jsonText(typeAt(batch, row), dataAt(batch, row), this.indent))
        : jsonRowPrinter(batch, out, this.context);
    for (let row = 0; row < batch.length; row++) {
      if (isArray) out.byte(this.isFirst ? 0x5b : 0x2c);
      this.isFirst = false;
      print(row);
      if (!isArray) out.byte(0x0a);
      if (out.length >= chunkBytes) yield out.take();
    }
    if (out.length > 0) yield out.take();
  }
  *end(): Generator<Uint8Array> {
    if (!this.isArray || this.isPart) return;
    this.out.ascii(this.isFirst ? '[]\n' : ']\n');
    yield this.out.take();
  }
}
