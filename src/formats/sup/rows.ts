/** What a tape holds, appended to builders. */
import type { Builder } from '../../vectors/builder.ts';
import { type ArrayType, type PrimitiveType, arrayType, primitiveOfId, recordType, types } from '../../vectors/type.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { type Data, type Value, arrayValue, boolValue, integer, nullValue, stringValue } from '../../vectors/value.ts';
import { beginLayout } from '../columns/key-layouts.ts';
import { appendAddress } from '../text-cell.ts';
import { pieceBytes, textPieces } from '../text-pieces.ts';
import { type SupTape, kind } from './tape.ts';
import { supStringText } from './text.ts';

const primitives = Array.from({ length: 32 }, (_, id) => primitiveOfId(id) as PrimitiveType);
/** By the id of the elements' type; held so that it is not looked up for each array. */
const arrays = primitives.map((type) => type && arrayType(type)) as readonly ArrayType[];

/** Entries and bytes of text from which a value is charged before it is built. */
const longEntries = 1 << 16;
const longTextBytes = 1 << 20;
/** Bytes of a value that is made by itself, about, for each of its entries. */
const valueBytes = 100;

/** Appends the value on the tape. @throws LakeError format-memory */
export const writeValue = (tape: SupTape, builder: Builder): void => {
  if (tape.length > longEntries || tape.textBytes > longTextBytes) tape.memory.hold(tape.length * 8 + tape.textBytes);
  tape.memory.watchParts();
  writeEntry(tape, 0, builder);
  tape.taken();
};

/** Appends the value of entry `i`; returns the entry behind it. */
const writeEntry = (tape: SupTape, i: number, builder: Builder): number => {
  switch (tape.kinds[i]) {
    case kind.text:
      builder.run(types.string, tape.bytes, tape.starts[i], tape.ends[i]);
      return i + 1;
    case kind.number:
      builder.number(primitives[tape.typeIds[i]], tape.numbers[i]);
      return i + 1;
    case kind.record:
      return writeRecord(tape, i, builder);
    case kind.time:
      builder.seconds(types.time, tape.numbers[i], tape.starts[i]);
      return i + 1;
    case kind.ipv4:
      appendAddress(builder, tape.numbers[i]);
      return i + 1;
    case kind.null:
      builder.null();
      return i + 1;
    case kind.bool:
      builder.bool(tape.numbers[i] === 1);
      return i + 1;
    case kind.array:
      return writeArray(tape, i, builder);
    case kind.textCoded:
      writeCoded(tape, i, builder);
      return i + 1;
    default:
      builder.append(tape.values[i]!);
      return i + 1;
  }
};

const writeCoded = ({ bytes, starts, ends }: SupTape, i: number, builder: Builder): void => {
  const start = starts[i];
  const end = ends[i];
  if (end - start > pieceBytes) builder.texts(textPieces(bytes, { start, end, escapes: true }, supStringText));
  else builder.text(supStringText(bytes, start, end));
};

/** Fields after which it is looked how much they take. */
const fieldsMask = 1023;

const writeRecord = (tape: SupTape, i: number, builder: Builder): number => {
  const record = beginLayout(tape.layouts[i]!, builder);
  const { fields } = record;
  tape.memory.holdParts();
  let at = i + 1;
  for (let k = 0; k < fields.length; k++) {
    if ((k & fieldsMask) === fieldsMask) tape.memory.holdParts();
    if (tape.kinds[at] !== kind.absent) at = writeEntry(tape, at, fields[k]);
    else record.absent(k, primitives[tape.typeIds[at++]]);
  }
  record.end();
  return at;
};

const writeArray = (tape: SupTape, i: number, builder: Builder): number => {
  const typeId = tape.numbers[i];
  const end = tape.ends[i];
  if (typeId < 0) {
    if (end - i > longEntries) tape.memory.hold((end - i) * valueBytes);
    builder.append(valueOf(tape, i));
    return end;
  }
  const list = builder.list(arrays[typeId]);
  for (let at = i + 1; at < end; at++) {
    checkStopAt(at - i);
    writeEntry(tape, at, list.items);
  }
  list.end();
  return end;
};

/** The value of entry `i` by itself; elements of unlike or nested types need it to know their array's type. */
const valueOf = (tape: SupTape, i: number): Value => {
  switch (tape.kinds[i]) {
    case kind.text:
    case kind.textCoded:
      return stringValue(supStringText(tape.bytes, tape.starts[i], tape.ends[i]));
    case kind.number:
      return { type: primitives[tape.typeIds[i]], data: tape.numbers[i] };
    case kind.time:
      return { type: types.time, data: nanosOf(tape.numbers[i], tape.starts[i]) };
    case kind.ipv4:
      return { type: types.ip, data: quadOf(tape.numbers[i]) };
    case kind.null:
      return nullValue;
    case kind.bool:
      return boolValue(tape.numbers[i] === 1);
    case kind.array:
      return arrayValue(
        childrenOf(tape, i).map((at, n) => {
          checkStopAt(n);
          return valueOf(tape, at);
        }),
      );
    case kind.record:
      return recordOf(tape, i);
    default:
      return tape.values[i]!;
  }
};
const nanosOf = (seconds: number, nanos: number): Data => {
  const x = seconds * 1e9 + nanos;
  return Number.isSafeInteger(x) ? x : integer(BigInt(seconds) * 1_000_000_000n + BigInt(nanos));
};
const quadOf = (address: number): Uint8Array => Uint8Array.of(address >>> 24, address >>> 16, address >>> 8, address);
const recordOf = (tape: SupTape, i: number): Value => {
  const { names, optional } = tape.layouts[i]!.shape;
  const data: (Data | undefined)[] = [];
  const fields = childrenOf(tape, i).map((at, k) => {
    const absent = tape.kinds[at] === kind.absent;
    const value = absent ? undefined : valueOf(tape, at);
    data.push(value?.data);
    return { name: names[k], optional: optional[k], type: value ? value.type : primitives[tape.typeIds[at]] };
  });
  return { type: recordType(fields), data };
};
const childrenOf = (tape: SupTape, i: number): number[] => {
  const out: number[] = [];
  for (let at = i + 1; at < tape.ends[i]; at = tape.kinds[at] >= kind.array ? tape.ends[at] : at + 1) out.push(at);
  return out;
};
