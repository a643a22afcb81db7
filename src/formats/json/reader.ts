/** Reads JSON values, one behind the other, straight from bytes into builders; long inputs in blocks. */
import { LakeError } from '../../errors.ts';
import { Builder, partsMade } from '../../vectors/builder.ts';
import { packVectors } from '../../vectors/transfer.ts';
import type { Vector } from '../../vectors/vector.ts';
import { Batches } from '../batches.ts';
import {
  type BlockHelper,
  type BlockParser,
  type Progress,
  blockBytesMax,
  blockPartsMax,
  lineCut,
  readBlocks,
  sequentialBytes,
} from '../blocks.ts';
import { ByteWindow, markLength } from '../byte-window.ts';
import { Faults } from '../faults/faults.ts';
import { FaultyValues, type LineWindow, endless } from '../faults/values.ts';
import { ReaderTurns, type ReadOptions, readLimits } from '../format.types.ts';
import { keepTape, takeTape } from './kept-tape.ts';
import { JsonTape, type LostNumber, lostText } from './tape.ts';
import { asValues } from './unnest.ts';
import { writeValue } from './write.ts';

/**
 * Batches of the values of a JSON or NDJSON stream. @throws LakeError `format-broken` with the line, after giving out
 * what came before
 */
export async function* readJson(input: AsyncIterable<Uint8Array>, given: ReadOptions): AsyncGenerator<Vector> {
  const options = warningOnce(given);
  const stopped = yield* readInSequence(
    asValues(input, options.unnest),
    options,
    { values: 0, lines: 1, offset: 0, lineStart: 0 },
    options.helper,
  );
  if (!stopped) return;
  const { progress, rest, helper } = stopped;
  const wrong = yield* readBlocks(
    rest,
    progress,
    { parser: jsonBlocks(options), cut: lineCut, copied: options.copied, lost: teller(options) },
    helper,
  );
  if (wrong) yield* readInSequence(wrong.rest, options, wrong, undefined);
}

/**
 * The values of a small body that is there as a whole: what `readJson` gives, in one batch and without waiting for
 * anything.
 */
export function* readWholeJson(body: Uint8Array, options: ReadOptions): Generator<Vector> {
  const { nestingMax } = readLimits(options);
  const bytes = new Uint8Array(body.length + 1);
  const builder = new Builder();
  bytes.set(body);
  const tape = takeTape(nestingMax);
  const window = { bytes, start: markLength(bytes, body.length), end: body.length, final: true, offset: 0 };
  let failed: { readonly problem: unknown } | undefined;
  tape.place = { lines: 1, lineStart: 0 };
  tape.watchDigits(teller(options));
  try {
    while (tape.next(window, builder.length) === 'value') writeValue(tape, builder);
  } catch (problem) {
    failed = { problem };
  }
  keepTape(tape);
  if (builder.length > 0) yield builder.finish();
  if (failed) throw failed.problem;
}

/** Blocks are read by several tapes, and what is no block is read again in sequence: the input has one warning. */
const warningOnce = (options: ReadOptions): ReadOptions => {
  const { warn } = options;
  if (!warn) return options;
  let isTold = false;
  const once = (text: string): void => {
    if (!isTold) warn(text);
    isTold = true;
  };
  return { ...options, warn: once };
};
const teller = ({ warn }: ReadOptions): ((lost: LostNumber) => void) | undefined =>
  warn &&
  ((lost) => {
    warn(lostText(lost));
  });

interface Handover {
  readonly progress: Progress;
  readonly rest: AsyncIterable<Uint8Array>;
  readonly helper: BlockHelper;
}

