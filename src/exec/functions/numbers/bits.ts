/**
 * Bits of whole numbers, of which results have 64, or 128 where they are SQL's integers of so many, and bit strings,
 * which are texts of zeros and ones.
 */
import { charge } from '../../../vectors/stop.ts';
import { exactOf, longDecimalType } from '../../../vectors/decimal.ts';
import { fitsInt64 } from '../../../vectors/literal.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, intValue, integer, nullValue, wrappedError } from '../../../vectors/value.ts';
import { bitsOfText } from '../../expressions/sql/bits.ts';
import { type Kernel, byKernel, isText, rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow, rowKernel } from '../typed.ts';

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

const wideBits = 128;
const wideLeft = (n: bigint, by: bigint): bigint | Refusal => {
  if (n < 0n) return new Refusal('negative number');
  if (by < 0n) return new Refusal('negative count', 1);
  if (n === 0n) return 0n;
  const out = by < wideBits ? n << by : undefined;
  return out === undefined || out >= 1n << BigInt(wideBits - 1) ? outOfRange : out;
};
const wideRight = (n: bigint, by: bigint): bigint => (by < 0n || by >= wideBits ? 0n : n >> by);
/** Of 64 bits where it fits, else by its digits (vectors/decimal.ts). */
const wideValue = (n: bigint): Value => (fitsInt64(n) ? intValue(n) : { type: longDecimalType, data: String(n) });
const wholeOf = (v: Value): bigint | undefined => {
  const exact = exactOf(v);
  return exact?.scale === 0 ? exact.units : undefined;
};
/** The same for integers of 128 bits, of which some are known by their digits. */
const exactly =
  (name: string, of: (...whole: readonly bigint[]) => bigint | Refusal): FunctionRow['exact'] =>
  (args) => {
    if (args.some((v) => v.type === types.null)) return nullValue;
    const whole: bigint[] = [];
    for (const v of args) {
      const n = wholeOf(v);
      if (n === undefined) return wrappedError(`${name}: integer argument required`, v);
      whole.push(n);
    }
    const found = of(...whole);
    return found instanceof Refusal ? wrappedError(`${name}: ${found.text}`, args[found.argument]) : wideValue(found);
  };
/** A shift whose result has `width` bits. */
const wideShift = (name: string, of: (n: bigint, by: bigint) => bigint | Refusal): Kernel =>
  rowKernel(name, ['integer', 'integer', 'integer'], 'value', (n, by, width) => {
    if (Number(width) !== wideBits) return new Refusal(`width must be ${wideBits}`, 2);
    const found = of(BigInt(n), BigInt(by));
    return found instanceof Refusal ? found : wideValue(found);
  });

/** The bits of a text; a refusal for others. */
const bitsIn = (text: string, argument = 0): string | Refusal => {
  if (text.length > manyBits) charge(text.length * bitBytes, 'bits');
  return bitsOfText(text) ?? new Refusal('bits required', argument);
};
/** Fewer are not worth a charge. */
const manyBits = 1 << 16;
/** What a bit takes where two texts of them are combined. */
const bitBytes = 32;
const pairwise =
  (bit: (x: boolean, y: boolean) => boolean) =>
  (a: string, b: string): string | Refusal => {
    const left = bitsIn(a);
    const right = bitsIn(b, 1);
    if (left instanceof Refusal) return left;
    if (right instanceof Refusal) return right;
    if (left.length !== right.length) return new Refusal('bits of equal length required');
    return Array.from(left, (x, i) => (bit(x === '1', right[i] === '1') ? '1' : '0')).join('');
  };
/** The count of places is that of the bits, which keep their length. */
const shifted =
  (isLeft: boolean) =>
  (text: string, by: Whole): string | Refusal => {
    const bits = bitsIn(text);
    const count = Math.min(Number(by), text.length);
    if (bits instanceof Refusal) return bits;
    if (by < 0) return new Refusal('negative count', 1);
    return isLeft
      ? bits.slice(count).padEnd(bits.length, '0')
      : bits.slice(0, bits.length - count).padStart(bits.length, '0');
  };
