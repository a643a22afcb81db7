/**
 * KSUIDs: ids of 20 bytes, 4 of seconds since 2014-05-13T16:53:20Z and 16 random ones.
 *
 * Inside the service an id is a text of 40 lower-case hexadecimal digits. Clients write `0x` and 40 digits, or 27
 * characters of base 62.
 */
import assert from 'node:assert';
import { randomFillSync } from 'node:crypto';
import type { Id } from './lake.types.ts';

const epochSeconds = 1_400_000_000;
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const base62Length = 27;
/** Bytes of an id. */
export const idBytes = 20;

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

/** The last second that an id can name: in 2150. */
const secondsMax = 0xffff_ffff;
/** Random bytes by which the next id of a second is above the one before. */
const stepBytes = 8;

/**
 * Draws ids, each above all before. Where the clock is behind the last id, before the first second of KSUIDs (2014) or
 * after their last one (2150), ids go on from the last one by random steps: only the time that they name is not the
 * clock's.
 */
export class IdDraws {
  private readonly now: () => number;
  private readonly last = Buffer.alloc(idBytes);
  private isFirst = true;
  private corrections_ = 0;

  constructor(now: () => number = () => Date.now()) {
    this.now = now;
  }

  /** Ids that were drawn while the clock did not show a time for them. */
  get corrections(): number {
    return this.corrections_;
  }
  /** Seconds by which the last id's time is ahead of the clock; below 0: behind. */
  get aheadSeconds(): number {
    return this.isFirst ? 0 : this.last.readUInt32BE(0) - this.seconds();
  }
  /** The time that the last id names, in milliseconds since 1970; that of the first possible id before there is any. */
  get lastMs(): number {
    return (this.last.readUInt32BE(0) + epochSeconds) * 1000;
  }

  /** From here on ids are above this one. */
  goOnFrom(id: Id): void {
    const bytes = idBuffer(id);
    if (Buffer.compare(bytes, this.last) <= 0) return;
    bytes.copy(this.last);
    this.isFirst = false;
  }

  newId(): Id {
    return this.next().toString('hex');
  }
  /** A new id, spelled in base 62. */
  newIdText(): string {
    return spell(partsOf(this.next()));
  }

  /** The bytes of a new id, until the next one is drawn. */
  private next(): Buffer {
    const { last } = this;
    const seconds = this.seconds();
    const possible = Math.min(Math.max(seconds, 0), secondsMax);
    if (seconds !== possible || (!this.isFirst && possible < last.readUInt32BE(0))) this.corrections_++;
    const at = randomAt();
    if (this.isFirst || possible > last.readUInt32BE(0)) {
      last.writeUInt32BE(possible, 0);
      pool.copy(last, 4, at, at + 16);
      // The last second has to do for all ids to come.
      if (possible === secondsMax) last[4] &= 0x7f;
      this.isFirst = false;
    } else step(last, at);
    return last;
  }
  private seconds(): number {
    return Math.floor(this.now() / 1000) - epochSeconds;
  }
}

/** Adds a random number above 0. */
const step = (bytes: Buffer, random: number): void => {
  let carry = 1;
  for (let i = idBytes - 1, k = 0; i >= 0; i--, k++) {
    const sum = bytes[i] + carry + (k < stepBytes ? pool[random + k] : 0);
    bytes[i] = sum & 0xff;
    carry = sum >> 8;
  }
  assert(carry === 0, 'there is an id above the last one');
};

/** Ids that nobody orders, and that need no lake: of objects, requests, files. Those of a thread rise. */
export const threadIds = new IdDraws();
/** A new id of this thread. */
export const newId = (): Id => threadIds.newId();
/** The same, spelled in base 62. */
export const newIdText = (): string => threadIds.newIdText();

/** Whether a text is an id as it is spelled inside the service. */
export const isId = (text: unknown): text is Id => typeof text === 'string' && idPattern.test(text);
const idPattern = /^[0-9a-f]{40}$/;

/** The 20 bytes of an id. */
export const idBuffer = (id: Id): Buffer => {
  const bytes = Buffer.from(id, 'hex');
  assert(bytes.length === idBytes && id.length === idBytes * 2, `${id} is no id`);
  return bytes;
};
/** The id of these 20 bytes. */
export const idOfBytes = (bytes: Uint8Array): Id =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');

/** Digits of base 62 that come out of one division: its remainder times 65,536 is still exact. */
const digitsPerPass = 5;
const passDivisor = 62 ** digitsPerPass;
const passes = 6;
const digitCodes = Buffer.from(digits, 'latin1');
const spelled = Buffer.alloc(digitsPerPass * passes);
/** Spells a number of 16 bits a part, which it uses up. */
const spell = (parts: number[]): string => {
  for (let at = spelled.length; at > 0; ) {
    let rest = 0;
    for (let i = 0; i < parts.length; i++) {
      const value = rest * 65_536 + parts[i];
      const quotient = Math.floor(value / passDivisor);
      parts[i] = quotient;
      rest = value - quotient * passDivisor;
    }
    for (let i = 0; i < digitsPerPass; i++) {
      const next = Math.floor(rest / 62);
      spelled[--at] = digitCodes[rest - next * 62];
      rest = next;
    }
  }
  return spelled.toString('latin1', spelled.length - base62Length);
};

const partsOf = (id: Uint8Array): number[] => {
  const parts: number[] = [];
  for (let i = 0; i < idBytes; i += 2) parts.push(id[i] * 256 + id[i + 1]);
  return parts;
};
/** 27 characters of base 62, as in messages and error texts. */
export const base62 = (id: Id): string => spell(partsOf(idBuffer(id)));

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
/** An id as the service itself writes it, or as clients do. */
export const plainId = (text: string): Id | undefined => (/^[0-9a-f]{40}$/.test(text) ? text : parseId(text));
