/** bitstring_agg: which whole numbers of a range come in a group, a bit for each. */
import { LakeError } from '../../errors.ts';
import { supText } from '../../vectors/sup/print.ts';
import { checkStop, checkStopAt } from '../../vectors/stop.ts';
import { isInteger, types } from '../../vectors/type.ts';
import { type Value, isMissing, underValue, numericData } from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { concat } from '../../vectors/concat.ts';
import { fieldOf } from '../expressions/access.ts';
import { CollectState } from './collect.ts';
import { sortByGroup } from './lists.ts';
import type { AggregateState } from './grouping/state.ts';

/** Bits of one string, as of other texts that are filled up. */
export const bitStringMax = 1 << 20;

interface Bounds {
  readonly low: bigint;
  readonly high: bigint;
}

export class BitStringState extends CollectState {
  private bounds: Bounds | undefined;
  override update(ids: Uint32Array, argument: Vector): void {
    if (argument.length > 0) this.bounds ??= boundsOf(argument);
    super.update(ids, fieldOf(argument, 'value'));
  }
  override merge(other: AggregateState, map: Uint32Array): void {
    this.bounds ??= (other as BitStringState).bounds;
    super.merge(other, map);
  }
  override result(groups: number): Vector {
    checkStop();
    const values = concat(this.kept);
    const numbers = Array.from({ length: values.length }, (_, i) => {
      checkStopAt(i);
      return wholeOf(underValue(valueAt(values, i)), 'whole numbers');
    });
    const { low, high } = this.bounds ?? rangeOf(numbers);
    const { order, offsets } = sortByGroup(this.ids.done(), this.ids.length, groups);
    const size = sizeOf({ low, high });
    const out = new Builder();
    for (let g = 0; g < groups; g++) {
      checkStop();
      const own = order.subarray(offsets[g], offsets[g + 1]);
      if (own.length === 0) out.null();
      else out.text(textOf(own, numbers, { low, high }, size));
    }
    return out.finish();
  }
}

const zero = 0x30;
const textOf = (rows: Uint32Array, numbers: readonly bigint[], { low, high }: Bounds, size: number): string => {
  const bits = Buffer.alloc(size, zero);
  for (const row of rows) {
    const x = numbers[row];
    if (x < low || x > high) throw argumentFault(`${x} is not from ${low} to ${high}`);
    bits[Number(x - low)] = zero + 1;
  }
  return bits.toString('latin1');
};
/** The range that the arguments say, those of the first row; undefined without them. */
const boundsOf = (argument: Vector): Bounds | undefined => {
  const [low, high] = ['by', 'third'].map((name) => underValue(valueAt(fieldOf(argument, name), 0)));
  if (isMissing(low!) && isMissing(high!)) return undefined;
  if (isMissing(high!)) throw argumentFault('least and greatest number required, got the least alone');
  return { low: wholeOf(low!, 'least number'), high: wholeOf(high!, 'greatest number') };
};
const rangeOf = (numbers: readonly bigint[]): Bounds => {
  let [low = 0n, high = low] = numbers;
  for (const x of numbers) {
    if (x < low) low = x;
    if (x > high) high = x;
  }
  return { low, high };
};
const sizeOf = ({ low, high }: Bounds): number => {
  if (low > high) throw argumentFault(`least number ${low} is above greatest ${high}`);
  const size = high - low + 1n;
  if (size > BigInt(bitStringMax)) throw argumentFault(`at most ${bitStringMax} bits, got ${size}`);
  return Number(size);
};
/** @throws query-argument for other values */
const wholeOf = (value: Value, wanted: string): bigint => {
  const { type, data } = value;
  if (isInteger(type) && type !== types.time && type !== types.duration) return BigInt(numericData(data));
  throw argumentFault(`${wanted} required, got ${supText(value).slice(0, 100)}`);
};
const argumentFault = (fault: string): LakeError =>
  new LakeError('query-argument', { fault: `bitstring_agg: ${fault}` });
