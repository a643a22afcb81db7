/** Bits of whole numbers: and, exclusive or, shifts. Results are of 64 bits. */
import { fitsInt64 } from '../../vectors/literal.ts';
import { integer } from '../../vectors/value.ts';
import { rowsOf, type FunctionRow } from './row.ts';
import { Refusal, byRow } from './typed.ts';

type Whole = number | bigint;
const outOfRange = new Refusal('result out of range');
const fitting = (x: bigint): Whole | Refusal => (fitsInt64(x) ? integer(x) : outOfRange);
const bitsMax = 64;
const shiftedLeft = (n: Whole, by: Whole): Whole | Refusal => {
  if (n < 0) return new Refusal('negative number');
  if (by < 0) return new Refusal('negative count', 1);
  return by >= bitsMax ? (BigInt(n) === 0n ? 0 : outOfRange) : fitting(BigInt(n) << BigInt(by));
};
/** A count below zero, or of all bits and more, leaves nothing. */
const shiftedRight = (n: Whole, by: Whole): Whole => (by < 0 || by >= bitsMax ? 0 : integer(BigInt(n) >> BigInt(by)));

const wrong = (name: string): readonly [string, string] => [`${name}(1,"a")`, `error({message:"${name}: integer argument required",on:"a"})`];
export const bits: readonly FunctionRow[] = [
  ...rowsOf('and_bits(a, b)', 'The bits that two whole numbers have in common; in SQL a & b.', byRow('and_bits', ['integer', 'integer'], 'integer', (a, b) => integer(BigInt(a) & BigInt(b))), [['and_bits(5,3)', '1'], wrong('and_bits')]),
  ...rowsOf('or_bits(a, b)', 'The bits that one of two whole numbers has.', byRow('or_bits', ['integer', 'integer'], 'integer', (a, b) => integer(BigInt(a) | BigInt(b))), [['or_bits(5,3)', '7'], wrong('or_bits')]),
  ...rowsOf('xor(a, b)', 'The bits that just one of two whole numbers has.', byRow('xor', ['integer', 'integer'], 'integer', (a, b) => integer(BigInt(a) ^ BigInt(b))), [['xor(5,3)', '6'], wrong('xor')]),
  ...rowsOf('not_bits(n)', 'A whole number with its bits the other way round; in SQL ~n.', byRow('not_bits', ['integer'], 'integer', (n) => integer(~BigInt(n))), [['not_bits(5)', '-6'], ['not_bits("a")', 'error({message:"not_bits: integer argument required",on:"a"})']]),
  ...rowsOf('shift_left(n, count)', 'A whole number with its bits moved up; in SQL n << count.', byRow('shift_left', ['integer', 'integer'], 'integer', shiftedLeft),
    [['shift_left(1,4)', '16'], ['shift_left(-1,1)', 'error({message:"shift_left: negative number",on:-1})'], ['shift_left(1,63)', 'error({message:"shift_left: result out of range",on:1})']]),
  ...rowsOf('shift_right(n, count)', 'A whole number with its bits moved down; in SQL n >> count.', byRow('shift_right', ['integer', 'integer'], 'integer', shiftedRight), [['shift_right(16,2)', '4'], wrong('shift_right')]),
];
