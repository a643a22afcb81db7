/**
 * Rows of a vector as SUP text, one line each, without a Value per row where the types are simple. The text is that of
 * sup/print.ts, which prints what is not simple.
 */
import { checkStopAt } from '../stop.ts';
import { type Type, type TypeNames, types, quoteName } from '../type.ts';
import {
  type Vector,
  type BytesVector,
  type RecordVector,
  type ListVector,
  type UnionVector,
  type NumberVector,
  typeAt,
  valueAt,
} from '../vector.ts';
import { isImplied, supDecorator, supText } from './print.ts';
import { bytesText, durationText, floatText, ipText, netText } from '../literal.ts';
import { type RowPrinter, type WeaveStyle, cleanliness, printedStrand, strandOf, weavePrinter } from '../row-weave.ts';
import { escapeTable, isClean, quotedRun } from '../texts/quoted.ts';
import { type TextOut, bytesOfText } from '../texts/out.ts';
import { timePrinter } from '../texts/time-out.ts';

/** Where the rows stand, and what is known there. */
interface SupRowOptions {
  /** Names defined already; the caller empties it between top-level values. */
  readonly names: TypeNames;
  /** The rows stand inside another value. Default false. */
  readonly nested?: boolean;
  /** What the batches of one answer share. Default: nothing. */
  readonly shared?: SupShared;
}

/** What has been found out about vectors and dictionaries, which the next batches may have too. */
type SupShared = Pick<WeaveStyle, 'isClean' | 'tables'>;
/** What is shared at the beginning of an answer: nothing yet. */
export const supShared = (): SupShared => ({ isClean: cleanliness(isCleanText), tables: new WeakMap() });

/** A printer of the vector's rows into `out`, without line breaks. */
export const supRowPrinter = (v: Vector, out: TextOut, { names, nested, shared }: SupRowOptions): RowPrinter =>
  printer({ out, names, shared: shared ?? supShared() }, v, nested ?? false, v.length);

interface Context {
  readonly out: TextOut;
  readonly names: TypeNames;
  readonly shared: SupShared;
}

/** `rows`: how many will be printed, about. */
const printer = (c: Context, v: Vector, nested: boolean, rows = v.length): RowPrinter => {
  const { out } = c;
  switch (v.form) {
    case 'number':
      return numberPrinter(c, v);
    case 'bool':
      return (row) => out.ascii(v.values[row] === 1 ? 'true' : 'false');
    case 'null':
      return () => out.ascii('null');
    case 'bytes':
      return bytesPrinter(c, v);
    case 'record':
      return recordPrinter(c, v, rows);
    case 'list':
      return listPrinter(c, v, nested);
    case 'union':
      return unionPrinter(c, v);
    case 'error': {
      const inner = printer(c, v.inner, true);
      return (row) => {
        out.ascii('error(');
        inner(row);
        out.byte(0x29);
      };
    }
    case 'dynamic': {
      const parts = v.parts.map((p) => printer(c, p, nested, Math.min(rows, p.length)));
      const { tags, slots } = v;
      return (row) => parts[tags[row]!]!(slots[row]!);
    }
    case 'constant': {
      const inner = printer(c, v.inner, nested);
      return () => inner(0);
    }
    case 'dictionary': {
      const inner = printer(c, v.values, nested);
      const { codes } = v;
      return (row) => inner(codes[row]!);
    }
    case 'selected': {
      const inner = printer(c, v.base, nested, rows);
      const { index } = v;
      return (row) => inner(index[row]!);
    }
    case 'map':
    case 'named':
    case 'type':
    case 'enum':
      return valuePrinter(c, v, nested);
  }
};

/** The way of anything: one value after another. */
const valuePrinter =
  (c: Context, v: Vector, nested: boolean): RowPrinter =>
  (row) =>
    c.out.text(supText(valueAt(v, row), { names: c.names, nested }));

