/**
 * Writes CSV and TSV: nested records flattened, one header from the first record; records with other names do not fit.
 */
import { LakeError } from '../../errors.ts';
import { distinctNames } from '../../vectors/field-names.ts';
import { supText } from '../../vectors/sup/print.ts';
import type { TextOut } from '../../vectors/texts/out.ts';
import { type RecordVector, type Vector, valueAt } from '../../vectors/vector.ts';
import { asRecord, leafValues, leavesOf } from '../columns/flat.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { chunkText, rowChunks } from '../row-chunks.ts';
import { cellPrinter, printCell, quoteFrom } from './cell-text.ts';

export const createCsvWriter = (options: WriteOptions): Writer => {
  const rows = new CsvRows(options);
  return {
    *write(batch: Vector) {
      yield* rowChunks(rows.out, batch.length, rows.printer(batch));
    },
    end: () => [],
  };
};

class CsvRows {
  readonly out: TextOut;
  private readonly delimiter: number;
  private readonly noHeader: boolean;
  private header: readonly string[] | undefined;

  constructor(options: WriteOptions) {
    this.out = chunkText(options);
    this.delimiter = (options.csvDelimiter ?? ',').charCodeAt(0);
    this.noHeader = options.noHeader ?? false;
  }

  /** A printer of rows with their line breaks. */
  printer(v: Vector): (row: number) => void {
    switch (v.form) {
      case 'record':
        return this.recordPrinter(v);
      case 'named':
        return holdsRecords(v) ? this.printer(v.inner) : this.valuePrinter(v);
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
    const { out, delimiter } = this;
    const leaves = leavesOf(v);
    if (!leaves) return this.valuePrinter(v);
    const names = leaves.map((l) => l.name);
    const cells = leaves.map((l) => cellPrinter(l.values, out, delimiter));
    let checked = false;
    return (row) => {
      if (!checked) {
        this.check(names);
        checked = true;
      }
      for (let i = 0; i < cells.length; i++) {
        if (i > 0) out.byte(delimiter);
        const r = leaves[i].at(row);
        if (r >= 0) cells[i](r);
      }
      out.byte(0x0a);
    };
  }

  private valuePrinter(v: Vector): (row: number) => void {
    const { out, delimiter } = this;
    return (row) => {
      const value = valueAt(v, row);
      const record = asRecord(value);
      if (!record) throw new LakeError('write-not-record', { writer: 'CSV', value: supText(value) });
      const leaves = leafValues(record.type, record.data);
      this.check(leaves.map((l) => l.name));
      leaves.forEach(({ type, data }, i) => {
        if (i > 0) out.byte(delimiter);
        if (data !== undefined) printCell(type, data, out, delimiter);
      });
      out.byte(0x0a);
    };
  }

  /** The first record makes the header, later ones must have its names. */
  private check(names: readonly string[]): void {
    if (this.header) {
      if (names.length !== this.header.length || names.some((n, i) => n !== this.header![i]))
        throw new LakeError('write-not-uniform', { writer: 'CSV' });
      return;
    }
    this.header = names;
    if (this.noHeader) return;
    const { out, delimiter } = this;
    // `a.b` and the field b of a are two columns.
    distinctNames(names).forEach((name, i) => {
      if (i > 0) out.byte(delimiter);
      const start = out.length;
      out.text(name);
      quoteFrom(out, start, delimiter);
    });
    out.byte(0x0a);
  }
}

/** Whether there are records, and nothing else, below names and selections. */
const holdsRecords = (v: Vector): boolean =>
  v.form === 'record' ||
  (v.form === 'named' && holdsRecords(v.inner)) ||
  (v.form === 'selected' && holdsRecords(v.base));
