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
  const ahead = await Ahead.of(input, options.isCut);
  // Lines before the header may have anything.
  const begun = said === undefined && dialect?.skip === undefined ? ahead.beginning : undefined;
  yield* readAhead(ahead, options, { format: 'csv', delimiter: said ?? begun?.delimiter ?? ',' }, begun?.skipped ?? 0);
}

/** @throws LakeError `format-broken` naming the record's line */
export async function* readTsv(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  yield* readAhead(await Ahead.of(input, options.isCut), options, { format: 'tsv', delimiter: '\t' }, 0);
}

const readAhead = (
  ahead: Ahead,
  options: ReadOptions,
  kind: { readonly format: 'csv' | 'tsv'; readonly delimiter: string },
  skipped: number,
): AsyncGenerator<Vector> => {
  const { csv: dialect } = options;
  const { lineEnd } = ahead;
  const rest = ahead.behind(skipped);
  return dialect || lineEnd === '\r'
    ? readDialect(rest, options, { ...kind, dialect: dialect ?? {}, lineEnd })
    : readDelimited(rest, options, kind, skipped > 0 ? 1 : 0);
};

/** An input whose beginning was looked at. */
class Ahead {
  private readonly taken: readonly Uint8Array[];
  private readonly rest: AsyncIterator<Uint8Array>;
  private readonly isWhole: boolean;
  private constructor(taken: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>, isWhole: boolean) {
    this.taken = taken;
    this.rest = rest;
    this.isWhole = isWhole;
  }

  /** Reads until there is enough for a look; a first chunk with lines is. `isCut`: the input ends before its time. */
  static async of(input: AsyncIterable<Uint8Array>, isCut = false): Promise<Ahead> {
    const rest = input[Symbol.asyncIterator]();
    const taken: Uint8Array[] = [];
    for (let length = 0; length < beginningBytesMax; ) {
      const next = await rest.next();
      if (next.done) return new Ahead(taken, rest, !isCut);
      taken.push(next.value);
      length += next.value.length;
      if (length >= fewBytes && next.value.includes(0x0a)) break;
    }
    return new Ahead(taken, rest, false);
  }

  get beginning(): ReturnType<typeof beginningOf> {
    const bytes = this.bytes;
    return beginningOf(this.lineEnd === '\r' ? bytes.map((b) => (b === 0x0d ? 0x0a : b)) : bytes, this.isWhole);
  }
  /** What ends lines: as old Macs wrote them, and Excel still does when asked, a carriage return alone. */
  get lineEnd(): '\n' | '\r' {
    if (this.taken.some((chunk) => chunk.includes(0x0a))) return '\n';
    const at = this.bytes.indexOf(0x0d);
    // The last byte may be the first half of both.
    return at >= 0 && (this.isWhole || at < this.bytes.length - 1) ? '\r' : '\n';
  }
  private get bytes(): Uint8Array {
    const [first = new Uint8Array(0), ...more] = this.taken;
    return more.length === 0 ? first : Buffer.concat(this.taken);
  }

  /** All of it but its first bytes. */
  async *behind(bytes: number): AsyncGenerator<Uint8Array> {
    let skipped = bytes;
    try {
      for (const chunk of this.taken) {
        if (skipped >= chunk.length) skipped -= chunk.length;
        else {
          yield skipped === 0 ? chunk : chunk.subarray(skipped);
          skipped = 0;
        }
      }
      for (;;) {
        const next = await this.rest.next();
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await this.rest.return?.();
    }
  }
}
const fewBytes = 4096;
