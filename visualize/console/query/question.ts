/** A question: its text as it is written, what is wrong with it, and the run that came of it last. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Lake } from '../../../src/client/client.ts';
import type { Path } from './columns/columns.ts';
import type { EditorHandle, TextFault } from './editor.tsx';
import { narrowing, widening } from './narrow.ts';
import { Run } from './run.ts';
import { rowsMax } from './stored.ts';
import { Table } from './table.ts';

/** What a question begins with. `onLink` is told of the text that a link to it should carry. */
interface QuestionOptions {
  readonly client: Lake;
  readonly text: string;
  readonly onLink: (text: string) => void;
}

/** One question. The editor, once it is there, is where its text changes. */
export class Question {
  readonly client: Lake;
  /** The text that it began with. */
  readonly first: string;
  readonly text: Signal<string>;
  readonly faults = signal<readonly TextFault[]>([]);
  editor: EditorHandle | undefined;
  readonly #table = signal<Table | undefined>(undefined);
  readonly #onLink: (text: string) => void;

  constructor({ client, text, onLink }: QuestionOptions) {
    this.client = client;
    this.first = text;
    this.text = signal(text);
    this.#onLink = onLink;
  }

  /** Of the last run; undefined before the first. */
  get table(): ReadonlySignal<Table | undefined> {
    return this.#table;
  }

  /** Runs the text as it stands, in place of what runs. */
  run(): void {
    const asked = this.text.peek();
    if (asked.trim() === '') return;
    this.cancel();
    const before = this.#table.peek();
    const next = new Table(new Run(this.client, asked, rowsMax.peek()));
    if (before) next.keep(before);
    this.#table.value = next;
    this.#onLink(asked);
  }
  cancel(): void {
    this.#table.peek()?.run.cancel();
  }

  /** Lets a link carry the text as it stands. */
  link(): void {
    this.#onLink(this.text.peek());
  }

  /** Runs this text in place of the other. */
  ask(text: string): void {
    this.editor?.replace(text);
    this.run();
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
