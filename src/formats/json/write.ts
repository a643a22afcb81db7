/** What a tape holds, appended to builders. */
import type { Builder } from '../../vectors/builder.ts';
import { fitsInt64, parseInteger } from '../../vectors/literal.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { type UnionType, memberOf, types } from '../../vectors/type.ts';
import { beginLayout } from '../columns/key-layouts.ts';
import { pieceBytes, textPieces } from '../text-pieces.ts';
import { type JsonTape, decodeText, kind } from './tape.ts';

/** Entries and bytes of text from which a value is charged before it is built. */
const longEntries = 1 << 16;
const longTextBytes = 1 << 20;

/** Appends the value on the tape. @throws LakeError format-memory */
export const writeValue = (tape: JsonTape, builder: Builder): void => {
  holdLong(tape);
  writeEntry(tape, 0, builder);
  tape.taken();
};

const holdLong = (tape: JsonTape): void => {
  if (tape.length > longEntries || tape.textBytes > longTextBytes) tape.memory.hold(tape.length * 8 + tape.textBytes);
  tape.memory.watchParts();
};

/** Appends the values of the object on the tape to a builder each, in the order of its layout. @throws format-memory */
export const writeObjectFields = (tape: JsonTape, fields: readonly Builder[]): void => {
  holdLong(tape);
  writeFields(tape, 0, fields);
  tape.taken();
};

/** Appends values of the object on the tape, by their entries, to a builder each. @throws format-memory */
export const writePicked = (tape: JsonTape, entries: readonly number[], fields: readonly Builder[]): void => {
  holdLong(tape);
  tape.memory.holdParts();
  for (let k = 0; k < entries.length; k++) writeEntry(tape, entries[k]!, fields[k]!);
  tape.taken();
};

/** Appends the value of entry `i`; returns the entry behind it. */
const writeEntry = (tape: JsonTape, i: number, builder: Builder): number => {
  switch (tape.kinds[i]) {
    case kind.text:
      builder.run(types.string, tape.bytes, tape.start(i), tape.end(i));
      return i + 1;
    case kind.whole:
      builder.number(types.int64, tape.numbers[i]!);
      return i + 1;
    case kind.float:
      builder.number(types.float64, tape.numbers[i]!);
      return i + 1;
    case kind.object:
      return writeObject(tape, i, builder);
    case kind.null:
      builder.null();
      return i + 1;
    case kind.true:
      builder.bool(true);
      return i + 1;
    case kind.false:
      builder.bool(false);
      return i + 1;
    case kind.array:
      return writeArray(tape, i, builder);
    case kind.textCoded:
      writeCoded(tape, i, builder);
      return i + 1;
    default:
      writeLong(tape, i, builder);
      return i + 1;
  }
};

const writeCoded = (tape: JsonTape, i: number, builder: Builder): void => {
  const { bytes } = tape;
  const start = tape.start(i);
  const end = tape.end(i);
  if (end - start > pieceBytes) builder.texts(textPieces(bytes, { start, end, escapes: true }, decodeText));
  else builder.text(decodeText(bytes, start, end));
};
/** An integer of 16 digits or more: exact within 64 bits, a float beyond. */
const writeLong = (tape: JsonTape, i: number, builder: Builder): void => {
  const digits = tape.digits(i);
  const x = parseInteger(digits)!;
  if (fitsInt64(x)) builder.appendData(types.int64, x);
  else builder.number(types.float64, Number(digits));
};

/** Fields after which it is looked how much they take. */
const fieldsMask = 1023;

const writeObject = (tape: JsonTape, i: number, builder: Builder): number => {
  const record = beginLayout(tape.formAt(i).layout, builder);
  const behind = writeFields(tape, i, record.fields);
  record.end();
  return behind;
};
/** Appends the values of object `i` to a builder each; returns the entry behind it. */
const writeFields = (tape: JsonTape, i: number, fields: readonly Builder[]): number => {
  const { layout } = tape.formAt(i);
  tape.memory.holdParts();
  let at = i + 1;
  if (!layout.sources) {
    for (let k = 0; k < fields.length; k++) {
      at = writeEntry(tape, at, fields[k]!);
      if ((k & fieldsMask) === fieldsMask) tape.memory.holdParts();
    }
  } else {
    const children = tape.childrenOf(i, tape.end(i));
    for (let k = 0; k < fields.length; k++) writeEntry(tape, children[layout.sources[k]!]!, fields[k]!);
    at = tape.end(i);
  }
  return at;
};

const writeArray = (tape: JsonTape, i: number, builder: Builder): number => {
  const type = tape.arrayAt(i);
  const { element } = type;
  const end = tape.end(i);
  const list = builder.list(type);
  const { items } = list;
  for (let at = i + 1; at < end; ) {
    checkStopAt(items.length);
    at = writeEntry(tape, at, element.kind === 'union' ? items.union(element, placeOf(element, tape, at)) : items);
  }
  list.end();
  return end;
};
const placeOf = (union: UnionType, tape: JsonTape, at: number): number => memberOf(union, tape.typeAt(at));
