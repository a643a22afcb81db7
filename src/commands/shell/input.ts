/**
 * Lines that a person types, or that come through a pipe, cut into statements.
 *
 * A statement goes on while brackets, strings or comments are open, behind a line that ends with `|` or a backslash,
 * and before a line that begins with `|` and is there already (pasted text, files). A semicolon or a blank line ends it
 * in any case. A line that begins with a dot and a word, where no statement is open, is a command of the shell.
 */
import { outlineOf } from '../../query/parse/outline.ts';

/** A statement or a command of the shell. */
export interface Statement {
  readonly text: string;
  /** The line of its beginning, counted from 1 over all input. */
  readonly line: number;
}

/** Takes lines, gives statements. */
export class StatementReader {
  private pending = '';
  private line = 0;
  private startLine = 1;
  /** The last line ended with a backslash or a pipe. */
  private goesOn = false;

  /** Whether a statement has begun that needs more lines. */
  get isOpen(): boolean {
    return this.pending.trim() !== '';
  }
  /** What is there of the statement so far. */
  get text(): string {
    return this.pending;
  }

  /** Takes a line; gives the statements that end with it. `next` is the following line, if it is known. */
  add(line: string, next?: string): readonly Statement[] {
    this.line++;
    if (!this.isOpen) {
      this.pending = '';
      this.startLine = this.line;
      if (isCommand(line)) return [{ text: line.trim(), line: this.line }];
    }
    if (line.trim() === '') return this.end();
    this.append(line);
    const done = this.cut();
    if (!this.isOpen || this.goesOn || outlineOf(this.pending).open.length > 0 || beginsWithPipe(next)) return done;
    return [...done, ...this.end()];
  }

  /** What is left, as a statement. */
  end(): readonly Statement[] {
    const text = this.pending;
    this.clear();
    return withoutComments(text).trim() === '' ? [] : [{ text, line: this.startLine }];
  }

  /** Forgets what was begun. */
  clear(): void {
    this.pending = '';
    this.goesOn = false;
  }

  private append(line: string): void {
    // A string cannot hold a line break as such.
    const isInString = this.pending !== '' && /^["']$/.test(outlineOf(this.pending).open.at(-1)?.text ?? '');
    const text = this.pending === '' ? line : this.pending + (isInString ? '\\n' : '\n') + line;
    const { comments, open } = outlineOf(text);
    const bare = comments.at(-1)?.end === text.length ? text.slice(0, comments.at(-1)!.start) : text;
    const backslash =
      comments.at(-1)?.end !== text.length && !/^["']$/.test(open.at(-1)?.text ?? '') && /\\\s*$/.test(bare);
    this.pending = backslash ? text.replace(/\\\s*$/, '') : text;
    this.goesOn = backslash || /\|>?\s*$/.test(bare);
  }

  /** Cuts off what ends with a semicolon. */
  private cut(): readonly Statement[] {
    const { stops } = outlineOf(this.pending);
    const done: Statement[] = [];
    let from = 0;
    for (const stop of stops) {
      const text = this.pending.slice(from, stop);
      const line = this.startLine + lineBreaks(this.pending.slice(0, from + leadingSpace(text)));
      if (withoutComments(text).trim() !== '') done.push({ text: from === 0 ? text : text.trimStart(), line });
      from = stop + 1;
    }
    if (from === 0) return done;
    this.startLine += lineBreaks(this.pending.slice(0, from));
    this.pending = withoutComments(this.pending.slice(from)).trim() === '' ? '' : this.pending.slice(from).trimStart();
    return done;
  }
}

/** A command of the shell: a dot and a word at the beginning of the line. */
export const isCommand = (text: string): boolean => /^\s*\.[a-z]+(?:\s|$)/i.test(text);

const beginsWithPipe = (line: string | undefined): boolean => line !== undefined && /^\s*\|(?!\|)/.test(line);
const lineBreaks = (text: string): number => text.split('\n').length - 1;
const leadingSpace = (text: string): number => text.length - text.trimStart().length;

const withoutComments = (text: string): string => {
  let out = '';
  let from = 0;
  for (const { start, end } of outlineOf(text).comments) {
    out += text.slice(from, start);
    from = end;
  }
  return out + text.slice(from);
};

/** A statement on one line, as the history keeps it. */
export const oneLine = (text: string): string =>
  withoutComments(text)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');
