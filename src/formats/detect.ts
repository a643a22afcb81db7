/**
 * Finds the format of an input by trying the readers on its beginning, in a fixed order; the first that reads is taken.
 * What is found is told with its reason, and with what speaks for something else.
 */
import { LakeError, errorTable } from '../errors.ts';
import { beginningBytesMax, beginningOf } from './csv/dialect.ts';
import { delimiterText, doubtsOf, foreignFile } from './doubts.ts';
import { jsonEnds } from './json/tape.ts';
import type { Detection, Format, FormatName, ReadOptions } from './format.types.ts';
import type { LookAhead } from './look-ahead.ts';

interface Trial {
  readonly name: FormatName;
  /** As many values must be readable, if the input has them. */
  readonly values: number;
  readonly why: string;
  /** The first line must have this character. */
  readonly delimiter?: string;
}
const trials: readonly Trial[] = [
  { name: 'parquet', values: 0, why: 'begins with the mark of Parquet' },
  { name: 'csup', values: 0, why: 'begins with the mark of CSUP' },
  { name: 'arrows', values: 0, why: 'begins as an Arrow stream or file' },
  { name: 'zeek', values: 1, why: 'begins with header lines of Zeek' },
  { name: 'jsup', values: 1, why: 'the first value reads as JSUP' },
  { name: 'json', values: 10, why: 'its beginning reads as JSON' },
  { name: 'sup', values: 1, why: 'the first value reads as SUP, but not as JSON' },
  { name: 'bsup', values: 1, why: 'begins with a frame of BSUP' },
  { name: 'csv', values: 1, delimiter: ',', why: 'the first line has a delimiter' },
  { name: 'tsv', values: 1, delimiter: '\t', why: 'the first line has tabs' },
];

/** @throws LakeError `format-detection` with each reader's complaint */
export const detectFormat = async (
  ahead: LookAhead,
  table: Readonly<Record<FormatName, Format>>,
  options: ReadOptions,
): Promise<Detection> => {
  const complaints = new Map<string, string>([['line', 'auto-detection not supported']]);
  for (const trial of trials) {
    const complaint = await complaintOf(trial, ahead, table, options);
    if (complaint === undefined) return found(trial, ahead, complaints, options);
    if (complaint !== '') complaints.set(trial.name, complaint);
  }
  const names = [...complaints.keys()].sort((a, b) => Number(a === 'jsup') - Number(b === 'jsup') || (a < b ? -1 : 1));
  const hint = await hintOf(ahead);
  throw new LakeError(
    'format-detection',
    { complaints: names.map((name) => `\t${name}: ${complaints.get(name)}`).join('\n') },
    { ...(hint !== undefined && { details: { hint } }) },
  );
};

const found = async (
  { name, why }: Trial,
  ahead: LookAhead,
  complaints: ReadonlyMap<string, string>,
  options: ReadOptions,
): Promise<Detection> => {
  const { bytes, isWhole } = await seen(ahead, options);
  const delimiter = name === 'csv' ? (beginningOf(bytes, isWhole)?.delimiter ?? ',') : undefined;
  return {
    format: name,
    why: delimiter === undefined ? why : `the first line has the delimiter ${delimiterText(delimiter)}`,
    doubts: doubtsOf(name, { bytes, isWhole, json: complaints.get('json') }),
  };
};

/** What was found, as a sentence for people. */
export const detectionText = ({ format, why, doubts }: Detection): string =>
  [`read as ${format} since ${why}`, ...doubts].join('; ');