const turned = (text: string): string | Refusal => {
  const bits = bitsIn(text);
  return bits instanceof Refusal ? bits : Array.from(bits, (x) => (x === '1' ? '0' : '1')).join('');
};
const placeIn = (bits: string, n: Whole): number | Refusal =>
  n >= 0 && n < bits.length ? Number(n) : new Refusal('no bit of this number', 1);
const bitAt = (text: string, n: Whole): number | Refusal => {
  const bits = bitsIn(text);
  const place = bits instanceof Refusal ? bits : placeIn(bits, n);
  return bits instanceof Refusal || place instanceof Refusal ? (place as Refusal) : Number(bits[place]);
};
const withBit = (text: string, n: Whole, bit: Whole): string | Refusal => {
  const bits = bitsIn(text);
  const place = bits instanceof Refusal ? bits : placeIn(bits, n);
  if (bits instanceof Refusal || place instanceof Refusal) return place as Refusal;
  return Number(bit) === 0 || Number(bit) === 1
    ? `${bits.slice(0, place)}${bit}${bits.slice(place + 1)}`
    : new Refusal('0 or 1 required', 2);
};
const placeOfBits = (part: string, text: string): number | Refusal => {
  const found = bitsIn(part);
  const bits = bitsIn(text, 1);
  if (found instanceof Refusal) return found;
  return bits instanceof Refusal ? bits : bits.indexOf(found) + 1;
};
/** Longest bit string, as of other texts that are filled up. */
const lengthMax = 1 << 20;
const filledUp = (text: string, length: Whole): string | Refusal => {
  const bits = bitsIn(text);
  if (bits instanceof Refusal) return bits;
  return length < bits.length
    ? new Refusal('length is less than that of the bits', 1)
    : length > lengthMax
      ? new Refusal(`length is beyond ${lengthMax}`, 1)
      : bits.padStart(Number(length), '0');
};
/** By what the first argument is: texts are bits. */
const either = (ofNumbers: Kernel, ofBits: Kernel): FunctionRow['make'] =>
  byKernel((args, length) => (isText(args[0]) ? ofBits : ofNumbers)(args, length), 'bare');
const shifting = (ofNumbers: Kernel, ofWide: Kernel, ofBits: Kernel): FunctionRow['make'] =>
  either((args, length) => (args.length > 2 ? ofWide : ofNumbers)(args, length), ofBits);
const ofTwo = (
  name: string,
  whole: (a: bigint, b: bigint) => bigint,
  bit: (x: boolean, y: boolean) => boolean,
): FunctionRow['make'] =>
  either(
    rowKernel(name, ['integer', 'integer'], 'integer', (a, b) => integer(whole(BigInt(a), BigInt(b)))),
    rowKernel(name, ['string', 'string'], 'string', pairwise(bit)),
  );

