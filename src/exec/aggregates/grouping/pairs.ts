/**
 * Aggregates of two arguments, which come as the fields `value` and `by` of a record: string_agg, and what the others have in common.
 * Rows in which a value is null or missing are left out.
 */
import { checkStop } from '../../../vectors/stop.ts';
import { types } from '../../../vectors/type.ts';
import { stringData, underValue } from '../../../vectors/value.ts';
import { type Vector, flatten, nulls, textAt, valueAt, ofForm } from '../../../vectors/vector.ts';
import { BytesBuilder } from '../../../vectors/builder-leaves.ts';
import { Uint32List } from '../../../vectors/lists.ts';
import { TextPieces } from '../../../vectors/texts/pieces.ts';
import { fieldOf } from '../../expressions/access.ts';
import { castVector } from '../../expressions/cast.ts';
import { overlay } from '../../expressions/rows.ts';
import { kinds, kindsOf } from '../../operators/rows/kinds.ts';
import { sortByGroup } from '../lists.ts';
import type { AggregateState } from './state.ts';
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
 * leaves the row out.
 */
export class TextState implements AggregateState {
  private readonly ids = new Uint32List();
  private readonly texts = new BytesBuilder(types.string);
  /** By group: that of its last row counts, and differs between rows in odd queries alone. */
  private readonly separators = new Map<number, string>();
  get bytes(): number {
    return this.ids.array.byteLength + this.texts.bytes.array.byteLength;
  }
  grow(): void {
    /* nothing is kept per group */
  }
  update(ids: Uint32Array, argument: Vector): void {
    const texts = flatten(castVector(fieldOf(argument, 'value'), types.string));
    const marks = present(argument.length, texts);
    const own = flatten(fieldOf(argument, 'by'));
    const table = kindsOf(own);
    for (let i = 0; i < argument.length; i++) {
      checkStop();
      if (marks[i] === 0 || table?.[i] === kinds.null) continue;
      const text = underValue(valueAt(texts, i));
      const by = underValue(valueAt(own, i));
      if (typeof text.data === 'string')
        this.add(ids[i], text.data, by.type === types.string ? stringData(by.data) : undefined);
    }
  }
  private add(group: number, text: string, separator: string | undefined): void {
    this.ids.push(group);
    this.texts.text(text);
    if (separator !== undefined) this.separators.set(group, separator);
  }
  merge(other: AggregateState, map: Uint32Array): void {
    const from = other as TextState;
    const texts = ofForm(from.texts.finish(), 'bytes');
    for (let i = 0; i < from.ids.length; i++) {
      const group = from.ids.array[i];
      const to = map[group];
      if (to !== none) this.add(to, textAt(texts, i), from.separators.get(group));
    }
  }
  result(groups: number): Vector {
    const { order: rows, offsets } = sortByGroup(this.ids.done(), this.ids.length, groups);
    const texts = ofForm(this.texts.finish(), 'bytes');
    const out = new BytesBuilder(types.string);
    const empty = new Uint8Array(groups);
    for (let g = 0; g < groups; g++) {
      const joined = new TextPieces('string_agg');
      const by = this.separators.get(g) ?? ',';
      empty[g] = offsets[g] === offsets[g + 1] ? 1 : 0;
      for (let at = offsets[g]; at < offsets[g + 1]; at++)
        joined.add(at === offsets[g] ? textAt(texts, rows[at]) : by + textAt(texts, rows[at]));
      out.text(joined.text());
    }
    return overlay(out.finish(), empty, nulls(groups));
  }
}