/** Undefined if the trial succeeds; empty if there is no reader. */
const complaintOf = async (
  trial: Trial,
  ahead: LookAhead,
  table: Readonly<Record<FormatName, Format>>,
  options: ReadOptions,
): Promise<string | undefined> => {
  const { reader, probe } = table[trial.name];
  if (!reader) return '';
  try {
    if (probe) return await probe(ahead.peek());
    const delimiter =
      trial.name === 'csv'
        ? (options.csvDelimiter ?? (await shownDelimiter(ahead, options)) ?? trial.delimiter)
        : trial.delimiter;
    if (delimiter !== undefined) {
      const fault = await delimiterFault(delimiter, ahead, options);
      if (fault !== undefined) return fault;
    }
    // A quoted cell is a value of SUP: the trial of one value would end before what comes after it.
    if (trial.name === 'sup' && quotedCells.test((await lineOf(ahead, quotedBytesMax)) ?? ''))
      return 'line 1: syntax error: cells with a delimiter between them';
    let rows = 0;
    for await (const batch of reader(ahead.peek(), {
      ...options,
      batchRows: trial.values,
      helper: undefined,
      errors: undefined,
      // The reader of all of it says what it could not keep.
      warn: undefined,
    })) {
      rows += batch.length;
      if (rows >= trial.values) break;
    }
    return undefined;
  } catch (problem) {
    // What fails here, as a full disk, says nothing of the bytes.
    if (
      !(problem instanceof LakeError) ||
      problem.code === 'format-look-ahead' ||
      problem === ahead.fault ||
      errorTable[problem.code].status >= 500
    )
      throw problem;
    // What the end of the input cuts short is no evidence against SUP, nor what is known to be cut against rows of cells;
    // the reader will say where it was cut.
    const { cut } = problem.parameters;
    if (cut === 'sup' || (options.isCut && cut === trial.name)) return undefined;
    const complaint =
      problem.code === 'format-broken' || problem.code === 'format-too-large'
        ? String(problem.parameters['fault'])
        : problem.message;
    return options.isCut && trial.name === 'json' && complaint.includes(jsonEnds) ? undefined : complaint;
  }
};

/** A text in double quotes, and a delimiter of columns after it. */
const quotedCells = /^\s*"(?:[^"\\]|\\.)*"\s*[,\t]/;

/** The first line of the input, or so many bytes of it; undefined if it has no end within them. */
const lineOf = async (ahead: LookAhead, bytesMax = Infinity): Promise<string | undefined> => {
  const line: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of ahead.peek()) {
    const end = chunk.indexOf(0x0a);
    line.push(end < 0 ? chunk : chunk.subarray(0, end));
    if (end >= 0) return Buffer.concat(line).toString();
    if ((length += chunk.length) >= bytesMax) break;
  }
  return undefined;
};
/** A row of names that is longer is not looked for quotes. */
const quotedBytesMax = 64 << 10;
/** The first bytes, and whether the input has no more. */
const seen = async (
  ahead: LookAhead,
  { isCut = false }: Pick<ReadOptions, 'isCut'> = {},
): Promise<{ readonly bytes: Uint8Array; readonly isWhole: boolean }> => {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of ahead.peek()) {
    pieces.push(chunk);
    if ((length += chunk.length) >= beginningBytesMax) break;
  }
  return { bytes: Buffer.concat(pieces), isWhole: !isCut && length < beginningBytesMax };
};
/** What the input is, where no reader takes it. */
const hintOf = async (ahead: LookAhead): Promise<string | undefined> => {
  const { bytes } = await seen(ahead).catch(() => ({ bytes: new Uint8Array(0) }));
  return foreignFile(bytes);
};
/** The delimiter that the first lines show; a tab is for TSV. */
const shownDelimiter = async (ahead: LookAhead, options: ReadOptions): Promise<string | undefined> => {
  const { bytes, isWhole } = await seen(ahead, options);
  const found = beginningOf(bytes, isWhole);
  return found?.delimiter === '\t' && found.skipped === 0 ? undefined : found?.delimiter;
};
const delimiterFault = async (
  delimiter: string,
  ahead: LookAhead,
  options: ReadOptions,
): Promise<string | undefined> => {
  const line = await lineOf(ahead);
  if (line === undefined) return 'line 1: EOF';
  // A name in quotes may have several lines.
  return line.includes(delimiter) || (line.includes('"') && (await shownDelimiter(ahead, options)) === delimiter)
    ? undefined
    : `line 1: delimiter ${delimiterText(delimiter)} not found`;
};
