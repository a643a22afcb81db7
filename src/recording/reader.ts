/** Reads a recording back: all parts that are there, the oldest first. */
import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { LakeError } from '../errors.ts';
import { EarlierRecording, earlierFormat } from './earlier.ts';
import { type HeaderRecord, type RecordLine, recordFormat } from './record.ts';
import { partsMax } from './writer.ts';

/** A line and where it stands. */
export interface PlacedLine {
  readonly line: HeaderRecord | RecordLine;
  readonly path: string;
  readonly number: number;
}

/** Files of a recording, the oldest part first. */
export const partsOf = (path: string): readonly string[] => {
  const parts = [path];
  for (let n = 1; n < partsMax && existsSync(`${path}.${n}`); n++) parts.unshift(`${path}.${n}`);
  return parts;
};

/**
 * The lines, headers included; those of the first format as lines of this one (earlier.ts). A last line that was cut
 * off, as a killed service leaves it, is left out.
 * @throws recording-invalid for a file that is no recording, a line that is none, or a format that this version does
 * not know
 */
export async function* readRecording(path: string): AsyncGenerator<PlacedLine> {
  let earlier: EarlierRecording | undefined;
  for await (const placed of linesOf(path)) {
    const { line } = placed;
    if (line.kind === 'header' && (line.format as number) === earlierFormat) earlier ??= new EarlierRecording();
    if (!earlier) yield placed;
    else for (const one of earlier.lines(line)) yield { ...placed, line: one };
  }
}

async function* linesOf(path: string): AsyncGenerator<PlacedLine> {
  const parts = partsOf(path);
  let recording: string | undefined;
  for (const part of parts) {
    let number = 0;
    let held: { readonly text: string; readonly number: number } | undefined;
    const lines = createInterface({ input: createReadStream(part), crlfDelay: Infinity });
    const placed = (text: string, at: number): PlacedLine => {
      const line = parseLine(text, part, at);
      if (at === 1) recording = checkHeader(line, part, recording);
      return { line, path: part, number: at };
    };
    for await (const text of lines) {
      if (held) yield placed(held.text, held.number);
      held = { text, number: ++number };
    }
    if (!held) throw new LakeError('recording-invalid', { file: part, line: 1, fault: 'it is empty' });
    if (held.number > 1 && part === parts.at(-1) && !isWhole(held.text)) return;
    yield placed(held.text, held.number);
  }
}

const isWhole = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const parseLine = (text: string, file: string, line: number): HeaderRecord | RecordLine => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new LakeError('recording-invalid', { file, line, fault: 'it is no JSON' }, { cause });
  }
  const kind = typeof value === 'object' && value !== null ? (value as { readonly kind?: unknown }).kind : undefined;
  if (typeof kind !== 'string' || !kinds.has(kind))
    throw new LakeError('recording-invalid', {
      file,
      line,
      fault: `it is no line of a recording (kind ${JSON.stringify(kind ?? null)})`,
    });
  return value as HeaderRecord | RecordLine;
};
const kinds: ReadonlySet<string> = new Set([
  'header',
  'actor',
  'message',
  'given',
  'drawn',
  'event',
  'objects',
  'tip',
  'lost',
  'end',
] satisfies (HeaderRecord | RecordLine)['kind'][]);

const checkHeader = (line: HeaderRecord | RecordLine, file: string, recording: string | undefined): string => {
  if (line.kind !== 'header') throw new LakeError('recording-invalid', { file, line: 1, fault: 'it has no header' });
  if (line.format !== recordFormat && (line.format as number) !== earlierFormat)
    throw new LakeError('recording-invalid', {
      file,
      line: 1,
      fault: `its format is ${line.format}, this version knows ${earlierFormat} and ${recordFormat}`,
    });
  if (recording !== undefined && line.recording !== recording)
    throw new LakeError('recording-invalid', {
      file,
      line: 1,
      fault: 'it belongs to another recording than the part before',
    });
  return line.recording;
};
