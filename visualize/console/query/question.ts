/** A question: its text as it is written, what is wrong with it, and the run that came of it last. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Lake } from '../../../src/client/client.ts';
import type { Path } from './columns/columns.ts';
import type { EditorHandle, TextFault } from './editor.tsx';
import { narrowing, widening } from './narrow.ts';
import { Run } from './run.ts';
import { sameTexts } from './scan.ts';
import { rowsMax } from './stored.ts';
import { Table } from './table.ts';

/** What a question begins with. */
interface QuestionOptions {
  readonly client: Lake;
  readonly text: string;
  /** Told of each run. */
  readonly onRun: (run: Asked) => void;
}
/** A text that was run. `isNew`: the reader asked for it, not the address. */
export interface Asked {
  readonly text: string;
  readonly isNew: boolean;
}

/** One question. The editor, once it is there, is where its text changes. */
export class Question {
  readonly client: Lake;
  /** The text that it began with. */
  readonly first: string;
  readonly text: Signal<string>;
  readonly faults = signal<readonly TextFault[]>([]);
  editor: EditorHandle | undefined;
  private readonly tableSignal = signal<Table | undefined>(undefined);
  private readonly onRun: (run: Asked) => void;

  constructor({ client, text, onRun }: QuestionOptions) {
    this.client = client;
    this.first = text;
    this.text = signal(text);
    this.onRun = onRun;
  }

  /** Of the last run; undefined before the first. */
  get table(): ReadonlySignal<Table | undefined> {
    return this.tableSignal;
  }

  /** Whether the rows that are there are of an earlier text. */
  get isOutdated(): boolean {
    const { value } = this.tableSignal;
    return value !== undefined && !sameTexts(value.run.text, this.text.value);
  }

  /** Runs the text as it stands, in place of what runs. */
  run({ isNew = true }: { readonly isNew?: boolean } = {}): void {
    const asked = this.text.peek();
    if (asked.trim() === '') return;
    this.cancel();
    const before = this.tableSignal.peek();
    const next = new Table(new Run(this.client, asked, rowsMax.peek()));
    if (before) next.keep(before);
    this.tableSignal.value = next;
    this.onRun({ text: asked, isNew });
  }
  cancel(): void {
    this.tableSignal.peek()?.run.cancel();
  }

  /** Runs this text in place of the other. */
  ask(text: string): void {
    this.editor?.replace(text);
    this.run();
  }
  /**
   * Goes back to a text of the browser's history, or on to one. `runs`: it is run again; else the rows that are there
   * are of another text.
   */
  restore(text: string, runs: boolean): void {
    this.editor?.replace(text);
    if (runs) this.run({ isNew: false });
    else if (text.trim() === '') {
      this.cancel();
      this.tableSignal.value = undefined;
    }
  }
  /** Runs it for a span of a field: literals as the query writes them. */
  narrow(path: Path, from: string, to: string): void {
    this.editor?.change(narrowing(this.text.peek(), { path, from, to }));
    this.run();
  }
  /** Takes a span of a field away and runs it; undefined where none stands. */
  widen(path: Path): (() => void) | undefined {
    const change = widening(this.text.value, path);
    return (
      change &&
      (() => {
        this.editor?.change(change);
        this.run();
      })
    );
  }
  /** Marks a place of the text for the reader. */
  place(start: number, end: number): void {
    this.editor?.select(start, end);
  }
  /** Shows what is wrong with the text. */
  show(faults: readonly TextFault[]): void {
    if (faults.length === 0 && this.faults.value.length === 0) return;
    this.faults.value = faults;
    this.editor?.show(faults);
  }
}
