/** bit_and, bit_or, bit_xor of integers; everything else is left out. */
import { type PrimitiveType, isInteger, types } from '../../vectors/type.ts';
import { integer } from '../../vectors/value.ts';
import type { Vector } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import type { AggregateState } from './grouping/state.ts';
import { eachPart } from './grouping/parts.ts';
import { none } from './grouping/pair-table.ts';

const operations = {
  and: (a: bigint, b: bigint) => a & b,
  or: (a: bigint, b: bigint) => a | b,
  xor: (a: bigint, b: bigint) => a ^ b,
} as const;

/** What an entry of a group takes, about. */
const entryBytes = 120;

export class BitsState implements AggregateState {
  readonly keepsNothing = true;
  private readonly found = new Map<number, { readonly bits: bigint; readonly type: PrimitiveType }>();
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
      if (part.form !== 'number' || !isInteger(part.type)) return;
      for (let i = 0; i < part.length; i++) this.add(ids[rows ? rows[i]! : i]!, BigInt(part.values[i]!), part.type);
    });
  }
  /** Integers of several types make an int64. */
  private add(group: number, bits: bigint, type: PrimitiveType): void {
    const known = this.found.get(group);
    this.found.set(
      group,
      known
        ? { bits: operations[this.operation](known.bits, bits), type: known.type === type ? type : types.int64 }
        : { bits, type },
    );
  }
  merge(other: AggregateState, map: Uint32Array): void {
    for (const [g, { bits, type }] of (other as BitsState).found) if (map[g] !== none) this.add(map[g]!, bits, type);
  }
  result(groups: number): Vector {
    const out = new Builder();
    for (let g = 0; g < groups; g++) {
      const found = this.found.get(g);
      if (!found) out.null();
      else out.number(found.type, integer(found.type === types.int64 ? BigInt.asIntN(64, found.bits) : found.bits));
    }
    return out.finish();
  }
}
