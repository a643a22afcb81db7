/**
 * Reads SUP values from a stream of text: plain ones straight from bytes into builders (tape.ts), all others by the
 * general parser. Names that a value defines hold for the values after it.
 */
import { LakeError } from '../../errors.ts';
import { SupParser } from '../../vectors/sup/parse.ts';
import { SupError } from '../../vectors/sup/error.ts';
import type { TypeNames } from '../../vectors/type.ts';
import { bytesToText, textSize } from '../../vectors/texts/codec.ts';
import type { Value } from '../../vectors/value.ts';
import type { Vector } from '../../vectors/vector.ts';
import { Batches } from '../batches.ts';
import { ByteWindow } from '../byte-window.ts';
import { Faults, faultText, isRecordFault } from '../faults/faults.ts';
import { FaultyValues, type LineWindow, endless } from '../faults/values.ts';
import { ReaderTurns, type ReadLimits, type ReadOptions, readLimits } from '../format.types.ts';
import { writeValue } from './rows.ts';
import { SupTape } from './tape.ts';

/** Batches of the values of a SUP stream. @throws LakeError `format-broken`, after giving out what came before */
export async function* readSup(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const limits = readLimits(options);
  const tape = new SupTape(limits.nestingMax, options.memory);
  const window = new ByteWindow(input, {
    format: 'sup',
    valueBytesMax: limits.valueBytesMax,
    place: () => ` (line ${tape.line})`,
  });
  const batches = new Batches(limits.batchRows);
  const general = new GeneralValues(tape, limits);
  const turns = new ReaderTurns(options);
  const faults = Faults.of(options);
  const faulty = faults && new FaultyValues(faults, window);
  const write = (): void => {
    writeValue(tape, batches.begin());
    batches.end(tape.textLength);
  };
  const leaveOut = async (error: string, seen: number): Promise<void> => {
    const place = { lines: tape.line, lineStart: tape.lineStart };
    const { lines, lineStart } = await faulty!.take(error, { place, seen, batches });
    tape.line = lines;
    tape.lineStart = lineStart;
    turns.filled(window);
    general.faulty();
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
  /** Where values are read: the window, or a line of it that is read alone. */
  let from: LineWindow = window;
  const scan = (): ReturnType<SupTape['next']> => tape.next(from);
  function* readOthers(): Generator<Vector, number> {
    let values = 0;
    const found = general.next(from, batches.rows);
    for (let next = turns.run(() => found.next()); !next.done; next = turns.run(() => found.next())) {
      const { value } = next;
      turns.run(() => {
        batches.begin().append(value);
      });
      batches.end(general.length);
      tape.memory.free();
      values++;
      if (batches.isFull) yield batches.take();
    }
    return values;
  }
  try {
    while (await more()) {
      turns.filled(window);
      for (;;) {
        if (faults?.isDue()) yield batches.take();
        const line = faulty?.isAlone ? faulty.line() : undefined;
        if (faulty?.isAlone && !line) break;
        from = line ?? window;
        let problem: unknown;
        let isAny = true;
        const state = turns.run(scan);
        if (state === 'value') {
          turns.run(write);
          general.plain();
          if (batches.isFull) yield batches.take();
        } else if (state === 'other') {
          try {
            isAny = (yield* readOthers()) > 0;
          } catch (found) {
            if (!faulty || !isRecordFault(found)) throw found;
            problem = found;
          }
        } else isAny = false;
        if (line) window.start += line.start;
        if (isRecordFault(problem)) await leaveOut(faultText(problem), general.reached);
        else if (!isAny && !line) break;
      }
    }
  } catch (problem) {
    if (!batches.isEmpty) yield batches.take();
    throw problem;
  } finally {
    tape.taken();
    await window.close();
  }
  if (!batches.isEmpty) yield batches.take();
}

/** Text that the general parser is given at first, and behind a faulty value. */
const pieceBytesLeast = 1 << 12;
const pieceBytesFaulty = 1 << 8;
/** Text that is charged while it is decoded. */
const longTextBytes = 1 << 20;
/** Bytes of a value within a value, about. */
const valueBytes = 150;

/**
 * Values that are not plain. The parser gets a piece of the window, which doubles while nothing plain comes between:
 * text is decoded a few times at most, whether such values are few or all.
 */
class GeneralValues {
  private readonly tape: SupTape;
  private readonly limits: ReadLimits;
  private readonly names: TypeNames = new Map();
  private pieceBytes = pieceBytesLeast;
  /** Characters of the value that was given out last. */
  length = 0;

  constructor(tape: SupTape, limits: ReadLimits) {
    this.tape = tape;
    this.limits = limits;
  }

  /** The byte of the stream at which a fault was found. */
  reached = 0;

  /** A value was plain. */
  plain(): void {
    this.pieceBytes = pieceBytesLeast;
  }
  /** A value was faulty. */
  faulty(): void {
    this.pieceBytes = pieceBytesFaulty;
  }

  /**
   * Values from the window's start on; none if it has to grow first, or nothing but white space is left. `count`:
   * values of the stream before. Where a value is faulty the window is left at its beginning.
   */
  *next(window: LineWindow, count: number): Generator<Value> {
    for (;;) {
      const whole = this.pieceBytes >= window.end - window.start;
      this.pieceBytes *= 2;
      const end =
        whole && window.final ? window.end : lineEnd(window, whole ? window.end : window.start + this.pieceBytes / 2);
      if (end > window.start) {
        const found = yield* this.values(window, end, count);
        if (found > 0) return;
      }
      if (whole) return;
    }
  }

  private *values(window: LineWindow, end: number, count: number): Generator<Value, number> {
    const { tape, names } = this;
    const last = window.final && end === window.end;
    tape.memory.free();
    if (end - window.start > longTextBytes) tape.memory.hold(end - window.start);
    const text = bytesToText(window.bytes.subarray(window.start, end));
    const parser = new SupParser(text, {
      nestingMax: this.limits.nestingMax,
      names,
      line: tape.line,
      made: (values) => {
        tape.memory.hold(values * valueBytes);
      },
    });
    let used = 0;
    let found = 0;
    const usedUp = (): void => {
      const behind = text.slice(0, used);
      window.start += textSize(behind);
      const last = behind.lastIndexOf('\n');
      if (last < 0) return;
      for (let i = behind.indexOf('\n'); i >= 0; i = behind.indexOf('\n', i + 1)) tape.line++;
      tape.lineStart = window.offset + window.start - textSize(behind.slice(last + 1));
    };
    /** The value that was asked for is faulty. */
    const failed = (fault: LakeError): LakeError => {
      this.reached = window.offset + window.start + textSize(text.slice(0, parser.position));
      used = parser.begin;
      usedUp();
      return fault;
    };
    for (;;) {
      const value = this.parsed(parser, count + found, failed);
      if (!value) break;
      // A decorator of the last value may be on the next line.
      if (!parser.otherFollows() && !last) break;
      this.length = parser.position - used;
      used = parser.position;
      found++;
      yield value;
    }
    if (last) {
      if (parser.truncated)
        throw failed(broken(`line ${parser.line()}: unexpected end of input`, '', count + found, { cut: 'sup' }));
      used = text.length;
    }
    usedUp();
    return found;
  }

  private parsed(parser: SupParser, count: number, failed: (fault: LakeError) => LakeError): Value | undefined {
    try {
      return parser.next();
    } catch (problem) {
      if (!(problem instanceof SupError)) throw problem;
      const place = problem.message.startsWith('line ') ? '' : ` (line ${parser.line()})`;
      throw failed(broken(problem.message, place, count, {}, problem));
    }
  }
}

const broken = (
  fault: string,
  place: string,
  values: number,
  more: { readonly cut?: 'sup' },
  cause?: Error,
): LakeError => new LakeError('format-broken', { format: 'sup', fault, place, values, ...more }, cause && { cause });

/** Behind the last line break before `end`. */
const lineEnd = (window: LineWindow, end: number): number => window.bytes.lastIndexOf(0x0a, end - 1) + 1;
