/**
 * Bodies of values (reference/formats/bsup.md section 4) straight into columns.
 *
 * Invariants:
 * - A body is read within its own bytes: every tag is compared with the end of what it is in.
 * - A value that fails leaves half a row behind: cut the column to the rows before.
 * - Recursion goes no deeper than the type, whose depth is bounded.
 */
import { compareBytes, float16Number } from '../../vectors/value.ts';
import { BytesFault, Cursor, readTypeValue } from '../type-bytes.ts';
import type { Decoder } from './column.ts';
import { type Part, op } from './part.ts';

const malformed = (): BytesFault => new BytesFault('malformed BSUP value');

export class BodyReader {
  /** Cells made so far: a row can make more of them than it has bytes (absent fields), and they are what a batch costs. */
  cells = 0;
  private readonly nestingMax: number;
  /** The bytes that are read now. */
  private view: DataView = new DataView(new ArrayBuffer(0));
  /** Behind the last tag that `longTag` read. */
  private tagEnd = 0;

  constructor(nestingMax: number) { this.nestingMax = nestingMax; }

  /** Bodies are in these bytes from now on. */
  begin(bytes: Uint8Array): void { this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength); }

  /** Appends the value with body bytes[start, end) to the decoder's column; tag 0 is no body at all. @throws BytesFault */
  append(d: Decoder, tag: number, bytes: Uint8Array, start: number, end: number): void {
    const { part } = d;
    if (d.column.indexed) d.column.mark(d.tag);
    if (tag === 0) return this.appendNull(d);
    switch (d.op) {
      case op.signed: return appendSigned(part, bytes, start, end);
      case op.unsigned: return appendUnsigned(part, bytes, start, end);
      case op.float64:
        if (end - start !== 8) throw malformed();
        return part.pushNumber(this.view.getFloat64(start, true));
      case op.run: return part.pushRun(this.view, start, end);
      case op.bool:
        if (end - start !== 1 || bytes[start] > 1) throw malformed();
        return part.pushFlag(bytes[start]);
      case op.null:
        if (start !== end) throw malformed();
        part.length++;
        return;
      case op.record: return this.appendRecord(d, bytes, start, end);
      case op.list: return this.appendList(d, bytes, start, end);
      case op.union: return this.appendUnion(d, bytes, start, end);
      default: return this.appendRare(d, tag, bytes, start, end);
    }
  }

  private appendRare(d: Decoder, tag: number, bytes: Uint8Array, start: number, end: number): void {
    const { part } = d;
    switch (d.op) {
      case op.float32:
        if (end - start !== 4) throw malformed();
        return part.pushNumber(this.view.getFloat32(start, true));
      case op.float16:
        if (end - start !== 2) throw malformed();
        return part.pushNumber(float16Number(this.view.getUint16(start, true)));
      case op.ip:
        if (end - start !== 4 && end - start !== 16) throw malformed();
        return part.pushRun(this.view, start, end);
      case op.net:
        if (!isNet(bytes, start, end)) throw malformed();
        return part.pushRun(this.view, start, end);
      case op.type: return part.pushType(readTypeValue(new Cursor(bytes, start, end, 'malformed BSUP value'), this.nestingMax));
      case op.enum: {
        const code = smallUnsigned(bytes, start, end);
        if (part.type.kind !== 'enum' || code >= part.type.symbols.length) throw malformed();
        return part.pushCode(code);
      }
      case op.set: return this.appendElements(d, this.elementsOf(bytes, start, end, 1), bytes);
      case op.map: return this.appendElements(d, this.elementsOf(bytes, start, end, 2), bytes);
      case op.wrap:
        this.append(d.children[0] ?? d.child(0), tag, bytes, start, end);
        part.length++;
    }
  }

  private appendNull(d: Decoder): void {
    if (d.op === op.wrap) this.append(d.children[0] ?? d.child(0), 0, d.part.bytes, 0, 0);
    else if (d.op !== op.null) throw malformed();
    d.part.length++;
  }

  private appendRecord(d: Decoder, bytes: Uint8Array, start: number, end: number): void {
    if (d.optionals > 0) return this.appendSparse(d, bytes, start, end);
    const { part, children, type } = d;
    const count = type.kind === 'record' ? type.fields.length : 0;
    let at = start;
    for (let k = 0; k < count; k++) {
      const child = children[k] ?? d.child(k);
      if (at >= end) throw malformed();
      let tag = bytes[at++];
      if (tag >= 0x80) {
        tag = this.longTag(bytes, at - 1, end);
        at = this.tagEnd;
      }
      const stop = tag === 0 ? at : at + tag - 1;
      if (stop > end) throw malformed();
      this.append(child, tag, bytes, at, stop);
      at = stop;
    }
    if (at !== end) throw malformed();
    this.cells += count;
    part.length++;
  }

  /** A record with optional fields: bits first that say which are absent. */
  private appendSparse(d: Decoder, bytes: Uint8Array, start: number, end: number): void {
    const { part, type } = d, bits = (d.optionals + 7) >> 3;
    if (type.kind !== 'record') throw malformed();
    let at = start;
    if (this.tag(bytes, at, end) !== bits + 1) throw malformed();
    const flags = this.tagEnd;
    at = flags + bits;
    if (at > end) throw malformed();
    let optional = 0;
    for (let k = 0; k < type.fields.length; k++) {
      const child = d.children[k] ?? d.child(k);
      if (type.fields[k].optional) {
        const absent = (bytes[flags + (optional >> 3)] >> (optional & 7)) & 1;
        optional++;
        part.setPresent(k, 1 - absent);
        if (absent === 1) {
          appendAbsent(child);
          continue;
        }
      }
      at = this.appendTagged(child, bytes, at, end);
    }
    if (at !== end) throw malformed();
    this.cells += type.fields.length;
    part.length++;
  }

  private appendList(d: Decoder, bytes: Uint8Array, start: number, end: number): void {
    const { part } = d, child = d.children[0] ?? d.child(0);
    for (let at = start; at < end; this.cells++) at = this.appendTagged(child, bytes, at, end);
    part.pushCode(child.column.length);
  }

  private appendUnion(d: Decoder, bytes: Uint8Array, start: number, end: number): void {
    const { part } = d;
    const indexTag = this.tag(bytes, start, end), from = this.tagEnd, behind = indexTag === 0 ? from : from + indexTag - 1;
    if (behind > end) throw malformed();
    const member = smallUnsigned(bytes, from, behind);
    if (member >= part.columns.length) throw malformed();
    const child = d.children[member] ?? d.child(member);
    const slot = child.column.length;
    if (this.appendTagged(child, bytes, behind, end) !== end) throw malformed();
    part.pushMember(member, slot);
    this.cells++;
  }

  /** The elements of a set, or the entries of a map (`width` 2): starts and ends of each, in canonical order. */
  private elementsOf(bytes: Uint8Array, start: number, end: number, width: 1 | 2): readonly Element[] {
    const found: Element[] = [];
    let ordered = true;
    for (let at = start; at < end;) {
      const keyEnd = this.behind(bytes, at, end), stop = width === 2 ? this.behind(bytes, keyEnd, end) : keyEnd;
      const element = { start: at, keyEnd, end: stop };
      if (found.length > 0 && compareKeys(bytes, found[found.length - 1], element) >= 0) ordered = false;
      found.push(element);
      at = stop;
    }
    if (ordered) return found;
    const sorted = found.sort((a, b) => compareKeys(bytes, a, b));
    return sorted.filter((e, i) => i === 0 || compareKeys(bytes, sorted[i - 1], e) !== 0);
  }

  private appendElements(d: Decoder, elements: readonly Element[], bytes: Uint8Array): void {
    const { part } = d, key = d.child(0), value = d.op === op.map ? d.child(1) : undefined;
    for (const e of elements) {
      this.appendTagged(key, bytes, e.start, e.keyEnd);
      if (value) this.appendTagged(value, bytes, e.keyEnd, e.end);
    }
    this.cells += elements.length * 2;
    part.pushCode(key.column.length);
  }
  /** Appends the tagged value at `start`; returns the place behind it. @throws BytesFault */
  appendTagged(d: Decoder, bytes: Uint8Array, start: number, end: number): number {
    const tag = this.tag(bytes, start, end), from = this.tagEnd, stop = tag === 0 ? from : from + tag - 1;
    if (stop > end) throw malformed();
    this.append(d, tag, bytes, from, stop);
    return stop;
  }

  /** Where the tagged value at `at` ends. */
  private behind(bytes: Uint8Array, at: number, end: number): number {
    const tag = this.tag(bytes, at, end), stop = tag === 0 ? this.tagEnd : this.tagEnd + tag - 1;
    if (stop > end) throw malformed();
    return stop;
  }

  /** The tag at `at`; `tagEnd` is behind it. */
  private tag(bytes: Uint8Array, at: number, end: number): number {
    if (at >= end) throw malformed();
    const tag = bytes[at];
    if (tag >= 0x80) return this.longTag(bytes, at, end);
    this.tagEnd = at + 1;
    return tag;
  }
  private longTag(bytes: Uint8Array, start: number, end: number): number {
    let tag = 0, scale = 1;
    for (let at = start; at < end && scale <= 2 ** 35; at++) {
      const b = bytes[at];
      tag += (b & 0x7f) * scale;
      if (b < 0x80) {
        this.tagEnd = at + 1;
        return tag;
      }
      scale *= 128;
    }
    throw malformed();
  }
}

