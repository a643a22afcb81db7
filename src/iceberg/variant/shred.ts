/**
 * Variants as the columns of a file, shredded as their shape says (shape.ts).
 *
 * Invariants:
 * - A row's value is in its typed column or in its binary value; of an object that is typed, the fields without a column
 *   of their own are in the binary value.
 * - Every object is in the typed column where that is of records, and every array where it is of lists.
 * - A row's names are those of all fields of its value, wherever they are.
 */
import { BytesBuilder } from '../../vectors/builder-leaves.ts';
import { vectorOf } from '../../vectors/builder.ts';
import { checkStop, checkStopAt } from '../../vectors/stop.ts';
import { arrayType, types } from '../../vectors/type.ts';
import type { Value } from '../../vectors/value.ts';
import {
  type Field,
  type RecordVector,
  type Vector,
  dataAt,
  itemsOf,
  take,
  typeAt,
  uniformType,
} from '../../vectors/vector.ts';
import { type LeafPiece, type RunsPiece, leafColumn, presence, runsOf } from '../pieces.ts';
import { type Rows, rowAt } from '../walk.ts';
import { type VariantNames, VariantWriter } from './binary.ts';
import { type Part, partsIn } from './parts.ts';
import { type Shape, columnKind, fieldParts, untyped, variantParts } from './shape.ts';
import { type VariantField, NamesOfTypes, fieldsOfObject, writeObject, writeVariant } from './values.ts';

/** Values of a column that are in these rows. */
export interface VariantPiece {
  readonly values: Vector;
  readonly rows: Rows;
}

/** The parts of pieces. */
export const partsOfPieces = (pieces: readonly VariantPiece[]): readonly Part[] =>
  pieces.flatMap(({ values, rows }) => partsIn(values, rows));

/** The group of a column's `length` rows. */
export const variantColumn = (
  pieces: readonly VariantPiece[],
  shape: Shape,
  length: number,
): Pick<Field, 'values' | 'present'> => {
  const names: VariantNames[] = new Array<VariantNames>(length);
  const byType = new NamesOfTypes();
  const metadata = pieces.map(({ values, rows }): LeafPiece => {
    checkStop();
    const builder = new BytesBuilder(types.bytes);
    const uniform = uniformType(values);
    const common = uniform && !byType.isOpen(uniform) ? byType.of(uniform, null) : undefined;
    for (let i = 0; i < values.length; i++) {
      const own = common ?? byType.of(typeAt(values, i), dataAt(values, i));
      names[rowAt(rows, i)] = own;
      builder.append(own.bytes);
    }
    return { rows, length: values.length, values: builder.finish(), isWritten: true };
  });
  const present = presence(metadata, length);
  const fields = [
    { name: variantParts.metadata, optional: false, values: leafColumn('bytes', metadata, length).values },
    ...new Shredder((row) => names[row]!).columns(partsOfPieces(pieces), shape, length),
  ];
  return { values: { form: 'record', length, fields }, ...(present && { present }) };
};

class Shredder {
  private readonly namesAt: (row: number) => VariantNames;
  private readonly out = new VariantWriter();

  /** `namesAt`: those of the value that a row is in. */
  constructor(namesAt: (row: number) => VariantNames) {
    this.namesAt = namesAt;
  }

  /** The binary value and, where there is one, the typed column. */
  columns(parts: readonly Part[], shape: Shape, length: number): Field[] {
    const typed: Part[] = [];
    const binary: LeafPiece[] = [];
    for (const part of parts) {
      checkStop();
      if (part.kind === shape.kind || (part.kind === 'object' && shape.kind === 'record')) typed.push(part);
      else binary.push(this.binary(part));
    }
    const typedField = (values: Pick<Field, 'values' | 'present'>): Field => ({
      name: variantParts.typed,
      optional: true,
      ...values,
    });
    const value = (): Field => ({ name: variantParts.value, optional: true, ...leafColumn('bytes', binary, length) });
    switch (shape.kind) {
      case undefined:
        return [value()];
      case 'record': {
        const records = this.records(typed, shape, length);
        binary.push(...records.left);
        return [value(), typedField(records.column)];
      }
      case 'list':
        return [value(), typedField(this.lists(typed, shape, length))];
      default: {
        const pieces = typed.map(({ rows, values }) => ({ rows, values, length: values.length, isWritten: false }));
        return [value(), typedField(leafColumn(columnKind(shape.kind), pieces, length))];
      }
    }
  }

  private binary({ values, rows }: Part): LeafPiece {
    const builder = new BytesBuilder(types.bytes);
    for (let i = 0; i < values.length; i++) {
      checkStopAt(i);
      this.out.clear();
      writeVariant(this.out, typeAt(values, i), dataAt(values, i), this.namesAt(rowAt(rows, i)));
      builder.append(this.out.written());
    }
    return { rows, length: values.length, values: builder.finish(), isWritten: true };
  }

