/**
 * Blocks without some of their rows, made of what is stored: runs of rows that stay are copied as they are encoded, so
 * that neither values are decoded nor encodings found out again. 1,000 rows all over 1,000,000: 0.2 of the processor time.
 *
 * Invariants:
 * - What comes is what `encode.ts` may have written of the rows that stay: `directory.ts` knows of no other kind.
 * - Bounds, filters and pairs stay as they are. They tell of more rows than there are, which does no harm.
 * - Bytes are compared with their checksums before they are copied (`StoredBlock`).
 */
import type { Type } from '../../vectors/type.ts';
import { take, ofForm } from '../../vectors/vector.ts';
import type { Codes, Column, Flags, Segment } from './column.ts';
import { type SegmentSource, decodeCodes, decodeColumn, decodeFlags } from './decode.ts';
import { ColumnDictionary } from './dictionary.ts';
import { BlockEncoder, type EncodedBlock, type ObjectTables } from './encode.ts';
import { encodings, numberKinds } from './encodings.ts';
import type { SegmentKind } from './compression.ts';
import type { Layout } from './layout.ts';
import { type KeptSteps, type Width, isCalendarScale, scaleCode, stepsWithout, sumsAt } from './packing.ts';
import { writeBytesBounds, writeFloat, writeWide } from './statistics.ts';
import { pairsVersion, spansVersion, timesVersion } from '../objects/format.ts';

/** Rows that stay: pairs of start and end of runs, which rise and do not touch; and how many rows they are. */
export interface KeptRows {
  readonly runs: Uint32Array;
  readonly count: number;
}
/** A block as it is stored. */
export interface StoredBlock {
  readonly column: Column;
  /** The bytes of a segment as they are stored. */
  readonly stored: (segment: Segment) => Uint8Array;
  /** The same as they are decoded. */
  readonly source: SegmentSource;
  readonly hasStatistics: boolean;
  readonly isCompressed: boolean;
}

/** All rows but for those at `gone`, which rise. */
export const keptRows = (gone: Uint32Array, rows: number): KeptRows => {
  const runs = new Uint32Array(2 * gone.length + 2);
  let n = 0;
  let start = 0;
  for (let k = 0; k <= gone.length; k++) {
    const end = k < gone.length ? gone[k] : rows;
    if (end > start) {
      runs[n++] = start;
      runs[n++] = end;
    }
    start = end + 1;
  }
  return { runs: runs.subarray(0, n), count: rows - gone.length };
};

/** The rows of a block that stay, at least one; undefined where some column has to be encoded anew with all others. */
export const encodeKept = (
  block: StoredBlock,
  kept: KeptRows,
  tables: ObjectTables,
  statistics: boolean,
): EncodedBlock | undefined => {
  const encoder = new KeptEncoder(block, tables, statistics);
  const layout = encoder.column(block.column, kept, '', undefined);
  return layout && encoder.done(kept.count, layout);
};

type ColumnOf<F extends Column['form']> = Extract<Column, { readonly form: F }>;

class KeptEncoder {
  private readonly block: StoredBlock;
  private readonly tables: ObjectTables;
  private readonly out: BlockEncoder;
  constructor(block: StoredBlock, tables: ObjectTables, statistics: boolean) {
    this.block = block;
    this.tables = tables;
    this.out = new BlockEncoder(tables, statistics);
  }

  done(rows: number, layout: Layout): EncodedBlock {
    return this.out.done(rows, layout);
  }

