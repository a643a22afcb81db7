/** agg(distinct v): an aggregate that sees each value of a group once. */
import { asKeys } from '../../../vectors/decimal.ts';
import { types } from '../../../vectors/type.ts';
import { type DynamicVector, type Vector, constant, flatten, numbers, take } from '../../../vectors/vector.ts';
import type { SpillBytes } from '../../spill-bytes.ts';
import { ColumnCodes, firstRows } from './codes.ts';
import { DistinctNumbers } from './distinct-numbers.ts';
import { DistinctPairs } from './distinct-pairs.ts';
import { idsOfOne, pick } from './parts.ts';
import type { AggregateState, GroupValues, SeenValues } from './state.ts';
import { PairTable, none } from './pair-table.ts';
import { Room } from './tables.ts';
import { under } from '../under.ts';

/** Pairs that are left together. */
const leftRows = 1 << 14;
/**
 * From so many values or pairs on numbers are told apart by partitions: a table of fewer is near to the processor.
 */
const manyValues = 1 << 18;
const manyPairs = 1 << 20;
/** Where memory ends it is done at any rate, but where so little is noted that tables of partitions would not be less. */
const partedBytesMin = 1 << 18;

/** The groups of rows: each row's, or one for all. */
type Ids = Uint32Array | number;

export class DistinctState implements AggregateState, SeenValues {
  private codes: ColumnCodes;
  private pairs = new PairTable();
  /** Instead of these, where values may come to the inner state later, and in another order. */
  private later: DistinctPairs | undefined;
  /**
   * As long as all rows are of one group, its values are those of all codes, and no pairs are noted: 0.8 of the time
   * for 1,000,000 texts.
   */
  private only: number | undefined;
  private readonly inner: AggregateState;
  private readonly room = new Room();
  private readonly sql: boolean;
  /** What tells very many numbers apart, once there are; their nulls, which do not count, are left out. */
  private numbers: DistinctNumbers | undefined;
  private numbersFrom = 1;
  /** Once no more values are noted: those that came since and are not known. */
  private unknown: GroupValues[] | undefined;
  /** `sql`: values are told apart as SQL does it. */
  constructor(inner: AggregateState, sql: boolean) {
    this.inner = inner;
    this.sql = sql;
    this.codes = new ColumnCodes(sql);
    if (inner.isCount) this.later = new DistinctPairs();
  }
  get bytes(): number {
    return this.notedBytes + this.inner.bytes;
  }
  get notedBytes(): number {
    return this.codes.bytes + (this.later ?? this.pairs).bytes + (this.numbers?.bytes ?? 0);
  }
  grow(groups: number): void {
    this.inner.grow(groups);
  }
  /** Only where it does not matter in which order values come, and they are not kept anyway. */
  get seen(): SeenValues | undefined {
    return this.inner.keepsNothing && this;
  }
  close(open: () => SpillBytes): void {
    if (!this.unknown && this.notedBytes >= partedBytesMin) this.partNumbers();
    this.numbers?.leaveOthers(open);
    this.settle();
    this.later?.freeze();
    this.unknown ??= [];
  }
  *take(all: boolean): Generator<GroupValues, void> {
    yield* this.unknown?.splice(0) ?? [];
    const noted = this.only === undefined ? this.later : undefined;
    if (!this.unknown || !noted || !(all || noted.isFull)) return;
    const { ids, codes } = noted.unknown(this.codes.size);
    if (ids.length === 0) return;
    const values = this.codes.values();
    for (let at = 0; at < ids.length; at += leftRows) {
      const some = codes.slice(at, at + leftRows);
      yield { ids: ids.slice(at, at + leftRows), values: take(values, some) };
    }
  }
  *end(): Generator<void> {
    if (this.numbers) yield* this.numbers.end();
    this.numbers = undefined;
  }
  discard(): void {
    this.numbers?.close();
  }
  reopen(): void {
    this.settle();
    this.codes = new ColumnCodes(this.sql);
    this.pairs = new PairTable();
    if (this.later) this.later = new DistinctPairs();
    this.only = this.unknown = undefined;
  }
  /** Leaves the values that are not known to others: of those that are known in some group, many at a time. */
  private leave(ids: Uint32Array, values: Vector): void {
    const codes = this.codes.codes(values, false, false);
    const noted = this.only === undefined ? this.later : undefined;
    const isKnown = noted ? (i: number) => codes[i] !== none : this.known(ids, codes, values.length);
    const rows = new Uint32Array(values.length);
    let n = 0;
    for (let i = 0; i < values.length; i++) if (!isKnown(i)) rows[n++] = i;
    const own = rows.subarray(0, n);
    if (n > 0) this.unknown?.push({ ids: pick(ids, own), values: take(values, own) });
    if (!noted || n === values.length) return;
    if (n === 0) noted.note(ids, codes, values.length);
    else {
      const others = rows.slice(0, values.length - n);
      for (let i = 0, k = 0; i < values.length; i++) if (codes[i] !== none) others[k++] = i;
      noted.note(pick(ids, others), pick(codes, others), others.length);
    }
  }
  /** Tells of each row whether its pair is known. */
  private known(ids: Uint32Array, codes: Uint32Array, length: number): (row: number) => boolean {
    const { only } = this;
    if (only !== undefined) return (i) => codes[i] !== none && ids[i] === only;
    const pairs = this.pairs.codes(ids, codes, length, false, this.room.of(length));
    return (i) => pairs[i] !== none;
  }
  updateOne(group: number, given: Vector): void {
    if (this.numbers) return this.part(group, under(given));
    this.seeOne(group, under(given));
    this.mayPartNumbers();
  }
  private seeOne(group: number, argument: Vector): void {
    if (this.unknown) return this.leave(idsOfOne(group, argument.length), argument);
    if (this.hasPairs || (this.only ?? group) !== group) return this.see(idsOfOne(group, argument.length), argument);
    this.only = group;
    const before = this.codes.size;
    const codes = this.codes.codes(argument, true, false);
    const rows = firstRows(codes, argument.length, before, this.codes.size);
    if (rows.length > 0) this.add(idsOfOne(group, rows.length), take(argument, rows));
  }
  private mayPartNumbers(): void {
    const { later, codes, numbersFrom } = this;
    if (!later || this.numbers) return;
    if (codes.size >= manyValues * numbersFrom || later.size >= manyPairs * numbersFrom) this.partNumbers();
  }
  /** If all values are numbers they are told apart by partitions from here on. */
  private partNumbers(): void {
    if (!this.later || this.numbers || this.codes.size === 0) return;
    this.numbersFrom *= 2;
    const values = this.codes.wholeOrFloats;
    const type = values && DistinctNumbers.typeOf(values, this.sql);
    if (!values || !type) return;
    this.settle();
    const known = this.later.all();
    let isCounted = true;
    const one = constant(numbers(types.int64, new Float64Array(1)), 1);
    this.numbers = new DistinctNumbers(type, this.sql, (groups) => {
      if (!isCounted) this.inner.update(groups, { ...one, length: groups.length });
    });
    if (this.only === undefined) this.part(known.ids, take(values, known.codes));
    else this.part(this.only, values);
    this.numbers.settle();
    isCounted = false;
    this.only = undefined;
    this.codes = new ColumnCodes(this.sql);
    this.later = new DistinctPairs();
  }
  /** Numbers go to their partitions, what else there is to the codes; nulls do not count. */
  private part(ids: Ids, given: Vector): void {
    const v = opened(given, this.sql);
    if (this.numbers!.takes(v)) this.numbers!.add(ids, v);
    else if (v.form === 'dynamic')
      for (const [tag, part] of v.parts.entries()) {
        if (part.form === 'null') continue;
        const rows = rowsOfTag(v, tag);
        if (rows.length > 0)
          this.part(typeof ids === 'number' ? ids : pick(ids, rows), take(part, pick(v.slots, rows)));
      }
    else if (typeof ids === 'number') this.seeOne(ids, v);
    else this.see(ids, v);
  }
  private get hasPairs(): boolean {
    return this.later ? !this.later.isEmpty : this.pairs.size > 0;
  }
  private add(ids: Uint32Array, values: Vector): void {
    if (this.inner.updateOne && ids[0] === this.only) this.inner.updateOne(ids[0], values);
    else this.inner.update(ids, values);
  }
  /** There is another group: from here on pairs tell what is new. */
  private notePairs(): void {
    const { only, later } = this;
    this.only = undefined;
    if (only === undefined) return;
    if (later) later.know(only, this.codes.size);
    else for (let code = 0; code < this.codes.size; code++) this.pairs.code(only, code, true);
  }
  /** The inner state gets what is new among the noted pairs. */
  private settle(): void {
    if (!this.later || this.unknown || this.only !== undefined) return;
    const { ids, codes } = this.later.settle(this.codes.size);
    if (ids.length > 0) this.inner.update(ids, take(this.codes.values(), codes));
  }
  update(ids: Uint32Array, given: Vector): void {
    if (this.numbers) return this.part(ids, under(given));
    this.see(ids, under(given));
    this.mayPartNumbers();
  }
  private see(ids: Uint32Array, argument: Vector): void {
    if (this.unknown) return this.leave(ids, argument);
    this.notePairs();
    const codes = this.codes.codes(argument, true, false);
    if (this.later) {
      this.later.note(ids, codes, argument.length);
      if (this.later.isFull) this.settle();
      return;
    }
    const { size } = this.pairs;
    const rows = firstRows(
      this.pairs.codes(ids, codes, argument.length, true, this.room.of(argument.length)),
      argument.length,
      size,
      this.pairs.size,
    );
    if (rows.length > 0) this.inner.update(pick(ids, rows), take(argument, rows));
  }
  /** The values of `other` are added again: its inner state may have seen values that this one has too. */
  merge(other: AggregateState, map: Uint32Array): void {
    const from = other as DistinctState;
    from.notePairs();
    from.settle();
    const { ids, codes } = from.later ? from.later.all() : from.tablePairs();
    this.addMapped({ ids, values: take(from.codes.values(), codes) }, map);
    for (const pairs of from.numbers?.all() ?? []) this.addMapped(pairs, map);
  }
  private addMapped({ ids, values }: GroupValues, map: Uint32Array): void {
    const mapped = new Uint32Array(ids.length);
    const rows = new Uint32Array(ids.length);
    let n = 0;
    for (let k = 0; k < ids.length; k++) {
      const to = map[ids[k]];
      if (to === none) continue;
      mapped[n] = to;
      rows[n++] = k;
    }
    if (n > 0) this.update(mapped.subarray(0, n), take(values, rows.subarray(0, n)));
  }
  private tablePairs(): { readonly ids: Uint32Array; readonly codes: Uint32Array } {
    const { first, second } = this.pairs.words();
    return { ids: first, codes: second };
  }
  result(groups: number): Vector {
    this.settle();
    this.numbers?.settle();
    return this.inner.result(groups);
  }
}

/** As keys are told apart: numbers under their names, and each row of those that share values, but for texts. */
const opened = (v: Vector, sql: boolean): Vector => {
  switch (v.form) {
    case 'named': {
      if (!sql) return v;
      const keys = asKeys(v);
      return opened(keys.form === 'named' ? v.inner : keys, sql);
    }
    case 'constant':
      return v.inner.form === 'bytes' ? v : opened(flatten(v), sql);
    case 'dictionary':
      return v.values.form === 'bytes' ? v : opened(flatten(v), sql);
    case 'selected':
      return v.base.form === 'bytes' ? v : opened(flatten(v), sql);
    default:
      return v;
  }
};
const rowsOfTag = ({ tags, length }: DynamicVector, tag: number): Uint32Array => {
  const rows = new Uint32Array(length);
  let n = 0;
  for (let i = 0; i < length; i++) if (tags[i] === tag) rows[n++] = i;
  return rows.subarray(0, n);
};
