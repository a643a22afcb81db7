/** What a load would make of an input: its format and how that is known, types, first rows, a key that suits them. */
import { LakeError } from '../errors.ts';
import { fuseRows } from '../vectors/fuse.ts';
import { supText, supType } from '../vectors/sup/print.ts';
import type { Type } from '../vectors/type.ts';
import { type Vector, slice, valueAt } from '../vectors/vector.ts';
import { doubtsOf, unreadHint } from './doubts.ts';
import { jsonEnds } from './json/tape.ts';
import type { ReadOptions } from './format.types.ts';
import { type Detection, type FormatName, formatTable, openReader } from './formats.ts';

/** A look into an input. */
export interface Preview extends Detection {
  /** Of the rows that were read; undefined where there are none, which is of a part of an input alone. */
  readonly type: string | undefined;
  /** How many were read. */
  readonly records: number;
  /** Whether they are known to be all of the input. */
  readonly isAll: boolean;
  /** What ended the reading of a part of an input; perhaps that it is a part. */
  readonly fault: string | undefined;
  /** The first of them, as SUP. */
  readonly rows: readonly string[];
  /** Names of the fields of records, the first so many. */
  readonly fields: readonly string[];
  /** The field by whose order the records are best kept. */
  readonly key: string;
}

/** Rows that are read, and rows that are shown. */
const sampledRows = 1000;
const shownRows = 3;
/** So much is told of a row, and of the type. */
const rowCharactersMax = 4096;
const typeCharactersMax = 65_536;
/** So many names of fields are told. */
const fieldsMax = 1000;
/** What ends the reading of a part, not the preview. */
const partFaults: ReadonlySet<string> = new Set(['format-broken', 'format-limit', 'format-too-large', 'not-utf8']);
/** So much of the beginning is compared with a format that was said. */
const headBytesMax = 1 << 20;

/** How an input is read; `through`: what is done with its batches before they are looked at. */
interface PreviewOptions extends ReadOptions {
  readonly through?: (batches: AsyncIterable<Vector>) => AsyncIterable<Vector>;
}
/** The format of an input where it is not left open, and what says so. */
export interface SaidFormat {
  readonly format: FormatName;
  readonly why: string;
}

/**
 * Reads the beginning of an input. `said`: the format, where it was told or its name tells it, and by what. Of a part
 * of an input (`isCut`) it tells what could be read, row by row; what ends within it is left out.
 * @throws LakeError as the load would
 */
export const preview = async (
  input: AsyncIterable<Uint8Array>,
  said: SaidFormat | undefined,
  { through = (batches) => batches, ...options }: PreviewOptions,
): Promise<Preview> => {
  const { isCut = false } = options;
  const { head, rest } = await beginning(input);
  const all = async function* (): AsyncGenerator<Uint8Array> {
    yield head;
    yield* rest;
  };
  let detection: Detection | undefined = said && { ...said, doubts: await contradiction(said.format, head, options) };
  const reader = await openReader(said?.format ?? 'auto', all(), {
    ...options,
    batchRows: isCut ? 1 : sampledRows,
    detected: (found) => {
      detection = found;
    },
  }).catch((error: unknown) => {
    throw hinted(error, head);
  });
  const rows = through(reader);
  const sample = new Sample();
  let fault: string | undefined;
  try {
    const isByLine = isCut && detection !== undefined && formatTable[detection.format].isRowALine === true;
    for await (const batch of isByLine ? withoutLast(rows) : rows) if (sample.add(batch)) break;
  } catch (problem) {
    if (!isCut || !(problem instanceof LakeError) || !partFaults.has(problem.code)) throw problem;
    if (!isOfCut(problem)) fault = problem.message;
  }
  if (!detection || (!isCut && sample.records === 0)) throw new LakeError('load-empty');
  const fields = fieldsOf(sample.type);
  return {
    ...detection,
    type: sample.type && cutText(supType(sample.type), typeCharactersMax),
    records: sample.records,
    isAll: !isCut && sample.records < sampledRows,
    fault,
    rows: sample.rows,
    fields: fields.slice(0, fieldsMax),
    key: likelyKey(fields),
  };
};

