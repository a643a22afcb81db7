/**
 * Dialects of CSV: what a client says of one, and what the first lines show.
 *
 * The reader of bytes (rows.ts) reads the plain dialect with any delimiter; whatever else is said is read by csv-parse
 * (dialect-rows.ts).
 */
import { type PrimitiveType, types } from '../../vectors/type.ts';

/** What is said of a dialect; absent: as in the plain one. It can be cloned between threads. */
export interface CsvDialect {
  /** Empty: quotes are text. */
  readonly quote?: string;
  readonly escape?: string;
  readonly comment?: string;
  /** Lines before the header. */
  readonly skip?: number;
  /** Lines of the header; 0: columns are named by their place. */
  readonly header?: number;
  readonly names?: 'number';
  readonly ragged?: 'fill' | 'wrap';
  readonly decimalComma?: true;
  readonly nulls?: readonly string[];
  /** Of all columns, or by name. */
  readonly types?: 'none' | readonly (readonly [column: string, type: ColumnType])[];
}

/** Types that a column may be said to have; the pattern of the parameter lists them too. */
export const columnTypes = {
  string: types.string,
  bool: types.bool,
  int64: types.int64,
  uint64: types.uint64,
  float64: types.float64,
  time: types.time,
  duration: types.duration,
  ip: types.ip,
  net: types.net,
} as const satisfies Readonly<Record<string, PrimitiveType>>;
export type ColumnType = keyof typeof columnTypes;

/**
 * The dialect that parameters tell of (names as in config/csv.ts, their patterns checked); undefined where it is the
 * plain one.
 */
export const dialectOf = (given: Readonly<Record<string, string | undefined>>): CsvDialect | undefined => {
  const of = (name: string): string | undefined => given[name];
  const quote = of('csv.quote') ?? '"';
  const escape = of('csv.escape') ?? quote;
  const comment = of('csv.comment');
  const skip = Number(of('csv.skip') ?? 0);
  const header = Number(of('csv.header') ?? 1);
  const ragged = of('csv.ragged');
  const nulls = of('csv.null');
  const columns = of('types');
  const dialect: CsvDialect = {
    ...(quote !== '"' && { quote: quote === 'none' ? '' : quote }),
    ...(escape !== quote && { escape }),
    ...(comment !== undefined && { comment }),
    ...(skip > 0 && { skip }),
    ...(header !== 1 && { header }),
    ...(of('csv.names') === 'number' && { names: 'number' }),
    ...((ragged === 'fill' || ragged === 'wrap') && { ragged }),
    ...(of('csv.decimal') === ',' && { decimalComma: true }),
    ...(nulls !== undefined && { nulls: nulls.split(',') }),
    ...(columns !== undefined && { types: columns === 'none' ? 'none' : typesOf(columns) }),
  };
  return Object.keys(dialect).length === 0 ? undefined : dialect;
};

const typesOf = (text: string): readonly (readonly [string, ColumnType])[] =>
  text.split(',').map((pair) => {
    const equals = pair.lastIndexOf('=');
    return [pair.slice(0, equals), pair.slice(equals + 1) as ColumnType];
  });

/** Delimiters that a file may have without saying so, the likeliest first. */
const guessed = [',', ';', '\t', '|'] as const;
/** So much of an input is looked at. */
export const beginningBytesMax = 64 << 10;
const linesMax = 50;

/** Text without the cells that are in quotes, which may go over several lines. A quote that stands within a cell is text. */
const withoutQuoted = (text: string): { readonly plain: string; readonly open: number } => {
  const pieces: string[] = [];
  let from = 0;
  for (let open = text.indexOf('"'); open >= 0; open = text.indexOf('"', open + 1)) {
    if (!/(?:^|[\n,;\t|])[ \r]*$/.test(text.slice(Math.max(0, open - blanksMax), open))) continue;
    const end = closingQuote(text, open);
    if (end < 0) {
      const before = pieces.join('') + text.slice(from, open);
      return { plain: before + text.slice(open), open: before.length };
    }
    pieces.push(text.slice(from, open));
    from = end + 1;
    open = end;
  }
  pieces.push(text.slice(from));
  return { plain: pieces.join(''), open: -1 };
};
/** Blanks before a quote that begins a cell. */
const blanksMax = 32;
/** Where the cell ends that begins with a quote at `open`; a quote in it is doubled, or behind a backslash. -1: nowhere. */
const closingQuote = (text: string, open: number): number => {
  for (let at = open + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') {
      if (text[at + 1] !== '"') return at;
      at++;
    }
  }
  return -1;
};

/** What the beginning of an input shows; `skipped`: bytes of a line that only says the delimiter. */
export interface Beginning {
  readonly delimiter: string;
  readonly skipped: number;
}

/**
 * The delimiter that the first lines show: that of a line `sep=;`; else a comma where the header has one, else the one
 * that all lines have equally often; undefined: none shows.
 */
export const beginningOf = (bytes: Uint8Array, isWhole: boolean): Beginning | undefined => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, beginningBytesMax)).toString(
    'latin1',
  );
  const said = /^(?:\xef\xbb\xbf)?"?sep=([^\r\n"])"?\r?\n/i.exec(text);
  if (said) return { delimiter: said[1], skipped: said[0].length };
  const { plain, open } = withoutQuoted(text);
  // A quote that nobody closes is text, or what it opens is cut off.
  const shown = isWhole || open < 0 ? undefined : shownBy(plain.slice(0, open), 'cell');
  const delimiter = shown ?? shownBy(plain, isWhole ? 'nothing' : 'line');
  return delimiter === undefined ? undefined : { delimiter, skipped: 0 };
};
/** The delimiter that these lines show; what is cut of the last one. */
const shownBy = (text: string, cut: 'nothing' | 'line' | 'cell'): string | undefined => {
  const lines = text.split('\n');
  // What is cut off says nothing, save that there is no more of it before the cut than there should be.
  const last = cut === 'nothing' && lines.at(-1) !== '' ? undefined : lines.pop();
  const [header, ...rows] = lines.slice(0, linesMax);
  if (header === undefined) return undefined;
  if (header.includes(',')) return ',';
  const filled = rows.filter((row) => row.trim() !== '');
  const count = (line: string, delimiter: string): number => line.split(delimiter).length - 1;
  return guessed.find((one) => {
    const times = count(header, one);
    const ofLast = last === undefined ? 0 : count(last, one);
    const isShown = filled.length > 0 || (ofLast <= times && (cut === 'cell' || ofLast > 0));
    return times > 0 && isShown && filled.every((row) => count(row, one) === times);
  });
};