  /** As `BlockEncoder.column`; undefined: it cannot be made so. */
  column(c: Column, kept: KeptRows, path: string, expected: Type | undefined): Layout | undefined {
    if (kept.count === 0) return expected && { form: 'empty', type: expected };
    switch (c.form) {
      case 'empty':
        return undefined;
      case 'number':
        return this.numbers(c, kept, path);
      case 'bytes':
        return this.bytes(c, kept, path);
      case 'bool':
        this.flags(c.flags, c.rows, kept);
        return { form: 'bool' };
      case 'null':
        return { form: 'null' };
      case 'type':
        this.out.typeTable(c.table);
        this.codes(c.codes, c.rows, kept);
        return { form: 'type' };
      case 'enum':
        this.codes(c.codes, c.rows, kept);
        return c.layout;
      case 'record':
        return this.record(c, kept, path);
      case 'list': {
        const items = this.items(c.lengths, c.rows, kept);
        const layout = this.column(c.items, items, `${path}[]`, c.layout.type.element);
        return layout && { form: 'list', type: c.layout.type, items: layout };
      }
      case 'map': {
        const { type } = c.layout;
        const items = this.items(c.lengths, c.rows, kept);
        const keys = this.column(c.keys, items, `${path}|k`, type.key);
        const values = keys && this.column(c.values, items, `${path}|v`, type.value);
        return keys && values && { form: 'map', type, keys, values };
      }
      case 'union':
        return this.union(c, kept, path);
      case 'dynamic':
        return this.dynamic(c, kept, path);
      case 'error': {
        const inner = this.column(c.inner, kept, `${path}/error`, undefined);
        return inner && { form: 'error', inner };
      }
      case 'named': {
        const inner = this.column(c.inner, kept, `${path}/=${c.name}`, undefined);
        return inner && { form: 'named', name: c.name, inner };
      }
    }
  }

  private segment(s: Segment, width: Width | 8, rows: number, kept: KeptRows): void {
    if (kept.count === rows) this.out.storedSegment(s, this.block.stored(s));
    else this.out.segment(cut(this.bytesOf(s, rows * width), kept.runs, width, kept.count));
  }
  private bytesOf(s: Segment, least: number): Uint8Array {
    const bytes = this.block.source.bytes(s);
    if (bytes.length < least) throw new Error('segment too short');
    return bytes;
  }
  private codes({ base, width, segment }: Codes, rows: number, kept: KeptRows): void {
    this.out.directory.uvarint(base);
    this.out.directory.byte(width);
    if (segment) this.segment(segment, width, rows, kept);
  }
  private flags(flags: Flags, rows: number, kept: KeptRows): void {
    const values = decodeFlags(flags, rows, this.block.source);
    this.out.flags(kept.count === rows ? values : cut(values, kept.runs, 1, kept.count), kept.count);
  }

  private numbers(c: ColumnOf<'number'>, kept: KeptRows, path: string): Layout | undefined {
    const { constant, packed, segment, kind, bounds, float32, base, power, digits } = c;
    const steps = packed?.delta && kept.count < c.rows ? this.steps(packed, c.rows, kept) : undefined;
    // A step over rows that are gone may be longer than any step can be.
    if (packed?.delta && kept.count < c.rows && !steps) return this.anew(c, kept, path);
    const out = this.out.directory;
    if (constant !== undefined) out.byte(encodings.constant);
    else out.byte(encodingOf(c));
    out.byte(kind);
    if (bounds) {
      writeFloat(out, bounds.min);
      writeFloat(out, bounds.max);
    }
    if (constant !== undefined) writeFloat(out, constant);
    else if (packed) {
      if (power !== undefined) out.byte(power);
      if (digits !== undefined) out.byte(digits);
      if (power !== undefined || digits !== undefined || isCalendarScale(packed.scale))
        this.tables.newer?.(spansVersion);
      if (kind === numberKinds.float) writeFloat(out, base as number);
      else writeWide(out, base as bigint);
      this.packed(packed, steps, c.rows, kept);
    } else this.segment(segment!, float32 ? 4 : 8, c.rows, kept);
    return c.layout;
  }
  private steps({ segment, width, scale, least, first }: Plan, rows: number, kept: KeptRows): KeptSteps | undefined {
    const bytes = segment ? this.bytesOf(segment, rows * width) : noBytes;
    return stepsWithout({ width, scale, least, bytes }, first, rows, kept);
  }
  private packed(plan: Plan, steps: KeptSteps | undefined, rows: number, kept: KeptRows): void {
    const out = this.out.directory;
    const width = steps?.width ?? plan.width;
    out.byte(width);
    out.byte(scaleCode(plan.scale));
    out.byte(plan.delta ? 1 : 0);
    if (plan.delta) {
      writeFloat(out, steps?.first ?? plan.first);
      writeFloat(out, plan.least);
    }
    if (steps) {
      if (width > 0) this.out.segment(steps.bytes);
    } else if (plan.segment) this.segment(plan.segment, plan.width, rows, kept);
  }
  /** A column by itself, from its values. */
  private anew(c: Column, kept: KeptRows, path: string): Layout | undefined {
    return this.out.column(take(decodeColumn(c, this.block.source), rowsOf(kept)), path, undefined);
  }

