/**
 * Patterns that are worked out for each row: LIKE and ILIKE with an escape character, globs, whole matches, splits; and
 * patterns made of text.
 */
import { RE2JS } from 're2js';
import { checkStopAt } from '../../../vectors/stop.ts';
import { textToBytes } from '../../../vectors/texts/codec.ts';
import { type BytesVector, bools, nulls, ofForm, textAt } from '../../../vectors/vector.ts';
import { LikePattern, LowerText, likeMatches } from '../../expressions/like.ts';
import { patternMax, tooLarge } from '../../expressions/regexp.ts';
import { inner, wrapErrors } from '../../expressions/rows.ts';
import { changedInRuns } from './code-points.ts';
import { compiled } from './matches.ts';
import { byKernel, isNull, isText, rowsOf, type FunctionRow, type Kernel } from '../row.ts';
import { Failures, Refusal, byRow } from '../typed.ts';

/**
 * Each row's text beside its pattern, byte by byte: as an expression, made for each pattern and run over the text as
 * characters, rows took seven times the processor time.
 */
const likeKernel =
  (name: string, isCaseless: boolean): Kernel =>
  (args, length) => {
    if (args.some(isNull)) return nulls(length);
    const other = args.find((a) => !isText(a));
    if (other) return wrapErrors(`${name}: string argument required`, other);
    const [text, pattern, escape] = args.map((a) => ({ v: ofForm(inner(a), 'bytes'), isOne: a.form === 'constant' }));
    const read = new LikePattern();
    const lower = { text: new LowerText(), pattern: new LowerText() };
    const out = new Uint8Array(length);
    const failures = new Failures(length);
    let fault: Refusal | undefined;
    for (let i = 0; i < length; i++) {
      checkStopAt(i);
      if (i === 0 || !pattern.isOne || (escape && !escape.isOne))
        fault = patternOf(
          read,
          { v: pattern.v, row: pattern.isOne ? 0 : i },
          escape && textAt(escape.v, escape.isOne ? 0 : i),
          isCaseless ? lower.pattern : undefined,
        );
      if (fault) {
        failures.note(i, fault);
        continue;
      }
      const row = text.isOne ? 0 : i;
      if (isCaseless) lower.text.set(text.v, row);
      const matches = isCaseless
        ? likeMatches(read, lower.text.bytes, 0, lower.text.length)
        : likeMatches(read, text.v.bytes, text.v.offsets[row], text.v.offsets[row + 1]);
      if (matches) out[i] = 1;
    }
    return failures.over(bools(out), name, args);
  };
/** Reads a row's pattern; what is wrong with it. */
const patternOf = (
  read: LikePattern,
  { v, row }: { readonly v: BytesVector; readonly row: number },
  escape: string | undefined,
  lower: LowerText | undefined,
): Refusal | undefined => {
  if (escape !== undefined && (escape.length > 2 || [...escape].length > 1)) return longEscape;
  const [start, end] = [v.offsets[row], v.offsets[row + 1]];
  const characters = end - start > patternMax ? textAt(v, row).length : 0;
  if (characters > patternMax) return new Refusal(tooLarge(characters), 1);
  lower?.set(v, row);
  const mark = !escape ? undefined : textToBytes(lower ? escape.toLowerCase() : escape);
  const isRead = lower ? read.set(lower.bytes, 0, lower.length, mark) : read.set(v.bytes, start, end, mark);
  return isRead ? undefined : openEscape;
};
const longEscape = new Refusal('escape must be one character or empty', 2);
const openEscape = new Refusal('nothing after the escape character', 1);

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
    byKernel(likeKernel('like_escape', false), 'bare'),
    [
      ['values like_escape("a%c","a!%c","!")', 'true'],
      ['like_escape("a","a!","!")', 'error({message:"like_escape: nothing after the escape character",on:"a!"})'],
      ['like_escape("a","a","xy")', 'error({message:"like_escape: escape must be one character or empty",on:"xy"})'],
      wrong('like_escape'),
    ],
  ),
  ...rowsOf(
    'ilike_escape(s, pattern[, escape])',
    'The same in any case of letters.',
    byKernel(likeKernel('ilike_escape', true), 'bare'),
    [['values ilike_escape("ABC","a%")', 'true'], wrong('ilike_escape')],
  ),
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
