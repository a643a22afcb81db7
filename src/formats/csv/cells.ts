/** What a cell of CSV or TSV is: nothing is null, then numbers (all float64), then bools, else a string. */
import type { Builder } from '../../vectors/builder.ts';
import { int64Max, int64Min, uint64Max } from '../../vectors/literal.ts';
import { types } from '../../vectors/type.ts';
import { appendText, floatOf, plainNumber, textOf } from '../text-cell.ts';
import { behindSpaces } from './spaces.ts';

/** Appends the cell bytes[start, end), quotes undone already. */
export const appendCell = (builder: Builder, bytes: Uint8Array, start: number, end: number): void => {
  if (start === end) builder.null();
  else if (!appendTyped(builder, bytes, start, end)) appendText(builder, bytes, start, end);
};

/**
 * Appends a cell that may begin with white space that was within quotes: numbers and bools are known behind it, as in
 * the reference; a string keeps it.
 */
export const appendSpacedCell = (builder: Builder, bytes: Uint8Array, start: number, end: number): void => {
  const from = behindSpaces(bytes, start, end);
  if (start === end) builder.null();
  else if (from === end || !appendTyped(builder, bytes, from, end)) appendText(builder, bytes, start, end);
};

/** Appends what is no string; false: it is one. Not for empty cells. */
const appendTyped = (builder: Builder, bytes: Uint8Array, start: number, end: number): boolean => {
  const c = bytes[start];
  // Digits, signs, points; letters of nan, inf, true, false.
  if (c <= 0x39 && (c >= 0x30 || c === 0x2d || c === 0x2b || c === 0x2e)) {
    const x = plainNumber(bytes, start, end);
    if (!Number.isNaN(x)) {
      builder.number(types.float64, x);
      return true;
    }
    const text = textOf(bytes, start, end);
    const number = floatOf(text);
    if (number !== undefined) {
      appendLong(builder, number, text);
      return true;
    }
  } else if (end - start <= 9 && letterWords[c] === 1) {
    const word = textOf(bytes, start, end);
    const number = floatOf(word);
    const bool = bools.get(word);
    if (number !== undefined) {
      builder.number(types.float64, number);
      return true;
    }
    if (bool !== undefined) {
      builder.bool(bool);
      return true;
    }
  }
  return false;
};

/**
 * Appends a number of many digits: a whole one whose digits no float64 would give back becomes an `int64` or `uint64`,
 * or stays a text where it has more than 64 bits (the reference rounds it).
 */
const appendLong = (builder: Builder, number: number, text: string): void => {
  const exact = Number.isSafeInteger(number) || !wholeSyntax.test(text) ? undefined : BigInt(text);
  if (exact === undefined || exact === BigInt(number) || digitsOf(text) === digitsOf(number.toExponential()))
    builder.number(types.float64, number);
  else if (exact >= int64Min && exact <= int64Max) builder.number(types.int64, exact);
  else if (exact > 0n && exact <= uint64Max) builder.number(types.uint64, exact);
  else builder.text(text);
};
const wholeSyntax = /^[+-]?[0-9]+$/;
/** The digits of a number's text that are not zeros before or behind all others. */
const digitsOf = (text: string): string =>
  text
    .replace(/e.*/, '')
    .replace(/[+.-]/g, '')
    .replace(/^0+|0+$/g, '');

const letterWords = new Uint8Array(256);
for (const c of 'tTfFnNiI') letterWords[c.charCodeAt(0)] = 1;
/** Bools by the words that mean them. */
export const bools: ReadonlyMap<string, boolean> = new Map([
  ['t', true],
  ['T', true],
  ['true', true],
  ['TRUE', true],
  ['True', true],
  ['f', false],
  ['F', false],
  ['false', false],
  ['FALSE', false],
  ['False', false],
]);
