/** Reads Zeek logs: `#` lines say what the columns are, every column may be unset, dotted names nest. */
import { LakeError } from '../../errors.ts';
import { type Builder, type Shape, shapeOf } from '../../vectors/builder.ts';
import { componentsMax } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import { ByteWindow } from '../byte-window.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { sameBytes } from '../columns/key-layouts.ts';
import { Faults } from '../faults/faults.ts';
import { batchesOfLines } from '../line-batches.ts';
import type { ReadMemory } from '../read-memory.ts';
import { textOf } from '../text-cell.ts';
import { validUtf8 } from '../utf8.ts';
import { ValueMemory } from '../value-memory.ts';
import type { ZeekMarks } from './cells.ts';
import { ZeekColumn } from './columns.ts';
import { typeOfZeek } from './types.ts';

interface Span {
  readonly start: number;
  readonly end: number;
}
/** A column of the log, or the log's own path. */
type Leaf = { readonly column: ZeekColumn } | { readonly path: string };
/** Where the columns go: a leaf, or a record of leaves and records. */
type Node = Leaf | Inner;
interface Inner {
  readonly shape: Shape;
  readonly children: readonly Node[];
}
interface ZeekLayout {
  readonly root: Inner;
  readonly columns: readonly ZeekColumn[];
}

/** @throws LakeError `format-broken` with the line, after giving out what came before */
export async function* readZeek(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const limits = readLimits(options);
  const window = new ByteWindow(validUtf8(input), { format: 'zeek', valueBytesMax: limits.valueBytesMax });
  const log = new ZeekLog(limits.nestingMax, options.memory);
  yield* batchesOfLines(
    window,
    { batchRows: limits.batchRows, faults: Faults.of(options) },
    ({ bytes, lineStart: start, lineEnd: end }, builder) => {
      log.line(bytes, { start, end: end > start && bytes[end - 1] === 0x0d ? end - 1 : end }, builder);
    },
  );
}

/** A line of names is charged from so many bytes on; a byte of it takes so many once it was cut at the separators. */
const longDirectiveBytes = 1 << 20;
const directiveCost = 12;

class ZeekLog {
  private separator = ' ';
  private separatorBytes: Uint8Array = Buffer.from(' ');
  /** Where the cells of the row in work are. */
  private starts = new Int32Array(0);
  private ends = new Int32Array(0);
  private marks: ZeekMarks = { setSeparator: ',', empty: '(empty)', unset: '-' };
  private path: string | undefined;
  private fields: readonly string[] = [];
  private typeNames: readonly string[] = [];
  private layout: ZeekLayout | undefined;
  private number = 0;
  private count = 0;
  private readonly nestingMax: number;
  private readonly memory: ValueMemory;
  constructor(nestingMax: number, memory?: ReadMemory) {
    this.nestingMax = nestingMax;
    this.memory = new ValueMemory(memory, 'zeek', () => `line ${this.number}`);
  }

  /** Takes the line of these bytes; a row goes to the builder. */
  line(bytes: Uint8Array, { start, end }: Span, builder: Builder): void {
    this.number++;
    if (start === end) return;
    try {
      if (bytes[start] === 0x23) this.directive(this.directiveText(bytes, start, end));
      else this.row(bytes, { start, end }, builder);
    } finally {
      this.memory.free();
    }
  }
  private directiveText(bytes: Uint8Array, start: number, end: number): string {
    if (end - start > longDirectiveBytes) this.memory.hold((end - start) * directiveCost);
    return textOf(bytes, start, end);
  }

  private broken(fault: string): LakeError {
    return new LakeError('format-broken', this.faultOf(fault));
  }
  /** What no row can be read by. */
  private brokenHeader(fault: string): LakeError {
    return new LakeError('format-broken', { ...this.faultOf(fault), of: 'header' });
  }
  private faultOf(fault: string) {
    return { format: 'zeek', fault: `line ${this.number}: ${fault}`, place: '', values: this.count };
  }

