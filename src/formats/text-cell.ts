/** Cells of text formats. */
import type { Builder } from '../vectors/builder.ts';
import { types } from '../vectors/type.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Appends bytes[start, end) as a string, whatever they are. */
export const appendText = (builder: Builder, bytes: Uint8Array, start: number, end: number): void => {
  builder.run(types.string, bytes, start, end);
};

/** The text of bytes[start, end). */
export const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  decoder.decode(bytes.subarray(start, end));

const digits = '[0-9]+(?:_[0-9]+)*';
const hexDigits = '[0-9a-f]+(?:_[0-9a-f]+)*';
const decimalSyntax = new RegExp(`^[+-]?(?:${digits}(?:\\.(?:${digits})?)?|\\.${digits})(?:e[+-]?${digits})?$`, 'i');
const hexSyntax = new RegExp(
  `^([+-]?)0x_?(?:(${hexDigits})(?:\\.(${hexDigits})?)?|\\.(${hexDigits}))p([+-]?${digits})$`,
  'i',
);
const infinitySyntax = /^([+-]?)inf(?:inity)?$/i;
/**
 * The float that a whole cell spells, or undefined: decimal or hexadecimal (`0x1.8p3`), with underscores between
 * digits, infinities and NaN in any case. What is beyond every float is none.
 */
export const floatOf = (text: string): number | undefined => {
  if (decimalSyntax.test(text)) return finite(Number(text.replaceAll('_', '')));
  if (/^nan$/i.test(text)) return NaN;
  const infinite = infinitySyntax.exec(text);
  if (infinite) return infinite[1] === '-' ? -Infinity : Infinity;
  const m = text.length > 1_000 ? null : hexSyntax.exec(text);
  if (!m) return undefined;
  const [sign, whole, behind, alone, exponent] = m
    .slice(1)
    .map((part: string | undefined) => part?.replaceAll('_', '') ?? '');
  const fraction = `${behind}${alone}`;
  const size = Number(BigInt(`0x${whole}${fraction}`)) * 2 ** (Number(exponent) - 4 * fraction.length);
  return finite(sign === '-' ? -size : size);
};
const finite = (x: number): number | undefined => (Number.isFinite(x) ? x : undefined);

const exactPowers = Array.from({ length: 16 }, (_, i) => 10 ** i);
/**
 * The number that bytes[start, end) spell if it has at most 15 digits and at most one point, which one division rounds
 * right; else NaN.
 */
export const plainNumber = (bytes: Uint8Array, start: number, end: number): number => {
  const negative = bytes[start] === 0x2d;
  let i = negative || bytes[start] === 0x2b ? start + 1 : start;
  let mantissa = 0;
  let digits = 0;
  let point = -1;
  for (; i < end; i++) {
    const c = bytes[i];
    if (c >= 0x30 && c <= 0x39) {
      mantissa = mantissa * 10 + (c - 0x30);
      digits++;
    } else if (c === 0x2e && point < 0) point = i;
    else return NaN;
  }
  if (digits === 0 || digits > 15) return NaN;
  const x = point < 0 ? mantissa : mantissa / exactPowers[end - point - 1];
  return negative ? -x : x;
};

/** The 32 bits of an address such as 10.1.2.3 that bytes[start, end) spell, or -1. */
export const plainAddress = (bytes: Uint8Array, start: number, end: number): number => {
  let address = 0;
  let parts = 0;
  for (let i = start; i < end; i++) {
    const first = i;
    let x = 0;
    for (let c = bytes[i]; i < end && c >= 0x30 && c <= 0x39 && i - first < 4; c = bytes[++i]) x = x * 10 + (c - 0x30);
    if (i === first || x > 255 || (bytes[first] === 0x30 && i - first > 1) || ++parts > 4) return -1;
    if (i < end && (bytes[i] !== 0x2e || i === end - 1)) return -1;
    address = address * 256 + x;
  }
  return parts === 4 ? address : -1;
};

const quad = new Uint8Array(4);
/** Appends an address of 32 bits. */
export const appendAddress = (builder: Builder, address: number): void => {
  quad[0] = address >>> 24;
  quad[1] = address >>> 16;
  quad[2] = address >>> 8;
  quad[3] = address;
  builder.run(types.ip, quad, 0, 4);
};
