/** Searches and regular expressions: grep, regexp, regexp_replace. */
import { chargeText, checkStop } from '../../../vectors/stop.ts';
import { TextPieces } from '../../../vectors/texts/pieces.ts';
import { types } from '../../../vectors/type.ts';
import { type Vector, bools, dataAt, nulls, noRows, take } from '../../../vectors/vector.ts';
import { BytesBuilder } from '../../../vectors/builder-leaves.ts';
import { applyCarrying } from '../../expressions/apply.ts';
import { linearRegexp } from '../../expressions/linear-regexp.ts';
import { compileRegexp, isPlainText, regexpTest } from '../../expressions/regexp.ts';
import { combine, overlay, truth, truthOf, wrapErrors, inner } from '../../expressions/rows.ts';
import { foldedSearch, foldedTest, searchAllText, searchPattern, searchText } from '../../expressions/search.ts';
import {
  byKernel,
  isNull,
  isText,
  onTexts,
  texts,
  type CallContext,
  type Evaluate,
  type FunctionRow,
  type Kernel,
} from '../row.ts';
import { textLists } from './strings.ts';
import { stringData } from '../../../vectors/value.ts';

/** A constant pattern with metacharacters is a regular expression; any other pattern is text, in any case. */
const grep = ({ literals }: CallContext): Evaluate => {
  const literal = literals[0];
  // Made once, so that what is found in a dictionary is remembered for all batches.
  const plain =
    literal?.type === types.string
      ? {
          text: stringData(literal.data),
          search: foldedSearch(stringData(literal.data)),
          test: foldedTest(stringData(literal.data)),
        }
      : undefined;
  const constantPattern =
    literal?.type === types.string && !isPlainText(stringData(literal.data))
      ? regexpTest(stringData(literal.data))
      : undefined;
  return ([pattern, v], length) => {
    if (length === 0) return noRows;
    if (constantPattern) return searchPattern(v!, constantPattern);
    return applyCarrying(
      [pattern!],
      [v!],
      length,
      ([p], [rows], n) => {
        if (!isText(p!)) return wrapErrors('grep: pattern argument must be a string', p!);
        if (p!.form === 'constant') {
          const wanted = stringData(dataAt(p!.inner, 0));
          return wanted === plain?.text ? searchText(rows!, plain.search, plain.test) : grepText(rows!, wanted);
        }
        const text = texts(p!);
        const out = new Uint8Array(n);
        for (let i = 0; i < n; i++) out[i] = dataAt(grepText(take(rows!, Uint32Array.of(i)), text(i)), 0) ? 1 : 0;
        return bools(out);
      },
      'whole',
    );
  };
};
/** A pattern that is not written out is looked for in errors too. */
const grepText = (v: Vector, text: string): Vector => searchAllText(v, foldedSearch(text), foldedTest(text));

/** Rows by whether their pattern compiles; the others become errors around the pattern. */
const withPatterns = (name: string, patterns: Vector, length: number, good: (rows: Uint32Array) => Vector): Vector => {
  const text = texts(patterns);
  const failed = new Map<string, number[]>();
  const fine: number[] = [];
  for (let i = 0; i < length; i++) {
    const compiled = compileRegexp(text(i));
    if (typeof compiled !== 'string') fine.push(i);
    else {
      const rows = failed.get(compiled);
      if (rows) rows.push(i);
      else failed.set(compiled, [i]);
    }
  }
  if (failed.size === 0) return good(Uint32Array.from(fine));
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  const parts: Vector[] = [];
  const put = (rows: readonly number[], values: Vector): void => {
    const tag = parts.push(values) - 1;
    rows.forEach((row, n) => {
      tags[row] = tag;
      slots[row] = n;
    });
  };
  if (fine.length > 0) put(fine, good(Uint32Array.from(fine)));
  for (const [message, rows] of failed)
    put(rows, wrapErrors(`${name}: invalid regular expression: ${message}`, take(patterns, Uint32Array.from(rows))));
  return combine(tags, slots, parts);
};
const compiled = (pattern: string): Exclude<ReturnType<typeof compileRegexp>, string> =>
  compileRegexp(pattern) as Exclude<ReturnType<typeof compileRegexp>, string>;

const regexp: Kernel = (args, length) => {
  const [re, s] = args;
  if (args.some(isNull)) return nulls(length);
  if (!isText(re!)) return wrapErrors('regexp: string required for first arg', re!);
  const pattern = texts(re!);
  // The pattern goes first: what is wrong with it is said also where there is no text.
  return withPatterns('regexp', re!, length, (rows) => {
    if (!isText(s!)) return wrapErrors('regexp: string required for second arg', take(s!, rows));
    const text = texts(s);
    return textLists((k) => matchOf(pattern(rows[k]), text(rows[k])), rows.length);
  });
};
const matchOf = (pattern: string, text: string): readonly string[] => {
  const matcher = compiled(pattern).matcher(text);
  if (!matcher.find()) return [];
  return Array.from({ length: matcher.groupCount() + 1 }, (_, g) => matcher.group(g) ?? '');
};

/** `$1`, `${1}`, `$name`, `$$`; names are as long as letters, digits and underscores go on. */
const reference = /\$(?:\$|\{(\w+)\}|(\w+))/g;
const replaceMatches = (text: string, pattern: string, by: string): string => {
  const re = compiled(pattern);
  return replaceIn(text, re, replacementParts(by, re.namedGroups()), { each: true, touching: true });
};
/**
 * The text with its matches, or the first one, replaced by texts and groups; `touching`: also an empty match right
 * behind another one.
 */