/** The first rows of an input. */
class Sample {
  type: Type | undefined;
  records = 0;
  readonly rows: string[] = [];

  /** Takes rows; true when there are enough. */
  add(batch: Vector): boolean {
    if (batch.length === 0) return false;
    const rows = slice(batch, 0, Math.min(batch.length, sampledRows - this.records));
    this.type = fuseRows(rows, this.type);
    for (let i = 0; i < rows.length && this.rows.length < shownRows; i++) this.rows.push(rowText(rows, i));
    this.records += rows.length;
    return this.records >= sampledRows;
  }
}

/** The batches without the last row, unless a fault follows it: of one row each. */
async function* withoutLast(batches: AsyncIterable<Vector>): AsyncGenerator<Vector> {
  let held: Vector | undefined;
  try {
    for await (const batch of batches) {
      if (batch.length === 0) continue;
      if (held) yield held;
      held = batch;
    }
  } catch (problem) {
    if (held) yield held;
    throw problem;
  }
}

/** Whether it is nothing but the end of the part. */
const isOfCut = ({ parameters }: LakeError): boolean =>
  parameters['cut'] !== undefined || String(parameters['fault']).startsWith(jsonEnds);

/** Where no format is found: with what to do about it. */
const hinted = (error: unknown, head: Uint8Array): unknown =>
  error instanceof LakeError && error.code === 'format-detection' && head.length > 0
    ? new LakeError(error.code, error.parameters, { cause: error, details: { hint: unreadHint(head) } })
    : error;

const rowText = (batch: Vector, i: number): string => cutText(supText(valueAt(batch, i)), rowCharactersMax);
/** So much of a text, with dots where it goes on; no character is cut. */
const cutText = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max).replace(/[\ud800-\udbff]$/, '')}...`;

const fieldsOf = (type: Type | undefined): readonly string[] => {
  switch (type?.kind) {
    case 'record':
      return type.fields.map(({ name }) => name);
    case 'union':
      return [...new Set(type.members.flatMap(fieldsOf))];
    case 'named':
      return fieldsOf(type.inner);
    default:
      return [];
  }
};

/** What the bytes say against the format that was said. */
const contradiction = async (said: FormatName, head: Uint8Array, options: ReadOptions): Promise<readonly string[]> => {
  let found: Detection | undefined;
  try {
    const reader = await openReader('auto', once(head), {
      ...options,
      detected: (detection) => {
        found = detection;
      },
    });
    await reader[Symbol.asyncIterator]().return?.();
  } catch (problem) {
    if (!(problem instanceof LakeError)) throw problem;
  }
  const format = formatTable[said].readAs ?? said;
  if (found?.format === format) return found.doubts;
  return [
    ...(found ? [`without that it would be read as ${found.format}, since ${found.why}`] : []),
    ...(isGzip(head) ? [] : doubtsOf(format, { bytes: head, isWhole: false, json: undefined })),
  ];
};

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const beginning = async (
  input: AsyncIterable<Uint8Array>,
): Promise<{ readonly head: Uint8Array; readonly rest: AsyncIterable<Uint8Array> }> => {
  const source = input[Symbol.asyncIterator]();
  const pieces: Uint8Array[] = [];
  for (let length = 0; length < headBytesMax; length += pieces.at(-1)!.length) {
    const next = await source.next();
    if (next.done) break;
    pieces.push(next.value);
  }
  async function* rest(): AsyncGenerator<Uint8Array> {
    try {
      for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
    } finally {
      await source.return?.();
    }
  }
  return { head: Buffer.concat(pieces), rest: rest() };
};

const timeNames = ['ts', 'time', 'timestamp', '@timestamp', 'date', 'datetime', 'created', 'created_at'];
/** The field by whose order records are best kept: a time, else the first. */
export const likelyKey = (fields: readonly string[]): string =>
  fields.find((field) => timeNames.includes(field.toLowerCase())) ??
  fields.find((field) => /time|date/i.test(field)) ??
  fields[0] ??
  'ts';
