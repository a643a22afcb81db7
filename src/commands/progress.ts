/**
 * One line on a terminal that tells how far something is. It comes after a moment, never leaves the terminal's width,
 * and is gone at the end.
 *
 * Invariant: whoever writes to the terminal in between takes the line away first (`aside`).
 */
import type { CommandIo } from './io.ts';

/** What a line needs of the terminal behind standard error. */
export interface ProgressTerminal {
  readonly columns: () => number;
  readonly color: boolean;
}

/** What can be told. `total`: of bytes, where it is known. */
export interface ProgressState {
  readonly what: string;
  readonly bytes: number;
  readonly total?: number;
  readonly records: number;
  readonly state?: string;
}

/** Shorter work shows nothing; then so often. */
const firstMs = 300;
const everyMs = 100;

/** The line of one command. Without a terminal nothing is shown. */
export class ProgressLine {
  readonly #io: CommandIo;
  readonly #terminal: ProgressTerminal | undefined;
  readonly #beganAt = performance.now();
  #drawnAt = 0;
  #isShown = false;

  constructor(io: CommandIo) {
    this.#io = io;
    this.#terminal = io.progress;
  }

  /** Whether there is a terminal to draw on. */
  get isOn(): boolean {
    return this.#terminal !== undefined;
  }

  /** Draws, unless it is too early. */
  tell(state: () => ProgressState): void {
    const now = performance.now();
    if (!this.#terminal || now - this.#beganAt < firstMs || now - this.#drawnAt < everyMs) return;
    this.#drawnAt = now;
    const line = progressText(state(), {
      seconds: (now - this.#beganAt) / 1000,
      columns: this.#terminal.columns(),
      color: this.#terminal.color,
    });
    if (line === '') return this.hide();
    this.#isShown = true;
    this.#io.complain(`\r${line}\x1b[K`);
  }
  hide(): void {
    if (!this.#isShown) return;
    this.#isShown = false;
    this.#io.complain('\r\x1b[K');
  }
  /** Surroundings whose output does not mix with the line. */
  aside(): CommandIo {
    const io = this.#io;
    const hide = (): void => {
      this.hide();
    };
    if (!this.#terminal) return io;
    return {
      ...io,
      complain: (text) => {
        hide();
        io.complain(text);
      },
      write: (chunk) => {
        if (io.stdoutIsTerminal) hide();
        return io.write(chunk);
      },
    };
  }
}

const barMax = 30;
const barMin = 8;
interface Drawing {
  readonly seconds: number;
  readonly columns: number;
  readonly color: boolean;
}

/**
 * The line: what fits, the least important left out first; empty if nothing does. The last column stays free, where
 * some terminals wrap.
 */
export const progressText = (
  { what, bytes, total, records, state }: ProgressState,
  { seconds, columns, color }: Drawing,
): string => {
  const room = columns - 1;
  const share = total !== undefined && total > 0 ? Math.min(1, bytes / total) : undefined;
  const percent = share === undefined ? undefined : `${Math.floor(share * 100)} %`.padStart(5);
  const amount = total === undefined ? bytesText(bytes) : `${bytesText(bytes)} of ${bytesText(total)}`;
  const needed = fitting([percent ?? bytesText(bytes), state], room);
  const bar = share !== undefined && room - needed.length - barMin - 3 >= 0 ? barMin + 3 : 0;
  if (needed.parts.length === 0) return '';
  const more = fitting(
    [
      percent === undefined ? undefined : amount,
      records > 0 ? `${records.toLocaleString('en-US')} records` : undefined,
      seconds > 0 ? `${bytesText(bytes / seconds)}/s` : undefined,
    ],
    room - needed.length - bar - 2,
  );
  const left = room - needed.length - bar - (more.length > 0 ? more.length + 2 : 0);
  const name = nameText(what, left - 2);
  const wide = Math.min(barMax, barMin + left - (name === '' ? 0 : name.length + 2));
  const [first, ...states] = needed.parts;
  return [name, bar === 0 ? first : `${barOf(share!, wide, color)} ${first}`, ...states, ...more.parts]
    .filter((part) => part !== '')
    .join('  ');
};

/** Those that fit, in their order, with two blanks between them. */
const fitting = (
  parts: readonly (string | undefined)[],
  room: number,
): { readonly parts: readonly string[]; readonly length: number } => {
  const taken: string[] = [];
  let length = 0;
  for (const part of parts) {
    const more = (part?.length ?? 0) + (taken.length > 0 ? 2 : 0);
    if (part === undefined || part === '' || length + more > room) continue;
    taken.push(part);
    length += more;
  }
  return { parts: taken, length };
};

/** The end of a long name tells the most. */
const nameText = (name: string, room: number): string => {
  const text = printable(name);
  return text.length <= room ? text : room >= 8 ? `...${text.slice(3 - room)}` : '';
};

const barOf = (share: number, width: number, color: boolean): string => {
  const full = Math.floor(share * width);
  const done = '='.repeat(full);
  const rest = `${full < width ? '>' : ''}${' '.repeat(Math.max(0, width - full - 1))}`;
  return color ? `[\x1b[36m${done}\x1b[0m${rest}]` : `[${done}${rest}]`;
};

/** Names of files may hold anything; what is wider than a column is shown as a question mark. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e\u00a1-\u024f]/g, '?');

const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;
const bytesText = (bytes: number): string => {
  let unit = 0;
  let n = bytes;
  while (n >= 1000 && unit < units.length - 1) {
    n /= 1000;
    unit++;
  }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
};
