/** Reads JSON values, one behind the other, straight from bytes into builders; long inputs in blocks. */
import { LakeError } from '../../errors.ts';
import { Builder } from '../../vectors/builder.ts';
import { parseInteger, fitsInt64 } from '../../vectors/literal.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { type Type, types, arrayType } from '../../vectors/type.ts';
import { type Data, type Value, arrayValue, nullValue, recordValue } from '../../vectors/value.ts';
import { packVectors } from '../../vectors/transfer.ts';
import type { Vector } from '../../vectors/vector.ts';
import { type BlockHelper, type BlockParser, type Progress, blockBytesMax, lineCut, readBlocks, sequentialBytes } from '../blocks.ts';
import { ByteWindow } from '../byte-window.ts';
import { type ReadOptions, readLimits, turnsOver } from '../format.types.ts';
import { beginLayout } from '../key-layouts.ts';
import { JsonTape, decodeText, kind } from './tape.ts';

/** Batches of the values of a JSON or NDJSON stream. @throws LakeError `format-broken` with the line, after giving out what came before */
export async function* readJson(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const stopped = yield* readInSequence(input, options, { values: 0, lines: 1, offset: 0, lineStart: 0 }, options.helper);
  if (!stopped) return;
  const { progress, rest, helper } = stopped;
  const wrong = yield* readBlocks(rest, progress, { parser: jsonBlocks(options), cut: lineCut, copied: options.copied }, helper);
  if (wrong) yield* readInSequence(wrong.rest, options, wrong, undefined);
}

/** Keys of small bodies that are kept: they may be as long as a body. */
const wholeNodesMax = 1000;
/** Reads whole bodies one after the other: of the keys that one had the next one makes no texts again. */
let wholeTape: JsonTape | undefined;

/** The values of a small body that is there as a whole: what `readJson` gives, in one batch and without waiting for anything. */
export function* readWholeJson(body: Uint8Array, options: ReadOptions): Generator<Vector> {
  const { nestingMax } = readLimits(options), bytes = new Uint8Array(body.length + 1), builder = new Builder();
  bytes.set(body);
  if (wholeTape?.nestingMax !== nestingMax) wholeTape = new JsonTape(nestingMax, wholeNodesMax);
  const tape = wholeTape, window = { bytes, start: 0, end: body.length, final: true, offset: 0 };
  let failed: { readonly problem: unknown } | undefined;
  tape.place = { lines: 1, lineStart: 0 };
  try {
    while (tape.next(window, builder.length) === 'value') writeEntry(tape, 0, builder);
  } catch (problem) {
    failed = { problem };
  }
  if (builder.length > 0) yield builder.finish();
  if (failed) throw failed.problem;
}

interface Handover { readonly progress: Progress; readonly rest: AsyncIterable<Uint8Array>; readonly helper: BlockHelper }

/** Reads to the end; or, if there is a helper, until the input has proved long. */
async function* readInSequence(
  input: AsyncIterable<Uint8Array>, options: ReadOptions, { values, offset, ...place }: Progress, help: ReadOptions['helper'],
): AsyncGenerator<Vector, Handover | undefined> {
  const limits = readLimits(options);
  const window = new ByteWindow(input, { format: 'json', valueBytesMax: limits.valueBytesMax, offset });
  const tape = new JsonTape(limits.nestingMax);
  tape.place = place;
  const inTurn = turnsOver(options, window), scan = (): ReturnType<JsonTape['next']> => tape.next(window, rows), write = (): number => writeEntry(tape, 0, builder);
  let builder = new Builder(), rows = values, handed = false, alone = !help || limits.valueBytesMax < blockBytesMax;
  try {
    while (await window.more()) {
      for (;;) {
        let state;
        try {
          state = inTurn(scan);
        } catch (problem) {
          if (builder.length > 0) yield builder.finish();
          throw problem;
        }
        if (state !== 'value') break;
        inTurn(write);
        rows++;
        if (builder.length === limits.batchRows) {
          const batch = builder.finish();
          builder = new Builder();
          yield batch;
        }
      }
      if (alone || window.final || window.offset + window.start < sequentialBytes) continue;
      alone = true;
      const helper = await help?.({ format: 'json' });
      if (!helper) continue;
      handed = true;
      if (builder.length > 0) yield builder.finish();
      return { progress: { values: rows, offset: window.offset + window.start, ...tape.place }, rest: window.rest(), helper };
    }
    if (builder.length > 0) yield builder.finish();
    return undefined;
  } finally {
    if (!handed) await window.close();
  }
}

/** After so many blocks the storage is made anew: what only some of them needed goes. */
const blocksPerBuilder = 64;

