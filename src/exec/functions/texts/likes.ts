/**
 * Patterns that are worked out for each row: LIKE and ILIKE with an escape character, globs, whole matches, splits; and
 * patterns made of text.
 */
import { RE2JS } from 're2js';
import { compileRegexp, patternMax, tooLarge } from '../../expressions/regexp.ts';
import { changedInRuns } from './code-points.ts';
import { compiled } from './matches.ts';
import { remembered } from '../remembered.ts';
import { rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';

/**
 * The expression of a LIKE pattern; what stands behind the escape character counts as it is. Undefined if nothing does.
 */
const likeExpression = (pattern: string, escape: string): string | undefined => {
  let out = '';
  const characters = [...pattern];
  for (let i = 0; i < characters.length; i++) {
    const c = characters[i];
    if (c === escape) {
      const next = characters[++i];
      if (next === undefined) return undefined;
      out += RE2JS.quote(next);
    } else out += c === '%' ? '.*' : c === '_' ? '.' : RE2JS.quote(c);
  }
  return out;
};
const likeOf = (pattern: string, escape: string, flags: string): RE2JS | Refusal => {
  if (pattern.length > patternMax) return new Refusal(tooLarge(pattern.length), 1);
  return likeOfKey(JSON.stringify([flags, escape, pattern]));
};
const likeOfKey = remembered((key): RE2JS | Refusal => {
  const [flags, escape, pattern] = JSON.parse(key) as [string, string, string];
  const text = likeExpression(pattern, escape);
  if (text === undefined) return new Refusal('nothing after the escape character', 1);
  const re = compileRegexp(`(?s${flags})^(?:${text})$`);
  return typeof re === 'string' ? new Refusal(re, 1) : re;
});
const likeRow = (name: string, flags: string) =>
  byRow(name, ['string', 'string', 'string'], 'bool', (s, pattern, escape = '') => {
    if (escape.length > 2 || [...escape].length > 1) return new Refusal('escape must be one character or empty', 2);
    const re = likeOf(pattern, escape, flags);
    return re instanceof Refusal ? re : re.matcher(s).find();
  });

const globExpression = (pattern: string): string =>
  pattern.replace(/\[!?\]?[^\]]*\]|\\.|[\s\S]/gu, (part) => {
    if (part === '*') return '.*';
    if (part === '?') return '.';
    if (part.startsWith('[') && part.length > 1)
      return `[${part
        .slice(1, -1)
        .replace(/^!/, '^')
        .replace(/[\\\[\]]/g, '\\$&')}]`;
    return RE2JS.quote(part.startsWith('\\') && part.length > 1 ? part.slice(1) : part);
  });

const fullMatch = (s: string, pattern: string, options = ''): boolean | Refusal => {
  const re = compiled(options.includes('l') ? pattern : `^(?:${pattern})$`, options, 2);
  return re instanceof Refusal ? re : options.includes('l') ? s === pattern : re.matcher(s).find();
};
const special = /[^A-Za-z0-9_\u{80}-\u{10ffff}]/gu;

const wrong = (name: string, rest = ',"a"'): readonly [string, string] => [
  `${name}(1${rest})`,
  `error({message:"${name}: string argument required",on:1})`,
];
export const likes: readonly FunctionRow[] = [
  ...rowsOf(
    'like_escape(s, pattern[, escape])',
    'Whether a string matches a pattern of LIKE (% any run, _ one character); the escape character makes the next one plain.',
    likeRow('like_escape', ''),
    [
      ['values like_escape("a%c","a!%c","!")', 'true'],
      ['like_escape("a","a!","!")', 'error({message:"like_escape: nothing after the escape character",on:"a!"})'],
      ['like_escape("a","a","xy")', 'error({message:"like_escape: escape must be one character or empty",on:"xy"})'],
      wrong('like_escape'),
    ],
  ),
  ...rowsOf('ilike_escape(s, pattern[, escape])', 'The same in any case of letters.', likeRow('ilike_escape', 'i'), [
    ['values ilike_escape("ABC","a%")', 'true'],
    wrong('ilike_escape'),
  ]),
  ...rowsOf(
    'glob_matches(s, pattern)',
    'Whether a string matches a glob: * any run, ? one character, [a-z] one of these; in SQL s GLOB pattern.',
    byRow('glob_matches', ['string', 'string'], 'bool', (s, pattern) => {
      if (pattern.length > patternMax) return new Refusal(tooLarge(pattern.length), 1);
      const re = compiled(`^(?:${globExpression(pattern)})$`, 's', 1);
      return re instanceof Refusal ? re : re.matcher(s).find();
    }),
    [['values glob_matches("abc","a*")', 'true'], wrong('glob_matches')],
  ),
  ...rowsOf(
    'regexp_full_match(s, re[, options])',
    'Whether an RE2 expression matches all of a string.',
    byRow('regexp_full_match', ['string', 'string', 'string'], 'bool', fullMatch),
    [
      ['values regexp_full_match("abc","a.*")', 'true'],
      [
        'regexp_full_match("a","(")',
        'error({message:"regexp_full_match: invalid regular expression: missing closing )",on:"("})',
      ],
      wrong('regexp_full_match'),
    ],
  ),
  ...rowsOf(
    'regexp_escape(s)',
    'A string with a backslash before each character that an expression takes otherwise.',
    byRow('regexp_escape', ['string'], 'string', (s) =>
      changedInRuns(s, 'regexp_escape', (run) => run.replace(special, (c) => (c === '\0' ? '\\x00' : `\\${c}`))),
    ),
    [['regexp_escape("a.b")', '"a\\\\.b"'], wrong('regexp_escape', '')],
  ),
];
