/**
 * The table of formats: readers and writers by the names of `src/format-names.ts`. A format without a reader is known
 * by name and media type, and asking for it is an error that says so.
 */
import { LakeError } from '../errors.ts';
import { formatFacts } from '../format-names.ts';
import type { Vector } from '../vectors/vector.ts';
import type { BlockParser } from './blocks.ts';
import type { FaultRule } from './faults/faults.ts';
import type {
  BlockSetup,
  Detection,
  Format,
  FormatName,
  IngestName,
  InputName,
  ReadOptions,
  Reader,
  WholeReader,
  WriteOptions,
  Writer,
} from './format.types.ts';
import { detectFormat, detectionText } from './detect.ts';
import { CodedBytes } from './codings/coded-bytes.ts';
import { ValidText, refusingText, refusingVectors } from './utf8.ts';
import { asUtf8 } from './codings/charset.ts';
import { decoded, gunzipped } from './codings/encoding.ts';
import { LookAhead } from './look-ahead.ts';
import { BodyCursor, bodiesOf } from './bsup/bodies.ts';
import { probeArrows, readArrows } from './arrows/reader.ts';
import { createArrowsWriter } from './arrows/writer.ts';
import { readBsup } from './bsup/reader.ts';
import { createBsupWriter } from './bsup/writer.ts';
import { csupReader, probeCsup } from './csup/reader.ts';
import { csupWriter } from './csup/writer.ts';
import { readCsv, readTsv } from './csv/reader.ts';
import { delimitedBlocks } from './csv/rows.ts';
import { createCsvWriter } from './csv/writer.ts';
import { createDbWriter } from './db/writer.ts';
import { jsonBlocks, readJson, readWholeJson } from './json/reader.ts';
import { createJsonWriter } from './json/writer.ts';
import { readJsup } from './jsup/reader.ts';
import { createJsupWriter } from './jsup/writer.ts';
import { readLines } from './line/reader.ts';
import { otlpReader, otlpWhole } from './otlp/reader.ts';
import { createLineWriter } from './line/writer.ts';
import { probeParquet, readParquet } from './parquet/reader.ts';
import { createParquetWriter } from './parquet/writer.ts';
import { readSup } from './sup/reader.ts';
import { createSupWriter } from './sup/writer.ts';
import { createTableWriter } from './table/writer.ts';
import { readZeek } from './zeek/reader.ts';
import { createZeekWriter } from './zeek/writer.ts';

export { arrowFileType, formatNames, isFormatName } from '../format-names.ts';
export type {
  ControlMessage,
  Detection,
  Format,
  FormatLimits,
  FormatName,
  IngestName,
  InputName,
  ReadOptions,
  Reader,
  WriteOptions,
  Writer,
} from './format.types.ts';

/** How an input is read. */
interface Input {
  readonly reader: Reader;
  /** Reads a small body that is there as a whole (`WholeReader`). */
  readonly whole?: WholeReader;
}

/** CSUP has BSUP inside. */
const bsupParts = {
  read: readBsup,
  createWriter: createBsupWriter,
  bodiesOf,
  bodies: (...of: ConstructorParameters<typeof BodyCursor>) => new BodyCursor(...of),
};

/** A row's beginning: the format's name, and what is known of it elsewhere too. */
const named = <N extends FormatName>(name: N) => ({ name, ...formatFacts[name] });

