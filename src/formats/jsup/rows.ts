/** Rows of a vector as JSUP values, a printer for each column, without a Value per row. */
import { bytesText, durationText, floatText, ipText, netText, timeText } from '../../vectors/literal.ts';
import { escapeTable, quotedTail } from '../../vectors/texts/quoted.ts';
import type { TextOut } from '../../vectors/texts/out.ts';
import { type Type, types } from '../../vectors/type.ts';
import type { BytesVector, NumberVector, RecordVector, Vector } from '../../vectors/vector.ts';

/** Prints one row. */
type RowPrinter = (row: number) => void;

/** `typeValue`: the object of a type that a value names; it may define the type. */
interface JsupContext {
  readonly out: TextOut;
  readonly typeValue: (type: Type) => string;
}

/** A printer of the vector's rows into `out`. */
export const jsupRowPrinter = (c: JsupContext, v: Vector): RowPrinter => {
  const { out } = c;
  switch (v.form) {
    case 'number':
      return numberPrinter(out, v);
    case 'bool':
      return (row) => out.ascii(v.values[row] === 1 ? '"true"' : '"false"');
    case 'null':
      return () => out.ascii('null');
    case 'bytes':
      return bytesPrinter(out, v);
    case 'type':
      return (row) => out.text(c.typeValue(v.table[v.codes[row]]));
    case 'enum':
      return (row) => quotedInteger(out, v.codes[row]);
    case 'record':
      return recordPrinter(c, v);
    case 'list': {
      const item = jsupRowPrinter(c, v.items);
      const { offsets } = v;
      return (row) => listed(out, offsets[row], offsets[row + 1], item);
    }
    case 'map': {
      const key = jsupRowPrinter(c, v.keys);
      const value = jsupRowPrinter(c, v.values);
      const { offsets } = v;
      return (row) =>
        listed(out, offsets[row], offsets[row + 1], (item) => {
          out.byte(0x5b);
          key(item);
          out.byte(0x2c);
          value(item);
          out.byte(0x5d);
        });
    }
    case 'union': {
      const members = v.members.map((m) => jsupRowPrinter(c, m));
      const { tags, slots } = v;
      return (row) => {
        out.byte(0x5b);
        quotedInteger(out, tags[row]);
        out.byte(0x2c);
        members[tags[row]](slots[row]);
        out.byte(0x5d);
      };
    }
    case 'error':
    case 'named':
      return jsupRowPrinter(c, v.inner);
    case 'dynamic': {
      const parts = v.parts.map((p) => jsupRowPrinter(c, p));
      const { tags, slots } = v;
      return (row) => parts[tags[row]](slots[row]);
    }
    case 'constant': {
      const inner = jsupRowPrinter(c, v.inner);
      return () => inner(0);
    }
    case 'dictionary': {
      const inner = jsupRowPrinter(c, v.values);
      const { codes } = v;
      return (row) => inner(codes[row]);
    }
    case 'selected': {
      const inner = jsupRowPrinter(c, v.base);
      const { index } = v;
      return (row) => inner(index[row]);
    }
  }
};

const listed = (out: TextOut, start: number, end: number, item: RowPrinter): void => {
  out.byte(0x5b);
  for (let i = start; i < end; i++) {
    if (i > start) out.byte(0x2c);
    item(i);
  }
  out.byte(0x5d);
};

const quotedInteger = (out: TextOut, x: number): void => {
  out.byte(0x22);
  out.integer(x);
  out.byte(0x22);
};

const numberPrinter = (out: TextOut, { type, values }: NumberVector): RowPrinter => {
  switch (type) {
    case types.float64:
      return (row) => {
        const x = values[row] as number;
        out.byte(0x22);
        // Whole numbers end in a point, small and large ones may have an exponent.
        if (x < 0.001 || x >= 1e6 || x === Math.floor(x) || !out.decimal(x)) out.ascii(exactFloat(x, 64));
        out.byte(0x22);
      };
    case types.float32:
    case types.float16:
      return (row) => out.ascii(`"${exactFloat(values[row] as number, 32)}"`);
    case types.duration:
      return (row) => out.ascii(`"${durationText(values[row])}"`);
    case types.time:
      return (row) => out.ascii(`"${timeText(values[row])}"`);
  }
  if (!(values instanceof Float64Array)) return (row) => out.ascii(`"${values[row]}"`);
  return (row) => quotedInteger(out, values[row]);
};
/** The text of SUP has no -0; here nothing else would tell it. */
const exactFloat = (x: number, bits: 32 | 64): string => (Object.is(x, -0) ? '-0.' : floatText(x, bits));

/** The reference escapes what HTML would read, and the line separators. */
const escapes = escapeTable('"\\<>&', true);

/** bytes[start, end) as a JSON string; `quotedRun` of vectors/texts/quoted.ts passes over `<`, `>` and `&`. */
const jsonRun = (out: TextOut, source: Uint8Array, start: number, end: number): void => {
  out.byte(0x22);
  quotedTail(out, source, start, end, escapes);
};

const bytesPrinter = (out: TextOut, { type, bytes, offsets }: BytesVector): RowPrinter => {
  if (type === types.string) return (row) => jsonRun(out, bytes, offsets[row], offsets[row + 1]);
  const text = type === types.ip ? ipText : type === types.net ? netText : bytesText;
  return (row) => out.ascii(`"${text(bytes.subarray(offsets[row], offsets[row + 1]))}"`);
};

/** With optional fields the first element lists, counted among them, those that are absent. */
const recordPrinter = (c: JsupContext, { fields }: RecordVector): RowPrinter => {
  const { out } = c;
  const printers = fields.map((f) => jsupRowPrinter(c, f.values));
  const presence = fields.map((f) => (f.optional ? f.present : undefined));
  const optional = fields.flatMap((f, k) => (f.optional ? [k] : []));
  return (row) => {
    out.byte(0x5b);
    if (optional.length > 0)
      absentList(
        out,
        optional.map((k) => presence[k]?.[row] === 0),
      );
    for (let k = 0, first = optional.length === 0; k < printers.length; k++) {
      if (presence[k]?.[row] === 0) continue;
      if (!first) out.byte(0x2c);
      first = false;
      printers[k](row);
    }
    out.byte(0x5d);
  };
};
const absentList = (out: TextOut, absent: readonly boolean[]): void => {
  const places = absent.flatMap((there, k) => (there ? [k] : []));
  out.ascii(places.length === 0 ? 'null' : `[${places.join(',')}]`);
};
