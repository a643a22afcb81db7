/**
 * Aggregates of two arguments, which come as the fields `value` and `by` of a record: arg_min, arg_max, string_agg.
 * Rows in which a value is null or missing are left out.
 */
import { checkStop } from '../../../vectors/stop.ts';
import { types } from '../../../vectors/type.ts';
import { knownValue } from '../../../vectors/decimal.ts';
import { type Value, recordValue, underValue, stringData } from '../../../vectors/value.ts';
import { type Vector, flatten, nulls, textAt, valueAt, ofForm } from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { BytesBuilder } from '../../../vectors/builder-leaves.ts';
import { Uint32List } from '../../../vectors/lists.ts';
import { TextPieces } from '../../../vectors/texts/pieces.ts';
import { fieldOf } from '../../expressions/access.ts';
import { castVector } from '../../expressions/cast.ts';
import { overlay } from '../../expressions/rows.ts';
import { order } from '../../expressions/sql/value-order.ts';
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

/** What an entry of a group takes, about. */
const entryBytes = 200;

/**
 * The value of the row whose `by` is least (`sign` -1) or greatest, of several the first; `nulls`: that value may be
 * null (`values`), the other one too, which then comes last (`all`).
 */
export class ArgumentState implements AggregateState {
  private readonly best = new Map<number, { readonly value: Value; readonly by: Value }>();
  private readonly sign: 1 | -1;
  private readonly nulls: 'none' | 'values' | 'all';
  constructor(sign: 1 | -1, nulls: 'none' | 'values' | 'all' = 'none') {
    this.sign = sign;
    this.nulls = nulls;
  }
  get bytes(): number {
    return this.best.size * entryBytes;
  }
  grow(): void {
    /* groups come as they are met */
  }
  update(ids: Uint32Array, argument: Vector): void {
    const values = fieldOf(argument, 'value');
    const bys = fieldOf(argument, 'by');
    const marks = present(
      argument.length,
      ...(this.nulls === 'all' ? [] : this.nulls === 'values' ? [bys] : [values, bys]),
    );
    for (let i = 0; i < argument.length; i++) {
      checkStop();
      if (marks[i] === 0) continue;
      const by = knownValue(valueAt(bys, i));
      if (this.isBetter(ids[i], by)) this.best.set(ids[i], { value: knownValue(valueAt(values, i)), by });
    }
  }
  private isBetter(group: number, by: Value): boolean {
    const known = this.best.get(group);
    if (!known || by.type === types.null || known.by.type === types.null)
      return !known || (known.by.type === types.null && by.type !== types.null);
    return order(by, known.by) * this.sign > 0;
  }
  merge(other: AggregateState, map: Uint32Array): void {
    for (const [g, entry] of (other as ArgumentState).best) {
      const to = map[g];
      if (to !== none && this.isBetter(to, entry.by)) this.best.set(to, entry);
    }
  }
  exported(groups: number): Vector {
    const out = new Builder();
    for (let g = 0; g < groups; g++) {
      const found = this.best.get(g);
      if (found)
        out.append(
          recordValue([
            { name: 'arg', value: found.value },
            { name: 'by', value: found.by },
          ]),
        );
      else out.null();
    }
    return out.finish();
  }
  absorb(ids: Uint32Array, states: Vector): void {
    const fields = [
      { name: 'value', optional: false, values: fieldOf(states, 'arg') },
      { name: 'by', optional: false, values: fieldOf(states, 'by') },
    ];
    this.update(ids, { form: 'record', length: states.length, fields });
  }
  result(groups: number): Vector {
    const out = new Builder();
    for (let g = 0; g < groups; g++) {
      const found = this.best.get(g);
      if (found) out.append(found.value);
      else out.null();
    }
    return out.finish();
  }
}

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