const wrong = (name: string): readonly [string, string] => [
  `${name}(1,"a")`,
  `error({message:"${name}: integer argument required",on:"a"})`,
];
const wrongBits = (name: string, rest = ''): readonly [string, string] => [
  `${name}("a"${rest})`,
  `error({message:"${name}: bits required",on:"a"})`,
];
export const bits: readonly FunctionRow[] = [
  ...rowsOf(
    'and_bits(a, b)',
    'The bits that two whole numbers, or two bit strings, have in common; in SQL a & b.',
    ofTwo(
      'and_bits',
      (a, b) => a & b,
      (x, y) => x && y,
    ),
    [['and_bits(5,3)', '1'], ['and_bits("101","011")', '"001"'], wrong('and_bits')],
    { exact: exactly('and_bits', (a, b) => a & b) },
  ),
  ...rowsOf(
    'or_bits(a, b)',
    'The bits that one of two whole numbers, or bit strings, has.',
    ofTwo(
      'or_bits',
      (a, b) => a | b,
      (x, y) => x || y,
    ),
    [['or_bits(5,3)', '7'], ['or_bits("101","001")', '"101"'], wrong('or_bits')],
    { exact: exactly('or_bits', (a, b) => a | b) },
  ),
  ...rowsOf(
    'xor(a, b)',
    'The bits that just one of two whole numbers, or bit strings, has.',
    ofTwo(
      'xor',
      (a, b) => a ^ b,
      (x, y) => x !== y,
    ),
    [
      ['xor(5,3)', '6'],
      ['xor("101","1")', 'error({message:"xor: bits of equal length required",on:"101"})'],
      wrong('xor'),
    ],
    { exact: exactly('xor', (a, b) => a ^ b) },
  ),
  ...rowsOf(
    'not_bits(n)',
    'A whole number, or a bit string, with its bits the other way round; in SQL ~n.',
    either(
      rowKernel('not_bits', ['integer'], 'integer', (n) => integer(~BigInt(n))),
      rowKernel('not_bits', ['string'], 'string', turned),
    ),
    [['not_bits(5)', '-6'], ['not_bits("101")', '"010"'], wrongBits('not_bits')],
    { exact: exactly('not_bits', (n) => ~n) },
  ),
  ...rowsOf(
    'shift_left(n, count[, width])',
    'A whole number, or a bit string, with its bits moved up; in SQL n << count. Whole numbers have 64 bits, or 128 as `width`.',
    shifting(
      rowKernel('shift_left', ['integer', 'integer'], 'integer', shiftedLeft),
      wideShift('shift_left', wideLeft),
      rowKernel('shift_left', ['string', 'integer'], 'string', shifted(true)),
    ),
    [
      ['shift_left(1,4)', '16'],
      ['shift_left("1011",1)', '"0110"'],
      ['shift_left(-1,1)', 'error({message:"shift_left: negative number",on:-1})'],
      ['shift_left(1,63)', 'error({message:"shift_left: result out of range",on:1})'],
      ['shift_left(1,63,128)', '"9223372036854775808"::=sql_decimal'],
      ['shift_left(1,1,32)', 'error({message:"shift_left: width must be 128",on:32})'],
    ],
    { exact: exactly('shift_left', wideLeft) },
  ),
  ...rowsOf(
    'shift_right(n, count[, width])',
    'A whole number, or a bit string, with its bits moved down; in SQL n >> count. Whole numbers have 64 bits, or 128 as `width`.',
    shifting(
      rowKernel('shift_right', ['integer', 'integer'], 'integer', shiftedRight),
      wideShift('shift_right', wideRight),
      rowKernel('shift_right', ['string', 'integer'], 'string', shifted(false)),
    ),
    [['shift_right(16,2)', '4'], ['shift_right("1011",1)', '"0101"'], wrong('shift_right')],
    { exact: exactly('shift_right', wideRight) },
  ),
  ...rowsOf(
    'get_bit(bits, n)',
    'The bit of that number of a bit string, counted from 0 on the left.',
    byRow('get_bit', ['string', 'integer'], 'integer', bitAt),
    [
      ['get_bit("0110",1)', '1'],
      ['get_bit("01",2)', 'error({message:"get_bit: no bit of this number",on:2})'],
    ],
  ),
  ...rowsOf(
    'set_bit(bits, n, bit)',
    'The bit string with another bit at that number, counted from 0 on the left.',
    byRow('set_bit', ['string', 'integer', 'integer'], 'string', withBit),
    [['set_bit("0110",0,1)', '"1110"'], wrongBits('set_bit', ',0,1')],
  ),
  ...rowsOf(
    'bit_position(part, bits)',
    'Where a bit string is first found in another, counted from 1; 0 where it is not.',
    byRow('bit_position', ['string', 'string'], 'integer', placeOfBits),
    [['bit_position("01","1001")', '3'], wrongBits('bit_position', ',"1"')],
  ),
  ...rowsOf(
    'bitstring(bits, length)',
    'The bit string filled up with zeros on the left to that length.',
    byRow('bitstring', ['string', 'integer'], 'string', filledUp),
    [['bitstring("11",5)', '"00011"'], wrongBits('bitstring', ',5')],
  ),
];
