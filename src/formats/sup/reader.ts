/** Reads SUP values one by one from a stream of text. Names that a value defines hold for the values after it. */
import { LakeError } from '../../errors.ts';
import { Builder } from '../../vectors/builder.ts';
import { SupParser } from '../../vectors/sup-parse.ts';
import { SupError } from '../../vectors/sup-error.ts';
import type { TypeNames } from '../../vectors/type.ts';
import type { Value } from '../../vectors/value.ts';
import type { Vector } from '../../vectors/vector.ts';
import { type ReadLimits, type ReadOptions, readLimits } from '../format.types.ts';

/** Batches of the values of a SUP stream. @throws LakeError `format-broken`, after giving out what came before */
export async function* readSup(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const limits = readLimits(options);
  const text = new SupText(limits);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let builder = new Builder();
  const full = function* (values: Iterable<Value>): Generator<Vector> {
    for (const value of values) {
      builder.append(value);
      if (builder.length < limits.batchRows) continue;
      yield builder.finish();
      builder = new Builder();
    }
  };
  try {
    for await (const chunk of input) yield* full(text.values(decoder.decode(chunk, { stream: true }), false));
    yield* full(text.values(decoder.decode(), true));
  } catch (problem) {
    if (builder.length > 0) yield builder.finish();
    throw problem;
  }
  if (builder.length > 0) yield builder.finish();
}

/** The text that no value has used up yet. */
class SupText {
  private readonly limits: ReadLimits;
  private readonly names: TypeNames = new Map();
  private pending = '';
  private line = 1;
  private count = 0;
  /** Text below this length was tried and is cut; a long value is tried again only when twice as much is there. */
  private least = 0;

  constructor(limits: ReadLimits) { this.limits = limits; }

  /** Values that are whole now. Only text up to a line break is read before the end, so that no word or string is cut. */
  *values(more: string, final: boolean): Generator<Value> {
    this.pending += more;
    if (!final && this.pending.length < this.least) return;
    const end = final ? this.pending.length : this.pending.lastIndexOf('\n') + 1;
    if (end > 0) {
      let used = 0;
      try {
        used = yield* this.parsed(this.pending.slice(0, end), final);
      } finally {
        this.pending = this.pending.slice(used);
      }
    }
    this.least = this.pending.length * 2;
    if (this.pending.length > this.limits.valueBytesMax) {
      throw new LakeError('format-limit', { format: 'sup', what: 'a single value', limit: this.limits.valueBytesMax, place: ` (line ${this.line})` });
    }
  }

  /** Returns how much of the text is used up. */
  private *parsed(text: string, final: boolean): Generator<Value, number> {
    const parser = new SupParser(text, { nestingMax: this.limits.nestingMax, names: this.names, line: this.line });
    let used = 0;
    for (;;) {
      const value = this.next(parser);
      if (!value) break;
      // A decorator of the last value may be on the next line.
      if (!parser.otherFollows() && !final) break;
      used = parser.position;
      this.count++;
      yield value;
    }
    if (final && parser.truncated) {
      throw new LakeError('format-broken', { format: 'sup', fault: `line ${parser.line()}: unexpected end of input`, place: '', values: this.count, cut: 'sup' });
    }
    for (let i = text.indexOf('\n'); i >= 0 && i < used; i = text.indexOf('\n', i + 1)) this.line++;
    return used;
  }

  private next(parser: SupParser): Value | undefined {
    try {
      return parser.next();
    } catch (problem) {
      if (!(problem instanceof SupError)) throw problem;
      const place = problem.message.startsWith('line ') ? '' : ` (line ${parser.line()})`;
      throw new LakeError('format-broken', { format: 'sup', fault: problem.message, place, values: this.count }, { cause: problem });
    }
  }
}
