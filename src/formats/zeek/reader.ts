/** Reads Zeek logs: `#` lines say what the columns are, every column may be unset, dotted names nest. */
import { LakeError } from '../../errors.ts';
import { Builder, type Shape, shapeOf } from '../../vectors/builder.ts';
import { type Type, type UnionType, nullable, types } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import { ByteWindow } from '../byte-window.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { textOf } from '../text-cell.ts';
import { type ZeekMarks, parseCell } from './cells.ts';
import { typeOfZeek } from './types.ts';

interface Column { readonly type: Type; readonly union: UnionType; readonly index: number }
/** Where the columns go: a leaf, or a record of leaves and records. */
type Node = { readonly column: Column } | { readonly shape: Shape; readonly children: readonly Node[] };

/** @throws LakeError `format-broken` with the line, after giving out what came before */
export async function* readZeek(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const limits = readLimits(options);
  const window = new ByteWindow(input, { format: 'zeek', valueBytesMax: limits.valueBytesMax });
  const log = new ZeekLog(limits.nestingMax);
  let builder = new Builder();
  try {
    while (await window.more()) {
      while (window.nextLine()) {
        const { bytes, lineStart: start, lineEnd: end } = window;
        log.line(textOf(bytes, start, end > start && bytes[end - 1] === 0x0d ? end - 1 : end), builder);
        if (builder.length < limits.batchRows) continue;
        yield builder.finish();
        builder = new Builder();
      }
    }
  } catch (problem) {
    if (builder.length > 0) yield builder.finish();
    throw problem;
  } finally {
    await window.close();
  }
  if (builder.length > 0) yield builder.finish();
}

class ZeekLog {
  private separator = ' ';
  private marks: ZeekMarks = { setSeparator: ',', empty: '(empty)', unset: '-' };
  private path: string | undefined;
  private fields: readonly string[] = [];
  private typeNames: readonly string[] = [];
  private layout: { readonly root: Node & { readonly shape: Shape }; readonly columns: readonly Column[]; readonly path: string | undefined } | undefined;
  private number = 0;
  private count = 0;
  private readonly nestingMax: number;
  constructor(nestingMax: number) { this.nestingMax = nestingMax; }

  /** Takes one line; a row goes to the builder. */
  line(text: string, builder: Builder): void {
    this.number++;
    if (text === '') return;
    if (text.startsWith('#')) this.directive(text);
    else this.row(text, builder);
  }

  private broken(fault: string): LakeError {
    return new LakeError('format-broken', { format: 'zeek', fault: `line ${this.number}: ${fault}`, place: '', values: this.count });
  }

  private directive(text: string): void {
    if (text.startsWith('#separator')) {
      this.separator = text.slice(11).trim().replace(/\\x([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))) || ' ';
      return;
    }
    const [name, ...values] = text.slice(1).split(this.separator);
    this.layout = undefined;
    switch (name) {
      case 'set_separator': this.marks = { ...this.marks, setSeparator: values[0] ?? ',' }; break;
      case 'empty_field': this.marks = { ...this.marks, empty: values[0] ?? '(empty)' }; break;
      case 'unset_field': this.marks = { ...this.marks, unset: values[0] ?? '-' }; break;
      case 'path': this.path = values[0] === this.marks.unset ? undefined : values[0]; break;
      case 'fields': this.fields = values; break;
      case 'types': this.typeNames = values; break;
    }
  }

  private row(text: string, builder: Builder): void {
    const { root, columns, path } = (this.layout ??= this.makeLayout());
    const cells = text.split(this.separator);
    if (cells.length !== columns.length) throw this.broken(cells.length < columns.length ? 'too few values' : 'too many values');
    const data = columns.map((c, i) => {
      try {
        return parseCell(c.type, cells[i]!, this.marks);
      } catch (problem) {
        throw this.broken((problem as Error).message);
      }
    });
    const append = (node: Node, to: Builder): void => {
      if ('column' in node) {
        const { type, union, index } = node.column, d = data[index];
        if (index < 0) to.text(path!);
        else to.appendData(union, d === undefined ? { type: types.null, data: null } : { type, data: d });
        return;
      }
      const record = to.record(node.shape);
      node.children.forEach((child, i) => append(child, record.fields[i]!));
      record.end();
    };
    append(root, builder);
    this.count++;
  }

  private makeLayout(): NonNullable<ZeekLog['layout']> {
    if (this.fields.length === 0 || this.fields.length !== this.typeNames.length) throw this.broken('bad types/fields definition in zeek header');
    const columns = this.typeNames.map((name, index): Column => {
      const type = typeOfZeek(name);
      if (!type) throw this.broken('bad types/fields definition in zeek header');
      return { type, union: nullable(type) as UnionType, index };
    });
    const tree: Branch = new Map();
    const path = this.fields.includes('_path') ? undefined : this.path;
    if (path !== undefined) tree.set('_path', { type: types.string, union: nullable(types.string) as UnionType, index: -1 });
    this.fields.forEach((field, i) => {
      const parts = field.split('.');
      if (parts.length > this.nestingMax) throw this.broken(`nesting too deep (limit ${this.nestingMax})`);
      let branch = tree;
      for (const part of parts.slice(0, -1)) {
        let next = branch.get(part);
        if (!next) branch.set(part, (next = new Map() as Branch));
        if (!(next instanceof Map)) throw this.broken('bad types/fields definition in zeek header');
        branch = next;
      }
      if (branch.has(parts.at(-1)!)) throw this.broken(`duplicate field: "${field}"`);
      branch.set(parts.at(-1)!, columns[i]!);
    });
    return { root: nodeOf(tree) as Node & { readonly shape: Shape }, columns, path };
  }
}

type Branch = Map<string, Column | Branch>;
const nodeOf = (branch: Branch): Node => ({
  shape: shapeOf([...branch.keys()].map((name) => ({ name }))),
  children: [...branch.values()].map((child): Node => (child instanceof Map ? nodeOf(child) : { column: child })),
});