  private bytes(c: ColumnOf<'bytes'>, kept: KeptRows, path: string): Layout | undefined {
    const { constant, dictionary, times, bounds, codes, packed } = c;
    const out = this.out.directory;
    if (constant) {
      out.byte(encodings.constant);
      out.uvarint(constant.length);
      out.raw(constant);
      return c.layout;
    }
    if (times) {
      const steps = packed!.delta && kept.count < c.rows ? this.steps(packed!, c.rows, kept) : undefined;
      if (packed!.delta && kept.count < c.rows && !steps) return this.anew(c, kept, path);
      out.byte(encodings.times);
      if (bounds) writeBytesBounds(out, bounds);
      out.byte(times.digits);
      writeFloat(out, times.base);
      this.packed(packed!, steps, c.rows, kept);
      this.tables.newer?.(timesVersion);
      return c.layout;
    }
    if (dictionary === undefined) {
      this.texts(c, kept);
      return c.layout;
    }
    const own = this.dictionary(dictionary, c.layout.type, path);
    if (!own) return undefined;
    own.rows += kept.count;
    out.byte(encodings.dictionary);
    if (bounds) writeBytesBounds(out, bounds);
    out.uvarint(own.number);
    this.codes(codes!, c.rows, kept);
    return c.layout;
  }
  private texts({ bounds, codes, segment, filter, pairs, rows }: ColumnOf<'bytes'>, kept: KeptRows): void {
    const out = this.out.directory;
    out.byte(pairs ? encodings.paired : filter ? encodings.filtered : encodings.plain);
    if (bounds) writeBytesBounds(out, bounds);
    this.codes(codes!, rows, kept);
    if (kept.count === rows) this.out.storedSegment(segment!, this.block.stored(segment!));
    else {
      const ends = this.offsetsAt(codes!, rows, kept.runs);
      const bytes = this.bytesOf(segment!, ends.at(-1)!);
      this.out.segment(cut(bytes, ends, 1, lengthOf(ends)), textKind);
    }
    if (filter) this.out.storedSegment(filter, this.block.stored(filter));
    else if (pairs) this.out.segment(noBytes);
    if (pairs) this.out.storedSegment(pairs, this.block.stored(pairs));
    if (filter || pairs) this.tables.newer?.(pairs ? pairsVersion : timesVersion);
  }
  /** The object's own dictionary with the values, and codes, of one that is stored. */
  private dictionary(
    number: number,
    type: ColumnOf<'bytes'>['layout']['type'],
    path: string,
  ): ColumnDictionary | undefined {
    const { dictionaries, copied } = this.tables;
    if (!dictionaries || !copied) return undefined;
    const values = ofForm(this.block.source.dictionary(number), 'bytes');
    const known = copied.get(values);
    if (known) return known;
    const key = `${path}/${type.name}`;
    const own = ColumnDictionary.of(type, dictionaries.size, values);
    if (!own) return undefined;
    // Rows that were encoded before may have begun one: it is not the same.
    dictionaries.set(dictionaries.has(key) ? `#${own.number}` : key, own);
    copied.set(values, own);
    return own;
  }

  private record(c: ColumnOf<'record'>, kept: KeptRows, path: string): Layout | undefined {
    for (const { optional, present } of c.fields) if (optional) this.flags(present!, c.rows, kept);
    const fields: { name: string; optional: boolean; values: Layout }[] = [];
    for (const { name, optional, values } of c.fields) {
      const layout = this.column(values, kept, `${path}.${name}`, undefined);
      if (!layout) return undefined;
      fields.push({ name, optional, values: layout });
    }
    return { form: 'record', fields };
  }

  /** Lengths of lists, and their items. */
  private items(lengths: Codes, rows: number, kept: KeptRows): KeptRows {
    this.codes(lengths, rows, kept);
    const ends = this.offsetsAt(lengths, rows, kept.runs);
    const count = lengthOf(ends);
    this.out.directory.uvarint(count);
    return { runs: joined(ends), count };
  }
  /** Where runs of rows begin and end that have these lengths. */
  private offsetsAt({ base, width, segment }: Codes, rows: number, runs: Uint32Array): Uint32Array {
    const bytes = segment ? this.bytesOf(segment, rows * width) : noBytes;
    return sumsAt({ bytes, base, width }, rows, runs);
  }

