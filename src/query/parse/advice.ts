/**
 * Advice to a fault of a query text, for people: what to write instead. It is made from the text alone, so that whoever
 * has the text and the fault (the command line, the shell of a remote service) can give it; the fault's own text stays
 * as it is.
 */
import { type Outline, outlineOf } from './outline.ts';
import { misspeltAdvice } from './misspelt.ts';
import type { CompileFault } from './error.ts';

/** How a function is called (`len(v)`), by its lower-case name. */
type SyntaxOf = (name: string) => string | undefined;

/**
 * The advice to a fault, if there is any. Offsets of faults are in UTF-8 bytes; `linesBefore` is added to the lines
 * that it names.
 */
export const adviceTo = (
  text: string,
  fault: CompileFault,
  syntaxOf: SyntaxOf,
  linesBefore = 0,
): string | undefined => {
  const bytes = Buffer.from(text);
  const { message, start, end, hint } = fault;
  // A service's hint to a parse error counts lines of the text that it got; here they may be counted over more.
  if (isParseError(fault)) return parseAdvice(text, bytes.subarray(0, start).toString().length, linesBefore) ?? hint;
  if (hint !== undefined) return hint;
  if (start < 0) return undefined;
  if (message !== 'too few arguments' && message !== 'too many arguments') return undefined;
  const name = /^[\p{L}_$][\p{L}\p{Nd}_$]*/u.exec(bytes.subarray(start, end).toString())?.[0].toLowerCase();
  const syntax = name === undefined ? undefined : syntaxOf(name);
  return syntax && `write ${syntax}`;
};

/** The advice to all faults, each once. */
export const adviceToAll = (text: string, faults: readonly CompileFault[], syntaxOf: SyntaxOf): readonly string[] => [
  ...new Set(faults.flatMap((fault) => adviceTo(text, fault, syntaxOf) ?? [])),
];

/**
 * What a service adds to its errors: the faults' own hints, and of parse errors what is said of words, of `&&` and of a
 * second query. Brackets, quotes, commas and other signs are seen at the place that the error names, and there
 * SuperDB's body of the error stays as it is.
 */
export const hintOfAll = (text: string, faults: readonly CompileFault[]): string | undefined => {
  const bytes = Buffer.from(text);
  const hints = faults.flatMap(
    (fault) =>
      fault.hint ??
      (isParseError(fault) ? (serviceAdvice(text, bytes.subarray(0, fault.start).toString().length) ?? []) : []),
  );
  return [...new Set(hints)].join('\n') || undefined;
};
const serviceAdvice = (text: string, at: number): string | undefined =>
  conjunctionAdvice(text.slice(0, at), text.slice(at)) ?? wordAdvice(text, at, outlineOf(text));
const isParseError = ({ message, start, end }: CompileFault): boolean =>
  message === 'parse error' && start >= 0 && end < 0;

const names: Readonly<Record<string, string>> = {
  '(': 'parenthesis',
  '[': 'bracket',
  '{': 'brace',
  '/*': 'comment',
  '"': 'string',
  "'": 'string',
  '`': 'name',
};

/** What is wrong at the place where the parser gave up. */
const parseAdvice = (text: string, at: number, linesBefore: number): string | undefined => {
  const outline = outlineOf(text);
  const before = text.slice(0, at);
  const rest = text.slice(at);
  return (
    tokenAdvice(before, rest) ??
    openAdvice(outline, at, (opening) => placeOf(text, opening, linesBefore)) ??
    wordAdvice(text, at, outline)
  );
};

/** A second query, or a word that is close to one of the language. */
const wordAdvice = (text: string, at: number, { stops }: Outline): string | undefined =>
  stops.some((stop) => stop < at)
    ? 'a semicolon ends the query: send what follows as a query of its own'
    : misspeltAdvice(text, at);

/** The AND of other languages, at the place or before it. */
const conjunctionAdvice = (before: string, rest: string): string | undefined => {
  // Between lists SQL has one: there it is what is compared behind it that fits no more.
  const isChained = /&&[^&|]*$/.test(before) && /^\s*(?:[<>=]|!=)/.test(rest);
  return isChained || /^\s*&&/.test(rest) || before.endsWith('&&') ? 'write "and" for &&' : undefined;
};
/** Other spellings of other languages there. */
const tokenAdvice = (before: string, rest: string): string | undefined => {
  const near = /(\S*)$/.exec(before)![1] + /^\S*/.exec(rest)![0];
  const conjunction = conjunctionAdvice(before, rest);
  if (conjunction !== undefined) return conjunction;
  if (/^\s*===/.test(rest) || (/==$/.test(before) && rest.startsWith('='))) return 'write == for equality';
  if (/^'/.test(rest) && /'[^'\n]*'$/.test(before))
    return "quotes inside a string are written as \\' (or put the string in double quotes)";
  if (/^\s*[)\]}]/.test(rest) && /,\s*$/.test(before)) return 'leave out the comma before the closing bracket';
  if (/^\s*(?:from|where|group|order)\b/i.test(rest) && /,\s*$/.test(before))
    return 'leave out the comma before the next clause';
  const exponent = /(?:^|[^\w.])(\d+)([eE][+-]?\d+)/.exec(near);
  if (exponent) return `write a dot before the exponent: ${exponent[1]}.${exponent[2]}`;
  if (/^\s*$/.test(rest) && /,\s*$/.test(before)) return 'something is missing after the last comma';
  if (/^\s*$/.test(rest) && /\|>?\s*$/.test(before)) return 'an operator is missing after the last |';
  return undefined;
};

/** Brackets, strings and comments that are not closed, or that close nothing. */
const openAdvice = ({ open, stray }: Outline, at: number, place: (at: number) => string): string | undefined => {
  if (stray && stray.at <= at) {
    return stray.opening
      ? `the ${named(stray.opening.text)} ${place(stray.opening.at)} is not closed before this ${stray.text}`
      : `this ${stray.text} closes nothing`;
  }
  const innermost = open.at(-1);
  return innermost && innermost.at <= at
    ? `the ${named(innermost.text)} ${place(innermost.at)} is not closed`
    : undefined;
};
const named = (opening: string): string =>
  `${names[opening.at(-1) === '*' ? '/*' : opening.at(-1)!] ?? 'text'} ${opening}`;
const placeOf = (text: string, at: number, linesBefore: number): string => {
  const lines = text.slice(0, at).split('\n');
  return `at line ${lines.length + linesBefore}, column ${Buffer.byteLength(lines.at(-1)!) + 1}`;
};
