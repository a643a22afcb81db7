/**
 * Writes JSUP: each type in full at its first use, by its number afterwards.
 *
 * Invariant: a channel that ends has begun, if only just before.
 */
import { typesOf } from '../../vectors/fuse.ts';
import { TextOut, bytesOfText } from '../../vectors/texts/out.ts';
import { type Type, types } from '../../vectors/type.ts';
import { type Value, fieldsData, numericData, stringData } from '../../vectors/value.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { ControlMessage, WriteOptions, Writer } from '../format.types.ts';
import { jsupRowPrinter } from './rows.ts';

const chunkBytes = 1 << 16;

export const createJsupWriter = (options: WriteOptions): Writer => {
  const out = new TextOut(chunkBytes * 2);
  const table = new TypeTable(options.optFlags ?? false);
  const channelIds = options.channelIds ? new Map<string, number>() : undefined;
  const begun = new Set<string>();
  const tell = (type: ControlMessage['type'], value: string): void => {
    out.text(
      `{"type":"${type}","value":${channelIds && isChannel(type) ? withChannelId(value, channelIds) : value}}\n`,
    );
  };
  const begin = (channel: string): void => {
    table.setChannel(channel);
    begun.add(channel);
    tell('QueryChannelSet', channel);
  };
  return {
    *write(batch: Vector) {
      if (batch.length === 0) return;
      const rows = typesOf(batch);
      const print = jsupRowPrinter({ out, typeValue: (type) => table.text(type) }, batch);
      const heads: Uint8Array[] = [];
      for (let row = 0; row < batch.length; row++) {
        const code = rows.codes ? rows.codes[row] : 0;
        const head = heads[code];
        if (head) out.raw(head);
        else {
          const type = rows.table[code];
          out.text(headText(table, type));
          // From here on the channel knows it.
          heads[code] = bytesOfText(headText(table, type));
        }
        print(row);
        out.raw(tail);
        if (out.length >= chunkBytes) yield out.take();
      }
      if (out.length > 0) yield out.take();
    },
    end: () => [],
    *control(message: ControlMessage) {
      const value = messageText(message.value);
      if (message.type === 'QueryChannelSet' || (message.type === 'QueryChannelEnd' && !begun.has(value))) begin(value);
      if (message.type !== 'QueryChannelSet') tell(message.type, value);
      yield out.take();
    },
  };
};

const headText = (table: TypeTable, type: Type): string => `{"type":${table.text(type)},"value":`;
const tail = bytesOfText('}\n');

const isChannel = (type: ControlMessage['type']): boolean => type === 'QueryChannelSet' || type === 'QueryChannelEnd';

/** The value of a channel's message with a number, which the channel keeps. */
const withChannelId = (value: string, ids: Map<string, number>): string => {
  if (!ids.has(value)) ids.set(value, ids.size);
  return `${value.slice(0, -1)},"channel_id":${ids.get(value)}}`;
};

/** Numbers are given once; what is defined is known for each channel, since a client may read one channel only. */
class TypeTable {
  private readonly ids = new Map<Type, number>();
  private readonly channels = new Map<string, Set<Type>>();
  private defined = new Set<Type>();
  private nextId = 30;
  private readonly optFlags: boolean;
  constructor(optFlags: boolean) {
    this.optFlags = optFlags;
  }

  setChannel(name: string): void {
    let defined = this.channels.get(name);
    if (!defined) this.channels.set(name, (defined = this.channels.size === 0 ? this.defined : new Set()));
    this.defined = defined;
  }

  /** The type object as JSON: a definition or a reference. */
  text(type: Type): string {
    if (type.kind === 'primitive') return `{"kind":"primitive","name":"${type.name}"}`;
    if (this.defined.has(type)) return `{"kind":"ref","id":${this.ids.get(type)}}`;
    const body = this.body(type);
    let id = this.ids.get(type);
    if (id === undefined) this.ids.set(type, (id = this.nextId++));
    this.defined.add(type);
    return `{"kind":"${type.kind}","id":${id},${body}}`;
  }
  private body(type: Exclude<Type, { readonly kind: 'primitive' }>): string {
    switch (type.kind) {
      case 'record':
        if (type.fields.length === 0 && this.optFlags) return '"fields":null';
        return `"fields":[${type.fields.map((f) => `{"name":${json(f.name)},"type":${this.text(f.type)}${f.optional ? ',"opt":true' : this.optFlags ? ',"opt":false' : ''}}`).join(',')}]`;
      case 'array':
      case 'set':
        return `"type":${this.text(type.element)}`;
      case 'map': {
        const key = this.text(type.key);
        return `"key_type":${key},"val_type":${this.text(type.value)}`;
      }
      case 'union':
        return `"types":[${type.members.map((m) => this.text(m)).join(',')}]`;
      case 'enum':
        return `"symbols":[${type.symbols.map(json).join(',')}]`;
      case 'error':
        return `"type":${this.text(type.inner)}`;
      case 'named': {
        const inner = this.text(type.inner);
        return `"name":${json(type.name)},"type":${inner}`;
      }
    }
  }
}

/** A JSON string as the reference spells it: HTML characters and line separators escaped. */
const json = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** The value of a message: plain JSON, times as seconds and nanoseconds. */
const messageText = ({ type, data }: Value): string => {
  if (type.kind === 'named') return messageText({ type: type.inner, data });
  if (type.kind === 'record') {
    return `{${type.fields
      .flatMap((f, i) => {
        const d = fieldsData(data)[i];
        return d === undefined ? [] : [`${json(f.name)}:${messageText({ type: f.type, data: d })}`];
      })
      .join(',')}}`;
  }
  if (type === types.time) {
    const nanos = BigInt(numericData(data));
    return `{"sec":${nanos / 1_000_000_000n},"ns":${nanos % 1_000_000_000n}}`;
  }
  return type === types.string ? json(stringData(data)) : String(data);
};
