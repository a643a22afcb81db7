/** What a load would make of an input: its format and how that is known, types, first rows, a key that suits them. */
import { LakeError } from '../errors.ts';
import { fuseRows } from '../vectors/fuse.ts';
import { supText, supType } from '../vectors/sup/print.ts';
import type { Type } from '../vectors/type.ts';
import { type Vector, slice, valueAt } from '../vectors/vector.ts';
import { doubtsOf, unreadHint } from './doubts.ts';
import type { ReadOptions } from './format.types.ts';
import { type Detection, type FormatName, formatTable, openReader } from './formats.ts';

/** A look into an input. */
export interface Preview extends Detection {
  /** Of the rows that were read. */
  readonly type: string;
  /** How many were read. */
  readonly records: number;
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
/** So much of the beginning is compared with a format that was said. */
const headBytesMax = 1 << 20;

/**
 * Reads the beginning of an input. `said`: the format, where it was told or its name tells it, and by what.
 * @throws LakeError as the load would
 */
export const preview = async (
  input: AsyncIterable<Uint8Array>,
  said: { readonly format: FormatName; readonly why: string } | undefined,
  options: ReadOptions,
): Promise<Preview> => {
  const { head, rest } = await beginning(input);
  const all = async function* (): AsyncGenerator<Uint8Array> {
    yield head;
    yield* rest;
  };
  let detection: Detection | undefined = said && { ...said, doubts: await contradiction(said.format, head, options) };
  const reader = await openReader(said?.format ?? 'auto', all(), {
    ...options,
    batchRows: sampledRows,
    detected: (found) => {
      detection = found;
    },
  }).catch((error: unknown) => {
    throw hinted(error, head);
  });
  let type: Type | undefined;
  let records = 0;
  const rows: string[] = [];
  for await (const batch of reader) {
    const sample = slice(batch, 0, Math.min(batch.length, sampledRows - records));
    type = fuseRows(sample, type);
    for (let i = 0; i < sample.length && rows.length < shownRows; i++) rows.push(rowText(sample, i));
    if ((records += sample.length) >= sampledRows) break;
  }
  if (!detection || !type) throw new LakeError('load-empty');
  const fields = fieldsOf(type);
  return { ...detection, type: supType(type), records, rows, fields, key: likelyKey(fields) };
};

/** Where no format is found: with what to do about it. */
const hinted = (error: unknown, head: Uint8Array): unknown =>
  error instanceof LakeError && error.code === 'format-detection' && head.length > 0
    ? new LakeError(error.code, error.parameters, { cause: error, details: { hint: unreadHint(head) } })
    : error;

const rowText = (batch: Vector, i: number): string => supText(valueAt(batch, i));

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
