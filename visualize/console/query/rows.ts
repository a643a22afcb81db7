/**
 * The rows of an answer, kept as the bytes that came: a million rows are some blocks of bytes and a few numbers each,
 * and a row is decoded when it is looked at.
 *
 * Lines of the JSUP format come in by `append`, however they are cut. Of a row its value's text alone is kept; its type
 * is kept once.
 */
import type { Type } from '../../../src/client/types.ts';
import { type Cell, holdsTypes, primitive, TypeTable } from './wire.ts';

/** The type of rows, with the table that its ids are of. */
interface RowType {
  readonly type: Type;
  readonly table: TypeTable;
  readonly holdsTypes: boolean;
}
/** A message about the query between the rows: `QueryError`, `QueryStats`, `QueryWarning` .. */
export interface Control {
  readonly name: string;
  readonly value: Readonly<Record<string, unknown>>;
}

const blockBytes = 1 << 22;
const rowsMin = 1024;
const newline = 10;
const quote = 34;
const backslash = 92;
const bracket = 91;
const open = 123;
const close = 125;
const refHead = '{"type":{"kind":"ref","id":';
const primitiveHead = '{"type":{"kind":"primitive","name":"';
const kindAt = '{"type":{"kind":"'.length;
const typeAt = '{"type":'.length;
const valueHeadLength = '},"value":'.length;
const decoder = new TextDecoder();

/** The rows of one answer. */
export class RowStore {
  count = 0;
  /** Bytes that came, with what is not kept of them. */
  bytes = 0;
  readonly types: RowType[] = [];
  readonly channels: string[] = ['main'];
  private blocks: Uint8Array[] = [];
  private block = new Uint8Array(0);
  private lineStart = 0;
  private used = 0;
  private starts = new Uint32Array(rowsMin);
  private ends = new Uint32Array(rowsMin);
  private blockOf = new Uint16Array(rowsMin);
  private typeOfRow = new Uint32Array(rowsMin);
  private channelOfRow = new Uint8Array(rowsMin);
  private channel = 0;
  private table = new TypeTable();
  private indexById = new Map<number, number>();
  private indexByType = new Map<Type, number>();

