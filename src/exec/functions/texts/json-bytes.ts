/**
 * Where in the bytes of a JSON text the value at a path is, without making anything of the others.
 *
 * Invariants:
 * - The text is checked as `parseJson` checks it, to its end; whatever is wrong with it, or not sure, is left to that:
 *   names with escapes on the path, texts with escapes at its end, levels beyond the limit, and lists and objects there
 *   that are not written as `jsonText` writes them: with blanks or escapes, or with a name that comes twice.
 * - Of names that come twice the last one counts.
 */
import { isUtf8 } from 'node:buffer';

/** The bytes of a name in objects, or a place in lists. */
export type JsonStep = Uint8Array | number;

/** Longer texts, and those of more levels, are left to `parseJson`, which stops when the query does. */
const lengthMax = 1 << 20;
const depthMax = 200;
/** Objects of more names are left to it too where each name is compared with those before it. */
const namesMax = 32;
const quote = 0x22;
const escape = 0x5c;
const open = { list: 0x5b, object: 0x7b };
const close = { list: 0x5d, object: 0x7d };
const comma = 0x2c;
const colon = 0x3a;
const words = [Buffer.from('true'), Buffer.from('false'), Buffer.from('null')];

const isDigit = (code: number | undefined): boolean => code !== undefined && code >= 0x30 && code <= 0x39;
const isHex = (code: number | undefined): boolean =>
  isDigit(code) || (code !== undefined && (code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);

/** Looks along one path in texts that lie in `bytes`. */
export class JsonScanner {
  /** The value that was found, a text with its quotes; `start` below 0: there is none. */
  start = -1;
  end = -1;
  private readonly bytes: Uint8Array;
  private readonly steps: readonly JsonStep[];
  private at = 0;
  private stop = 0;
  private hasEscape = false;
  private hasOthers = false;
  /** Within a list or object that was looked for; whether it is as `jsonText` writes it so far, and all in ASCII. */
  private isInside = false;
  private isShortest = true;
  private isAscii = true;
  constructor(bytes: Uint8Array, steps: readonly JsonStep[]) {
    this.bytes = bytes;
    this.steps = steps;
  }

  /** False: the text is to be parsed. */
  find(start: number, end: number): boolean {
    if (end - start > lengthMax) return false;
    this.at = start;
    this.stop = end;
    this.start = -1;
    this.isInside = false;
    return this.value(0, 0) && this.next() === -1;
  }
  /** The byte behind blanks, which are passed over; -1 at the end. */
  private next(): number {
    const { bytes, stop } = this;
    let { at } = this;
    let code = -1;
    for (; at < stop; at++) {
      code = bytes[at];
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
    }
    if (at !== this.at) this.isShortest = false;
    this.at = at;
    return at < stop ? code : -1;
  }
  /** `step`: how many steps of the path lead here; below 0 it leads elsewhere. */
  private value(depth: number, step: number): boolean {
    const code = this.next();
    const isWanted = step === this.steps.length;
    if (code === open.list || code === open.object) {
      if (depth >= depthMax) return false;
      if (isWanted) return this.whole(code, depth);
      this.at++;
      return code === open.list ? this.list(depth, step) : this.object(depth, step);
    }
    const { at } = this;
    const isSound = code === quote ? this.text() : isDigit(code) || code === 0x2d ? this.number() : this.word();
    if (!isSound || !isWanted) return isSound;
    this.start = at;
    this.end = this.at;
    return code !== quote || (!this.hasEscape && (!this.hasOthers || isUtf8(this.bytes.subarray(at, this.at))));
  }
  /** A list or an object that was looked for. */
  private whole(code: number, depth: number): boolean {
    const { at } = this;
    this.isInside = this.isShortest = this.isAscii = true;
    this.at++;
    const isSound = code === open.list ? this.list(depth, -1) : this.object(depth, -1);
    this.isInside = false;
    this.start = at;
    this.end = this.at;
    return isSound && this.isShortest && (this.isAscii || isUtf8(this.bytes.subarray(at, this.at)));
  }
  /** A text, whose quote is next. */
  private text(): boolean {
    const { bytes, stop } = this;
    this.hasEscape = this.hasOthers = false;
    for (let at = this.at + 1; at < stop; at++) {
      const code = bytes[at];
      if (code === quote) {
        this.at = at + 1;
        if (this.hasEscape) this.isShortest = false;
        if (this.hasOthers) this.isAscii = false;
        return true;
      }
      if (code < 0x20) return false;
      if (code >= 0x80) this.hasOthers = true;
      if (code !== escape) continue;
      this.hasEscape = true;
      const length = this.escaped(at + 1);
      if (length === 0) return false;
      at += length;
    }
    return false;
  }
  /** Bytes of what follows the sign of an escape; 0: that is no escape. */
  private escaped(at: number): number {
    const { bytes, stop } = this;
    if (at >= stop) return 0;
    if (bytes[at] === 0x75) return at + 4 < stop && [1, 2, 3, 4].every((k) => isHex(bytes[at + k])) ? 5 : 0;
    return '"\\/bfnrt'.includes(String.fromCharCode(bytes[at])) ? 1 : 0;
  }
  private digits(): boolean {
    const { at } = this;
    while (this.at < this.stop && isDigit(this.bytes[this.at])) this.at++;
    return this.at > at;
  }
  private number(): boolean {
    const { bytes, stop } = this;
    if (bytes[this.at] === 0x2d) this.at++;
    const isZero = this.at < stop && bytes[this.at] === 0x30;
    if (isZero) this.at++;
    else if (!this.digits()) return false;
    if (this.at < stop && bytes[this.at] === 0x2e) {
      this.at++;
      if (!this.digits()) return false;
    }
    if (this.at < stop && (bytes[this.at] | 0x20) === 0x65) {
      this.at++;
      if (this.at < stop && (bytes[this.at] === 0x2b || bytes[this.at] === 0x2d)) this.at++;
      if (!this.digits()) return false;
    }
    return true;
  }
  private word(): boolean {
    const { bytes, at, stop } = this;
    const word = words.find((w) => bytes[at] === w[0]);
    if (!word || at + word.length > stop) return false;
    for (let k = 1; k < word.length; k++) if (bytes[at + k] !== word[k]) return false;
    this.at = at + word.length;
    return true;
  }
  private list(depth: number, step: number): boolean {
    const place = step >= 0 ? this.steps[step] : undefined;
    if (this.next() === close.list) {
      this.at++;
      return true;
    }
    for (let k = 0; ; k++) {
      if (!this.value(depth + 1, k === place ? step + 1 : -1)) return false;
      const code = this.next();
      this.at++;
      if (code !== comma) return code === close.list;
    }
  }
  private object(depth: number, step: number): boolean {
    const wanted = step >= 0 ? this.steps[step] : undefined;
    if (this.next() === close.object) {
      this.at++;
      return true;
    }
    const names: number[] | undefined = this.isInside ? [] : undefined;
    for (;;) {
      if (this.next() !== quote) return false;
      const start = this.at + 1;
      if (!this.text()) return false;
      if (names && !this.isNew(names, start, this.at - 1)) return false;
      const isOnPath = wanted !== undefined && typeof wanted !== 'number' && this.isName(start, this.at - 1, wanted);
      if (wanted !== undefined && this.hasEscape) return false;
      if (this.next() !== colon) return false;
      this.at++;
      // Of an earlier one of the same name nothing counts.
      if (isOnPath) this.start = -1;
      if (!this.value(depth + 1, isOnPath ? step + 1 : -1)) return false;
      const code = this.next();
      this.at++;
      if (code !== comma) return code === close.object;
    }
  }
  /** Whether a name is another one than those before it, whose starts and ends are in `names`. */
  private isNew(names: number[], start: number, end: number): boolean {
    if (names.length === namesMax * 2) return false;
    for (let k = 0; k < names.length; k += 2)
      if (this.isName(start, end, this.bytes, names[k], names[k + 1])) return false;
    names.push(start, end);
    return true;
  }
  /** Whether the name from `start` to `end` is the one in name[from, to). */
  private isName(start: number, end: number, name: Uint8Array, from = 0, to = name.length): boolean {
    if (end - start !== to - from) return false;
    for (let k = start, of = from; k < end; k++, of++) if (this.bytes[k] !== name[of]) return false;
    return true;
  }
}
