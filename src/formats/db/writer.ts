/** Writes what describes pools and objects for people; every other value is SUP, one a line. */
import { primitiveText } from '../../vectors/literal.ts';
import { supText } from '../../vectors/sup/print.ts';
import { TextOut } from '../../vectors/texts/out.ts';
import { types } from '../../vectors/type.ts';
import {
  type Value,
  underValue,
  bytesData,
  fieldsData,
  itemsData,
  numberData,
  stringData,
} from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { chunkBytes, rowChunks } from '../row-chunks.ts';

export const createDbWriter = (_options: WriteOptions): Writer => {
  const out = new TextOut(chunkBytes);
  return {
    *write(batch: Vector) {
      yield* rowChunks(out, batch.length, (row) => out.text(`${describe(valueAt(batch, row))}\n`));
    },
    end: () => [],
  };
};

const describe = (value: Value): string => pool(value) ?? object(value) ?? supText(value);

/** A field of a record without its names and unions, or undefined. */
const field = (record: Value | undefined, name: string): Value | undefined => {
  const under = record && underValue(record);
  if (under?.type.kind !== 'record') return undefined;
  const k = under.type.fields.findIndex((f) => f.name === name);
  const data = fieldsData(under.data)[k];
  return k < 0 || data === undefined ? undefined : underValue({ type: under.type.fields[k].type, data });
};
const idOf = (record: Value): string | undefined => {
  const id = field(record, 'id');
  return id?.type === types.bytes && bytesData(id.data).length === 20 ? ksuidText(bytesData(id.data)) : undefined;
};
const textOf = (v: Value | undefined): string | undefined =>
  v?.type === types.string
    ? stringData(v.data)
    : v?.type.kind === 'enum'
      ? v.type.symbols[numberData(v.data)]
      : undefined;

/** `NAME ID key PATH order ORDER`. */
const pool = (value: Value): string | undefined => {
  const id = idOf(value);
  const name = textOf(field(value, 'name'));
  const layout = field(value, 'layout');
  const keys = field(layout, 'keys');
  const order = textOf(field(layout, 'order'));
  if (id === undefined || name === undefined || order === undefined || keys?.type.kind !== 'array') return undefined;
  const { element } = keys.type;
  const paths = itemsData(keys.data)
    .map((data) => underValue({ type: element, data }).data)
    .map((path) => (Array.isArray(path) ? path.join('.') : String(path)));
  return `${name} ${id} key ${paths.join(',')} order ${order}`;
};

/** `ID SIZE bytes COUNT records`, and the range of the keys in a line of its own. */
const object = (value: Value): string | undefined => {
  const id = idOf(value);
  const size = field(value, 'size');
  const count = field(value, 'count');
  const min = field(value, 'min');
  const max = field(value, 'max');
  if (id === undefined || !size || !count || !min || !max) return undefined;
  return `${id} ${primitiveText(size.type, size.data)}B bytes ${primitiveText(count.type, count.data)} records\n   min ${supText(min)} max ${supText(max)}`;
};

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The 27 characters of an id of 20 bytes. */
const ksuidText = (bytes: Uint8Array): string => {
  let x = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (let i = 0; i < 27; i++, x /= 62n) text = digits[Number(x % 62n)] + text;
  return text;
};