  /** `left`: objects of the fields that have no column. */
  private records(
    parts: readonly Part[],
    { fields: shapes = new Map<string, Shape>() }: Shape,
    length: number,
  ): { readonly column: Pick<Field, 'values' | 'present'>; readonly left: readonly LeafPiece[] } {
    const byName = new Map<string, Part[]>([...shapes.keys()].map((name) => [name, []]));
    const left: LeafPiece[] = [];
    for (const part of parts) {
      if (part.kind === 'record') {
        for (const field of part.values.fields) byName.get(field.name)?.push(...fieldParts(field, part));
        left.push(...this.leftOfRecords(part.values, part.rows, shapes));
      } else left.push(...this.objects(part, byName));
    }
    const fields = [...shapes].map(([name, shape]) => ({
      name,
      optional: false,
      values: this.group(byName.get(name) ?? [], shape, length),
    }));
    const present = presence(
      parts.map(({ rows, values }) => ({ rows, length: values.length })),
      length,
    );
    return { column: { values: { form: 'record', length, fields }, ...(present && { present }) }, left };
  }
  private group(parts: readonly Part[], shape: Shape, length: number): RecordVector {
    return { form: 'record', length, fields: this.columns(parts, shape, length) };
  }

  private leftOfRecords(v: RecordVector, rows: Rows, shapes: ReadonlyMap<string, Shape>): readonly LeafPiece[] {
    const others = v.fields.filter(({ name }) => !shapes.has(name));
    return others.length === 0
      ? []
      : this.leftOf(v.length, rows, (i) =>
          others.flatMap(({ name, values, present }) =>
            present?.[i] === 0 ? [] : [{ name, type: typeAt(values, i), data: dataAt(values, i) }],
          ),
        );
  }
  /** Objects that are no records: fields that have a column are put into it one by one. */
  private objects({ values, rows }: Part, byName: ReadonlyMap<string, Part[]>): readonly LeafPiece[] {
    const found = new Map<string, { readonly values: Value[]; readonly rows: number[] }>();
    const left = this.leftOf(values.length, rows, (i) =>
      fieldsOfObject(typeAt(values, i), dataAt(values, i)).filter(({ name, type, data }) => {
        if (!byName.has(name)) return true;
        let own = found.get(name);
        if (!own) found.set(name, (own = { values: [], rows: [] }));
        own.values.push({ type, data });
        own.rows.push(rowAt(rows, i));
        return false;
      }),
    );
    for (const [name, own] of found)
      byName.get(name)?.push(...partsIn(vectorOf(own.values), Uint32Array.from(own.rows)));
    return left;
  }
  /** Objects of the rows that have fields left. */
  private leftOf(length: number, rows: Rows, fieldsAt: (i: number) => readonly VariantField[]): readonly LeafPiece[] {
    const builder = new BytesBuilder(types.bytes);
    const picked: number[] = [];
    for (let i = 0; i < length; i++) {
      checkStopAt(i);
      const fields = fieldsAt(i);
      if (fields.length === 0) continue;
      const row = rowAt(rows, i);
      this.out.clear();
      writeObject(this.out, fields, this.namesAt(row));
      builder.append(this.out.written());
      picked.push(row);
    }
    if (picked.length === 0) return [];
    return [{ rows: Uint32Array.from(picked), length: picked.length, values: builder.finish(), isWritten: true }];
  }

  private lists(
    parts: readonly Part[],
    { element = untyped }: Shape,
    length: number,
  ): Pick<Field, 'values' | 'present'> {
    const pieces: RunsPiece[] = [];
    const items: Part[] = [];
    let count = 0;
    const owners: Uint32Array[] = [];
    for (const { kind, values: v, rows } of parts) {
      if (kind !== 'list') continue;
      const start = v.offsets[0]!;
      const offsets = v.offsets.subarray(0, v.length + 1).map((at) => at - start);
      pieces.push({ rows, length: v.length, first: count, offsets });
      items.push(...partsIn(itemsOf(v, v.items), count));
      const own = new Uint32Array(offsets[v.length]!);
      for (let i = 0; i < v.length; i++) own.fill(rowAt(rows, i), offsets[i], offsets[i + 1]);
      owners.push(own);
      count += own.length;
    }
    const owner = new Uint32Array(count);
    let at = 0;
    for (const own of owners) {
      owner.set(own, at);
      at += own.length;
    }
    const inner = new Shredder((item) => this.namesAt(owner[item]!)).group(items, element, count);
    const { offsets, index } = runsOf(pieces, length);
    const present = presence(pieces, length);
    const values: Vector = {
      form: 'list',
      type: arrayType(types.null),
      length,
      offsets,
      items: index ? take(inner, index) : inner,
    };
    return { values, ...(present && { present }) };
  }
}
