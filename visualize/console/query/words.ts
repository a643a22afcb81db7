/**
 * What each token of a query is in the colours of the editor. The lists of words are given, since the build makes them
 * of the service's tables.
 */
import { scan, type Token } from './scan.ts';

/** What is coloured alike. */
export type WordKind =
  | 'operator'
  | 'function'
  | 'keyword'
  | 'type'
  | 'constant'
  | 'string'
  | 'number'
  | 'time'
  | 'comment'
  | 'mark';
/** The words of the language. */
export interface Words {
  readonly operators: ReadonlySet<string>;
  readonly functions: ReadonlySet<string>;
  readonly keywords: ReadonlySet<string>;
}
/** A part of the text, from `start` to before `end`. */
interface Coloured {
  readonly start: number;
  readonly end: number;
  readonly kind: WordKind;
}

/** Words that stand for types. */
export const typeNames: readonly string[] = [
  'int8',
  'int16',
  'int32',
  'int64',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'float16',
  'float32',
  'float64',
  'bool',
  'string',
  'bytes',
  'time',
  'duration',
  'ip',
  'net',
  'type',
  'date',
  'error',
  'enum',
];
const types: ReadonlySet<string> = new Set(typeNames);
const constants: ReadonlySet<string> = new Set(['true', 'false', 'null', 'nan', 'inf', 'this']);
const sqlWords =
  /^(?:select|from|where|group|by|having|order|limit|offset|join|left|right|inner|outer|full|cross|anti|on|using|union|all|distinct|as|with|recursive|values)$/;
const byToken: Partial<Record<Token['kind'], WordKind>> = {
  comment: 'comment',
  string: 'string',
  regexp: 'string',
  time: 'time',
  duration: 'time',
  number: 'number',
  address: 'number',
  operator: 'mark',
  pipe: 'mark',
};

/** The coloured parts in their order; what stands between them has no colour of its own. */
export const colour = (text: string, words: Words): readonly Coloured[] => {
  const found: Coloured[] = [];
  const tokens = scan(text).filter((token) => token.kind !== 'space');
  let isStart = true;
  let before: Token | undefined;
  tokens.forEach((token, i) => {
    const kind =
      token.kind === 'word' ? wordKind(token, { words, isStart, before, next: tokens[i + 1] }) : byToken[token.kind];
    if (kind) found.push({ start: token.start, end: token.end, kind });
    if (token.kind === 'comment') return;
    isStart = token.kind === 'pipe' || token.text === '(' || token.text === ';' || token.text === '=>';
    before = token;
  });
  return found;
};

interface Place {
  readonly words: Words;
  readonly isStart: boolean;
  readonly before: Token | undefined;
  readonly next: Token | undefined;
}
const wordKind = (token: Token, { words, isStart, before, next }: Place): WordKind | undefined => {
  const word = token.text.toLowerCase();
  if (before?.text === '.') return undefined;
  if (constants.has(word)) return 'constant';
  if (before?.text === '::' || before?.text === '<') return types.has(word) ? 'type' : undefined;
  if (next?.text === '(' && words.functions.has(word)) return 'function';
  if (isStart && words.operators.has(word)) return 'operator';
  if (next?.text === ':' || next?.text === ':=') return undefined;
  if (words.keywords.has(word) || sqlWords.test(word)) return 'keyword';
  return undefined;
};