const numberPrinter = ({ out }: Context, v: NumberVector): RowPrinter => {
  const { type, values } = v;
  switch (type) {
    case types.float64:
      return (row) => {
        const x = values[row] as number;
        // Whole numbers end in a point, small and large ones may have an exponent.
        if (x < 0.001 || x >= 1e6 || x === Math.floor(x) || !out.decimal(x)) out.ascii(floatText(x));
      };
    case types.float32:
    case types.float16:
      return (row) => out.ascii(`${floatText(values[row] as number, 32)}::${type.name}`);
    case types.duration:
      return (row) => out.ascii(durationText(values[row]!));
    case types.time:
      return timePrinter(values, out);
  }
  const suffix = type === types.int64 ? '' : `::${type.name}`;
  if (!(values instanceof Float64Array)) return (row) => out.ascii(`${values[row]!}${suffix}`);
  if (suffix === '') return (row) => out.integer(values[row]!);
  const suffixBytes = bytesOfText(suffix);
  return (row) => {
    out.integer(values[row]!);
    out.raw(suffixBytes);
  };
};

const escapes = escapeTable('"\\', false);
const isCleanText = (bytes: Uint8Array, start: number, end: number): boolean => isClean(bytes, start, end, escapes);

const bytesPrinter = ({ out }: Context, v: BytesVector): RowPrinter => {
  const { bytes, offsets, type } = v;
  if (type === types.string) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return (row) => quotedRun(out, bytes, view, offsets[row]!, offsets[row + 1]!, escapes);
  }
  if (type === types.ip)
    return (row) => {
      const at = offsets[row]!;
      if (offsets[row + 1]! - at === 4) out.quad(bytes, at);
      else out.ascii(ipText(bytes.subarray(at, offsets[row + 1]!)));
    };
  const text = type === types.net ? netText : bytesText;
  return (row) => out.ascii(text(bytes.subarray(offsets[row]!, offsets[row + 1]!)));
};

const recordPrinter = (c: Context, v: RecordVector, rows: number): RowPrinter => {
  const { out } = c;
  const style: WeaveStyle = {
    ...c.shared,
    quote: '"',
    printer: (values, to) => printer({ ...c, out: to }, values, true),
  };
  const strands = v.fields.map((f, i) => {
    const head = `${i === 0 ? '' : ','}${quoteName(f.name)}${f.optional ? '?' : ''}:`;
    const { present } = f;
    if (!present) return strandOf(head, f.values, style, out, rows);
    const inner = printer(c, f.values, true);
    return printedStrand(head, (row) => {
      if (present[row] === 1) inner(row);
      else out.text(`_${supDecorator(typeAt(f.values, row), c.names)}`);
    });
  });
  return weavePrinter('{', strands, '}', out);
};

/** Elements that tell their own type are printed one by one, other lists as values. */
const listPrinter = (c: Context, v: ListVector, nested: boolean): RowPrinter => {
  const { out } = c;
  const { element } = v.type;
  const slow = valuePrinter(c, v, nested);
  if (!isPlain(element)) return slow;
  const items = printer(c, v.items, true);
  const { offsets } = v;
  const [open, close] = v.type.kind === 'set' ? ['|[', ']|'] : ['[', ']'];
  return (row) => {
    const start = offsets[row]!;
    const end = offsets[row + 1]!;
    if (start === end) return slow(row);
    out.ascii(open);
    for (let i = start; i < end; i++) {
      checkStopAt(i - start);
      if (i > start) out.byte(0x2c);
      items(i);
    }
    out.ascii(close);
  };
};
/** Types without unions and names: the text of elements does not depend on their neighbours. */
const isPlain = (type: Type): boolean => type.kind === 'primitive' || isImplied(type);

const unionPrinter = (c: Context, v: UnionVector): RowPrinter => {
  const members = v.members.map((m) => printer(c, m, true));
  const { tags, slots, type } = v;
  const fixed = hasNames(type) ? undefined : supDecorator(type, new Map());
  return (row) => {
    members[tags[row]!]!(slots[row]!);
    c.out.text(fixed ?? supDecorator(type, c.names));
  };
};
const hasNames = (type: Type): boolean => {
  switch (type.kind) {
    case 'named':
      return true;
    case 'record':
      return type.fields.some((f) => hasNames(f.type));
    case 'array':
    case 'set':
      return hasNames(type.element);
    case 'map':
      return hasNames(type.key) || hasNames(type.value);
    case 'union':
      return type.members.some(hasNames);
    case 'error':
      return hasNames(type.inner);
    default:
      return false;
  }
};
