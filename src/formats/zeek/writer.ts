/**
 * Writes Zeek logs: nested records flattened, the header again when the type of the records changes, the path in a line
 * of its own.
 */
import { LakeError } from '../../errors.ts';
import { vectorOf } from '../../vectors/builder.ts';
import { distinctNames } from '../../vectors/field-names.ts';
import { supText, supType } from '../../vectors/sup/print.ts';
import { TextOut } from '../../vectors/texts/out.ts';
import { type RecordType, type Type, types } from '../../vectors/type.ts';
import type { Data } from '../../vectors/value.ts';
import { type RecordVector, type Vector, valueAt } from '../../vectors/vector.ts';
import { asRecord, leafValues, leavesOf } from '../columns/flat.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { chunkBytes, rowChunks } from '../row-chunks.ts';
import { asText } from './as-text.ts';
import { cellPrinter } from './cell-print.ts';
import { cellText } from './cells.ts';
import { zeekOfType } from './types.ts';

export const createZeekWriter = ({ othersAsText = false }: WriteOptions): Writer => {
  const rows = new ZeekRows();
  return {
    *write(batch: Vector) {
      yield* rowChunks(rows.out, batch.length, rows.printer(othersAsText ? withText(batch) : batch));
    },
    end: () => [],
  };
};

const withText = (v: Vector): Vector => vectorOf(Array.from({ length: v.length }, (_, row) => asText(valueAt(v, row))));

/** What the rows of one record type have in common. `path`: which leaf is the log's path, or -1. */
interface Head {
  readonly type: Type;
  readonly names: readonly string[];
  readonly types: readonly Type[];
  readonly path: number;
}

class ZeekRows {
  readonly out = new TextOut(chunkBytes * 2);
  private started = false;
  private type: Type | undefined;
  private path = '';

  /** A printer of rows, with what has to be said before them. */
  printer(v: Vector): (row: number) => void {
    switch (v.form) {
      case 'record':
        return this.recordPrinter(v);
      case 'named':
        return v.inner.form === 'record' ? this.recordPrinter(v.inner) : this.valuePrinter(v);
      case 'dynamic': {
        const parts = v.parts.map((p) => this.printer(p));
        const { tags, slots } = v;
        return (row) => parts[tags[row]](slots[row]);
      }
      case 'selected': {
        const base = this.printer(v.base);
        const { index } = v;
        return (row) => base(index[row]);
      }
      default:
        return this.valuePrinter(v);
    }
  }

  private recordPrinter(v: RecordVector): (row: number) => void {
    const leaves = v.length > 0 && hasOneType(v) ? leavesOf(v) : undefined;
    if (!leaves) return this.valuePrinter(v);
    const { out } = this;
    const { type, data } = asRecord(valueAt(v, 0))!;
    const head = headOf(type, data);
    const pathOut = new TextOut();
    const cells = leaves.map((leaf, i) => ({
      at: leaf.at,
      print: cellPrinter(leaf.values, i === head.path ? pathOut : out),
    }));
    const pathLeaf = head.path < 0 ? undefined : cells.splice(head.path, 1)[0];
    return (row) => {
      const at = pathLeaf ? pathLeaf.at(row) : -1;
      if (at >= 0) pathLeaf!.print(at);
      this.begin(head, at < 0 ? '' : Buffer.from(pathOut.take()).toString());
      const start = out.length;
      for (let i = 0; i < cells.length; i++) {
        if (i > 0) out.byte(0x09);
        const r = cells[i].at(row);
        if (r < 0) out.byte(0x2d);
        else cells[i].print(r);
      }
      escapeMark(out, start);
      out.byte(0x0a);
    };
  }

  private valuePrinter(v: Vector): (row: number) => void {
    return (row) => {
      const { out } = this;
      const value = valueAt(v, row);
      const record = asRecord(value);
      if (!record) throw new LakeError('write-not-record', { writer: 'Zeek', value: supText(value) });
      const leaves = leafValues(record.type, record.data);
      const head = headOf(record.type, record.data);
      const path = leaves[head.path];
      this.begin(head, path?.data === undefined ? '' : cellText(path.type, path.data));
      const start = out.length;
      out.text(
        `${leaves
          .filter((l) => l !== path)
          .map((c) => (c.data === undefined ? '-' : cellText(c.type, c.data)))
          .join('\t')}\n`,
      );
      escapeMark(out, start);
    };
  }

  /** Says what the row's columns are if the one before had others. */
  private begin({ type, names, types: columns }: Head, path: string): void {
    const { out } = this;
    const zeekNames = this.type === type ? [] : columns.map((column) => this.typeName(column));
    if (!this.started) out.ascii('#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n');
    this.started = true;
    this.setPath(path);
    if (this.type === type) return;
    // What separates names and lines would make other columns, or other rows, of what follows it.
    const odd = names.find((name) => /[\t\n\r]/.test(name));
    if (odd !== undefined) throw new LakeError('write-name', { name: JSON.stringify(odd), format: 'zeek' });
    out.text(`${['#fields', ...names].join('\t')}\n${['#types', ...zeekNames].join('\t')}\n`);
    this.type = type;
  }
  private setPath(path: string): void {
    if (path === this.path) return;
    this.path = path;
    this.out.text(`#path\t${path === '' ? '-' : path}\n`);
  }
  private typeName(type: Type): string {
    const name = zeekOfType(type);
    if (name === undefined) throw new LakeError('write-type', { type: supType(type), format: 'zeek' });
    return name;
  }
}

/** A row that begins like a line of the header would be taken for one. */
const escapeMark = (out: TextOut, start: number): void => {
  if (out.length > start && out.bytes[start] === 0x23) out.replaceByte(start, '\\x23');
};

const headOf = (type: RecordType, data: readonly (Data | undefined)[]): Head => {
  const leaves = leafValues(type, data);
  const path = leaves.findIndex((l) => l.name === '_path' && (l.type === types.string || l.type.kind === 'union'));
  const columns = leaves.filter((_, i) => i !== path);
  // `a.b` and the field b of a are two columns.
  const names = distinctNames(columns.map((c) => c.name));
  return { type, names, types: columns.map((c) => c.type), path };
};

/** Whether all rows are of one type, so that one header holds for them. */
const hasOneType = (v: Vector): boolean => {
  switch (v.form) {
    case 'dynamic':
      return false;
    case 'record':
      return v.fields.every((f) => hasOneType(f.values));
    case 'named':
    case 'error':
    case 'constant':
      return hasOneType(v.inner);
    case 'dictionary':
      return hasOneType(v.values);
    case 'selected':
      return hasOneType(v.base);
    default:
      return true;
  }
};
