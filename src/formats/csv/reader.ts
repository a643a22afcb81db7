/** Reads CSV and TSV: a header line, then a record a line, cells typed by what they look like; other dialects as said. */
import { LakeError } from '../../errors.ts';
import type { ReadOptions } from '../format.types.ts';
import type { Vector } from '../../vectors/vector.ts';
import { beginningBytesMax, beginningOf } from './dialect.ts';
import { readDialect } from './dialect-rows.ts';
import { readDelimited } from './rows.ts';

/**
 * One character that can stand between cells: no quote, no line break. U+FFFD is what became of bytes that are no
 * UTF-8.
 */
export const isDelimiter = (text: string): boolean => Array.from(text).length === 1 && !/["\r\n\ufffd]/.test(text);

/** @throws LakeError `format-broken` naming the record's line */
export async function* readCsv(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const { csvDelimiter: said, csv: dialect } = options;
  if (said !== undefined && !isDelimiter(said))
    throw new LakeError('format-broken', { format: 'csv', fault: 'invalid field delimiter', place: '', values: 0 });
  const ahead = said === undefined ? await Ahead.of(input) : undefined;
  // Lines before the header may have anything.
  const begun = dialect?.skip === undefined ? ahead?.beginning : undefined;
  const delimiter = said ?? begun?.delimiter ?? ',';
  const rest = ahead?.behind(begun?.skipped ?? 0) ?? input;
  const lines = begun && begun.skipped > 0 ? 1 : 0;
  if (dialect) yield* readDialect(rest, options, { format: 'csv', delimiter, dialect });
  else yield* readDelimited(rest, options, { format: 'csv', delimiter }, lines);
}

/** @throws LakeError `format-broken` naming the record's line */
export const readTsv = (input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> => {
  const { csv: dialect } = options;
  return dialect
    ? readDialect(input, options, { format: 'tsv', delimiter: '\t', dialect })
    : readDelimited(input, options, { format: 'tsv', delimiter: '\t' });
};

/** An input whose beginning was looked at. */
class Ahead {
  readonly #taken: readonly Uint8Array[];
  readonly #rest: AsyncIterator<Uint8Array>;
  readonly #isWhole: boolean;
  private constructor(taken: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>, isWhole: boolean) {
    this.#taken = taken;
    this.#rest = rest;
    this.#isWhole = isWhole;
  }

  /** Reads until there is enough for a look; a first chunk with lines is. */
  static async of(input: AsyncIterable<Uint8Array>): Promise<Ahead> {
    const rest = input[Symbol.asyncIterator]();
    const taken: Uint8Array[] = [];
    for (let length = 0; length < beginningBytesMax; ) {
      const next = await rest.next();
      if (next.done) return new Ahead(taken, rest, true);
      taken.push(next.value);
      length += next.value.length;
      if (length >= fewBytes && next.value.includes(0x0a)) break;
    }
    return new Ahead(taken, rest, false);
  }

  get beginning(): ReturnType<typeof beginningOf> {
    const [first = new Uint8Array(0), ...more] = this.#taken;
    return beginningOf(more.length === 0 ? first : Buffer.concat(this.#taken), this.#isWhole);
  }

  /** All of it but its first bytes. */
  async *behind(bytes: number): AsyncGenerator<Uint8Array> {
    let skipped = bytes;
    try {
      for (const chunk of this.#taken) {
        if (skipped >= chunk.length) skipped -= chunk.length;
        else {
          yield skipped === 0 ? chunk : chunk.subarray(skipped);
          skipped = 0;
        }
      }
      for (;;) {
        const next = await this.#rest.next();
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await this.#rest.return?.();
    }
  }
}
const fewBytes = 4096;
