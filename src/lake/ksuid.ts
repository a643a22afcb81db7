/**
 * KSUIDs: ids of 20 bytes, 4 of seconds since 2014-05-13T16:53:20Z and 16 random ones.
 *
 * Inside the service an id is a text of 40 lower-case hexadecimal digits. Clients write `0x` and 40 digits, or 27 characters of base 62.
 */
import { randomFillSync } from 'node:crypto';
import type { Id } from './lake.types.ts';

const epochSeconds = 1_400_000_000;
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const base62Length = 27;
const idBytes = 20;

/** No commit at all: the tip of an empty branch, the parent of a first commit. */
export const zeroId: Id = '0'.repeat(idBytes * 2);

// Random bytes come in bulk: one call of the system per 256 ids.
const pool = Buffer.allocUnsafe(16 * 256);
let used = pool.length;

/** Where 16 of them are that nobody was given yet. */
const randomAt = (): number => {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 16;
  return used - 16;
};

/** A new id. Ids of the same second have no order. */
export const newId = (nowMs: number = Date.now()): Id => {
  const seconds = Math.floor(nowMs / 1000) - epochSeconds, at = randomAt();
  return seconds.toString(16).padStart(8, '0') + pool.toString('hex', at, at + 16);
};

/** The 20 bytes of an id. */
export const idBuffer = (id: Id): Buffer => Buffer.from(id, 'hex');
/** The id of these 20 bytes. */
export const idOfBytes = (bytes: Uint8Array): Id => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');

/** Digits of base 62 that come out of one division: its remainder times 65,536 is still exact. */
const digitsPerPass = 5, passDivisor = 62 ** digitsPerPass, passes = 6;
const digitCodes = Buffer.from(digits, 'latin1'), spelled = Buffer.alloc(digitsPerPass * passes);
/** Spells a number of 16 bits a part, which it uses up. */
const spell = (parts: number[]): string => {
  for (let at = spelled.length; at > 0;) {
    let rest = 0;
    for (let i = 0; i < parts.length; i++) {
      const value = rest * 65_536 + parts[i]!, quotient = Math.floor(value / passDivisor);
      parts[i] = quotient;
      rest = value - quotient * passDivisor;
    }
    for (let i = 0; i < digitsPerPass; i++) {
      const next = Math.floor(rest / 62);
      spelled[--at] = digitCodes[rest - next * 62]!;
      rest = next;
    }
  }
  return spelled.toString('latin1', spelled.length - base62Length);
};

/** 27 characters of base 62, as in messages and error texts. */
export const base62 = (id: Id): string => {
  const parts: number[] = [];
  for (let i = 0; i < idBytes * 2; i += 4) parts.push(Number.parseInt(id.slice(i, i + 4), 16));
  return spell(parts);
};

/** A new id, spelled in base 62. */
export const newIdText = (nowMs: number = Date.now()): string => {
  const seconds = Math.floor(nowMs / 1000) - epochSeconds, at = randomAt();
  const parts = [Math.floor(seconds / 65_536), seconds % 65_536];
  for (let i = 0; i < 16; i += 2) parts.push(pool[at + i]! * 256 + pool[at + i + 1]!);
  return spell(parts);
};

const hexPattern = /^0x[0-9a-fA-F]{40}$/;
const base62Pattern = /^[0-9A-Za-z]{27}$/;
const idMax = (1n << 160n) - 1n;

/** The id that a client wrote in either spelling, or undefined. Base 62 beyond 160 bits is none. */
export const parseId = (text: string): Id | undefined => {
  if (hexPattern.test(text)) return text.slice(2).toLowerCase();
  if (!base62Pattern.test(text)) return undefined;
  let value = 0n;
  for (const c of text) value = value * 62n + BigInt(digits.indexOf(c));
  return value > idMax ? undefined : value.toString(16).padStart(idBytes * 2, '0');
};
