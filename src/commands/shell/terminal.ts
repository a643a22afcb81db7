/**
 * The shell at a terminal: a prompt, a line editor with history and completion, progress while a query runs.
 *
 * Invariants:
 * - One statement runs at a time; lines that are typed meanwhile wait.
 * - Ctrl-C while a statement runs cancels that alone; what waits is forgotten with it.
 * - The history has a statement once, however many lines it was typed on.
 */
import { createInterface, type Interface } from 'node:readline';
import { complete } from './complete.ts';
import { shellCommands } from './commands.ts';
import type { History } from './history.ts';
import { historyMax } from './history.ts';
import { type Statement, StatementReader, oneLine } from './input.ts';
import type { ShellSession } from './session.ts';
import { secondsText } from './session.ts';
import { harmless } from './text.ts';
import { SessionWords } from './words.ts';

/** The streams of a terminal. */
export interface Terminal {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
}

const progressAfterMs = 500;
const progressEveryMs = 250;

/** A line on standard error that tells how far a query has come; it is cleared before anything else is written. */
export class ProgressLine {
  private readonly draw: (text: string) => void;
  private timer: NodeJS.Timeout | undefined;
  private isShown = false;
  private start = 0;
  private rows = 0;

  constructor(draw: (text: string) => void) {
    this.draw = draw;
  }

  begin(): void {
    this.start = performance.now();
    this.rows = 0;
    this.timer = setInterval(() => {
      const ms = performance.now() - this.start;
      if (ms < progressAfterMs) return;
      this.isShown = true;
      this.draw(`\r\x1b[K${this.rows.toLocaleString('en')} rows, ${secondsText(ms)} (Ctrl-C cancels)`);
    }, progressEveryMs);
  }
  at(rows: number): void {
    this.rows = rows;
  }
  clear(): void {
    if (this.isShown) this.draw('\r\x1b[K');
    this.isShown = false;
  }
  end(): void {
    clearInterval(this.timer);
    this.clear();
  }
}

/** What the shell at a terminal works with. */
interface TerminalOptions {
  readonly session: ShellSession;
  readonly history: History;
  readonly progress: ProgressLine;
  readonly terminal: Terminal;
  /** Ends the shell from outside. */
  readonly signal: AbortSignal;
}

/** Runs until the person leaves. */
export const runTerminal = (options: TerminalOptions): Promise<void> => new TerminalShell(options).run();

class TerminalShell {
  private readonly options: TerminalOptions;
  private readonly reader = new StatementReader();
  private readonly words: SessionWords;
  private readonly lines: string[] = [];
  private readonly editor: Interface;
  /** The editor's own list of lines, newest first. */
  private editorHistory: string[] | undefined;
  private running: AbortController | undefined;
  private isLeaving = false;
  private isWorking = false;
  private leave: () => void = () => undefined;

  constructor(options: TerminalOptions) {
    this.options = options;
    const {
      session,
      history,
      terminal: { input, output },
    } = options;
    this.words = new SessionWords(session);
    this.editor = createInterface({
      input,
      output,
      terminal: true,
      history: [...history.entries],
      historySize: historyMax,
      removeHistoryDuplicates: true,
      tabSize: 4,
      completer: (line: string, answer: (problem: Error | null, result: [string[], string]) => void) => {
        void this.complete(line).then((result) => {
          answer(null, result);
        });
      },
    });
  }

  async run(): Promise<void> {
    const {
      editor,
      options: { signal },
    } = this;
    const ended = new Promise<void>((resolve) => {
      this.leave = resolve;
    });
    editor.on('history', (list: string[]) => {
      this.editorHistory = list;
    });
    editor.on('line', (line) => {
      this.isLeaving = false;
      this.lines.push(line);
      // Lines of a pasted text come in one turn: the later ones tell how the earlier ones go on.
      setImmediate(() => {
        void this.work();
      });
    });
    editor.on('SIGINT', () => {
      this.interrupt();
    });
    editor.on('close', () => {
      this.lines.length = 0;
      this.leave();
    });
    const stop = (): void => {
      this.running?.abort();
      this.leave();
    };
    signal.addEventListener('abort', stop, { once: true });
    this.prompt();
    await ended;
    signal.removeEventListener('abort', stop);
    this.leave = () => undefined;
    editor.close();
  }

  /** Takes the lines that are there, one after another. */
  private async work(): Promise<void> {
    if (this.isWorking) return;
    this.isWorking = true;
    for (let line = this.lines.shift(); line !== undefined; line = this.lines.shift()) {
      const statements = this.reader.add(line, this.lines[0]);
      if (statements.length > 0) this.remember(statements);
      for (const statement of statements) {
        const outcome = await this.runOne(statement);
        if (outcome === 'quit') return this.leave();
        if (outcome === 'cancelled') {
          this.lines.length = 0;
          this.reader.clear();
          break;
        }
      }
    }
    this.isWorking = false;
    this.prompt();
  }

  private async runOne(statement: Statement): Promise<string> {
    const { session, progress } = this.options;
    this.running = new AbortController();
    progress.begin();
    const outcome = await session.run(statement, this.running.signal);
    progress.end();
    this.running = undefined;
    this.words.clear();
    if (outcome === 'cancelled') session.output.complain(`${session.colors.dim('cancelled')}\n`);
    return outcome;
  }

  /** Puts the statements into the history instead of their lines. */
  private remember(statements: readonly Statement[]): void {
    const { history } = this.options;
    history.add(statements.map(({ text }) => (text.startsWith(' ') ? ` ${oneLine(text)}` : oneLine(text))).join('; '));
    this.editorHistory?.splice(0, this.editorHistory.length, ...history.entries);
  }

  private interrupt(): void {
    const { output } = this.options.terminal;
    if (this.running) {
      this.running.abort();
      return;
    }
    if (this.editor.line !== '' || this.reader.isOpen) {
      this.reader.clear();
      this.editor.write(null, { ctrl: true, name: 'e' });
      this.editor.write(null, { ctrl: true, name: 'u' });
      output.write('^C\n');
    } else if (this.isLeaving) {
      output.write('\n');
      this.leave();
      return;
    } else {
      this.isLeaving = true;
      output.write('\n(Ctrl-C again, Ctrl-D or .quit ends the shell)\n');
    }
    this.prompt();
  }

  private prompt(): void {
    const { session } = this.options;
    const { head, colors } = session;
    const name = head
      ? `${head.pool}${head.branch === undefined || head.branch === 'main' ? '' : `@${head.branch}`}`
      : 'lake';
    const text = harmless(name).replaceAll('\n', ' ');
    this.editor.setPrompt(
      this.reader.isOpen ? colors.dim(`${'.'.repeat(Math.min(text.length, 20))}> `) : `${colors.bold(text)}> `,
    );
    this.editor.prompt();
  }

  private async complete(line: string): Promise<[string[], string]> {
    try {
      const [words, replaced] = await complete(this.reader.text, line, shellCommands, this.words);
      return [[...words], replaced];
    } catch {
      return [[], ''];
    }
  }
}
