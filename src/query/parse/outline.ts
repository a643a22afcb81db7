/**
 * The outline of a text that is still being written: which brackets, strings and comments are open at its end, and
 * where it has semicolons. It asks for less than the parser, so that it works on unfinished and on wrong text.
 */

/**
 * Something that was opened, as it stands in the text (`(`, `"`, `/*`; `f"` inside an expression of an f-string), and
 * its offset. Offsets are in UTF-16 units.
 */
interface Opening {
  readonly text: string;
  readonly at: number;
}
/** What `outlineOf` finds. Offsets are in UTF-16 units. */
export interface Outline {
  /** What is open at the end, outermost first. */
  readonly open: readonly Opening[];
  /** Offsets of semicolons outside of everything. */
  readonly stops: readonly number[];
  /** The first closing bracket that does not fit, with the one that it should have closed, if any was open. */
  readonly stray?: Opening & { readonly opening?: Opening };
  /** Offsets of line comments: from the dashes to the end of the line. */
  readonly comments: readonly { readonly start: number; readonly end: number }[];
}

const closers: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
/** Words behind which a slash begins a regular expression. */
const beforeRegexp: ReadonlySet<string> = new Set([
  'from',
  'search',
  'where',
  'and',
  'or',
  'not',
  'join',
  'by',
  'case',
  'when',
  'values',
]);

/** Reads a text from its beginning. Offsets are in UTF-16 units. */
export const outlineOf = (text: string): Outline => new Reader(text).read();

class Reader {
  private readonly text: string;
  private at = 0;
  private readonly open: Opening[] = [];
  private readonly stops: number[] = [];
  private readonly comments: { start: number; end: number }[] = [];
  private stray: Outline['stray'];

  constructor(text: string) {
    this.text = text;
  }

  read(): Outline {
    while (this.at < this.text.length) this.step();
    return { open: this.open, stops: this.stops, comments: this.comments, ...(this.stray && { stray: this.stray }) };
  }

  private step(): void {
    const { text, at } = this;
    const c = text[at];
    const top = this.open.at(-1);
    if (top && isFormat(top) && c === '}' && this.closesFormat()) return;
    if (text.startsWith('--', at)) return this.lineComment();
    if (text.startsWith('/*', at)) return this.blockComment();
    if (c === '"' || c === "'" || c === '`') return this.string(c, this.prefix());
    if (c in closers) {
      this.open.push({ text: c, at });
      this.at++;
    } else if (c === ')' || c === ']' || c === '}') this.close(c);
    else {
      if (c === ';' && this.open.length === 0) this.stops.push(at);
      this.at = c === '/' ? (this.behindRegexp() ?? at + 1) : at + 1;
    }
  }

  /** `r` or `f` directly before a quote, as a word of its own. */
  private prefix(): '' | 'r' | 'f' {
    const found = /(?:^|[^\p{L}\p{Nd}_$])([rf])$/u.exec(this.text.slice(Math.max(0, this.at - 3), this.at))?.[1];
    return found === 'r' || found === 'f' ? found : '';
  }

  /** From an opening quote to behind the closing one; of an f-string to the expression inside it. */
  private string(quote: string, prefix: '' | 'r' | 'f'): void {
    this.stringRest({ text: `${prefix === 'f' ? 'f' : ''}${quote}`, at: this.at }, this.at + 1, prefix);
  }

  private stringRest(opening: Opening, from: number, prefix: '' | 'r' | 'f'): void {
    const { text } = this;
    const quote = opening.text.at(-1)!;
    for (let i = from; i < text.length; i++) {
      if (text[i] === '\\' && prefix !== 'r') i++;
      else if (text[i] === quote) {
        this.at = i + 1;
        return;
      } else if (text[i] === '{' && prefix === 'f') {
        this.open.push(opening);
        this.at = i + 1;
        return;
      }
    }
    this.open.push(prefix === 'f' ? { ...opening, text: opening.text.slice(1) } : opening);
    this.at = text.length;
  }

  /** A brace that ends the expression inside an f-string: the string goes on. */
  private closesFormat(): boolean {
    const opening = this.open.pop()!;
    this.stringRest(opening, this.at + 1, 'f');
    return true;
  }

  private close(bracket: string): void {
    const top = this.open.at(-1);
    if (top && closers[top.text] === bracket) this.open.pop();
    else this.stray ??= { text: bracket, at: this.at, ...(top && { opening: top }) };
    this.at++;
  }

  private lineComment(): void {
    const end = this.text.indexOf('\n', this.at);
    const start = this.at;
    this.at = end < 0 ? this.text.length : end;
    this.comments.push({ start, end: this.at });
  }

  private blockComment(): void {
    const end = this.text.indexOf('*/', this.at + 2);
    if (end < 0) this.open.push({ text: '/*', at: this.at });
    this.at = end < 0 ? this.text.length : end + 2;
  }

  /** The offset behind a regular expression that begins here, or undefined if the slash divides. */
  private behindRegexp(): number | undefined {
    const before = this.text.slice(Math.max(0, this.at - 64), this.at).trimEnd();
    const word = /[\p{L}_$][\p{L}\p{Nd}_$]*$/u.exec(before)?.[0];
    if (word === undefined ? /[\p{Nd})\]}"'`]$/u.test(before) : !beforeRegexp.has(word.toLowerCase())) return undefined;
    for (let i = this.at + 1; i < this.text.length && this.text[i] !== '\n'; i++) {
      if (this.text[i] === '\\') i++;
      else if (this.text[i] === '/') return i + 1;
    }
    return undefined;
  }
}

const isFormat = ({ text }: Opening): boolean => text.length === 2 && text.startsWith('f');
