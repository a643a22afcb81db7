/** Why the format that the beginning of an input shows may be another, or its values others than meant. */
import type { FormatName } from './format.types.ts';

/** A delimiter as it is shown. */
export const delimiterText = (delimiter: string): string => `'${delimiter === '\t' ? '\\t' : delimiter}'`;

/** What was seen of an input; `json`: what speaks against JSON. */
interface Seen {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
  readonly json: string | undefined;
}

/** What speaks against the format or for another meaning; the likeliest first. */
export const doubtsOf = (format: FormatName, { bytes, isWhole, json }: Seen): readonly string[] => {
  switch (format) {
    case 'json':
      return isArray(bytes)
        ? ['it begins with an array, which is one value (unnest=T: a record for each element)']
        : [];
    case 'sup':
      return json === undefined ? [] : [`if JSON was meant: ${json}`];
    case 'csv':
    case 'tsv':
      return cellDoubts(lines(bytes, isWhole), { isTsv: format === 'tsv', isWhole });
    default:
      return [];
  }
};

const isArray = (bytes: Uint8Array): boolean => /^\ufeff?\s*\[/.test(text(bytes));

const cellDoubts = (
  all: readonly string[],
  { isTsv, isWhole }: { readonly isTsv: boolean; readonly isWhole: boolean },
): readonly string[] => {
  const [header = '', ...rows] = all;
  const delimiters = isTsv ? ['\t'] : [',', ';', '|', '\t'];
  const times = (line: string, delimiter: string): number => line.split(delimiter).length - 1;
  const taken = delimiters.find((one) => header.includes(one)) ?? ',';
  const other = delimiters.find((one) => one !== taken && times(header, one) > times(header, taken));
  let isQuoted = false;
  const ragged = rows.findIndex((row) => {
    // What is in quotes says nothing, over whatever lines it goes.
    if (!isQuoted && !row.includes('"')) return times(row, taken) !== times(header, taken);
    isQuoted = (times(row, '"') % 2 === 1) !== isQuoted;
    return false;
  });
  const names = header.split(taken);
  return [
    ...(rows.length === 0 && isWhole ? ['there is one line alone, which is taken for the names of the columns'] : []),
    ...(other === undefined ? [] : [`the first line has ${delimiterText(other)} more often (csv.delim)`]),
    ...(ragged < 0 || header.includes('"') ? [] : [`line ${ragged + 2} has another number of cells than the first`]),
    ...(names.length > 1 && names.every((name) => /^\s*-?[\d.]+\s*$/.test(name))
      ? ['the first line has numbers alone, and is taken for the names of the columns (csv.header=0: there are none)']
      : []),
  ];
};

/** Lines that are not empty and not cut; so many at most. */
const linesMax = 50;
const lines = (bytes: Uint8Array, isWhole: boolean): readonly string[] => {
  const all = text(bytes).split(/\r?\n/);
  if (!isWhole) all.pop();
  return all.filter((line) => line !== '').slice(0, linesMax);
};

/** The kind of file that no reader takes and that its first bytes show; undefined: none that is known. */
export const foreignFile = (bytes: Uint8Array): string | undefined => {
  const known = marks.find(({ mark }) => mark.every((byte, i) => bytes[i] === byte));
  return known && `it begins like ${known.name}`;
};
/** What may be done about an input that no reader takes. */
export const unreadHint = (bytes: Uint8Array): string => {
  const foreign = foreignFile(bytes);
  if (foreign !== undefined) return foreign;
  if (bytes.includes(0)) return 'it is no text, and none of the binary formats that are read';
  const [first = ''] = text(bytes).split('\n', 1);
  if (/^\s*[{[]/.test(first)) return 'it begins like JSON or SUP: see what json and sup complain of';
  return 'text without a structure is loaded line by line as format line (application/x-line)';
};
const marks = [
  { name: 'a ZIP file, as spreadsheets are (.xlsx)', mark: [0x50, 0x4b, 0x03, 0x04] },
  { name: 'a SQLite database', mark: [...Buffer.from('SQLite format 3')] },
  { name: 'Avro', mark: [0x4f, 0x62, 0x6a, 0x01] },
  { name: 'ORC', mark: [0x4f, 0x52, 0x43] },
  { name: 'bzip2', mark: [0x42, 0x5a, 0x68] },
  { name: 'xz', mark: [0xfd, 0x37, 0x7a, 0x58, 0x5a] },
  { name: 'PDF', mark: [0x25, 0x50, 0x44, 0x46] },
  { name: 'zstd, which a body says by Content-Encoding: zstd', mark: [0x28, 0xb5, 0x2f, 0xfd] },
] as const;

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
