/**
 * RE2 expressions with the string first, as PostgreSQL and DuckDB have them: whether one matches, what it matches, what
 * is between its matches.
 */
import { RE2JS } from 're2js';
import { checkStop } from '../../../vectors/stop.ts';
import { linearRegexp, linearSearch } from '../../expressions/linear-regexp.ts';
import { compileRegexp, patternMax, tooLarge } from '../../expressions/regexp.ts';
import type { FunctionRow } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';

/**
 * Options as letters: `i` in any case, `c` in the written case, `s` with `.` for line ends too, `l` as plain text; `g`
 * and blanks as nothing.
 */
const optionsSyntax = /^[icsglmnpk\s]*$/;
/** The expression with its options; a refusal tells of the argument that is wrong. */
export const compiled = (pattern: string, options: string, optionsArgument: number): RE2JS | Refusal => {
  if (!optionsSyntax.test(options)) return new Refusal('unknown option', optionsArgument);
  // Quoted it would be longer still.
  if (pattern.length > patternMax) return wrongPattern(tooLarge(pattern.length));
  const inAnyCase = options.lastIndexOf('i') > options.lastIndexOf('c');
  const flags = `${inAnyCase ? 'i' : ''}${options.includes('s') ? 's' : ''}`;
  const text = options.includes('l') ? RE2JS.quote(pattern) : pattern;
  const re = compileRegexp(flags === '' ? text : `(?${flags})${text}`);
  return typeof re === 'string' ? wrongPattern(re) : re;
};
const wrongPattern = (what: string): Refusal => new Refusal(`invalid regular expression: ${what}`, 1);

const matches = (s: string, pattern: string, options = ''): boolean | Refusal => {
  const re = compiled(pattern, options, 2);
  if (re instanceof Refusal) return re;
  const linear = linearRegexp(re.pattern());
  return linear ? linear.test(s) : re.matcher(s).find();
};
const groupMax = 9;
const isGroup = (group: number | bigint): boolean => group >= 0 && group <= groupMax;
export const extract = (s: string, pattern: string, group: number | bigint = 0, options = ''): string | Refusal => {
  const re = compiled(pattern, options, 3);
  if (re instanceof Refusal) return re;
  if (!isGroup(group)) return new Refusal(`group must be 0 to ${groupMax}`, 2);
  const linear = linearRegexp(re.pattern());
  if (linear) {
    const found = linear.exec(s);
    return found ? (found[Number(group)] ?? '') : options.includes('k') ? s : '';
  }
  const matcher = re.matcher(s);
  if (!matcher.find()) return options.includes('k') ? s : '';
  return Number(group) <= matcher.groupCount() ? (matcher.group(Number(group)) ?? '') : '';
};
export const extractAll = (
  s: string,
  pattern: string,
  group: number | bigint = 0,
  options = '',
): Iterable<string> | Refusal => {
  const re = compiled(pattern, options, 3);
  if (re instanceof Refusal) return re;
  if (!hasGroup(re, group)) return new Refusal(`no group of this number`, 2);
  return groupsOf(re, s, Number(group));
};
/** Whether there is a group of a number; 0 is the whole match. */
export const hasGroup = (re: RE2JS, group: number | bigint): boolean =>
  isGroup(group) && Number(group) <= re.groupCount();
