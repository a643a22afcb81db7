/**
 * Aggregates of two arguments, which come as the fields `value` and `by` of a record: string_agg, and what the others have in common.
 * Rows in which a value is null or missing are left out.
 */
import { chargeText, checkStop, checkStopAt } from '../../../vectors/stop.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, stringData, underValue } from '../../../vectors/value.ts';
import { type BytesVector, type Vector, flatten, nulls, valueAt, ofForm } from '../../../vectors/vector.ts';
import { BytesBuilder } from '../../../vectors/builder-leaves.ts';
import { Uint32List } from '../../../vectors/lists.ts';
import { textToBytes } from '../../../vectors/texts/codec.ts';
import { fieldOf } from '../../expressions/access.ts';
import { castVector } from '../../expressions/cast.ts';
import { overlay } from '../../expressions/rows.ts';
import { kinds, kindsOf } from '../../operators/rows/kinds.ts';
import { sortByGroup } from '../lists.ts';
import { under } from '../under.ts';
import { type AggregateState, widened, words } from './state.ts';
import { none } from './pair-table.ts';

/** Marks of the rows in which both are values. */
export const present = (length: number, ...columns: readonly Vector[]): Uint8Array => {
  const out = new Uint8Array(length).fill(1);
  for (const table of columns.map(kindsOf))
    if (table) for (let i = 0; i < length; i++) if (table[i] !== kinds.value) out[i] = 0;
  return out;
};

/**
 * The texts of the values with the separator in between, in the order of arrival; a comma without one. A null separator
 * leaves the row out. Texts stay bytes (with a string for each of them and for each result 400,000 in six groups took
 * five times as long).
 */
export class TextState implements AggregateState {
  private readonly ids = new Uint32List();
  private readonly texts = new BytesBuilder(types.string);
  /** By group: that of its last row counts, and differs between rows in odd queries alone. 0: a comma. */
  private separatorOf = words(0);
  private readonly separators: string[] = [','];
  get bytes(): number {
    return this.ids.array.byteLength + this.texts.bytes.array.byteLength + this.separatorOf.byteLength;
  }
  grow(groups: number): void {
    this.separatorOf = widened(this.separatorOf, groups, words);
  }
  update(ids: Uint32Array, argument: Vector): void {
    const texts = under(castVector(fieldOf(argument, 'value'), types.string));
    const marks = present(argument.length, texts);
    const by = fieldOf(argument, 'by');
    const flat = flatten(texts);
    const separator = by.form === 'constant' && flat.form === 'bytes' ? valueAt(by.inner, 0) : undefined;
    if (separator && flat.form === 'bytes' && flat.type === types.string)
      this.addAll(ids, flat, marks, underValue(separator));
    else this.addEach(ids, flat, marks, flatten(by));
  }
  /** Texts with one separator for all of them. */
  private addAll(ids: Uint32Array, { offsets, bytes }: BytesVector, marks: Uint8Array, by: Value): void {
    if (by.type === types.null) return;
    const code = by.type === types.string ? this.codeOf(stringData(by.data)) : undefined;
    for (let i = 0; i < marks.length; i++) {
      if (marks[i] === 0) continue;
      this.ids.push(ids[i]);
      this.texts.run(bytes, offsets[i], offsets[i + 1]);
      if (code !== undefined) this.separatorOf[ids[i]] = code;
    }
  }
  private addEach(ids: Uint32Array, texts: Vector, marks: Uint8Array, bys: Vector): void {
    const table = kindsOf(bys);
    for (let i = 0; i < marks.length; i++) {
      checkStop();
      if (marks[i] === 0 || table?.[i] === kinds.null) continue;
      const text = underValue(valueAt(texts, i));
      const by = underValue(valueAt(bys, i));
      if (typeof text.data !== 'string') continue;
      this.ids.push(ids[i]);
      this.texts.text(text.data);
      if (by.type === types.string) this.separatorOf[ids[i]] = this.codeOf(stringData(by.data));
    }
  }
  private codeOf(separator: string): number {
    // Rows come with few of them, mostly the one that came last.
    const known = this.separators.lastIndexOf(separator);
    return known < 0 ? this.separators.push(separator) - 1 : known;
  }
  merge(other: AggregateState, map: Uint32Array): void {
    const from = other as TextState;
    const texts = ofForm(from.texts.finish(), 'bytes');
    const codes = from.separators.map((separator) => this.codeOf(separator));
    for (let i = 0; i < from.ids.length; i++) {
      const group = from.ids.array[i];
      const to = map[group];
      if (to === none) continue;
      this.ids.push(to);
      this.texts.run(texts.bytes, texts.offsets[i], texts.offsets[i + 1]);
      this.separatorOf[to] = codes[from.separatorOf[group]];
    }
  }
  result(groups: number): Vector {
    const { order: rows, offsets } = sortByGroup(this.ids.done(), this.ids.length, groups);
    const texts = ofForm(this.texts.finish(), 'bytes');
    const separators = this.separators.map(textToBytes);
    const out = new BytesBuilder(types.string);
    const empty = new Uint8Array(groups);
    for (let g = 0; g < groups; g++) {
      empty[g] = offsets[g] === offsets[g + 1] ? 1 : 0;
      const own = rows.subarray(offsets[g], offsets[g + 1]);
      appendJoined(out, texts, own, separators[this.separatorOf[g] ?? 0]);
    }
    return overlay(out.finish(), empty, nulls(groups));
  }
}

/** Appends these texts with the separator in between as one. @throws LakeError query-memory, query-string */
const appendJoined = (
  out: BytesBuilder,
  { offsets, bytes }: BytesVector,
  rows: Uint32Array,
  separator: Uint8Array,
): void => {
  let size = Math.max(0, rows.length - 1) * separator.length;
  for (const row of rows) size += offsets[row + 1] - offsets[row];
  chargeText(size, 'string_agg');
  out.bytes.reserve(size);
  for (let k = 0; k < rows.length; k++) {
    checkStopAt(k);
    if (k > 0) out.bytes.append(separator, 0, separator.length);
    out.bytes.append(bytes, offsets[rows[k]], offsets[rows[k] + 1]);
  }
  out.offsets.push(out.bytes.length);
};
