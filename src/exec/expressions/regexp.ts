/** Regular expressions in RE2 syntax (linear time). */
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { checkStop } from '../../vectors/stop.ts';
import { types } from '../../vectors/type.ts';
import { type BytesVector, type Vector, bools, nulls, textAt } from '../../vectors/vector.ts';
import { linearRegexp } from './linear-regexp.ts';
import { apply, type Kernel } from './apply.ts';

/** Compiled expressions that are kept; patterns that come from data must not fill the memory. */
const cachedMax = 500;
const cache = new Map<string, RE2JS | string>();
/** An expression takes up to 130 bytes for each character of its pattern, and 600 while it is compiled. */
export const patternMax = 100_000;
const cachedCharactersMax = 250_000;
let cachedCharacters = 0;

/** The compiled expression, or the text of what is wrong with it (`missing closing )`, without the pattern). */
export const compileRegexp = (pattern: string): RE2JS | string => {
  if (pattern.length > patternMax) return tooLarge(pattern.length);
  let found = cache.get(pattern);
  if (found === undefined) {
    found = compileNew(pattern);
    cachedCharacters += pattern.length;
    if (cache.size >= cachedMax || cachedCharacters > cachedCharactersMax) {
      cache.clear();
      cachedCharacters = pattern.length;
    }
    cache.set(pattern, found);
  }
  return found;
};
/** What is wrong with a pattern of so many characters. */
export const tooLarge = (length: number): string =>
  `expression too large: ${length} characters (limit ${patternMax} characters)`;
const compileNew = (pattern: string): RE2JS | string => {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return (error as { readonly error?: string }).error ?? error.message;
    throw error;
  }
};

const metacharacters = /[\\.+*?()|[\]{}^$]/;
/** Whether a pattern matches its own text alone. */
export const isPlainText = (pattern: string): boolean => !metacharacters.test(pattern);
/**
 * A test of text: whether the expression matches anywhere. Plain text needs no expression. @throws Error for a bad
 * pattern
 */
export const regexpTest = (pattern: string): ((text: string) => boolean) => {
  if (isPlainText(pattern)) return (text) => text.includes(pattern);
  const re = compileRegexp(pattern);
  if (typeof re === 'string') throw new Error(`error parsing regexp: ${re}`);
  const linear = linearRegexp(pattern);
  return linear ? (text) => linear.test(text) : (text) => re.test(text);
};

/** Rows of a string vector that pass; the test is asked once per row. */
export const testRows = (v: BytesVector, test: (text: string) => boolean): Uint8Array => {
  const out = new Uint8Array(v.length);
  for (let i = 0; i < v.length; i++) {
    checkStop();
    if (test(textAt(v, i))) out[i] = 1;
  }
  return out;
};

/** `~`: true or false for strings, null for null, false for the rest. */
export const matchVector = (v: Vector, rows: (v: BytesVector) => Uint8Array): Vector => {
  const kernel: Kernel = ([operand], length) => {
    const o = operand!;
    if (o.form === 'null') return nulls(length);
    return o.form === 'bytes' && o.type === types.string ? bools(rows(o)) : bools(new Uint8Array(length));
  };
  return apply([v], v.length, kernel);
};