/** Tagged bytes of an element or of a key and its value: bytes[start, keyEnd) decides the order. */
interface Element { readonly start: number; readonly keyEnd: number; readonly end: number }
const compareKeys = (bytes: Uint8Array, a: Element, b: Element): number => compareBytes(bytes.subarray(a.start, a.keyEnd), bytes.subarray(b.start, b.keyEnd));

/** The row of an optional field that is absent. */
const appendAbsent = (d: Decoder): void => {
  const { part } = d;
  if (d.op > op.null) return d.column.markAbsent(d.tag);
  if (d.column.indexed) d.column.mark(d.tag);
  switch (d.op) {
    case op.run: return part.pushRun(part.view, 0, 0);
    case op.bool: return part.pushFlag(0);
    case op.null: part.length++; return;
    default: part.pushNumber(0);
  }
};

/** An unsigned integer below 2^32: index of a member or symbol. */
const smallUnsigned = (bytes: Uint8Array, start: number, end: number): number => {
  if (end - start > 4) throw malformed();
  let x = 0;
  for (let i = end - 1; i >= start; i--) x = x * 256 + bytes[i];
  return x;
};

/** `abs << 1 | sign` in as few bytes as it takes; 1 alone is the least 64-bit integer. */
const appendSigned = (part: Part, bytes: Uint8Array, start: number, end: number): void => {
  if (end - start > 8) throw malformed();
  let low = 0, high = 0;
  for (let i = end - 1; i >= start + 4; i--) high = (high << 8) | bytes[i];
  for (let i = end - start > 4 ? start + 3 : end - 1; i >= start; i--) low = (low << 8) | bytes[i];
  const negative = low & 1, magnitudeLow = ((low >>> 1) | (high << 31)) >>> 0, magnitudeHigh = high >>> 1;
  if (magnitudeHigh < 0x20_0000 && !part.wide) {
    const magnitude = magnitudeHigh * 4294967296 + magnitudeLow;
    if (magnitude > part.magnitudeMax + negative) throw malformed();
    if (negative === 0) return part.pushNumber(magnitude);
    if (magnitude !== 0) return part.pushNumber(-magnitude);
    return appendLeast(part);
  }
  if (part.magnitudeMax !== Infinity) throw malformed();
  if (negative === 0) part.pushWords(magnitudeLow, magnitudeHigh);
  else if (magnitudeLow === 0 && magnitudeHigh === 0) part.pushWords(0, -0x8000_0000);
  else part.pushWords(-magnitudeLow | 0, magnitudeLow === 0 ? -magnitudeHigh | 0 : ~magnitudeHigh);
};
const appendLeast = (part: Part): void => {
  if (part.magnitudeMax !== Infinity) throw malformed();
  part.pushWords(0, -0x8000_0000);
};

const appendUnsigned = (part: Part, bytes: Uint8Array, start: number, end: number): void => {
  if (end - start > 8) throw malformed();
  let low = 0, high = 0;
  for (let i = end - 1; i >= start + 4; i--) high = high * 256 + bytes[i];
  for (let i = end - start > 4 ? start + 3 : end - 1; i >= start; i--) low = low * 256 + bytes[i];
  if (high < 0x20_0000 && !part.wide) {
    const x = high * 4294967296 + low;
    if (x > part.magnitudeMax) throw malformed();
    return part.pushNumber(x);
  }
  part.pushWords(low | 0, high | 0);
};

/** Address then mask: the mask is ones and then zeros, the address has no bits outside of it. */
const isNet = (bytes: Uint8Array, start: number, end: number): boolean => {
  const size = (end - start) / 2;
  if (size !== 4 && size !== 16) return false;
  let ended = false;
  for (let i = start; i < start + size; i++) {
    const mask = bytes[i + size], zeros = 0xff - mask;
    if ((zeros & (zeros + 1)) !== 0 || (ended && mask !== 0) || (bytes[i] & zeros) !== 0) return false;
    if (mask !== 0xff) ended = true;
  }
  return true;
};