const formats = {
  arrows: {
    ...named('arrows'),
    recordsOnly: true,
    fusesSelect: 'gathered',
    hasTypeAlone: true,
    probe: probeArrows,
    reader: readArrows,
    writer: createArrowsWriter,
  },
  bsup: {
    ...named('bsup'),
    control: true,
    reader: readBsup,
    writer: createBsupWriter,
  },
  csup: {
    ...named('csup'),
    reader: csupReader(bsupParts),
    probe: probeCsup,
    writer: csupWriter(bsupParts),
  },
  csv: {
    ...named('csv'),
    goesOn: true,
    recordsOnly: true,
    reader: readCsv,
    writer: (options) => createCsvWriter(options),
  },
  db: { ...named('db'), writer: createDbWriter },
  json: {
    ...named('json'),
    goesOn: true,
    reader: readJson,
    whole: readWholeJson,
    writer: createJsonWriter,
  },
  jsup: {
    ...named('jsup'),
    goesOn: true,
    control: true,
    reader: readJsup,
    writer: createJsupWriter,
  },
  line: {
    ...named('line'),
    goesOn: true,
    reader: readLines,
    writer: createLineWriter,
  },
  ndjson: {
    ...named('ndjson'),
    writer: (options) => createJsonWriter({ ...options, pretty: 0, httpArray: false }),
  },
  parquet: {
    ...named('parquet'),
    recordsOnly: true,
    fusesSelect: 'always',
    hasTypeAlone: true,
    probe: probeParquet,
    reader: readParquet,
    writer: createParquetWriter,
  },
  sup: {
    ...named('sup'),
    goesOn: true,
    reader: readSup,
    writer: createSupWriter,
  },
  table: { ...named('table'), writer: createTableWriter },
  tsv: {
    ...named('tsv'),
    goesOn: true,
    recordsOnly: true,
    reader: readTsv,
    writer: (options) => createCsvWriter({ ...options, csvDelimiter: '\t' }),
  },
  zeek: {
    ...named('zeek'),
    goesOn: true,
    recordsOnly: true,
    reader: readZeek,
    writer: createZeekWriter,
  },
} as const satisfies Record<FormatName, Format>;

const otlp = (...form: Parameters<typeof otlpReader>): Input => ({
  reader: otlpReader(...form),
  whole: otlpWhole(...form),
});
/** Each tells by itself when its bytes are of something else, and is read in UTF-8 alone. */
const ingestTable: Readonly<Record<IngestName, Input>> = {
  'otlp-logs': otlp({ signal: 'logs', encoding: 'protobuf' }),
  'otlp-logs-json': otlp({ signal: 'logs', encoding: 'json' }),
  'otlp-traces': otlp({ signal: 'traces', encoding: 'protobuf' }),
  'otlp-traces-json': otlp({ signal: 'traces', encoding: 'json' }),
  'otlp-metrics': otlp({ signal: 'metrics', encoding: 'protobuf' }),
  'otlp-metrics-json': otlp({ signal: 'metrics', encoding: 'json' }),
};
/** The names of what is read of shippers. */
export const ingestNames = Object.keys(ingestTable) as readonly IngestName[];
/** Whether one of them is this name. */
export const isIngestName = (name: string): name is IngestName => Object.hasOwn(ingestTable, name);
/** The same as a whole, where it can be. */
export const wholeReaderOf = (name: InputName): WholeReader | undefined =>
  (isIngestName(name) ? ingestTable[name] : formatTable[name]).whole;
const isBinaryInput = (name: InputName): boolean => isIngestName(name) || formatTable[name].isBinary === true;

/** The rows by name. */
export const formatTable: Readonly<Record<FormatName, Format>> = formats;

const byMediaType: ReadonlyMap<string, Format> = new Map(
  Object.values(formatTable).flatMap((f) => f.mediaTypes.map((type) => [type, f] as const)),
);
/** The format of a media type (lower case, no parameters), or undefined. */
export const formatOfMediaType = (type: string): Format | undefined => byMediaType.get(type);

/** The media type that answers in this format carry. */
export const mediaTypeOf = (name: FormatName): string => formatTable[name].mediaTypes[0] ?? 'text/plain';

/**
 * The Content-Type under which bodies of this format are sent; undefined for formats that are never sent. NDJSON goes
 * as JSON.
 */
export const requestMediaType = (name: FormatName): string | undefined =>
  formatTable[name].readAs ? requestMediaType(formatTable[name].readAs) : formatTable[name].mediaTypes[0];

/** The format that a file's ending names, or undefined. */
export const formatOfFile = (path: string): FormatName | undefined =>
  Object.values(formatTable).find((f) => f.endings.some((ending) => path.toLowerCase().endsWith(ending)))?.name;