  private directive(text: string): void {
    if (text.startsWith('#separator')) {
      this.separator =
        text
          .slice(11)
          .trim()
          .replace(/\\x([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))) || ' ';
      this.separatorBytes = Buffer.from(this.separator);
      return;
    }
    const [name, ...values] = text.slice(1).split(this.separator);
    this.layout = undefined;
    switch (name) {
      case 'set_separator':
        this.marks = { ...this.marks, setSeparator: values[0] ?? ',' };
        break;
      case 'empty_field':
        this.marks = { ...this.marks, empty: values[0] ?? '(empty)' };
        break;
      case 'unset_field':
        this.marks = { ...this.marks, unset: values[0] ?? '-' };
        break;
      case 'path':
        this.path = values[0] === this.marks.unset ? undefined : values[0];
        break;
      case 'fields':
        this.fields = values;
        break;
      case 'types': {
        const unknown = values.find((name) => !typeOfZeek(name));
        if (unknown !== undefined) throw this.brokenHeader(`unknown type: ${unknown}`);
        this.typeNames = values;
        break;
      }
    }
  }

  private row(bytes: Uint8Array, span: Span, builder: Builder): void {
    const { root, columns } = (this.layout ??= this.makeLayout());
    const { starts, ends } = this;
    const count = this.split(bytes, span, columns.length);
    if (count !== columns.length) throw this.broken(count < columns.length ? 'too few values' : 'too many values');
    for (let i = 0; i < count; i++) this.take(columns[i], bytes, { start: starts[i], end: ends[i] });
    appendNode(root, builder);
    this.count++;
  }
  /** Finds the cells, of which there should be `wanted`; their number. */
  private split(bytes: Uint8Array, { start, end }: Span, wanted: number): number {
    const { separatorBytes: separator, starts, ends } = this;
    const first = separator[0];
    const size = separator.length;
    let count = 0;
    let at = start;
    for (let i = start; i < end; i++) {
      if (bytes[i] !== first || (size > 1 && (i + size > end || !sameBytes(separator, bytes, i, i + size)))) continue;
      if (count < wanted) {
        starts[count] = at;
        ends[count] = i;
      }
      count++;
      at = i + size;
      i = at - 1;
    }
    starts[count] = at;
    ends[count] = end;
    return count + 1;
  }
  private take(column: ZeekColumn, bytes: Uint8Array, { start, end }: Span): void {
    try {
      column.take(bytes, start, end);
    } catch (problem) {
      throw problem instanceof LakeError ? problem : this.broken((problem as Error).message);
    }
  }

  private makeLayout(): ZeekLayout {
    if (this.fields.length === 0 || this.fields.length !== this.typeNames.length)
      throw this.brokenHeader('bad types/fields definition in zeek header');
    if (this.fields.length > componentsMax) throw this.brokenHeader(`more than ${componentsMax} columns`);
    const columns = this.typeNames.map((name) => new ZeekColumn(typeOfZeek(name)!, this.marks, this.memory));
    const tree: Branch = new Map();
    if (!this.fields.includes('_path') && this.path !== undefined) tree.set('_path', { path: this.path });
    this.fields.forEach((field, i) => {
      const parts = field.split('.');
      if (parts.length > this.nestingMax) throw this.brokenHeader(`nesting too deep (limit ${this.nestingMax})`);
      let branch = tree;
      for (const part of parts.slice(0, -1)) {
        let next = branch.get(part);
        if (!next) branch.set(part, (next = new Map() as Branch));
        if (!(next instanceof Map)) throw this.brokenHeader('bad types/fields definition in zeek header');
        branch = next;
      }
      if (branch.has(parts.at(-1)!)) throw this.brokenHeader(`duplicate field: "${field}"`);
      branch.set(parts.at(-1)!, { column: columns[i] });
    });
    this.starts = new Int32Array(columns.length + 1);
    this.ends = new Int32Array(columns.length + 1);
    return { root: nodeOf(tree), columns };
  }
}

type Branch = Map<string, Leaf | Branch>;
const nodeOf = (branch: Branch): Inner => ({
  shape: shapeOf([...branch.keys()].map((name) => ({ name }))),
  children: [...branch.values()].map((child): Node => (child instanceof Map ? nodeOf(child) : child)),
});

const appendNode = (node: Inner, to: Builder): void => {
  const record = to.record(node.shape);
  const { children } = node;
  const { fields } = record;
  for (let i = 0; i < children.length; i++) {
    const child = children[i];
    if ('column' in child) child.column.append(fields[i]);
    else if ('path' in child) fields[i].text(child.path);
    else appendNode(child, fields[i]);
  }
  record.end();
};
