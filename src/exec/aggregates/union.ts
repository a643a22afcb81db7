/** union: the set of the distinct values, without nulls and missing ones. */
import { charge, checkStopAt } from '../../vectors/stop.ts';
import { type Type, compareTypes } from '../../vectors/type.ts';
import { ByteWriter, writeTagged } from '../../vectors/value.ts';
import { type Vector, dataAt, gather, lookUp, take, typeAt } from '../../vectors/vector.ts';
import { lift, withoutUnions } from '../expressions/lift.ts';
import { setsOf } from '../expressions/lists.ts';
import { kinds, rowsWithout } from '../operators/rows/kinds.ts';
import { rankRuns } from '../operators/sort/runs.ts';
import { sortedOrder } from '../operators/sort/radix.ts';
import { ColumnCodes } from './grouping/codes.ts';
import { listsOfGroups } from './lists.ts';
import { pick } from './grouping/parts.ts';
import type { AggregateState } from './grouping/state.ts';
import { PairTable, none } from './grouping/pair-table.ts';

export class UnionState implements AggregateState {
  private readonly codes = new ColumnCodes();
  private readonly pairs = new PairTable();
  get bytes(): number {
    return this.codes.bytes + this.pairs.bytes;
  }
  grow(): void {
    /* nothing is kept per group */
  }
  update(ids: Uint32Array, argument: Vector): void {
    const rows = rowsWithout(argument, kinds.null, kinds.missing);
    const values = withoutUnions(rows ? take(argument, rows) : argument);
    this.add(pick(ids, rows), this.codes.codes(values));
  }
  private add(ids: Uint32Array, codes: Uint32Array): void {
    for (let i = 0; i < codes.length; i++) this.pairs.code(ids[i], codes[i], true);
  }
  merge(other: AggregateState, map: Uint32Array): void {
    const from = other as UnionState;
    const codes = this.codes.codes(from.codes.values());
    const { first, second } = from.pairs.words();
    for (let k = 0; k < from.pairs.size; k++) {
      const to = map[first[k]];
      if (to !== none) this.pairs.code(to, codes[second[k]], true);
    }
  }
  result(groups: number): Vector {
    const values = this.codes.values();
    const { first, second: codes } = this.pairs.words();
    const words = canonicalWords(values).map((w) => lookUp(w, codes));
    const order = sortedOrder(words, codes.length);
    return canonicalUnions(listsOfGroups('set', gather(values, lookUp(codes, order)), lookUp(first, order), groups));
  }
}

/** Where elements differ in type their place in the union counts too. */
const canonicalUnions = (sets: Vector): Vector =>
  lift(sets, (flat) =>
    flat.form === 'list' && flat.type.element.kind === 'union'
      ? setsOf(flat.type.element, flat.offsets, flat.items, flat.length)
      : flat,
  );

/** Words of the canonical order of sets: by encoding, then by type. */
const canonicalWords = (values: Vector): readonly Uint32Array[] => {
  charge(values.length * 2 * Uint32Array.BYTES_PER_ELEMENT, 'a set');
  const out = new ByteWriter();
  const offsets = new Uint32Array(values.length + 1);
  const typeCodes = new Uint32Array(values.length);
  const found = new Map<Type, number>();
  for (let i = 0; i < values.length; i++) {
    checkStopAt(i);
    const type = typeAt(values, i);
    const code = found.get(type) ?? found.size;
    found.set(type, code);
    typeCodes[i] = code;
    writeTagged(out, type, dataAt(values, i));
    offsets[i + 1] = out.length;
  }
  const encodings = rankRuns(out.bytes, offsets, values.length, false);
  if (found.size < 2) return [encodings];
  const known = [...found.keys()];
  const places = new Uint32Array(found.size);
  [...known].sort(compareTypes).forEach((type, place) => {
    places[found.get(type)!] = place;
  });
  return [encodings, lookUp(places, typeCodes)];
};