export const replaceIn = (
  text: string,
  re: ReturnType<typeof compiled>,
  parts: readonly (string | number)[],
  { each, touching }: { readonly each: boolean; readonly touching: boolean },
): string => {
  const linear = linearRegexp(re.pattern());
  if (linear) return replaceFirst(text, linear, parts);
  const matcher = re.matcher(text);
  const out = new TextPieces('regexp_replace');
  let done = 0;
  while (matcher.find()) {
    checkStop();
    if (!touching && done > 0 && matcher.end(0) === done) continue;
    const put = parts.map((p) =>
      typeof p === 'string' ? p : p <= matcher.groupCount() ? (matcher.group(p) ?? '') : '',
    );
    const size = put.reduce((n, p) => n + p.length, 0);
    if (size > longText) chargeText(out.length + size, 'regexp_replace');
    out.add(text.slice(done, matcher.start(0)) + put.join(''));
    done = matcher.end(0);
    if (!each) break;
  }
  out.add(text.slice(done));
  return out.text();
};
/** One that begins where the text does is the only match. */
const replaceFirst = (text: string, linear: RegExp, parts: readonly (string | number)[]): string => {
  const found = linear.exec(text);
  if (!found) return text;
  let out = '';
  for (const p of parts) out += typeof p === 'string' ? p : (found[p] ?? '');
  if (out.length > longText) chargeText(text.length + out.length, 'regexp_replace');
  return found[0].length === text.length ? out : out + text.slice(found[0].length);
};
/** What one match gives is measured from so many characters on. */
const longText = 1 << 16;
/** A replacement as texts and numbers of groups. */
const replacementParts = (by: string, names: Readonly<Record<string, number>>): readonly (string | number)[] => {
  const out: (string | number)[] = [];
  let done = 0;
  for (const found of by.matchAll(reference)) {
    const name = found[1] ?? found[2];
    out.push(by.slice(done, found.index));
    done = found.index + found[0].length;
    if (name === undefined) out.push('$');
    else if (/^\d+$/.test(name)) out.push(Number(name));
    else if (Object.hasOwn(names, name)) out.push(names[name]);
  }
  out.push(by.slice(done));
  return out.filter((p) => p !== '');
};
const replaceTexts = onTexts('regexp_replace: string arg required', ([s, re, by], length) => {
  const text = texts(s!);
  const pattern = texts(re!);
  const replacement = texts(by!);
  return withPatterns('regexp_replace', re!, length, (rows) => {
    const out = new BytesBuilder(types.string);
    for (const i of rows) out.text(replaceMatches(text(i), pattern(i), replacement(i)));
    return out.finish();
  });
});

/** Null if any argument is null, also one of a union; other unions are no strings. */
const regexpReplace: Kernel = (args, length) => {
  const union = args.find((a) => inner(a).form === 'union');
  if (!union) return replaceTexts(args, length);
  const none = new Uint8Array(length);
  for (const a of args)
    truthOf(a).forEach((c, i) => {
      if (c === truth.null && i < length) none[i] = 1;
    });
  return overlay(wrapErrors('regexp_replace: string arg required', args.find((a) => !isText(a))!), none, nulls(length));
};

export const patterns: readonly FunctionRow[] = [
  {
    name: 'grep',
    signature: 'grep(pattern, v)',
    text: 'Whether text or a pattern occurs in a string or field name of the value, at any depth.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'values grep("ELL","hello")', output: 'true' },
      { query: 'values grep("h.*o",{a:"hello"})', output: 'true' },
      { query: 'values grep("h.*O","hello")', output: 'false' },
      { query: 'values grep("x",{xy:1})', output: 'true' },
      { query: 'values grep(1,"a")', output: 'error({message:"grep: pattern argument must be a string",on:1})' },
    ],
    make: grep,
  },
  {
    name: 'regexp',
    signature: 'regexp(re, s)',
    text: 'The first match of an RE2 expression and its groups, or an empty array.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'regexp("foo(.)bar","fooxbar")', output: '["fooxbar","x"]' },
      { query: 'regexp("foo","bar")', output: '[]' },
      { query: 'regexp("(a)|(b)","b")', output: '["b","","b"]' },
      {
        query: 'regexp("(","a")',
        output: 'error({message:"regexp: invalid regular expression: missing closing )",on:"("})',
      },
    ],
    make: byKernel(regexp, 'whole'),
  },
  {
    name: 'regexp_replace',
    signature: 'regexp_replace(s, re, repl)',
    text: 'The string with each match of an RE2 expression replaced; $1, ${1} and $name stand for groups.',
    argumentsMin: 3,
    argumentsMax: 3,
    examples: [
      { query: 'regexp_replace("-ab-axxb-","a(x*)b","${1}W")', output: '"-W-xxW-"' },
      {
        query: 'regexp_replace("a","(","b")',
        output: 'error({message:"regexp_replace: invalid regular expression: missing closing )",on:"("})',
      },
      { query: 'regexp_replace(1,"a","b")', output: 'error({message:"regexp_replace: string arg required",on:1})' },
    ],
    make: byKernel(regexpReplace, 'whole'),
  },
];