/** Reads to the end; or, if there is a helper, until the input has proved long. */
async function* readInSequence(
  input: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  { values, offset, ...place }: Progress,
  help: ReadOptions['helper'],
): AsyncGenerator<Vector, Handover | undefined> {
  const limits = readLimits(options);
  const window = new ByteWindow(input, { format: 'json', valueBytesMax: limits.valueBytesMax, offset });
  const tape = new JsonTape(limits.nestingMax, { memory: options.memory });
  const batches = new Batches(limits.batchRows);
  tape.place = place;
  tape.watchDigits(teller(options));
  const turns = new ReaderTurns(options);
  const faults = Faults.of(options);
  const faulty = faults && new FaultyValues(faults, window);
  let line: LineWindow | undefined;
  const scan = (): ReturnType<JsonTape['scan']> => {
    const state = tape.scan(line ?? window);
    if (line) window.start += line.start;
    return state;
  };
  const leaveOut = async (error: string, seen: number): Promise<void> => {
    tape.place = await faulty!.take(error, { place: tape.place, seen, batches });
    turns.filled(window);
  };
  const more = async (): Promise<boolean> => {
    try {
      return await window.more();
    } catch (problem) {
      if (!faulty?.canTake(problem)) throw problem;
      await leaveOut(endless, window.offset + window.end);
      return true;
    }
  };
  const write = (): void => {
    writeValue(tape, batches.begin());
    batches.end(tape.textLength);
  };
  let handed = false;
  let alone = !help || limits.valueBytesMax < blockBytesMax;
  try {
    while (await more()) {
      turns.filled(window);
      for (;;) {
        if (faults?.isDue()) yield batches.take();
        line = faulty?.isAlone ? faulty.line() : undefined;
        if (faulty?.isAlone && !line) break;
        const state = turns.run(scan);
        if (state === 'faulty') {
          if (!faulty) throw tape.broken(values + batches.rows);
          await leaveOut(tape.fault.text + tape.fault.place, tape.reached);
          if (batches.isFull) yield batches.take();
          continue;
        }
        if (line && state === 'none') continue;
        if (state !== 'value') break;
        turns.run(write);
        if (batches.isFull) yield batches.take();
      }
      if (alone || window.final || window.offset + window.start < sequentialBytes) continue;
      alone = true;
      const helper = await help?.({ format: 'json' });
      if (!helper) continue;
      handed = true;
      const rows = values + batches.rows;
      if (!batches.isEmpty) yield batches.take();
      return {
        progress: { values: rows, offset: window.offset + window.start, ...tape.place },
        rest: window.rest(),
        helper,
      };
    }
  } catch (problem) {
    if (!batches.isEmpty) yield batches.take();
    throw problem;
  } finally {
    tape.taken();
    if (!handed) await window.close();
  }
  if (!batches.isEmpty) yield batches.take();
  return undefined;
}

/** After so many blocks the storage is made again: what only some of them needed goes. */
const blocksPerBuilder = 64;

/** Reads blocks of whole values. */
export const jsonBlocks = (options: ReadOptions): BlockParser => {
  const { nestingMax } = readLimits(options);
  const tape = new JsonTape(nestingMax, { memory: options.memory });
  let builder = new Builder();
  let blocks = 0;
  let parts = 0;
  const anew = (): undefined => {
    // Layouts may refer to it for long.
    builder.finish();
    builder = new Builder();
    parts = 0;
    tape.taken();
    return undefined;
  };
  return (bytes, length) => {
    const window = { bytes, start: 0, end: length, final: false, offset: 0 };
    if (++blocks % blocksPerBuilder === 0 || parts > blockPartsMax) anew();
    const mark = partsMade();
    tape.place = { lines: 0, lineStart: 0 };
    let lost: LostNumber | undefined;
    tape.watchDigits((first) => {
      lost = first;
    });
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
      writeValue(tape, builder);
      if (partsMade() - mark > blockPartsMax) return anew();
    }
    parts += partsMade() - mark;
    const rows = builder.length;
    const { lines, lineStart } = tape.place;
    return {
      batches: builder.lend((v) => packVectors(rows > 0 ? [v] : [])),
      rows,
      lines,
      tail: length - lineStart,
      ...(lost && { lost }),
    };
  };
};
