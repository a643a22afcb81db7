/**
 * Rows of a vector as JSON text on one line, without a Value per row where the types are simple; text.ts prints the
 * rest.
 */
import { floatsOfTexts, longDecimalName } from '../../vectors/decimal.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { bytesText, durationText, ipText, jsonFloatText, netText } from '../../vectors/literal.ts';
import { type RowPrinter, type WeaveStyle, cleanliness, strandOf, weavePrinter } from '../../vectors/row-weave.ts';
import { escapeTable, isClean, quotedRun } from '../../vectors/texts/quoted.ts';
import type { TextOut } from '../../vectors/texts/out.ts';
import { timePrinter } from '../../vectors/texts/time-out.ts';
import { types } from '../../vectors/type.ts';
import {
  type BytesVector,
  type ListVector,
  type NumberVector,
  type RecordVector,
  type Vector,
  dataAt,
  typeAt,
} from '../../vectors/vector.ts';
import { numberText, jsonString, jsonText } from './text.ts';
import { stringData } from '../../vectors/value.ts';

/** What the batches of one answer share. */
export type JsonContext = WeaveStyle;
/** What is shared at the beginning of an answer: nothing yet. */
export const jsonContext = (): JsonContext => {
  const c: JsonContext = {
    quote: '"',
    isClean: cleanliness(isCleanText),
    tables: new WeakMap(),
    printer: (v, out) => jsonRowPrinter(v, out, c),
  };
  return c;
};

/**
 * A printer of the vector's rows into `out`; so many of them will be printed, about. Absent fields are left out; names
 * and unions leave no trace.
 */
export const jsonRowPrinter = (v: Vector, out: TextOut, c: JsonContext, rows = v.length): RowPrinter => {
  switch (v.form) {
    case 'number':
      return numberPrinter(v, out);
    case 'bool':
      return (row) => out.ascii(v.values[row] === 1 ? 'true' : 'false');
    case 'null':
      return () => out.ascii('null');
    case 'bytes':
      return bytesPrinter(v, out);
    case 'record':
      return recordPrinter(v, out, c, rows);
    case 'list':
      return listPrinter(v, out, c);
    case 'union': {
      const members = v.members.map((m) => jsonRowPrinter(m, out, c));
      const { tags, slots } = v;
      return (row) => members[tags[row]](slots[row]);
    }
    case 'error': {
      const inner = jsonRowPrinter(v.inner, out, c);
      return (row) => {
        out.ascii('{"error":');
        inner(row);
        out.byte(0x7d);
      };
    }
    case 'named':
      return v.name === longDecimalName && floatsOfTexts(v.inner)
        ? (row) => out.ascii(numberText(stringData(dataAt(v.inner, row))))
        : jsonRowPrinter(v.inner, out, c, rows);
    case 'dynamic': {
      const parts = v.parts.map((p) => jsonRowPrinter(p, out, c, Math.min(rows, p.length)));
      const { tags, slots } = v;
      return (row) => parts[tags[row]](slots[row]);
    }
    case 'constant': {
      const inner = jsonRowPrinter(v.inner, out, c);
      return () => inner(0);
    }
    case 'dictionary': {
      const inner = jsonRowPrinter(v.values, out, c);
      const { codes } = v;
      return (row) => inner(codes[row]);
    }
    case 'selected': {
      const inner = jsonRowPrinter(v.base, out, c, rows);
      const { index } = v;
      return (row) => inner(index[row]);
    }
    case 'map':
    case 'type':
    case 'enum':
      return (row) => out.text(jsonText(typeAt(v, row), dataAt(v, row)));
  }
};

const numberPrinter = (v: NumberVector, out: TextOut): RowPrinter => {
  const { values, type } = v;
  switch (type) {
    case types.float64:
    case types.float32:
    case types.float16:
      return (row) => {
        const x = values[row] as number;
        if (!out.decimal(x)) out.ascii(jsonFloatText(x));
      };
    case types.duration:
      return (row) => out.ascii(`"${durationText(values[row])}"`);
    case types.time: {
      const time = timePrinter(values, out);
      return (row) => {
        out.byte(0x22);
        time(row);
        out.byte(0x22);
      };
    }
  }
  return values instanceof Float64Array ? (row) => out.integer(values[row]) : (row) => out.ascii(String(values[row]));
};

const escapes = escapeTable('"\\', true);
const isCleanText = (bytes: Uint8Array, start: number, end: number): boolean => isClean(bytes, start, end, escapes);

const bytesPrinter = (v: BytesVector, out: TextOut): RowPrinter => {
  const { bytes, offsets, type } = v;
  if (type === types.string) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return (row) => quotedRun(out, bytes, view, offsets[row], offsets[row + 1], escapes);
  }
  const text = type === types.ip ? ipText : type === types.net ? netText : bytesText;
  return (row) => out.ascii(`"${text(bytes.subarray(offsets[row], offsets[row + 1]))}"`);
};

const recordPrinter = (v: RecordVector, out: TextOut, c: JsonContext, rows: number): RowPrinter => {
  const firstSure = v.fields.findIndex((f) => !f.present);
  const strands = v.fields.map((f, i) => {
    const head = `${i === 0 && firstSure === 0 ? '' : ','}${jsonString(f.name)}:`;
    const strand = strandOf(head, f.values, c, out, rows);
    if (f.present) strand.present = f.present;
    return strand;
  });
  if (firstSure === 0) return weavePrinter('{', strands, '}', out);
  const print = weavePrinter('', strands, '}', out);
  return (row) => {
    // Each field begins with a comma; the first one's is overwritten.
    const start = out.length;
    print(row);
    if (out.length === start + 1) {
      out.bytes[start] = 0x7b;
      out.byte(0x7d);
    } else out.bytes[start] = 0x7b;
  };
};

const listPrinter = (v: ListVector, out: TextOut, c: JsonContext): RowPrinter => {
  const items = jsonRowPrinter(v.items, out, c);
  const { offsets } = v;
  return (row) => {
    out.byte(0x5b);
    for (let i = offsets[row]; i < offsets[row + 1]; i++) {
      checkStopAt(i);
      if (i > offsets[row]) out.byte(0x2c);
      items(i);
    }
    out.byte(0x5d);
  };
};
