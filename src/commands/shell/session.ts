/**
 * A conversation with a lake: what is in use, how results look, one statement at a time. The terminal and the pipe are
 * its two faces.
 */
import type { TerminalFormatName } from '../../format-names.ts';
import { createWriter } from '../../formats/formats.ts';
import { type Vector } from '../../vectors/vector.ts';
import { type ShellCommand, shellCommands } from './commands.ts';
import { faultText } from './fault.ts';
import { type Statement, isCommand } from './input.ts';
import { type Head, type ShellLake } from './lake.ts';
import { TableText } from './table.ts';
import { type Colors, harmless } from './text.ts';

/** Where results and complaints go. */
interface ShellOutput {
  readonly write: (text: string) => Promise<void>;
  readonly complain: (text: string) => void;
  /** Columns of the terminal; Infinity for none. */
  readonly width: () => number;
  /** Told how many rows have come. */
  readonly progress?: (rows: number) => void;
}

/** How results look. */
export type Mode = TerminalFormatName;
/** What a session begins with. */
interface SessionOptions {
  readonly lake: ShellLake;
  readonly output: ShellOutput;
  readonly colors: Colors;
  readonly mode: Mode;
  readonly timing: boolean;
  /** Results go to a person: control characters in them are written as escapes. */
  readonly isTerminal: boolean;
  readonly head?: Head;
}
/** How a statement ended. */
type Outcome = 'done' | 'failed' | 'cancelled' | 'quit';

/** One conversation: its settings, and the statements that are run with them. */
export class ShellSession {
  readonly lake: ShellLake;
  readonly output: ShellOutput;
  readonly colors: Colors;
  head: Head | undefined;
  mode: Mode;
  /** Blanks per level of SUP and JSON; 0: one value a line. */
  indent = 0;
  timing: boolean;
  private readonly isTerminal: boolean;

  constructor({ lake, output, colors, mode, timing, isTerminal, head }: SessionOptions) {
    this.lake = lake;
    this.output = output;
    this.colors = colors;
    this.mode = mode;
    this.timing = timing;
    this.isTerminal = isTerminal;
    this.head = head;
  }

  /** Runs a statement or command and shows what comes of it. Never throws. */
  async run(statement: Statement, signal: AbortSignal): Promise<Outcome> {
    const start = performance.now();
    try {
      if (isCommand(statement.text)) return await this.command(statement.text, signal);
      const rows = await this.show(
        this.lake.query(statement.text, {
          head: this.head,
          signal,
          warn: (text) => {
            this.output.complain(`warning: ${text}\n`);
          },
        }),
      );
      if (this.timing)
        await this.output.write(
          this.colors.dim(
            `${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'} in ${secondsText(performance.now() - start)}`,
          ) + '\n',
        );
      return 'done';
    } catch (problem) {
      if (signal.aborted) return 'cancelled';
      this.output.complain(faultText(problem, statement, { colors: this.colors, absoluteLines: !this.isTerminal }));
      return 'failed';
    }
  }

  /** Writes the values of an answer; gives their number. */
  async show(answer: AsyncIterable<Vector>, mode: Mode = this.mode): Promise<number> {
    const view = mode === 'table' ? new TableText({ width: this.output.width(), colors: this.colors }) : undefined;
    const writer = view ? undefined : createWriter(mode, { pretty: this.indent });
    const decoder = new TextDecoder();
    let rows = 0;
    const write = async (chunks: Iterable<Uint8Array>): Promise<void> => {
      for (const chunk of chunks) {
        const text = decoder.decode(chunk, { stream: true });
        await this.output.write(this.isTerminal ? harmless(text) : text);
      }
    };
    try {
      for await (const batch of answer) {
        rows += batch.length;
        this.output.progress?.(rows);
        if (view) await this.writeText(view.add(batch));
        else await write(writer!.write(batch));
      }
    } finally {
      // What came before a failure is shown.
      await this.writeText(view?.end() ?? '');
    }
    if (writer) await write(writer.end());
    return rows;
  }

  private async writeText(text: string): Promise<void> {
    if (text !== '') await this.output.write(text);
  }

  private async command(text: string, signal: AbortSignal): Promise<Outcome> {
    const [, name, argument] = /^\s*\.(\w+)\s*([\s\S]*)$/.exec(text)!;
    const command: ShellCommand | undefined = shellCommands.find((c) => c.name === name.toLowerCase());
    if (!command) throw new Error(`.${name}: no such command (.help lists them)`);
    return (await command.run(this, argument.trim(), signal)) === 'quit' ? 'quit' : 'done';
  }
}

/** 12 ms, 1.23 s, 2 min 3 s. */
export const secondsText = (ms: number): string => {
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  const hundredths = Math.round(ms / 10);
  const seconds = Math.round(ms / 1000);
  return hundredths < 6000 ? `${(hundredths / 100).toFixed(2)} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};