/** One match in a text: where it is, and its groups; null for one that has no part in it. */
interface Match {
  readonly start: number;
  readonly end: number;
  readonly group: (k: number) => string | null;
}
/** All matches of an expression in a text, in order. */
export function* matchesIn(re: RE2JS, s: string): Generator<Match> {
  const linear = linearSearch(re.pattern());
  if (!linear) {
    for (const matcher = re.matcher(s); matcher.find(); ) {
      checkStop();
      yield { start: matcher.start(0), end: matcher.end(0), group: (k) => matcher.group(k) };
    }
    return;
  }
  for (let from = 0; ; ) {
    checkStop();
    // Others may search with it between two matches.
    linear.lastIndex = from;
    const found = linear.exec(s);
    if (!found) return;
    from = linear.lastIndex;
    yield { start: found.index, end: from, group: (k) => found[k] ?? null };
  }
}
function* groupsOf(re: RE2JS, s: string, group: number): Generator<string> {
  for (const match of matchesIn(re, s)) yield match.group(group) ?? '';
}
const splitBy = (s: string, pattern: string, options = ''): Iterable<string> | Refusal => {
  const re = compiled(pattern, options, 2);
  return re instanceof Refusal ? re : partsOf(re, s);
};
/** An empty match parts what is between two characters, never the ends. */
function* partsOf(re: RE2JS, s: string): Generator<string> {
  let start = 0;
  for (const { start: from, end: to } of matchesIn(re, s)) {
    if (to === from && (from === start || from === s.length)) continue;
    yield s.slice(start, from);
    start = to;
  }
  yield s.slice(start);
}

export const matchFunctions: readonly FunctionRow[] = [
  {
    name: 'regexp_matches',
    signature: 'regexp_matches(s, re[, options])',
    text: 'Whether an RE2 expression matches anywhere; options are letters: i any case, s `.` for line ends too.',
    argumentsMin: 2,
    argumentsMax: 3,
    examples: [
      { query: 'regexp_matches("hello","l+")', output: 'true' },
      { query: 'regexp_matches("Hello","^h","i")', output: 'true' },
      {
        query: 'regexp_matches("a","(")',
        output: 'error({message:"regexp_matches: invalid regular expression: missing closing )",on:"("})',
      },
      { query: 'regexp_matches("a","a","?")', output: 'error({message:"regexp_matches: unknown option",on:"?"})' },
      { query: 'regexp_matches(1,"a")', output: 'error({message:"regexp_matches: string argument required",on:1})' },
    ],
    make: byRow('regexp_matches', ['string', 'string', 'string'], 'bool', matches),
  },
  {
    name: 'regexp_extract',
    signature: 'regexp_extract(s, re[, group[, options]])',
    text: 'The first match of an RE2 expression, or a group of it; "" if there is none.',
    argumentsMin: 2,
    argumentsMax: 4,
    examples: [
      { query: 'regexp_extract("abc123","([a-z]+)(\\\\d+)",2)', output: '"123"' },
      { query: 'regexp_extract("abc","x")', output: '""' },
      { query: 'regexp_extract("a","a",10)', output: 'error({message:"regexp_extract: group must be 0 to 9",on:10})' },
      { query: 'regexp_extract("a",1)', output: 'error({message:"regexp_extract: string argument required",on:1})' },
    ],
    make: byRow('regexp_extract', ['string', 'string', 'integer', 'string'], 'string', extract),
  },
  {
    name: 'regexp_extract_all',
    signature: 'regexp_extract_all(s, re[, group[, options]])',
    text: 'All matches of an RE2 expression, or a group of each.',
    argumentsMin: 2,
    argumentsMax: 4,
    examples: [
      { query: 'regexp_extract_all("a1b22","[0-9]+")', output: '["1","22"]' },
      { query: 'regexp_extract_all("abc","x")', output: '[]' },
      {
        query: 'regexp_extract_all("a","a",1)',
        output: 'error({message:"regexp_extract_all: no group of this number",on:1})',
      },
      {
        query: 'regexp_extract_all("a",1)',
        output: 'error({message:"regexp_extract_all: string argument required",on:1})',
      },
    ],
    make: byRow('regexp_extract_all', ['string', 'string', 'integer', 'string'], 'strings', extractAll),
  },
  {
    name: 'regexp_split_to_array',
    signature: 'regexp_split_to_array(s, re[, options])',
    text: 'The parts of a string between the matches of an RE2 expression.',
    argumentsMin: 2,
    argumentsMax: 3,
    examples: [
      { query: 'regexp_split_to_array("a  b c"," +")', output: '["a","b","c"]' },
      {
        query: 'regexp_split_to_array(1," ")',
        output: 'error({message:"regexp_split_to_array: string argument required",on:1})',
      },
    ],
    make: byRow('regexp_split_to_array', ['string', 'string', 'string'], 'strings', splitBy),
  },
];
