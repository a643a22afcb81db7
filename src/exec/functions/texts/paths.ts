/** Paths of files as texts. Both slashes part, unless one of them is asked for. */
import { types } from '../../../vectors/type.ts';
import { stringValue, stringData } from '../../../vectors/value.ts';
import { listOf } from '../lists/lists.ts';
import { rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';

type Separator = string | Refusal;
const separatorOf = (kind: string): Separator => {
  switch (kind) {
    case 'system':
    case 'forward_slash':
      return '/';
    case 'backslash':
      return '\\';
    case 'both_slash':
      return '/\\';
    default:
      return new Refusal('separator must be system, both_slash, forward_slash or backslash', 1);
  }
};
const partsOf = (path: string, separator: string): readonly string[] => {
  const parts: string[] = [];
  let part = '';
  for (const c of path) {
    if (!separator.includes(c)) part += c;
    else {
      if (part !== '') parts.push(part);
      else if (parts.length === 0) parts.push(c);
      part = '';
    }
  }
  return part === '' ? parts : [...parts, part];
};
const lastOf = (path: string, separator: string): number => Math.max(...[...separator].map((c) => path.lastIndexOf(c)));
const withoutEnding = (name: string): string => {
  const at = name.lastIndexOf('.');
  return at > 0 ? name.slice(0, at) : name;
};
const firstOf = (path: string, separator: string): string => {
  const at = [...path].findIndex((c) => separator.includes(c));
  return at < 0 ? '' : at === 0 ? path.slice(0, 1) : path.slice(0, at);
};
/** The path up to its last slash. */
const directory = (path: string, separator: string): string => {
  const at = lastOf(path, separator);
  return at < 0 ? '' : at === 0 ? path.slice(0, 1) : path.slice(0, at);
};

const addressRoot = /^[a-z][a-z0-9+.-]*:\/\/[^/]*/i;
/** Parts joined, without empty ones and `.`, and with `..` taken back. */
const joinedPath = (...all: readonly string[]): string | Refusal => {
  const paths = all.filter((p) => p !== undefined);
  const rooted = paths.slice(1).findIndex((p) => p.startsWith('/'));
  if (rooted >= 0) return new Refusal('an absolute path cannot follow another', rooted + 1);
  // An address begins with a root of its own.
  const [first = '', ...rest] = paths;
  const root = addressRoot.exec(first)?.[0] ?? (first.startsWith('/') ? '' : undefined);
  const isRooted = root !== undefined;
  const out: string[] = [];
  for (const part of [first.slice(root?.length ?? 0), ...rest].join('/').split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && out.length > 0 && out.at(-1) !== '..') out.pop();
    else if (part !== '..' || !isRooted) out.push(part);
  }
  const text = out.join('/');
  return isRooted ? `${root}/${text}` : text === '' ? '.' : text;
};

const wrong = (name: string): readonly [string, string] => [
  `${name}(1)`,
  `error({message:"${name}: string argument required",on:1})`,
];
const badSeparator = (name: string): readonly [string, string] => [
  `${name}("a","x")`,
  `error({message:"${name}: separator must be system, both_slash, forward_slash or backslash",on:"x"})`,
];
const pathRow = (
  name: string,
  text: string,
  part: (path: string, separator: string) => string,
  example: readonly [string, string],
): FunctionRow[] =>
  rowsOf(
    `${name}(path[, separator])`,
    text,
    byRow(name, ['string', 'string'], 'string', (path, kind = 'both_slash') => {
      const separator = separatorOf(kind);
      return separator instanceof Refusal ? separator : part(path, separator);
    }),
    [example, badSeparator(name), wrong(name)],
  );
export const paths: readonly FunctionRow[] = [
  ...rowsOf(
    'parse_path(path[, separator])',
    'The parts of a path.',
    byRow('parse_path', ['string', 'string'], 'value', (path, kind = 'both_slash') => {
      const separator = separatorOf(kind);
      return separator instanceof Refusal ? separator : listOf(partsOf(path, separator).map(stringValue), types.string);
    }),
    [['parse_path("/a/b.txt")', '["/","a","b.txt"]'], badSeparator('parse_path'), wrong('parse_path')],
    { also: ['split_path'] },
  ),
  ...rowsOf(
    'parse_filename(path[, short[, separator]])',
    'The last part of a path, without its ending if the second argument is true.',
    byRow('parse_filename', ['string', 'value', 'string'], 'string', (path, short, kind) => {
      const given = short?.type === types.string ? stringData(short.data) : kind;
      const separator = separatorOf(given ?? 'both_slash');
      if (separator instanceof Refusal) return separator;
      const name = path.slice(lastOf(path, separator) + 1);
      return short?.data === true ? withoutEnding(name) : name;
    }),
    [['parse_filename("a/b.txt")', '"b.txt"'], ['parse_filename("a/b.txt",true)', '"b"'], wrong('parse_filename')],
  ),
  ...pathRow('parse_dirname', 'The first part of a path, if there are several.', firstOf, [
    'parse_dirname("a/b/c.txt")',
    '"a"',
  ]),
  ...pathRow('parse_dirpath', 'A path without its last part.', directory, ['parse_dirpath("a/b/c.txt")', '"a/b"']),
  ...rowsOf(
    'path_join(path, ...)',
    'Paths joined, as short as they can be written.',
    byRow('path_join', ['string'], 'string', joinedPath),
    [
      ['path_join("a/","./b","../c")', '"a/c"'],
      ['path_join("a","/b")', 'error({message:"path_join: an absolute path cannot follow another",on:"/b"})'],
      wrong('path_join'),
    ],
  ),
];
