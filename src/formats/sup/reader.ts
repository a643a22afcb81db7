/**
 * Reads SUP values from a stream of text: plain ones straight from bytes into builders (tape.ts), all others by the
 * general parser. Names that a value defines hold for the values after it.
 */
import { LakeError } from '../../errors.ts';
import { SupParser } from '../../vectors/sup/parse.ts';
import { SupError } from '../../vectors/sup/error.ts';
import type { TypeNames } from '../../vectors/type.ts';
import { bytesToText, textSize } from '../../vectors/text-codec.ts';
import type { Value } from '../../vectors/value.ts';
import type { Vector } from '../../vectors/vector.ts';
import { Batches } from '../batches.ts';
import { ByteWindow } from '../byte-window.ts';
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
  const general = new GeneralValues(window, tape, limits);
  const turns = new ReaderTurns(options);
  const scan = (): ReturnType<SupTape['next']> => tape.next(window);
  const write = (): void => {
    writeValue(tape, batches.begin());
    batches.end(tape.textLength);
  };
  try {
    while (await window.more()) {
      turns.filled(window);
      for (let state = turns.run(scan); state === 'value' || state === 'other'; state = turns.run(scan)) {
        if (state === 'value') {
          turns.run(write);
          general.plain();
          if (batches.isFull) yield batches.take();
        } else {
          let values = 0;
          const found = general.next(batches.rows);
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
          if (values === 0) break;
        }
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

/** Text that the general parser is given at first. */
const pieceBytesLeast = 1 << 12;
/** Text that is charged while it is decoded. */
const longTextBytes = 1 << 20;
/** Bytes of a value within a value, about. */
const valueBytes = 150;

/**
 * Values that are not plain. The parser gets a piece of the window, which doubles while nothing plain comes between:
 * text is decoded a few times at most, whether such values are few or all.
 */
class GeneralValues {
  private readonly window: ByteWindow;
  private readonly tape: SupTape;
  private readonly limits: ReadLimits;
  private readonly names: TypeNames = new Map();
  private pieceBytes = pieceBytesLeast;
  /** Characters of the value that was given out last. */
  length = 0;

  constructor(window: ByteWindow, tape: SupTape, limits: ReadLimits) {
    this.window = window;
    this.tape = tape;
    this.limits = limits;
  }

  /** A value was plain. */
  plain(): void {
    this.pieceBytes = pieceBytesLeast;
  }

  /**
   * Values from the window's start on; none if it has to grow first, or nothing but white space is left. `count`:
   * values of the stream before.
   */
  *next(count: number): Generator<Value> {
    const { window } = this;
    for (;;) {
      const whole = this.pieceBytes >= window.end - window.start;
      this.pieceBytes *= 2;
      const end =
        whole && window.final ? window.end : lineEnd(window, whole ? window.end : window.start + this.pieceBytes / 2);
      if (end > window.start) {
        const found = yield* this.values(end, count);
        if (found > 0) return;
      }
      if (whole) return;
    }
  }

  private *values(end: number, count: number): Generator<Value, number> {
    const { window, tape, names } = this;
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
      window.start += textSize(text.slice(0, used));
      for (let i = text.indexOf('\n'); i >= 0 && i < used; i = text.indexOf('\n', i + 1)) tape.line++;
    };
    for (;;) {
      const value = this.parsed(parser, count + found);
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
        throw broken(`line ${parser.line()}: unexpected end of input`, '', count + found, { cut: 'sup' });
      used = text.length;
    }
    usedUp();
    return found;
  }

  private parsed(parser: SupParser, count: number): Value | undefined {
    try {
      return parser.next();
    } catch (problem) {
      if (!(problem instanceof SupError)) throw problem;
      throw broken(
        problem.message,
        problem.message.startsWith('line ') ? '' : ` (line ${parser.line()})`,
        count,
        {},
        problem,
      );
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
const lineEnd = (window: ByteWindow, end: number): number => window.bytes.lastIndexOf(0x0a, end - 1) + 1;
