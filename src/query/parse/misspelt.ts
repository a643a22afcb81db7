/**
 * Where the parser gave up: a word that is close to one of the language and stands where no name can, or a join without
 * its condition.
 */
import { keywords, operatorTable } from '../reference/operators.ts';
import { closest } from '../analyze/suggest.ts';

/** Words that a text begins with. */
const beginnings = [
  'select',
  'from',
  'with',
  'values',
  'table',
  'describe',
  'summarize',
  'explain',
  'show',
  'const',
  'let',
  'pragma',
  ...operatorTable.map(({ name }) => name),
];
/** Words that go on with a SELECT after a name, a value or a star. */
const clauses = [
  'from',
  'where',
  'group',
  'order',
  'having',
  'limit',
  'offset',
  'join',
  'inner',
  'left',
  'right',
  'full',
  'cross',
  'natural',
  'union',
  'intersect',
  'except',
  'using',
  'between',
  'like',
  'qualify',
  'window',
];
const known: ReadonlySet<string> = new Set([
  ...beginnings,
  ...clauses,
  ...keywords,
  'and',
  'or',
  'not',
  'in',
  'is',
  'null',
  'as',
  'on',
  'by',
  'asc',
  'desc',
  'distinct',
  'case',
  'when',
  'then',
  'else',
  'end',
  'all',
  'true',
  'false',
  'exists',
]);

/** How much of the text is looked at on either side of the place: a long one must not cost time. */
const charsBefore = 1000;
const charsBehind = 100;

/** What may have been meant at the place, or just before it. */
export const misspeltAdvice = (text: string, at: number): string | undefined => {
  const first = /^\s*(\w+)\s+(?![\s:=<>+\-/?~])/.exec(text)?.[1];
  if (!/\bselect\b/i.test(text)) return first === undefined ? undefined : meant(first, beginnings);
  const from = Math.max(0, at - charsBefore);
  const near = text.slice(from, at + charsBehind);
  return (
    joinAdvice(near, at - from) ??
    clauseAdvice(near, at - from) ??
    (first === undefined ? undefined : meant(first, beginnings))
  );
};

const joinAdvice = (text: string, at: number): string | undefined => {
  const isBare =
    /\bjoin(?<!\b(?:cross|natural|positional)\s+join)\s+(?:[\w."@]+|\([^()]*\))(?:\s+(?:as\s+)?[\w"]+)?\s*$/i.test(
      text.slice(0, at),
    );
  return isBare && !/^(?:on|using)\b/i.test(text.slice(at))
    ? 'a join needs its condition: join TABLE on CONDITION, or join TABLE using (COLUMN, ...); cross join pairs all rows'
    : undefined;
};

/** The word before the place goes first: a misspelt word was read as an alias. */
const clauseAdvice = (text: string, at: number): string | undefined => {
  const words = [...text.matchAll(/\w+/g)];
  const here = words.findLastIndex((word) => word.index <= at);
  for (const place of [here - 1, here]) {
    const word = words[place];
    const before = word && text.slice(0, word.index).trimEnd();
    const last = words[place - 1];
    // A name has to stand after a comma, a bracket or a word like FROM.
    if (
      !word ||
      !before ||
      !/[\w"'`)\]*]$/.test(before) ||
      (last && last.index + last[0].length === before.length && known.has(last[0].toLowerCase()))
    )
      continue;
    const advice = meant(word[0], clauses);
    if (advice) return advice;
  }
  return undefined;
};

const meant = (word: string, words: readonly string[]): string | undefined => {
  const [found] = known.has(word.toLowerCase()) ? [] : closest(word, words);
  return found && `did you mean ${JSON.stringify(found)} for ${word}?`;
};
