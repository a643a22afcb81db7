/**
 * Errors of a query text: what the parser and the analyzer report, and the texts and JSON that users see.
 *
 * Invariants:
 * - Positions are UTF-8 byte offsets into the joined text of all sources (`joinSources`); `end` is exclusive, -1 for a
 *   point.
 * - A message without a position has `start` -1 and is printed bare.
 * - Texts are those of the reference, to the byte (errors.md, section 1).
 */

/**
 * One fault in a query text. `end` is exclusive; -1 marks a point (parse errors). `start` -1: the fault has no place.
 */
export interface CompileFault {
  readonly message: string;
  readonly start: number;
  readonly end: number;
  /** What to write instead, where that is known. No part of the message. */
  readonly hint?: string;
  /** What it is about, where later steps of the analysis have to know. */
  readonly about?: FaultSubject;
}
/**
 * `dynamic-column`: a bare name in a join of tables whose columns are not known. `not-one-filter`, `not-assignments`: it
 * compiles, but is no delete-where, or no `put` of an update.
 */
export type FaultSubject = 'window' | 'dynamic-column' | 'not-one-filter' | 'not-assignments';

/** A text that a query is made of; `name` is the file's, absent for text of the command line or a request. */
export interface QuerySource {
  readonly name?: string;
  readonly text: string;
}

/** The JSON form of a fault in an error body: `End` is the last byte (inclusive), -1 for a point. */
interface CompilationErrorJson {
  readonly Msg: string;
  readonly Pos: number;
  readonly End: number;
}

/**
 * A query text that cannot be compiled, with every fault in the order of discovery. `message` is only the first; users
 * get `formatCompileErrors`.
 */
export class CompileError extends Error {
  readonly errors: readonly CompileFault[];
  constructor(errors: readonly CompileFault[], options?: { readonly cause?: unknown }) {
    super(errors[0]?.message ?? 'compile error', options);
    this.name = 'CompileError';
    this.errors = errors;
  }
}

/** A source that cannot be read: the message is the fault's, as it stands in the query's text. */
export class SourceFault extends Error {
  readonly hint: string | undefined;
  constructor(message: string, options: { readonly hint?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'SourceFault';
    this.hint = options.hint;
  }
}

/** The one text that is parsed: the sources in order, a newline between each. */
export function joinSources(sources: readonly QuerySource[]): string {
  return sources.map((source) => source.text).join('\n');
}

/** The text of all faults, a newline between two: message, place, source line and marker. No newline at the end. */
export function formatCompileErrors(sources: readonly QuerySource[] | string, errors: readonly CompileFault[]): string {
  const list = typeof sources === 'string' ? [{ text: sources }] : sources;
  const encoded = list.map((source) => new TextEncoder().encode(source.text));
  return errors.map((fault) => formatFault(list, encoded, fault)).join('\n');
}

/** The `compilation_errors` of a service error body. */
export function compilationErrorsJson(errors: readonly CompileFault[]): CompilationErrorJson[] {
  return errors.map(({ message, start, end }) => ({
    Msg: message,
    Pos: start,
    End: end < 0 ? -1 : Math.max(end - 1, start),
  }));
}

const newline = 0x0a;

function formatFault(sources: readonly QuerySource[], encoded: readonly Uint8Array[], fault: CompileFault): string {
  if (fault.start < 0) return fault.message;
  let base = 0;
  let index = 0;
  while (index < encoded.length - 1 && fault.start > base + encoded[index].length) base += encoded[index++].length + 1;
  const bytes = encoded[index];
  const offset = Math.min(fault.start - base, bytes.length);
  const lineStart = offset === 0 ? 0 : bytes.lastIndexOf(newline, offset - 1) + 1;
  const nextBreak = bytes.indexOf(newline, offset);
  const lineEnd = nextBreak < 0 ? bytes.length : nextBreak;
  const column = offset - lineStart + 1;
  const name = sources[index].name;
  const place = `${name === undefined ? '' : ` in ${name}`} at line ${countLines(bytes, lineStart)}, column ${column}:`;
  const line = new TextDecoder().decode(bytes.subarray(lineStart, lineEnd));
  const marker = fault.end < 0 ? pointMarker(column) : spanMarker(column, Math.min(fault.end - base, lineEnd) - offset);
  return `${fault.message}${place}\n${line}\n${marker}`;
}

function countLines(bytes: Uint8Array, lineStart: number): number {
  let line = 1;
  for (let i = 0; i < lineStart; i++) if (bytes[i] === newline) line++;
  return line;
}

function spanMarker(column: number, width: number): string {
  return ' '.repeat(column - 1) + '~'.repeat(Math.max(width, 1));
}

function pointMarker(column: number): string {
  if (column > 4) return `${' '.repeat(column - 5)}=== ^ ===`;
  return `${'='.repeat(Math.max(column - 2, 0))}${column > 1 ? ' ' : ''}^ ===`;
}
