/** Strings of any bytes, as JS strings and back. */
import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bytesToText,
  changeBetweenBytes,
  characterCounts,
  charactersIn,
  firstCodePoint,
  firstInvalid,
  nextCharacter,
  textSize,
  textToBytes,
  validBytes,
  writeText,
} from '../../../src/vectors/texts/codec.ts';
import { compareText } from '../../../src/vectors/type.ts';
import { seedOf } from '../../support/random.ts';

const runs = { seed: seedOf(11), numRuns: 3000 };
/** Bytes among which whole, cut and impossible characters are frequent. */
const someBytes = fc
  .array(
    fc.oneof(
      fc.constantFrom('a', '"', 'é', '€', '😀', '\u{1f480}', '\ufffd', '\ufeff').map((c) => [...Buffer.from(c)]),
      fc.constantFrom(0x80, 0xbf, 0xc0, 0xc3, 0xe0, 0xed, 0xf0, 0xf4, 0xf5, 0xff).map((b) => [b]),
      fc.constantFrom(
        [0xe2, 0x82],
        [0xf0, 0x9f, 0x98],
        [0xed, 0xa0, 0x80],
        [0xe0, 0x9f, 0xbf],
        [0xf4, 0x90, 0x80, 0x80],
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Uint8Array.from(parts.flat()));
const plain = (bytes: Uint8Array): number[] => [...bytes];

describe('strings of any bytes', () => {
  test('have as many characters one behind the other as each has by itself', () => {
    const whole = fc.string({ unit: 'binary', maxLength: 40 }).map((s) => new Uint8Array(Buffer.from(s)));
    const long = fc.constantFrom('é', 'aé€😀').map((s) => new Uint8Array(Buffer.from(s.repeat(3000))));
    const texts = fc.array(fc.oneof(someBytes, whole, long), { maxLength: 9 });
    fc.assert(
      fc.property(texts, fc.boolean(), fc.nat(7), fc.nat(7), (given, isCut, before, behind) => {
        const list = isCut ? given.flatMap((t) => [t.subarray(0, t.length >> 1), t.subarray(t.length >> 1)]) : given;
        const memory = new Uint8Array(before + given.reduce((n, t) => n + t.length, 0) + behind).fill(0x80);
        const offsets = new Uint32Array(list.length + 1).fill(before);
        list.forEach((t, k) => {
          memory.set(t, offsets[k]);
          offsets[k + 1] = offsets[k]! + t.length;
        });
        for (const shift of [0, Math.min(before, 3)])
          expect([
            ...characterCounts(
              memory.subarray(shift),
              offsets.map((o) => o - shift),
              list.length,
            ),
          ]).toEqual(list.map((t) => charactersIn(t, 0, t.length)));
      }),
      { ...runs, numRuns: 300 },
    );
  });
  test('come back as they were, however they are written', () => {
    fc.assert(
      fc.property(someBytes, (bytes) => {
        const text = bytesToText(bytes);
        expect(plain(textToBytes(text))).toEqual(plain(bytes));
        expect(textSize(text)).toBe(bytes.length);
        const room = new Uint8Array(5 + text.length * 3);
        expect(writeText(text, room, 5)).toBe(bytes.length);
        expect(plain(room.subarray(5, 5 + bytes.length))).toEqual(plain(bytes));
      }),
      runs,
    );
  });
  test('are plain strings where they are UTF-8, byte order marks included', () => {
    fc.assert(
      fc.property(someBytes, (bytes) => {
        const text = bytesToText(bytes);
        expect(text.isWellFormed()).toBe(isUtf8(bytes));
        if (isUtf8(bytes)) expect(text).toBe(Buffer.from(bytes).toString());
      }),
      runs,
    );
  });
  test('are ordered as their bytes are', () => {
    fc.assert(
      fc.property(someBytes, someBytes, (a, b) => {
        expect(Math.sign(compareText(bytesToText(a), bytesToText(b)))).toBe(Buffer.compare(a, b));
      }),
      runs,
    );
  });
  test('have their first bad byte found, and U+FFFD for each', () => {
    fc.assert(
      fc.property(someBytes, (bytes) => {
        const at = firstInvalid(bytes);
        expect(at < 0).toBe(isUtf8(bytes));
        const valid = validBytes(bytes);
        expect(isUtf8(valid)).toBe(true);
        if (at >= 0) {
          expect(isUtf8(bytes.subarray(0, at))).toBe(true);
          expect(plain(valid.subarray(0, at + 3))).toEqual([...bytes.subarray(0, at), 0xef, 0xbf, 0xbd]);
        }
      }),
      runs,
    );
  });
  test('are counted and cut by characters, a byte outside of them as one, as JS strings are', () => {
    fc.assert(
      fc.property(someBytes, someBytes, (bytes, others) => {
        const characters = [...bytesToText(bytes)];
        const row = Buffer.concat([others, bytes, others]);
        const end = others.length + bytes.length;
        expect(charactersIn(row, others.length, end)).toBe(characters.length);
        const cut: number[][] = [];
        for (let at = others.length; at < end; ) {
          const next = nextCharacter(row, at, end);
          cut.push(plain(row.subarray(at, next)));
          at = next;
        }
        expect(cut).toEqual(characters.map((c) => plain(textToBytes(c))));
      }),
      runs,
    );
  });
  test('begin with the code point of their first character, or U+FFFD', () => {
    const first = (...bytes: number[]): number | undefined => firstCodePoint(bytesToText(Uint8Array.from(bytes)));
    expect([first(), first(0x61), first(0xf0, 0x9f, 0x98, 0x80), first(0xed, 0xa0, 0x80), first(0xff)]).toEqual([
      undefined,
      0x61,
      0x1f600,
      0xfffd,
      0xfffd,
    ]);
  });
  test('a change of what is between leaves the bytes; lone surrogates that it makes are replaced', () => {
    const text = bytesToText(Uint8Array.of(0x61, 0xff, 0x62, 0xc3, 0x28));
    expect(changeBetweenBytes(text, (piece) => piece.toUpperCase())).toBe('A\udcffB\udcc3(');
    expect(changeBetweenBytes(text, () => '\udcff')).toBe('\ufffd\udcff\ufffd\udcc3\ufffd');
    expect(plain(textToBytes('\ud800x\udc00'))).toEqual([0xef, 0xbf, 0xbd, 0x78, 0xef, 0xbf, 0xbd]);
  });
});