/**
 * Batches of an input in the given format, or in the one that its first bytes show. Content codings are undone first,
 * and gzip wherever it is found.
 * @throws LakeError `format-detection`, `format-not-read`; while reading `format-broken`, `format-limit`,
 * `body-expanded`
 */
export const openReader = async (
  format: InputName | 'auto',
  input: AsyncIterable<Uint8Array>,
  options: ReadOptions = {},
): Promise<AsyncIterable<Vector>> => {
  const bytesMax = options.expandedBytesMax ?? Infinity;
  const { contentCodings: codings = [], isCut } = options;
  const isBinary = format !== 'auto' && isBinaryInput(format);
  if (format !== 'auto') readerOf(format);
  const coded = new CodedBytes(input, (bytes, found) => {
    const plain = gunzipped(decoded(bytes, { codings, bytesMax, isBinary, isCut, found }), { bytesMax, isCut, found });
    return isBinary ? plain : asUtf8(plain, options.charset);
  });
  return coded.read(
    format === 'auto' ? await coded.work(() => detected(coded, options)) : readPlain(format, coded, options),
  );
};

const detected = async (input: AsyncIterable<Uint8Array>, options: ReadOptions): Promise<AsyncIterable<Vector>> => {
  const ahead = new LookAhead(input, options.lookAheadBytesMax ?? 10_000_000);
  try {
    const detection = await detectFormat(ahead, formatTable, options);
    options.detected?.(detection);
    return explained(readPlain(detection.format, ahead.rest(), options), detection);
  } catch (problem) {
    await ahead.close();
    throw problem;
  }
};

/** What goes wrong behind the beginning may come of what was made of the beginning: a hint says what that was. */
async function* explained(batches: AsyncIterable<Vector>, detection: Detection): AsyncGenerator<Vector> {
  try {
    yield* batches;
  } catch (problem) {
    if (!(problem instanceof LakeError) || problem.code !== 'format-broken' || 'hint' in problem.details) throw problem;
    const hint = `the format was not said: ${detectionText(detection)}`;
    throw new LakeError(problem.code, problem.parameters, {
      cause: problem.cause,
      details: { ...problem.details, hint },
    });
  }
}

/** The same of an input in a known format, without content codings and, if it is text, in UTF-8. */
export const readPlain = (
  name: InputName,
  input: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): AsyncIterable<Vector> => {
  const reader = readerOf(name);
  if (options.errors) checkGoesOn(name, options.errors, options.unnest);
  if (options.utf8 !== 'refuse') return reader(input, options);
  return isBinaryInput(name) ? refusingVectors(reader(input, options)) : reader(refusingText(input), options);
};
/** @throws LakeError `errors-format` where no next record can be found behind a faulty one */
export const checkGoesOn = (name: InputName, rule: FaultRule, unnest = false): void => {
  const what = isIngestName(name) ? 'OTLP' : withoutNext(name, unnest);
  if (what !== undefined) throw new LakeError('errors-format', { rule, what });
};
const withoutNext = (name: FormatName, unnest: boolean): string | undefined => {
  const { readAs = name, title } = formatTable[name];
  if (!formatTable[readAs].goesOn) return title;
  return unnest ? 'an array of records (unnest=T)' : undefined;
};
const readerOf = (name: InputName): Reader => {
  if (isIngestName(name)) return ingestTable[name].reader;
  const reader = formatTable[name].reader;
  if (!reader) throw new LakeError('format-not-read', { format: name });
  return reader;
};

/** What reads blocks of an input as the reader of that setup does. */
export const blockParser = (setup: BlockSetup, options: ReadOptions): BlockParser =>
  setup.format === 'json' ? jsonBlocks(options) : delimitedBlocks(setup);

/** A writer of the format. */
export const createWriter = (name: FormatName, options: WriteOptions = {}): Writer => {
  const { writer, isBinary } = formatTable[name];
  return isBinary ? writer(options) : new ValidText(writer(options));
};
