/**
 * Which fields of a record have become other ones, as paths: those of the record after in its order, then those that
 * are gone. A record within a record is looked into; any other value, and one that is a record on one side alone, counts
 * as a whole.
 *
 * Invariant: each path is one of a field that one side lacks, or whose values differ as `Differences` tells them apart. Of
 * two records that differ in the order of their fields, in their names or in what is optional alone there are none.
 */
import { Uint32List } from '../../vectors/lists.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { arrayType, types } from '../../vectors/type.ts';
import { stringValue } from '../../vectors/value.ts';
import { type FlatVector, type RecordVector, type Vector, take, typeAt } from '../../vectors/vector.ts';
import { vectorOf } from '../../vectors/builder.ts';
import type { FieldMarks as Marked } from './runs.ts';
import { type Differences, type Pairs, alikeRecords, flatBehind, pairsByPart } from './different.ts';

type Path = readonly string[];

/** The paths of the fields in which the rows of each pair differ, as a list of lists of names. */
export const differingFields = (a: Vector, b: Vector, pairs: Pairs, differences: Differences): Vector => {
  const found = new FieldMarks(pairs.a.length, differences);
  found.look(a, b, { ...pairs, owners: rangeTo(pairs.a.length) }, []);
  return found.vector();
};
const rangeTo = (length: number): Uint32Array => Uint32Array.from({ length }, (_, n) => n);

/** Pairs of rows, and to which pair of records each belongs. */
interface Owned extends Pairs {
  readonly owners: Uint32Array;
}

/** What is known of each pair of records. */
class FieldMarks {
  private readonly differences: Differences;
  private readonly paths: Path[] = [];
  private readonly numbers = new Map<string, number>();
  private readonly owners = new Uint32List();
  private readonly marks = new Uint32List();
  /** How many paths each pair has. */
  private readonly counts: Uint32Array;
  constructor(length: number, differences: Differences) {
    this.counts = new Uint32Array(length);
    this.differences = differences;
  }

  /** Rows of both sides that have a value at that path. */
  look(a: Vector, b: Vector, pairs: Owned, path: Path): void {
    if (pairs.owners.length === 0) return;
    const [left, leftRows] = flatBehind(a, pairs.a);
    const [right, rightRows] = flatBehind(b, pairs.b);
    const own = { a: leftRows, b: rightRows, owners: pairs.owners };
    if (left.form === 'dynamic' || right.form === 'dynamic') {
      for (const part of pairsByPart(left, right, own))
        this.look(part.a, part.b, { ...part.pairs, owners: pick(own.owners, part.rows) }, path);
    } else if (left.form === 'named' && (path.length === 0 || isNamedAlike(left, right))) {
      this.look(left.inner, right.form === 'named' ? right.inner : right, own, path);
    } else if (right.form === 'named' && path.length === 0) this.look(left, right.inner, own, path);
    else if (left.form === 'record' && right.form === 'record') this.lookInside(left, right, own, path);
    else this.compare(left, right, own, path);
  }

  private lookInside(a: RecordVector, b: RecordVector, pairs: Owned, path: Path): void {
    const isAlike = path.length === 0 || alikeRecords(a, b);
    const before = isAlike ? undefined : this.counts.slice();
    const known = new Map(a.fields.map((field) => [field.name, field]));
    for (const field of b.fields) {
      const other = known.get(field.name);
      known.delete(field.name);
      const inner = [...path, field.name];
      if (other) this.lookAtField(other, field, pairs, inner);
      else this.markPresent(field, pairs.b, pairs.owners, inner);
    }
    for (const field of known.values()) this.markPresent(field, pairs.a, pairs.owners, [...path, field.name]);
    if (!before) return;
    const rest = rangeTo(pairs.owners.length).filter((n) => this.counts[pairs.owners[n]!] === before[pairs.owners[n]!]);
    this.compare(a, b, picked(pairs, rest), path);
  }

  private lookAtField(a: RecordVector['fields'][number], b: typeof a, pairs: Owned, path: Path): void {
    if (!a.present && !b.present) return this.look(a.values, b.values, pairs, path);
    const both = new Uint32List();
    const number = this.numberOf(path);
    for (let n = 0; n < pairs.owners.length; n++) {
      checkStopAt(n);
      const [i, j] = [pairs.a[n]!, pairs.b[n]!];
      const isHere = a.present?.[i] !== 0;
      if (isHere !== (b.present?.[j] !== 0)) this.mark(pairs.owners[n]!, number);
      else if (isHere) both.push(n);
      // What is absent counts by its type alone.
      else if (typeAt(a.values, i) !== typeAt(b.values, j)) this.mark(pairs.owners[n]!, number);
    }
    this.look(a.values, b.values, picked(pairs, both.done()), path);
  }