/** Reads blocks of whole values. */
export const jsonBlocks = (options: ReadOptions): BlockParser => {
  const { nestingMax } = readLimits(options), tape = new JsonTape(nestingMax);
  let builder = new Builder(), blocks = 0;
  const anew = (): undefined => {
    // Layouts may refer to it for long.
    builder.finish();
    builder = new Builder();
    return undefined;
  };
  return (bytes, length) => {
    const window = { bytes, start: 0, end: length, final: false, offset: 0 };
    if (++blocks % blocksPerBuilder === 0) anew();
    tape.place = { lines: 0, lineStart: 0 };
    for (;;) {
      let state;
      try {
        state = tape.next(window, builder.length);
      } catch (problem) {
        if (problem instanceof LakeError) return anew();
        throw problem;
      }
      if (state === 'cut') return anew();
      if (state === 'none') break;
      writeEntry(tape, 0, builder);
    }
    const rows = builder.length, { lines, lineStart } = tape.place;
    return { batches: builder.lend((v) => packVectors(rows > 0 ? [v] : [])), rows, lines, tail: length - lineStart };
  };
};

/** Appends the value of entry `i`; returns the entry behind it. */
const writeEntry = (tape: JsonTape, i: number, builder: Builder): number => {
  switch (tape.kinds[i]) {
    case kind.text: builder.run(types.string, tape.bytes, tape.starts[i]!, tape.ends[i]!); return i + 1;
    case kind.whole: builder.number(types.int64, tape.numbers[i]!); return i + 1;
    case kind.float: builder.number(types.float64, tape.numbers[i]!); return i + 1;
    case kind.object: return writeObject(tape, i, builder);
    case kind.null: builder.null(); return i + 1;
    case kind.true: builder.bool(true); return i + 1;
    case kind.false: builder.bool(false); return i + 1;
    case kind.array: return writeArray(tape, i, builder);
    case kind.textCoded: builder.text(decodeText(tape.bytes, tape.starts[i]!, tape.ends[i]!)); return i + 1;
    default: {
      const { type, data } = longNumber(tape, i);
      builder.appendData(type, data);
      return i + 1;
    }
  }
};

const writeObject = (tape: JsonTape, i: number, builder: Builder): number => {
  const layout = tape.layouts[i]!;
  const record = beginLayout(layout, builder);
  const { fields } = record;
  let at = i + 1;
  if (!layout.sources) for (let k = 0; k < fields.length; k++) at = writeEntry(tape, at, fields[k]!);
  else {
    const children = childrenOf(tape, i);
    for (let k = 0; k < fields.length; k++) writeEntry(tape, children[layout.sources[k]!]!, fields[k]!);
    at = tape.ends[i]!;
  }
  record.end();
  return at;
};
const childrenOf = (tape: JsonTape, i: number): number[] => {
  const out: number[] = [];
  for (let at = i + 1; at < tape.ends[i]!; at = behind(tape, at)) {
    checkStopAt(out.length);
    out.push(at);
  }
  return out;
};
const behind = (tape: JsonTape, i: number): number => (tape.kinds[i]! >= kind.array ? tape.ends[i]! : i + 1);

/** Types of arrays whose elements are of one simple kind, by the bits of the kinds. */
const simpleArrays: ReadonlyMap<number, ReturnType<typeof arrayType>> = new Map([
  [0, types.null], [1 << kind.null, types.null], [1 << kind.whole, types.int64], [1 << kind.float, types.float64],
  [1 << kind.text, types.string], [1 << kind.textCoded, types.string], [(1 << kind.text) | (1 << kind.textCoded), types.string],
  [1 << kind.true, types.bool], [1 << kind.false, types.bool], [(1 << kind.true) | (1 << kind.false), types.bool],
].map(([bits, type]) => [bits as number, arrayType(type as Type)]));

const writeArray = (tape: JsonTape, i: number, builder: Builder): number => {
  const type = simpleArrays.get(tape.numbers[i]!), end = tape.ends[i]!;
  if (!type) {
    builder.append(valueOf(tape, i));
    return end;
  }
  const list = builder.list(type);
  for (let at = i + 1; at < end; at++) {
    checkStopAt(at - i);
    writeEntry(tape, at, list.items);
  }
  list.end();
  return end;
};

/** An integer of 16 digits or more: exact within 64 bits, a float beyond. */
const longNumber = (tape: JsonTape, i: number): Value => {
  const digits = Buffer.from(tape.bytes.buffer, tape.bytes.byteOffset + tape.starts[i]!, tape.ends[i]! - tape.starts[i]!).toString('latin1');
  const x = parseInteger(digits)!;
  return fitsInt64(x) ? { type: types.int64, data: x } : { type: types.float64, data: Number(digits) };
};

const valueOf = (tape: JsonTape, i: number): Value => {
  switch (tape.kinds[i]) {
    case kind.text: case kind.textCoded: return { type: types.string, data: decodeText(tape.bytes, tape.starts[i]!, tape.ends[i]!) };
    case kind.whole: return { type: types.int64, data: tape.numbers[i]! as Data };
    case kind.float: return { type: types.float64, data: tape.numbers[i]! };
    case kind.true: case kind.false: return { type: types.bool, data: tape.kinds[i] === kind.true };
    case kind.null: return nullValue;
    case kind.array: return arrayValue(childrenOf(tape, i).map((at, n) => {
      checkStopAt(n);
      return valueOf(tape, at);
    }));
    case kind.object: {
      const { shape, sources } = tape.layouts[i]!, children = childrenOf(tape, i);
      return recordValue(shape.names.map((name, k) => ({ name, value: valueOf(tape, children[sources ? sources[k]! : k]!) })));
    }
    default: return longNumber(tape, i);
  }
};
