/**
 * What the formats are called, under which media types and endings they are found, and where they can be chosen. The
 * one list of them: options, formats, the console and documents read it. Imports nothing.
 *
 * Another format is a row here and one in `src/formats/formats.ts`, which has what reads and writes it. Both clients
 * import nothing of the service: their lists of media types are compared with this one by test/unit/formats.
 */

/** What is known of a format without reading or writing it. */
export interface FormatFacts {
  /** As the documents spell it. */
  readonly title: string;
  /** The first is sent; the others are taken too. None: not to be had by HTTP. */
  readonly mediaTypes: readonly string[];
  /** Endings of file names with the dot. */
  readonly endings: readonly string[];
  /** The ending of a file that is written in it. Default: the first of `endings`, else the name. */
  readonly savedAs?: string;
  /** Its bytes are no text, and tell by themselves when they are of something else. */
  readonly isBinary?: true;
  /** All rows of an answer have one record type. */
  readonly hasOneType?: true;
  /** A row a line, so that a last one that was cut does not show it. */
  readonly isRowALine?: true;
  /** Its lines are read with those at the beginning, which say what they are. */
  readonly hasHeader?: true;
  /** Rows of cells: texts stand for arrays and records. */
  readonly hasCells?: true;
  /** Bodies of its media types are read as those of this format. */
  readonly readAs?: string;
  /** Every text can be read as it: a file's name says little. */
  readonly takesAnyText?: true;
  /** Makes sense in a terminal: a mode of the shell. */
  readonly inTerminal?: true;
}

/** The media type of Arrow's file format; its stream is the format's own. */
export const arrowFileType = 'application/vnd.apache.arrow.file';

/** The formats by their names, in the order in which they are listed. */
export const formatFacts = {
  arrows: {
    title: 'Arrow IPC Stream',
    mediaTypes: ['application/vnd.apache.arrow.stream', arrowFileType],
    endings: [],
    isBinary: true,
    hasOneType: true,
  },
  bsup: { title: 'BSUP', mediaTypes: ['application/x-bsup'], endings: ['.bsup'], isBinary: true },
  csup: { title: 'CSUP', mediaTypes: ['application/x-csup'], endings: ['.csup'], isBinary: true },
  csv: {
    title: 'CSV',
    mediaTypes: ['text/csv'],
    endings: ['.csv'],
    hasOneType: true,
    isRowALine: true,
    hasHeader: true,
    hasCells: true,
    inTerminal: true,
  },
  db: { title: 'db', mediaTypes: [], endings: [] },
  json: {
    title: 'JSON',
    mediaTypes: ['application/json'],
    endings: ['.json', '.jsonl', '.ndjson'],
    inTerminal: true,
  },
  jsup: { title: 'JSUP', mediaTypes: ['application/x-jsup', 'application/x-zjson'], endings: ['.jsup'] },
  line: {
    title: 'Line',
    mediaTypes: ['application/x-line'],
    endings: ['.text', '.txt'],
    savedAs: '.txt',
    isRowALine: true,
    takesAnyText: true,
    inTerminal: true,
  },
  ndjson: {
    title: 'NDJSON',
    mediaTypes: [
      'application/x-ndjson',
      'application/ndjson',
      'application/jsonl',
      'application/x-jsonlines',
      'application/json-seq',
    ],
    endings: [],
    readAs: 'json',
  },
  parquet: {
    title: 'Parquet',
    mediaTypes: ['application/x-parquet', 'application/vnd.apache.parquet'],
    endings: ['.parquet'],
    isBinary: true,
    hasOneType: true,
  },
  sup: { title: 'SUP', mediaTypes: ['application/x-sup'], endings: ['.sup'], inTerminal: true },
  table: { title: 'table', mediaTypes: [], endings: [], inTerminal: true },
  tsv: {
    title: 'TSV',
    mediaTypes: ['text/tab-separated-values', 'text/tsv'],
    endings: ['.tsv'],
    hasOneType: true,
    isRowALine: true,
    hasHeader: true,
    hasCells: true,
    inTerminal: true,
  },
  zeek: {
    title: 'Zeek',
    mediaTypes: ['application/x-zeek'],
    endings: [],
    savedAs: '.log',
    isRowALine: true,
    hasHeader: true,
    inTerminal: true,
  },
} as const satisfies Readonly<Record<string, FormatFacts>>;

type Formats = typeof formatFacts;
/** Every format that has a name, those that are only written included. */
export type FormatName = keyof Formats;
/** A format that an answer by HTTP can have. */
export type ResponseFormatName = {
  [N in FormatName]: Formats[N]['mediaTypes'] extends readonly [] ? never : N;
}[FormatName];
/** A format that results can have in a terminal. */
export type TerminalFormatName = {
  [N in FormatName]: Formats[N] extends { readonly inTerminal: true } ? N : never;
}[FormatName];

const facts: Readonly<Record<FormatName, FormatFacts>> = formatFacts;
/** Whether a format has this name. */
export const isFormatName = (name: string): name is FormatName => Object.hasOwn(facts, name);
/** All of them. */
export const formatNames: readonly FormatName[] = Object.keys(facts).filter(isFormatName);
/** The ending of a file that is written in this format, with its dot. */
export const endingOf = (name: FormatName): string => facts[name].savedAs ?? facts[name].endings[0] ?? `.${name}`;
/** A format that a body sent by HTTP can have: what is read as another is that. */
export type RequestFormatName = {
  [N in ResponseFormatName]: Formats[N] extends { readonly readAs: string } ? never : N;
}[ResponseFormatName];
const isRequestFormat = (name: ResponseFormatName): name is RequestFormatName => facts[name].readAs === undefined;
/** What a format is called, with those that are read as it. */
export const titleOf = (name: FormatName): string =>
  [name, ...formatNames.filter((other) => facts[other].readAs === name)].map((each) => facts[each].title).join(', ');
/** Whether all rows of an answer in it have one record type. */
export const hasOneType = (name: FormatName): boolean => facts[name].hasOneType === true;
/** Whether its bytes are no text. */
export const isBinaryFormat = (name: FormatName): boolean => facts[name].isBinary === true;
/** Those that an answer by HTTP can have. */
export const responseFormats: readonly ResponseFormatName[] = formatNames.filter(
  (name): name is ResponseFormatName => facts[name].mediaTypes.length > 0,
);
/** Those that a body sent by HTTP can have. */
export const requestFormats: readonly RequestFormatName[] = responseFormats.filter(isRequestFormat);
/** The format that a file's name says, without the ending of gzip; undefined where its content has to be looked at. */
export const formatOfName = (path: string): RequestFormatName | undefined => {
  const name = path.toLowerCase().replace(/\.gz$/, '');
  return requestFormats.find(
    (format) =>
      !facts[format].takesAnyText && [...facts[format].endings, `.${format}`].some((ending) => name.endsWith(ending)),
  );
};
/** Whether results can have the format of this name in a terminal. */
export const isTerminalFormat = (name: string): name is TerminalFormatName =>
  isFormatName(name) && facts[name].inTerminal === true;
/** Those that results can have in a terminal. */
export const terminalFormats: readonly TerminalFormatName[] = formatNames.filter(isTerminalFormat);