  /** Takes a piece of the answer; gives the messages that stood in it. */
  append(chunk: Uint8Array): readonly Control[] {
    const controls: Control[] = [];
    this.bytes += chunk.length;
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(newline, at);
      this.put(end < 0 ? (at === 0 ? chunk : chunk.subarray(at)) : chunk.subarray(at, end));
      if (end < 0) break;
      const control = this.line();
      if (control) controls.push(control);
      at = end + 1;
    }
    return controls;
  }

  /** The row at a position. */
  cell(row: number): Cell {
    const { type, table } = this.types[this.typeOfRow[row]];
    return { type, table, json: JSON.parse(this.text(row)) as unknown };
  }
  /** Its value as it came. */
  text(row: number): string {
    return decoder.decode(this.blocks[this.blockOf[row]].subarray(this.starts[row], this.ends[row]));
  }
  /** The first value of a row whose JSON is a list that begins with a text; undefined where it begins otherwise. */
  firstText(row: number): string | undefined {
    const block = this.blocks[this.blockOf[row]];
    const start = this.starts[row];
    if (block[start] !== bracket || block[start + 1] !== quote) return undefined;
    const end = block.indexOf(quote, start + 2);
    let text = '';
    for (let at = start + 2; at < end; at++) {
      if (block[at] === backslash || block[at] > 126) return undefined;
      text += String.fromCharCode(block[at]);
    }
    return text;
  }
  /** Position in `types`. */
  typeOf(row: number): number {
    return this.typeOfRow[row];
  }
  /** Position in `channels`. */
  channelOf(row: number): number {
    return this.channelOfRow[row];
  }
  /** Bytes held. */
  get size(): number {
    return (
      this.blocks.reduce((sum, block) => sum + block.length, 0) +
      this.starts.byteLength +
      this.ends.byteLength +
      this.blockOf.byteLength +
      this.typeOfRow.byteLength +
      this.channelOfRow.byteLength
    );
  }

  private put(bytes: Uint8Array): void {
    if (this.used + bytes.length > this.block.length) {
      const partial = this.block.subarray(this.lineStart, this.used);
      this.block = new Uint8Array(Math.max(blockBytes, (partial.length + bytes.length) * 2));
      this.block.set(partial);
      this.blocks.push(this.block);
      this.lineStart = 0;
      this.used = partial.length;
    }
    this.block.set(bytes, this.used);
    this.used += bytes.length;
  }

  /** The line that ends here: a row, or a message. */
  private line(): Control | undefined {
    const block = this.block;
    const start = this.lineStart;
    const end = this.used;
    this.lineStart = end;
    if (end === start) return undefined;
    let type: number;
    let value: number;
    if (startsWith(block, start, refHead, kindAt)) {
      let at = start + refHead.length;
      let id = 0;
      for (; block[at] !== close; at++) id = id * 10 + block[at] - 48;
      value = at + valueHeadLength;
      type = this.indexById.get(id) ?? this.index(this.table.byId(id), id);
    } else if (startsWith(block, start, primitiveHead, kindAt)) {
      const name = start + primitiveHead.length;
      const nameEnd = block.indexOf(quote, name);
      value = nameEnd + 1 + valueHeadLength;
      type = this.index(primitive(decoder.decode(block.subarray(name, nameEnd))));
    } else {
      const line = JSON.parse(decoder.decode(block.subarray(start, end))) as Readonly<Record<string, unknown>>;
      if (typeof line['type'] === 'string') {
        // A message takes no place.
        this.used = this.lineStart = start;
        return this.control(line['type'], (line['value'] ?? {}) as Control['value']);
      }
      const json = line['type'] as { readonly id?: number };
      type = this.index(this.table.read(json), json.id);
      value = objectEnd(block, start + typeAt) + valueHeadLength - 1;
    }
    // What is kept of the line is its value: it moves to the line's start.
    const length = end - 1 - value;
    block.copyWithin(start, value, value + length);
    this.used = this.lineStart = start + length;
    this.row(start, start + length, type);
    return undefined;
  }

  private row(start: number, end: number, type: number): void {
    const row = this.count;
    if (row === this.starts.length) this.grow();
    this.starts[row] = start;
    this.ends[row] = end;
    this.blockOf[row] = this.blocks.length - 1;
    this.typeOfRow[row] = type;
    this.channelOfRow[row] = this.channel;
    this.count++;
    // Types among the values define ids for what follows.
    if (this.types[type].holdsTypes) register(this.cell(row).json, this.table);
  }

  private control(name: string, value: Control['value']): Control {
    if (name === 'QueryChannelSet') {
      const channel = String(value['channel']);
      if (!this.channels.includes(channel) && this.channels.length < 255) this.channels.push(channel);
      this.channel = Math.max(0, this.channels.indexOf(channel));
      // Each channel begins with no types.
      this.table = new TypeTable();
      this.indexById = new Map();
    }
    return { name, value };
  }

  private index(type: Type, id?: number): number {
    let index = this.indexByType.get(type);
    // Types as values refer to the channel's table.
    if (index === undefined || (this.types[index].holdsTypes && this.types[index].table !== this.table)) {
      index = this.types.push({ type, table: this.table, holdsTypes: holdsTypes(type) }) - 1;
      this.indexByType.set(type, index);
    }
    if (id !== undefined) this.indexById.set(id, index);
    return index;
  }

  private grow(): void {
    const length = this.starts.length * 2;
    const grown = <T extends Uint32Array | Uint16Array | Uint8Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.starts = grown(this.starts, new Uint32Array(length));
    this.ends = grown(this.ends, new Uint32Array(length));
    this.blockOf = grown(this.blockOf, new Uint16Array(length));
    this.typeOfRow = grown(this.typeOfRow, new Uint32Array(length));
    this.channelOfRow = grown(this.channelOfRow, new Uint8Array(length));
  }
}

const startsWith = (bytes: Uint8Array, start: number, text: string, from: number): boolean => {
  for (let i = from; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false;
  return true;
};

/** Behind the JSON object that begins here. */
const objectEnd = (bytes: Uint8Array, start: number): number => {
  let depth = 0;
  for (let at = start; ; at++) {
    const byte = bytes[at];
    if (byte === open) depth++;
    else if (byte === close) {
      if (--depth === 0) return at + 1;
    } else if (byte === quote) {
      for (at++; bytes[at] !== quote; at++) if (bytes[at] === backslash) at++;
    }
  }
};

/** Takes note of the types that stand among values. */
const register = (json: unknown, table: TypeTable): void => {
  if (Array.isArray(json)) for (const each of json) register(each, table);
  else if (typeof json === 'object' && json !== null && (json as { readonly kind?: unknown }).kind !== undefined)
    table.read(json);
};
