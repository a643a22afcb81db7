/**
 * Cells of one line by columns whose types are declared. A row is parsed as a whole before any of it goes to the
 * builders, so that one with a bad cell leaves no trace.
 */
import type { Builder } from '../../vectors/builder.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import {
  type ArrayType,
  type PrimitiveType,
  type Type,
  type UnionType,
  nullable,
  types,
  underType,
} from '../../vectors/type.ts';
import { type Data } from '../../vectors/value.ts';
import { sameBytes } from '../columns/key-layouts.ts';
import { appendAddress, plainAddress, plainNumber, textOf } from '../text-cell.ts';
import type { ValueMemory } from '../value-memory.ts';
import { type ZeekMarks, parseCell } from './cells.ts';

/** How a cell was parsed. */
const cell = { unset: 0, run: 1, number: 2, seconds: 3, address: 4, data: 5, items: 6 } as const;

/** Seconds that surely fit into 64 bits of nanoseconds. */
const secondsMax = 9_223_372_035;

/** One column of the log: takes a cell at a time, then appends it as `T|null`. */
export class ZeekColumn {
  private readonly type: Type;
  private readonly under: Type;
  private readonly union: UnionType;
  private readonly member: number;
  private readonly nullMember: number;
  private readonly marks: ZeekMarks;
  private readonly unset: Uint8Array;
  private state: number = cell.unset;
  private bytes: Uint8Array = new Uint8Array(0);
  private start = 0;
  private end = 0;
  private number = 0;
  private nanos = 0;
  private data: Data = null;
  /** Of a vector's elements: they are read when they are looked at, and again when they are appended. */
  private readonly items: ZeekColumn | undefined;
  private readonly separator: Uint8Array;
  private readonly empty: Uint8Array;
  private readonly memory: ValueMemory | undefined;

  constructor(type: Type, marks: ZeekMarks, memory?: ValueMemory) {
    this.type = type;
    this.memory = memory;
    this.items = type.kind === 'array' ? new ZeekColumn(elementOf(type), marks) : undefined;
    this.separator = Buffer.from(marks.setSeparator);
    this.empty = Buffer.from(marks.empty);
    this.under = underType(type);
    this.union = nullable(type) as UnionType;
    this.member = this.union.members.indexOf(type);
    this.nullMember = this.union.members.indexOf(types.null);
    this.marks = marks;
    this.unset = Buffer.from(marks.unset);
  }

  /** Takes the cell bytes[start, end), valid UTF-8. @throws Error saying what is wrong */
  take(bytes: Uint8Array, start: number, end: number): void {
    this.state = this.isUnset(bytes, start, end) ? cell.unset : this.plain(bytes, start, end);
    if (this.state === cell.items) this.takeItems(bytes, start, end);
    if (this.state !== cell.data) return;
    if (end - start > longCellBytes) this.memory?.hold(this.cost(bytes, start, end));
    const data = parseCell(this.type, textOf(bytes, start, end), this.marks);
    if (data === undefined) this.state = cell.unset;
    else this.data = data;
  }
  private isUnset(bytes: Uint8Array, start: number, end: number): boolean {
    const { unset } = this;
    if (end - start !== unset.length) return false;
    for (let i = 0; i < unset.length; i++) if (bytes[start + i] !== unset[i]) return false;
    return true;
  }

  private takeItems(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    let count = 0;
    this.eachItem((item) => {
      if (++count % itemsStep === 0) this.memory?.hold(itemBytes * itemsStep + item.end - item.start);
    });
  }
  /** Reads each element of the cell. */
  private eachItem(read: (item: ZeekColumn) => void): void {
    const { bytes, start, end, separator, items } = this;
    const first = separator[0];
    const size = separator.length;
    if (sameBytes(this.empty, bytes, start, end)) return;
    let at = start;
    let count = 0;
    for (let i = start; i <= end; i++) {
      if (
        i < end &&
        (bytes[i] !== first || (size > 1 && (i + size > end || !sameBytes(separator, bytes, i, i + size))))
      )
        continue;
      checkStopAt(count++);
      items!.take(bytes, at, i);
      read(items!);
      at = i + size;
      i = at - 1;
    }
  }

