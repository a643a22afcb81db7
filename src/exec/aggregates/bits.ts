/** bit_and, bit_or, bit_xor of integers, or of bit strings of one length; everything else is left out. */
import { LakeError } from '../../errors.ts';
import { type PrimitiveType, isInteger, types } from '../../vectors/type.ts';
import { integer } from '../../vectors/value.ts';
import { type Vector, textAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import type { AggregateState } from './grouping/state.ts';
import { bitsOfText } from '../expressions/sql/bits.ts';
import { eachPart } from './grouping/parts.ts';
import { none } from './grouping/pair-table.ts';

const operations = {
  and: (a: bigint, b: bigint) => a & b,
  or: (a: bigint, b: bigint) => a | b,
  xor: (a: bigint, b: bigint) => a ^ b,
} as const;

/** A bit string is the whole number of its digits, of which there are `width`. */
type BitsType = PrimitiveType | { readonly width: number };
const isString = (type: BitsType): type is { readonly width: number } => 'width' in type;
const shown = (type: BitsType): string => (isString(type) ? `${type.width} bits` : type.name);

/** What an entry of a group takes, about. */
const entryBytes = 120;

export class BitsState implements AggregateState {
  readonly keepsNothing = true;
  private readonly found = new Map<number, { readonly bits: bigint; readonly type: BitsType }>();
  private readonly operation: keyof typeof operations;
  constructor(operation: keyof typeof operations) {
    this.operation = operation;
  }
  get bytes(): number {
    return this.found.size * entryBytes;
  }
  grow(): void {
    /* groups come as they are met */
  }
  update(ids: Uint32Array, argument: Vector): void {
    eachPart(argument, (part, rows) => {
      const group = (i: number): number => ids[rows ? rows[i] : i];
      if (part.form === 'number' && isInteger(part.type))
        for (let i = 0; i < part.length; i++) this.add(group(i), BigInt(part.values[i]), part.type);
      if (part.form !== 'bytes' || part.type !== types.string) return;
      for (let i = 0; i < part.length; i++) {
        const text = bitsOfText(textAt(part, i));
        if (text !== undefined) this.add(group(i), BigInt(`0b${text}`), { width: text.length });
      }
    });
  }
  private add(group: number, bits: bigint, type: BitsType): void {
    const known = this.found.get(group);
    this.found.set(
      group,
      known
        ? { bits: operations[this.operation](known.bits, bits), type: this.typeOf(known.type, type) }
        : { bits, type },
    );
  }
  /** Integers of several types make an int64. @throws query-argument where bit strings differ in length */
  private typeOf(a: BitsType, b: BitsType): BitsType {
    if (!isString(a) && !isString(b)) return a === b ? a : types.int64;
    if (isString(a) && isString(b) && a.width === b.width) return a;
    throw new LakeError('query-argument', {
      fault: `bit_${this.operation}: bits of one length required, got ${shown(a)} and ${shown(b)}`,
    });
  }
  merge(other: AggregateState, map: Uint32Array): void {
    for (const [g, { bits, type }] of (other as BitsState).found) if (map[g] !== none) this.add(map[g], bits, type);
  }
  absorb(ids: Uint32Array, states: Vector): void {
    this.update(ids, states);
  }
  result(groups: number): Vector {
    const out = new Builder();
    for (let g = 0; g < groups; g++) {
      const found = this.found.get(g);
      if (!found) out.null();
      else if (isString(found.type)) out.text(found.bits.toString(2).padStart(found.type.width, '0'));
      else out.number(found.type, integer(found.type === types.int64 ? BigInt.asIntN(64, found.bits) : found.bits));
    }
    return out.finish();
  }
}
