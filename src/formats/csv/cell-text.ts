/** Prints cells of CSV and TSV, in quotes where they need them. */
import { plainFloatText, primitiveText } from '../../vectors/literal.ts';
import { supText } from '../../vectors/sup/print.ts';
import type { TextOut } from '../../vectors/texts/out.ts';
import { timePrinter } from '../../vectors/texts/time-out.ts';
import { type Type, isFloat, types } from '../../vectors/type.ts';
import { type Data, underValue, bytesData, numberData, stringData } from '../../vectors/value.ts';
import { type BytesVector, type NumberVector, type Vector, dataAt, typeAt } from '../../vectors/vector.ts';
import { behindSpaces, isSpaceStart } from './spaces.ts';

/** Prints the cell of one row, without delimiters. */
type CellPrinter = (row: number) => void;

/** A printer of the vector's rows as cells. */
export const cellPrinter = (v: Vector, out: TextOut, delimiter: number): CellPrinter => {
  const inside = (inner: Vector): CellPrinter => cellPrinter(inner, out, delimiter);
  switch (v.form) {
    case 'number':
      return numberCell(v, out);
    case 'bool':
      return (row) => out.ascii(v.values[row] === 1 ? 'true' : 'false');
    case 'null':
      return () => undefined;
    case 'bytes':
      return bytesCell(v, out, delimiter);
    case 'named':
      return inside(v.inner);
    case 'union': {
      const members = v.members.map(inside);
      const { tags, slots } = v;
      return (row) => members[tags[row]](slots[row]);
    }
    case 'dynamic': {
      const parts = v.parts.map(inside);
      const { tags, slots } = v;
      return (row) => parts[tags[row]](slots[row]);
    }
    case 'constant': {
      const inner = inside(v.inner);
      return () => inner(0);
    }
    case 'dictionary': {
      const inner = inside(v.values);
      const { codes } = v;
      return (row) => inner(codes[row]);
    }
    case 'selected': {
      const inner = inside(v.base);
      const { index } = v;
      return (row) => inner(index[row]);
    }
    default:
      return (row) => printCell(typeAt(v, row), dataAt(v, row), out, delimiter);
  }
};

/** One cell. */
export const printCell = (type: Type, data: Data, out: TextOut, delimiter: number): void => {
  const start = out.length;
  out.text(cellText(type, data));
  quoteFrom(out, start, delimiter);
};

const cellText = (type: Type, data: Data): string => {
  const value = underValue({ type, data });
  if (value.type === types.string) return stringData(value.data);
  if (value.type === types.null || (value.type === types.bytes && bytesData(value.data).length === 0)) return '';
  if (isFloat(value.type)) return plainFloatText(numberData(value.data), value.type === types.float64 ? 64 : 32);
  if (value.type.kind === 'primitive' && value.type !== types.type) return primitiveText(value.type, value.data);
  return supText(value);
};

const numberCell = (v: NumberVector, out: TextOut): CellPrinter => {
  const { type, values } = v;
  if (isFloat(type)) {
    const bits = type === types.float64 ? 64 : 32;
    return (row) => {
      const x = values[row] as number;
      // Small and large ones may have an exponent.
      if (bits === 32 || x < 0.001 || x >= 1e6 || !out.decimal(x)) out.ascii(plainFloatText(x, bits));
    };
  }
  if (type === types.time) return timePrinter(values, out);
  if (type === types.duration) return (row) => out.ascii(primitiveText(type, values[row]));
  return values instanceof Float64Array ? (row) => out.integer(values[row]) : (row) => out.ascii(String(values[row]));
};

const bytesCell = (v: BytesVector, out: TextOut, delimiter: number): CellPrinter => {
  const { type, bytes, offsets } = v;
  if (type !== types.string)
    return (row) =>
      offsets[row] === offsets[row + 1]
        ? undefined
        : out.ascii(primitiveText(type, bytes.subarray(offsets[row], offsets[row + 1])));
  return (row) => {
    const start = out.length;
    out.raw(bytes, offsets[row], offsets[row + 1]);
    quoteFrom(out, start, delimiter);
  };
};

/**
 * Puts what was printed from `start` on into quotes if it has a delimiter, quote or line break, or begins with white
 * space.
 */
export const quoteFrom = (out: TextOut, start: number, delimiter: number): void => {
  const end = out.length;
  const { bytes } = out;
  if (start === end) return;
  let quote =
    (isSpaceStart(bytes[start]) && behindSpaces(bytes, start, end) > start) ||
    (end - start === 2 && bytes[start] === 0x5c && bytes[start + 1] === 0x2e);
  for (let i = start; i < end && !quote; i++) {
    const b = bytes[i];
    quote = b === delimiter || b === 0x22 || b === 0x0a || b === 0x0d;
  }
  if (!quote) return;
  const text = bytes.slice(start, end);
  out.cutTo(start);
  out.byte(0x22);
  for (const b of text) {
    if (b === 0x22) out.byte(b);
    out.byte(b);
  }
  out.byte(0x22);
};
