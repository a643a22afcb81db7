/**
 * The texts that a query is made of: its own, and those of the views that it reads, each behind the ones before.
 *
 * Invariants:
 * - Places are bytes of all texts one behind the other, so that every part of a syntax tree has a place of its own.
 * - What is told outside has places of the query's own text alone: a fault in a view's text is told where the query
 *   names the view, with its place in the view's text in words.
 */
import type { QueryNode, Span } from '../ast.ts';
import { CompileError, type CompileFault } from '../parse/error.ts';
import { parse } from '../parse/parser.ts';
import type { ViewSource } from '../plan/plan.ts';

interface ViewText {
  readonly name: string;
  readonly text: string;
  readonly base: number;
  /** Where it is named first. */
  readonly place: Span;
  readonly query: QueryNode | undefined;
  readonly faults: readonly CompileFault[];
}

/** All texts of one query. */
export class ViewTexts {
  private readonly views = new Map<string, ViewText>();
  private whole: string;
  private bytes: number;
  private readonly own: number;

  constructor(text: string) {
    this.whole = text;
    this.bytes = Buffer.byteLength(text);
    this.own = this.bytes;
  }

  get text(): string {
    return this.whole;
  }

  /** The tree of a view's text. @throws CompileError when a later build reads it otherwise than the one that took it */
  queryOf({ handle, name, query: text }: ViewSource, { start, end }: Span): QueryNode {
    const known = this.views.get(handle);
    if (known) return treeOf(known);
    const base = this.bytes + 1;
    this.whole += `\n${text}`;
    this.bytes = base + Buffer.byteLength(text);
    const made: ViewText = { name, text, base, place: { start, end }, ...parsed(text, base) };
    this.views.set(handle, made);
    return treeOf(made);
  }

  /** The error with places in the query's own text. */
  told(error: CompileError): CompileError {
    if (error.errors.every(({ start }) => start <= this.own)) return error;
    return new CompileError(
      error.errors.map((fault) => this.toldFault(fault)),
      { cause: error },
    );
  }
  private toldFault(fault: CompileFault): CompileFault {
    if (fault.start <= this.own) return fault;
    const views = [...this.views.values()];
    let message = `${fault.message}`;
    let at: Span = fault;
    for (let inner = true; at.start > this.own; inner = false) {
      const { start } = at;
      const view = views.findLast(({ base }) => base <= start)!;
      message = `view "${view.name}": ${message}${inner ? ` (${lineOf(view, start)} of its text)` : ''}`;
      at = view.place;
    }
    return { ...fault, message, start: at.start, end: at.end };
  }
}

const parsed = (text: string, base: number): Pick<ViewText, 'query' | 'faults'> => {
  try {
    return { query: parse(text, { base }), faults: [] };
  } catch (error) {
    if (error instanceof CompileError) return { query: undefined, faults: error.errors };
    throw error;
  }
};
const treeOf = ({ query, faults, base }: ViewText): QueryNode => {
  if (query) return query;
  throw new CompileError(faults.map((fault) => (fault.start < base ? { ...fault, start: base } : fault)));
};
const lineOf = ({ text, base }: ViewText, start: number): string => {
  const before = Buffer.from(text).subarray(0, start - base);
  const lineStart = before.lastIndexOf(0x0a) + 1;
  return `line ${before.filter((byte) => byte === 0x0a).length + 1}, column ${before.length - lineStart + 1}`;
};