  private markPresent(
    { present }: RecordVector['fields'][number],
    rows: Uint32Array,
    owners: Uint32Array,
    path: Path,
  ): void {
    const number = this.numberOf(path);
    for (let n = 0; n < owners.length; n++) if (present?.[rows[n]!] !== 0) this.mark(owners[n]!, number);
  }

  private compare(a: Vector, b: Vector, pairs: Owned, path: Path): void {
    // Values that are no records have no fields.
    if (path.length === 0 || pairs.owners.length === 0) return;
    const differs = new Uint8Array(pairs.owners.length);
    this.differences.mark(a, b, pairs, differs);
    const number = this.numberOf(path);
    for (let n = differs.indexOf(1); n >= 0; n = differs.indexOf(1, n + 1)) this.mark(pairs.owners[n]!, number);
  }

  private numberOf(path: Path): number {
    const text = JSON.stringify(path);
    let number = this.numbers.get(text);
    if (number === undefined) this.numbers.set(text, (number = this.paths.push(path) - 1));
    return number;
  }
  private mark(owner: number, number: number): void {
    this.owners.push(owner);
    this.marks.push(number);
    this.counts[owner]!++;
  }

  /** The paths of each pair. */
  vector(): Vector {
    const { counts } = this;
    const ends = new Uint32Array(counts.length + 1);
    for (let n = 0; n < counts.length; n++) ends[n + 1] = ends[n]! + counts[n]!;
    const next = ends.slice();
    const sorted = new Uint32Array(this.marks.length);
    for (let n = 0; n < sorted.length; n++) sorted[next[this.owners.array[n]!]!++] = this.marks.array[n]!;
    const sets = new Map<string, number>();
    const lists: (readonly Path[])[] = [];
    const codes = new Uint32Array(counts.length);
    for (let n = 0; n < codes.length; n++) {
      checkStopAt(n);
      const own = sorted.subarray(ends[n]!, ends[n + 1]!);
      const text = own.join();
      let code = sets.get(text);
      if (code === undefined) sets.set(text, (code = lists.push([...own].map((path) => this.paths[path]!)) - 1));
      codes[n] = code;
    }
    return coded(lists, codes);
  }
}

/** Paths of the fields that are marked in each of these pairs, as a list of lists of names. */
export const listsOfFields = (fields: readonly Marked[], numbers: Uint32Array): Vector => {
  let lists: (readonly Path[])[] = [[]];
  let codes = new Uint32Array(numbers.length);
  for (const { path, marks } of fields) {
    // With each field a list becomes two, those without it and with it, as far as there are pairs of these.
    const next: (readonly Path[])[] = [];
    const places = new Uint32Array(lists.length * 2);
    const own = new Uint32Array(codes.length);
    for (let n = 0; n < own.length; n++) {
      const place = codes[n]! * 2 + marks[numbers[n]!]!;
      if (places[place] === 0) {
        const list = lists[codes[n]!]!;
        places[place] = next.push(place % 2 === 1 ? [...list, path] : list);
      }
      own[n] = places[place]! - 1;
    }
    lists = next;
    codes = own;
  }
  return coded(lists, codes);
};
/** Of few lists each is made once, and those of a window are mostly those of the window before. */
const coded = (lists: readonly (readonly Path[])[], codes: Uint32Array): Vector => {
  if (lists.length * fewOf > codes.length) return take(vectorOf(lists.map(listOfPaths)), codes);
  const text = JSON.stringify(lists);
  if (text !== last?.text) last = { text, values: vectorOf(lists.map(listOfPaths)) };
  return { form: 'dictionary', length: codes.length, codes, values: last.values };
};
let last: { readonly text: string; readonly values: Vector } | undefined;
const fewOf = 16;

const pathsType = arrayType(arrayType(types.string));
const listOfPaths = (paths: readonly Path[]) => ({
  type: pathsType,
  data: paths.map((path) => path.map((name) => stringValue(name).data)),
});

const isNamedAlike = (a: FlatVector & { readonly form: 'named' }, b: FlatVector): boolean =>
  b.form === 'named' && a.name === b.name;
const pick = (values: Uint32Array, rows: Uint32Array): Uint32Array => rows.map((row) => values[row]!);
const picked = ({ a, b, owners }: Owned, rows: Uint32Array): Owned =>
  rows.length === owners.length ? { a, b, owners } : { a: pick(a, rows), b: pick(b, rows), owners: pick(owners, rows) };