  private union(c: ColumnOf<'union'>, kept: KeptRows, path: string): Layout | undefined {
    const { type } = c.layout;
    const rows = this.members(c.tags, c.rows, c.members.length, kept);
    this.codes(c.tags, c.rows, kept);
    const members: Layout[] = [];
    for (const [tag, member] of c.members.entries()) {
      this.out.directory.uvarint(rows[tag].count);
      const layout = this.column(member, rows[tag], `${path}(${tag})`, type.members[tag]);
      if (!layout) return undefined;
      members.push(layout);
    }
    return { form: 'union', type, members };
  }
  private dynamic(c: ColumnOf<'dynamic'>, kept: KeptRows, path: string): Layout | undefined {
    const rows = this.members(c.tags, c.rows, c.parts.length, kept);
    this.out.directory.uvarint(c.parts.length);
    this.codes(c.tags, c.rows, kept);
    const parts: Layout[] = [];
    for (const [tag, part] of c.parts.entries()) {
      this.out.directory.uvarint(rows[tag].count);
      const layout = this.column(part, rows[tag], `${path}<#${tag}>`, undefined);
      if (!layout) return undefined;
      parts.push(layout);
    }
    return { form: 'dynamic', parts };
  }
  /** Which rows of each member stay: they are stored in the order of the rows. */
  private members(tags: Codes, rows: number, count: number, kept: KeptRows): readonly KeptRows[] {
    if (tags.width === 0)
      return Array.from({ length: count }, (_, tag) => (tag === tags.base ? kept : { runs: noRuns, count: 0 }));
    const of = decodeCodes(tags, rows, this.block.source);
    const next = new Uint32Array(count);
    const counts = new Uint32Array(count);
    const runs = Array.from({ length: count }, (): number[] => []);
    for (let i = 0, k = 0; i < rows; i++) {
      const tag = of[i];
      if (tag >= count) throw new Error('tag without a member');
      const slot = next[tag]++;
      while (k < kept.runs.length && kept.runs[k + 1] <= i) k += 2;
      if (k >= kept.runs.length || kept.runs[k] > i) continue;
      counts[tag]++;
      const own = runs[tag];
      if (own.at(-1) === slot) own[own.length - 1] = slot + 1;
      else own.push(slot, slot + 1);
    }
    return runs.map((own, tag) => ({ runs: Uint32Array.from(own), count: counts[tag] }));
  }
}
type Plan = NonNullable<ColumnOf<'number'>['packed']>;

const encodingOf = ({ packed, float32, power, digits }: ColumnOf<'number'>): number => {
  if (!packed) return float32 ? encodings.float32 : encodings.plain;
  if (digits !== undefined) return encodings.scaled;
  return power === undefined ? encodings.packed : encodings.units;
};

const noBytes = new Uint8Array(0);
const noRuns = new Uint32Array(0);
const textKind: SegmentKind = 'texts';

/** Runs of items of `width` bytes each, put together: `count` items. */
const cut = (bytes: Uint8Array, runs: Uint32Array, width: number, count: number): Uint8Array => {
  const out = new Uint8Array(count * width);
  let at = 0;
  for (let k = 0; k < runs.length; k += 2) {
    const piece = bytes.subarray(runs[k] * width, runs[k + 1] * width);
    out.set(piece, at);
    at += piece.length;
  }
  return out;
};
const lengthOf = (runs: Uint32Array): number => {
  let sum = 0;
  for (let k = 0; k < runs.length; k += 2) sum += runs[k + 1] - runs[k];
  return sum;
};
/** Runs without empty ones, and one where two touch. */
const joined = (runs: Uint32Array): Uint32Array => {
  const out = new Uint32Array(runs.length);
  let n = 0;
  for (let k = 0; k < runs.length; k += 2) {
    if (runs[k] === runs[k + 1]) continue;
    if (n > 0 && out[n - 1] === runs[k]) out[n - 1] = runs[k + 1];
    else {
      out[n++] = runs[k];
      out[n++] = runs[k + 1];
    }
  }
  return out.subarray(0, n);
};
const rowsOf = ({ runs, count }: KeptRows): Uint32Array => {
  const rows = new Uint32Array(count);
  let n = 0;
  for (let k = 0; k < runs.length; k += 2) for (let row = runs[k]; row < runs[k + 1]; row++) rows[n++] = row;
  return rows;
};
