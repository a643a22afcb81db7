/** What is wrong with a text that is no JSON value, in the words that clients know: those of Go's decoder. */
import { goQuoted } from '../vectors/literal.ts';

/** The fault of the text; undefined if it is one JSON value. */
export const jsonFault = (text: string): string | undefined => {
  const scan = new Scan(text);
  try {
    scan.value();
    scan.end();
    return undefined;
  } catch (problem) {
    if (problem instanceof Fault) return problem.message;
    throw problem;
  }
};

class Fault extends Error {}

class Scan {
  private readonly text: string;
  private at = 0;
  constructor(text: string) {
    this.text = text;
  }

  /** The character here; none at the end. */
  private peek(): string {
    return this.text[this.at] ?? '';
  }
  private space(): void {
    while (/^[ \t\r\n]$/.test(this.peek())) this.at++;
  }
  private unexpected(where: string): never {
    if (this.at >= this.text.length) throw new Fault('unexpected end of JSON input');
    const char = String.fromCodePoint(this.text.codePointAt(this.at)!);
    throw new Fault(
      `invalid character ${char === "'" ? `'\\''` : char === '"' ? `'"'` : `'${goQuoted(char).slice(1, -1)}'`} ${where}`,
    );
  }

  end(): void {
    this.space();
    if (this.at < this.text.length) this.unexpected('after top-level value');
  }

  /** Containers are kept on a stack of their own: the text may nest as deep as it is long. */
  value(): void {
    const open: ('{' | '[')[] = [];
    for (;;) {
      this.space();
      const c = this.peek();
      if (c === '{' || c === '[') {
        this.at++;
        this.space();
        if (this.peek() !== (c === '{' ? '}' : ']')) {
          open.push(c);
          if (c === '{') this.key();
          continue;
        }
        this.at++;
      } else this.scalar();
      if (!this.next(open)) return;
    }
  }
  /** What stands behind a value: true if another one follows. */
  private next(open: ('{' | '[')[]): boolean {
    for (let inside = open.at(-1); inside; inside = open.at(-1)) {
      this.space();
      const c = this.peek();
      if (c === ',') {
        this.at++;
        this.space();
        if (inside === '{') this.key();
        return true;
      }
      if (c !== (inside === '{' ? '}' : ']'))
        this.unexpected(inside === '{' ? 'after object key:value pair' : 'after array element');
      this.at++;
      open.pop();
    }
    return false;
  }
  private key(): void {
    if (this.peek() !== '"') this.unexpected('looking for beginning of object key string');
    this.string();
    this.space();
    if (this.peek() !== ':') this.unexpected('after object key');
    this.at++;
  }

  private scalar(): void {
    const c = this.peek();
    if (c === '"') this.string();
    else if (/^[-\d]$/.test(c)) this.number();
    else if (c === 't') this.word('true');
    else if (c === 'f') this.word('false');
    else if (c === 'n') this.word('null');
    else this.unexpected('looking for beginning of value');
  }
  private word(word: string): void {
    for (const expected of word) {
      if (this.peek() !== expected) this.unexpected(`in literal ${word} (expecting '${expected}')`);
      this.at++;
    }
  }
  private digits(where: string): void {
    if (!/^\d$/.test(this.peek())) this.unexpected(where);
    while (/^\d$/.test(this.peek())) this.at++;
  }
  private number(): void {
    if (this.peek() === '-') this.at++;
    if (this.peek() === '0') this.at++;
    else this.digits('in numeric literal');
    if (this.peek() === '.') {
      this.at++;
      this.digits('after decimal point in numeric literal');
    }
    if (/^[eE]$/.test(this.peek())) {
      this.at++;
      if (/^[-+]$/.test(this.peek())) this.at++;
      this.digits('in exponent of numeric literal');
    }
  }
  private string(): void {
    this.at++;
    for (; this.peek() !== '"'; this.at++) {
      if (this.peek() === '' || this.peek() < ' ') this.unexpected('in string literal');
      if (this.peek() !== '\\') continue;
      this.at++;
      if (this.peek() === 'u') {
        for (let n = 0; n < 4; n++) {
          this.at++;
          if (!/^[\da-fA-F]$/.test(this.peek())) this.unexpected('in \\u hexadecimal character escape');
        }
      } else if (!/^["\\/bfnrt]$/.test(this.peek())) this.unexpected('in string escape code');
    }
    this.at++;
  }
}
