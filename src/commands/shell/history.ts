/**
 * The history of the shell: a file of the user, one statement a line, oldest first. What cannot be read or written is
 * no reason to stop.
 */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Statements that are kept. */
export const historyMax = 1000;

/** `off` and nothing: no file. The default is in the user's state folder. */
export const historyFile = (
  option: string,
  environment: Readonly<Record<string, string | undefined>>,
  home: string,
): string | undefined => {
  if (option === 'off') return undefined;
  if (option !== '') return option;
  const state = environment['XDG_STATE_HOME'];
  return join(state !== undefined && state !== '' ? state : join(home, '.local', 'state'), 'lake', 'history');
};

/** The statements that were typed, in memory and in the file. */
export class History {
  /** Newest first, as readline has it. */
  readonly entries: string[];
  private readonly file: string | undefined;

  constructor(file: string | undefined) {
    this.file = file;
    const lines = file === undefined ? [] : linesOf(file);
    if (file !== undefined && lines.length > 2 * historyMax)
      this.try(() => {
        writeFileSync(
          file,
          lines
            .slice(-historyMax)
            .map((line) => `${line}\n`)
            .join(''),
          { mode: 0o600 },
        );
      });
    this.entries = lines.slice(-historyMax).reverse();
  }

  /** Adds a statement, unless it is the last one again or begins with a blank. */
  add(entry: string): void {
    if (entry === '' || entry.startsWith(' ') || entry === this.entries[0]) return;
    this.entries.unshift(entry);
    this.entries.splice(historyMax);
    const { file } = this;
    if (file === undefined) return;
    this.try(() => {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      appendFileSync(file, `${entry}\n`, { mode: 0o600 });
    });
  }

  private try(work: () => void): void {
    try {
      work();
    } catch {
      // A full disk or a folder without rights must not keep anybody from asking.
    }
  }
}

const linesOf = (file: string): readonly string[] => {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return [];
  }
};
