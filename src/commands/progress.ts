/**
 * Lines on a terminal that tell how far something is, one for each thing that goes on. They come after a moment, never
 * leave the terminal's width, and are gone at the end.
 *
 * Invariant: whoever writes to the terminal in between takes the lines away first (`aside`).
 */
import type { CommandIo, ProgressTerminal } from './io.ts';

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

/** The lines of one command, the first that began above. Without a terminal nothing is shown. */
export class ProgressLines {
  private readonly io: CommandIo;
  private readonly terminal: ProgressTerminal | undefined;
  private readonly texts = new Map<ProgressLine, () => string>();
  private drawnAt = 0;
  private isShown = false;

  constructor(io: CommandIo) {
    this.io = io;
    this.terminal = io.progress;
  }

  /** A line for something that begins now. */
  begin(): ProgressLine {
    const terminal = this.terminal;
    const line: ProgressLine = new ProgressLine({
      tell: (text) => {
        this.texts.set(line, text);
        this.draw();
      },
      hide: () => {
        if (!this.texts.delete(line)) return;
        this.hide();
      },
      ...(terminal && { terminal }),
    });
    return line;
  }

  hide(): void {
    if (!this.isShown) return;
    this.isShown = false;
    this.io.complain('\r\x1b[J');
  }
  /** Surroundings whose output does not mix with the lines. */
  aside(): CommandIo {
    const io = this.io;
    const hide = (): void => {
      this.hide();
    };
    if (!this.terminal) return io;
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

  /** Draws all lines that fit, unless it is too early; the cursor stays at the first. */
  private draw(): void {
    const now = performance.now();
    if (now - this.drawnAt < everyMs) return;
    this.drawnAt = now;
    const room = Math.max(1, (this.terminal?.rows?.() ?? Infinity) - 1);
    const texts = [...this.texts.values()].map((text) => text()).filter((text) => text !== '');
    if (texts.length === 0) return this.hide();
    const shown = texts.slice(0, room);
    this.isShown = true;
    const up = shown.length > 1 ? `\x1b[${shown.length - 1}A\r` : '';
    this.io.complain(`\r${shown.map((text) => `${text}\x1b[K`).join('\r\n')}${shown.length > 1 ? `\x1b[J${up}` : ''}`);
  }
}

/** Where a line is drawn; without a terminal nowhere. */
interface LinePlace {
  readonly terminal?: ProgressTerminal;
  readonly tell: (text: () => string) => void;
  readonly hide: () => void;
}
/** How far one thing is. */
export class ProgressLine {
  private readonly place: LinePlace;
  private readonly beganAt = performance.now();
  constructor(place: LinePlace) {
    this.place = place;
  }

  /** Whether there is a terminal to draw on. */
  get isOn(): boolean {
    return this.place.terminal !== undefined;
  }
  /** Draws, unless it is too early. */
  tell(state: () => ProgressState): void {
    const { terminal } = this.place;
    if (!terminal || performance.now() - this.beganAt < firstMs) return;
    this.place.tell(() =>
      progressText(state(), {
        seconds: (performance.now() - this.beganAt) / 1000,
        columns: terminal.columns(),
        color: terminal.color,
      }),
    );
  }
  /** It is over. */
  hide(): void {
    this.place.hide();
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
