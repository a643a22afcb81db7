/**
 * The tokens of a query's text, as far as colours, completion and changes of the text need them. Every text has tokens:
 * what is no token is one character.
 */

/** What a token is by its looks alone; words are told apart elsewhere. */
type TokenKind =
  | 'space'
  | 'comment'
  | 'string'
  | 'regexp'
  | 'time'
  | 'duration'
  | 'number'
  | 'address'
  | 'word'
  | 'operator'
  | 'pipe'
  | 'open'
  | 'close'
  | 'comma';
/** A token from `start` to before `end`. */
export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const plainRules: readonly (readonly [TokenKind, RegExp])[] = [
  ['space', /\s+/y],
  ['comment', /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y],
  ['time', /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/y],
  ['address', /\d{1,3}(?:\.\d{1,3}){3}(?:\/\d+)?/y],
  ['duration', /(?:\d+(?:\.\d+)?(?:ns|us|ms|[smhdwy]))+(?![\p{L}\p{Nd}_])/uy],
  ['number', /0x[0-9a-fA-F]*|\d+(?:\.\d*(?:[eE][+-]?\d+)?)?|\.\d+(?:[eE][+-]?\d+)?/y],
  ['string', /r"[^"\n]*"?|r'[^'\n]*'?|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?/y],
  ['word', /[\p{L}_$][\p{L}\p{M}\p{Nd}\p{Pc}$]*/uy],
  ['open', /\|\[|\|\{|[([{]/y],
  ['close', /[)\]}]/y],
  ['comma', /[,;]/y],
  ['operator', /\|\||:=|::=?|==|!=|<=|>=|\.\.\.|[=<>+\-*/%!?:.@&~^#\\]/y],
  ['pipe', /\|/y],
];
/** Behind these a slash begins a regular expression. */
const regexpWords: ReadonlySet<string> = new Set(['search', 'from', 'and', 'or', 'not']);

/** The tokens of a text; put together they are the text. */
export const scan = (text: string): readonly Token[] => {
  const tokens: Token[] = [];
  const brackets: string[] = [];
  let before: Token | undefined;
  for (let at = 0; at < text.length; ) {
    const token = tokenAt(text, at, brackets, before);
    if (token.kind === 'open') brackets.push(token.text);
    else if (token.kind === 'close') brackets.pop();
    tokens.push(token);
    if (token.kind !== 'space' && token.kind !== 'comment') before = token;
    at = token.end;
  }
  return tokens;
};

const tokenAt = (text: string, at: number, brackets: readonly string[], before: Token | undefined): Token => {
  const token = (kind: TokenKind, end: number): Token => ({ kind, start: at, end, text: text.slice(at, end) });
  const character = text[at];
  const innermost = brackets.at(-1);
  if (character === 'f' && (text[at + 1] === '"' || text[at + 1] === "'"))
    return token('string', templateEnd(text, at + 1));
  if ((character === ']' && innermost === '|[') || (character === '}' && innermost === '|{'))
    return token('close', text[at + 1] === '|' ? at + 2 : at + 1);
  if (character === '/' && text[at + 1] !== '*' && beginsTerm(before)) {
    const end = /\/(?:\\.|[^/\\\n])+\//y;
    end.lastIndex = at;
    if (end.test(text)) return token('regexp', end.lastIndex);
  }
  for (const [kind, rule] of plainRules) {
    rule.lastIndex = at;
    if (rule.test(text)) return token(kind, rule.lastIndex);
  }
  return token('operator', at + (text.codePointAt(at)! > 0xffff ? 2 : 1));
};

const beginsTerm = (before: Token | undefined): boolean =>
  before === undefined ||
  before.kind === 'pipe' ||
  before.text === '?' ||
  before.text === '(' ||
  (before.kind === 'word' && regexpWords.has(before.text.toLowerCase()));

/** Behind a string with expressions in braces; `at` is its quote. */
const templateEnd = (text: string, at: number): number => {
  const quote = text[at];
  let depth = 0;
  for (let i = at + 1; i < text.length; i++) {
    const c = text[i];
    if (c === '\n') return i;
    if (c === '\\') i++;
    else if (c === '{') depth++;
    else if (c === '}') depth = Math.max(0, depth - 1);
    else if (c === quote && depth === 0) return i + 1;
  }
  return text.length;
};

/** A part of the query between pipes that stand in no bracket. `tokens` are without space and comments. */
export interface Stage {
  readonly start: number;
  readonly end: number;
  readonly tokens: readonly Token[];
  readonly word: string;
}

/** The stages of a query in their order; the text of an empty one has no tokens. */
export const stagesOf = (text: string): readonly Stage[] => {
  const stages: Stage[] = [];
  let depth = 0;
  let start = 0;
  let tokens: Token[] = [];
  const close = (end: number): void => {
    stages.push({ start, end, tokens, word: tokens[0]?.text.toLowerCase() ?? '' });
    tokens = [];
  };
  for (const token of scan(text)) {
    if (token.kind === 'open') depth++;
    else if (token.kind === 'close') depth = Math.max(0, depth - 1);
    if (token.kind === 'pipe' && depth === 0) {
      close(token.start);
      start = token.end;
    } else if (token.kind !== 'space' && token.kind !== 'comment') tokens.push(token);
  }
  close(text.length);
  return stages;
};

const tokensText = (text: string): string =>
  scan(text)
    .flatMap(({ kind, text: word }) => (kind === 'space' || kind === 'comment' ? [] : [word]))
    .join(' ');
/** Whether two texts differ in space and comments alone. */
export const sameTexts = (a: string, b: string): boolean => a === b || tokensText(a) === tokensText(b);

/** A pool that is read, and the branch or commit of it if one is named. */
export interface Source {
  readonly pool: string;
  readonly branch?: string;
}
/** The pool that a query reads first, as it is written after its first `from`. */
export const sourceOf = (text: string): Source | undefined => {
  const tokens = scan(text).filter(({ kind }) => kind !== 'space' && kind !== 'comment');
  const from = tokens.findIndex(({ kind, text: word }) => kind === 'word' && word.toLowerCase() === 'from');
  const pool = from < 0 ? undefined : nameAt(text, tokens, from + 1);
  if (!pool) return undefined;
  const branch = tokens[pool.next]?.text === '@' ? nameAt(text, tokens, pool.next + 1) : undefined;
  return { pool: pool.name, ...(branch && { branch: branch.name }) };
};

/** A name of a pool: quoted, or all that stands together. */
const nameAt = (
  text: string,
  tokens: readonly Token[],
  first: number,
): { readonly name: string; readonly next: number } | undefined => {
  const token = tokens[first];
  if (!token || token.kind === 'pipe' || token.text === ':' || token.text === '(') return undefined;
  if (token.kind === 'string') return { name: unquoted(token.text), next: first + 1 };
  let next = first + 1;
  while (
    tokens[next] &&
    tokens[next].start === tokens[next - 1].end &&
    (/^(?:word|number|duration)$/.test(tokens[next].kind) || /^[./]$/.test(tokens[next].text))
  )
    next++;
  return { name: text.slice(token.start, tokens[next - 1].end), next };
};

const unquoted = (text: string): string => {
  if (text.startsWith('r')) return text.slice(2, -1);
  try {
    return JSON.parse(
      `"${text
        .slice(1, -1)
        .replace(/\\'/g, "'")
        .replace(/(?<!\\)"/g, '\\"')}"`,
    ) as string;
  } catch {
    return text.slice(1, -1);
  }
};
/** A pool's name as `from` takes it. */
export const poolText = (name: string): string =>
  /^[\p{L}_$][\p{L}\p{Nd}_$]*$/u.test(name) ? name : JSON.stringify(name);
