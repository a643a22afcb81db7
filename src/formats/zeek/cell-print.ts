/** Prints cells of Zeek logs from their vectors. */
import { ipText, netText } from '../../vectors/literal.ts';
import type { TextOut } from '../../vectors/texts/out.ts';
import { SecondsView, appendFraction } from '../../vectors/texts/time-out.ts';
import { isFloat, types } from '../../vectors/type.ts';
import { type BytesVector, type NumberVector, type Vector, dataAt, typeAt } from '../../vectors/vector.ts';
import { cellText } from './cells.ts';

/** Prints the cell of one row. */
type CellPrinter = (row: number) => void;

/** A printer of the vector's rows as cells; names and unions leave no trace. */
export const cellPrinter = (v: Vector, out: TextOut): CellPrinter => {
  switch (v.form) {
    case 'number':
      return numberPrinter(v, out);
    case 'bool':
      return (row) => out.byte(v.values[row] === 1 ? 0x54 : 0x46);
    case 'null':
      return () => out.byte(0x2d);
    case 'bytes':
      return bytesPrinter(v, out);
    case 'named':
      return cellPrinter(v.inner, out);
    case 'union': {
      const members = v.members.map((m) => cellPrinter(m, out));
      const { tags, slots } = v;
      return (row) => members[tags[row]](slots[row]);
    }
    case 'selected': {
      const base = cellPrinter(v.base, out);
      const { index } = v;
      return (row) => base(index[row]);
    }
    case 'dictionary': {
      const values = cellPrinter(v.values, out);
      const { codes } = v;
      return (row) => values(codes[row]);
    }
    case 'constant': {
      const inner = cellPrinter(v.inner, out);
      return () => inner(0);
    }
    default:
      return (row) => out.text(cellText(typeAt(v, row), dataAt(v, row)));
  }
};

const numberPrinter = ({ type, values }: NumberVector, out: TextOut): CellPrinter => {
  if (type === types.time || type === types.duration) {
    const view = new SecondsView(values);
    return (row) => {
      view.read(row);
      // Less than nothing is counted from zero, not from the whole second below.
      if (view.seconds < 0) return out.ascii(cellText(type, values[row]));
      out.integer(view.seconds);
      appendFraction(out, view.nanos, view.nanos % 1000 === 0 ? 6 : 9);
    };
  }
  if (isFloat(type))
    return (row) => {
      const x = values[row] as number;
      if (type !== types.float64 || !out.decimal(x)) out.ascii(cellText(type, x));
    };
  return values instanceof Float64Array ? (row) => out.integer(values[row]) : (row) => out.ascii(String(values[row]));
};

/** 1: a byte that a cell cannot have as it is. */
const special = new Uint8Array(256);
for (let i = 0; i < 32; i++) special[i] = 1;
special[0x7f] = special[0x5c] = 1;

const bytesPrinter = (v: BytesVector, out: TextOut): CellPrinter => {
  const { bytes, offsets, type } = v;
  if (type === types.ip)
    return (row) => {
      const start = offsets[row];
      if (offsets[row + 1] - start === 4) out.quad(bytes, start);
      else out.ascii(ipText(bytes.subarray(start, offsets[row + 1])));
    };
  if (type === types.net) return (row) => out.ascii(netText(bytes.subarray(offsets[row], offsets[row + 1])));
  return (row) => {
    const start = offsets[row];
    const end = offsets[row + 1];
    let i = start;
    // A dash or parenthesis may be the beginning of a mark.
    if (type === types.string && bytes[start] !== 0x2d && bytes[start] !== 0x28)
      while (i < end && special[bytes[i]] === 0) i++;
    if (i === end) out.raw(bytes, start, end);
    else out.text(cellText(type, dataAt(v, row)));
  };
};
