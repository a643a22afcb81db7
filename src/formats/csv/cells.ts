/** What a cell of CSV or TSV is: nothing is null, then numbers (all float64), then bools, else a string. */
import type { Builder } from '../../vectors/builder.ts';
import { types } from '../../vectors/type.ts';
import { appendText, floatOf, plainNumber, textOf } from '../text-cell.ts';

/** Appends the cell bytes[start, end), quotes undone already. */
export const appendCell = (builder: Builder, bytes: Uint8Array, start: number, end: number): void => {
  if (start === end) {
    builder.null();
    return;
  }
  const c = bytes[start]!;
  // Digits, signs, points; letters of nan, inf, true, false.
  if (c <= 0x39 && (c >= 0x30 || c === 0x2d || c === 0x2b || c === 0x2e)) {
    const x = plainNumber(bytes, start, end);
    const number = Number.isNaN(x) ? floatOf(textOf(bytes, start, end)) : x;
    if (number !== undefined) {
      builder.number(types.float64, number);
      return;
    }
  } else if (end - start <= 9 && letterWords[c] === 1) {
    const word = textOf(bytes, start, end), number = floatOf(word), bool = bools.get(word);
    if (number !== undefined) return builder.number(types.float64, number);
    if (bool !== undefined) return builder.bool(bool);
  }
  appendText(builder, bytes, start, end);
};

const letterWords = new Uint8Array(256);
for (const c of 'tTfFnNiI') letterWords[c.charCodeAt(0)] = 1;
const bools: ReadonlyMap<string, boolean> = new Map([
  ['t', true], ['T', true], ['true', true], ['TRUE', true], ['True', true], ['f', false], ['F', false], ['false', false], ['FALSE', false], ['False', false],
]);