  /**
   * What a cell takes that becomes a value by itself: characters, and bytes before and after escapes are undone; the
   * elements of a set.
   */
  private cost(bytes: Uint8Array, start: number, end: number): number {
    const first = this.separator[0];
    let marks = 0;
    if (this.type.kind === 'set')
      for (let i = bytes.indexOf(first, start); i >= 0 && i < end; i = bytes.indexOf(first, i + 1)) marks++;
    return (end - start) * 4 + marks * setItemBytes;
  }

  /** The plain spellings straight from the bytes; all others are `data`. */
  private plain(bytes: Uint8Array, start: number, end: number): number {
    if (this.items) return cell.items;
    switch (this.under) {
      case types.string:
        return this.run(bytes, start, end);
      case types.int64:
        return this.whole(bytes, start, end, Infinity);
      case types.uint64:
        return this.whole(bytes, start, end, Infinity);
      case types.uint16:
        return this.whole(bytes, start, end, 65_535);
      case types.float64:
        return Number.isNaN((this.number = plainNumber(bytes, start, end))) ? cell.data : cell.number;
      case types.time:
      case types.duration:
        return this.decimal(bytes, start, end);
      case types.ip:
        return (this.number = plainAddress(bytes, start, end)) < 0 ? cell.data : cell.address;
      default:
        return cell.data;
    }
  }
  private run(bytes: Uint8Array, start: number, end: number): number {
    for (let i = start; i < end; i++) if (bytes[i] === 0x5c) return cell.data;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    return cell.run;
  }
  private whole(bytes: Uint8Array, start: number, end: number, most: number): number {
    if (start === end || end - start > 15) return cell.data;
    let x = 0;
    for (let i = start; i < end; i++) {
      const digit = bytes[i] - 0x30;
      if (!(digit >= 0 && digit <= 9)) return cell.data;
      x = x * 10 + digit;
    }
    this.number = x;
    return x > most ? cell.data : cell.number;
  }
  /** Seconds with a fraction; digits beyond nanoseconds are cut. */
  private decimal(bytes: Uint8Array, start: number, end: number): number {
    let seconds = 0;
    let i = start;
    let nanos = 0;
    for (let digit = bytes[i] - 0x30; i < end && digit >= 0 && digit <= 9; digit = bytes[++i] - 0x30)
      seconds = seconds * 10 + digit;
    if (i === start || seconds > secondsMax) return cell.data;
    if (i < end) {
      if (bytes[i++] !== 0x2e) return cell.data;
      for (let unit = 1e8; i < end; i++, unit /= 10) {
        const digit = bytes[i] - 0x30;
        if (!(digit >= 0 && digit <= 9)) return cell.data;
        if (unit >= 1) nanos += digit * unit;
      }
    }
    this.number = seconds;
    this.nanos = nanos;
    return cell.seconds;
  }

  /** Appends the cell. */
  append(to: Builder): void {
    if (this.state === cell.unset) {
      to.union(this.union, this.nullMember).null();
      return;
    }
    const member = to.union(this.union, this.member);
    if (this.state === cell.data) {
      member.appendData(this.type, this.data);
      return;
    }
    if (this.state === cell.items) {
      const list = member.list(this.type as ArrayType);
      this.eachItem((item) => {
        item.append(list.items);
      });
      list.end();
      return;
    }
    const { type } = this;
    const inner = type.kind === 'named' ? member.named(type) : member;
    const under = this.under as PrimitiveType;
    switch (this.state) {
      case cell.run:
        inner.run(under, this.bytes, this.start, this.end);
        return;
      case cell.number:
        inner.number(under, this.number);
        return;
      case cell.seconds:
        inner.seconds(under, this.number, this.nanos);
        return;
      default:
        appendAddress(inner, this.number);
    }
  }
}

/** The type of a vector's elements, without its null. */
const elementOf = ({ element }: ArrayType): Type =>
  element.kind === 'union' ? element.members.find((m) => m !== types.null)! : element;

/** Elements that are charged at once, and what one takes. */
const itemsStep = 4096;
const itemBytes = 20;
/** A cell of more bytes is charged before it becomes a value by itself. */
const longCellBytes = 1 << 16;
/** An element of a set, which is a value by itself until all are in order. */
const setItemBytes = 150;
