/** Writes Zeek logs: nested records flattened, the header again when the type of the records changes, the path in a line of its own. */
import { LakeError } from '../../errors.ts';
import { supText, supType } from '../../vectors/sup-print.ts';
import { TextOut } from '../../vectors/text-out.ts';
import { type Type, types } from '../../vectors/type.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import { asRecord, leafValues } from '../flat-columns.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { chunkBytes, rowChunks } from '../row-chunks.ts';
import { cellText } from './cells.ts';
import { zeekOfType } from './types.ts';

export const createZeekWriter = (_options: WriteOptions): Writer => {
  const rows = new ZeekRows();
  return {
    *write(batch: Vector) { yield* rowChunks(rows.out, batch.length, (row) => rows.print(batch, row)); },
    end: () => [],
  };
};

class ZeekRows {
  readonly out = new TextOut(chunkBytes * 2);
  private started = false;
  private type: Type | undefined;
  private path = '';

  print(v: Vector, row: number): void {
    const { out } = this, value = valueAt(v, row), record = asRecord(value);
    if (!record) throw new LakeError('write-not-record', { writer: 'Zeek', value: supText(value) });
    const leaves = leafValues(record.type, record.data);
    const pathIndex = leaves.findIndex((l) => l.name === '_path' && (l.type === types.string || l.type.kind === 'union'));
    const columns = leaves.filter((_, i) => i !== pathIndex);
    const names = this.type === record.type ? [] : columns.map((c) => this.typeName(c.type));
    if (!this.started) out.ascii('#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n');
    this.started = true;
    this.setPath(pathIndex < 0 || leaves[pathIndex]!.data === undefined ? '' : cellText(leaves[pathIndex]!.type, leaves[pathIndex]!.data!));
    if (this.type !== record.type) {
      out.text(`#fields\t${columns.map((c) => c.name).join('\t')}\n#types\t${names.join('\t')}\n`);
      this.type = record.type;
    }
    out.text(`${columns.map((c) => (c.data === undefined ? '-' : cellText(c.type, c.data))).join('\t')}\n`);
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
