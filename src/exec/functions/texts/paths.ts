/** Paths of files as texts. Both slashes part, unless one of them is asked for. */
import { types } from '../../../vectors/type.ts';
import { Uint32List } from '../../../vectors/lists.ts';
import { checkStopAt } from '../../../vectors/stop.ts';
import { TextPieces } from '../../../vectors/texts/pieces.ts';
import { stringData } from '../../../vectors/value.ts';
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
function* partsOf(path: string, separator: string): Generator<string> {
  let start = 0;
  for (let at = 0; at <= path.length; at++) {
    if (at < path.length && !separator.includes(path[at])) continue;
    if (at > start) yield path.slice(start, at);
    else if (at === 0 && path !== '') yield path[0];
    start = at + 1;
  }
}
const lastOf = (path: string, separator: string): number => Math.max(...[...separator].map((c) => path.lastIndexOf(c)));
const withoutEnding = (name: string): string => {
  const at = name.lastIndexOf('.');
  return at > 0 ? name.slice(0, at) : name;
};
const firstOf = (path: string, separator: string): string => {
  let at = 0;
  while (at < path.length && !separator.includes(path[at])) at++;
  return at === path.length ? '' : at === 0 ? path.slice(0, 1) : path.slice(0, at);
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
  const out = new PathParts([first.slice(root?.length ?? 0), ...rest].join('/'), isRooted);
  const text = out.text();
  return isRooted ? `${root}/${text}` : text === '' ? '.' : text;
};

/** The parts that a path comes to, by their places in its text: there may be millions. */
class PathParts {
  private readonly path: string;
  private readonly starts = new Uint32List();
  private readonly ends = new Uint32List();
  constructor(path: string, isRooted: boolean) {
    this.path = path;
    for (let start = 0, end = 0; start <= path.length; start = end + 1) {
      const next = path.indexOf('/', start);
      end = next < 0 ? path.length : next;
      checkStopAt(this.starts.length);
      const part = path.slice(start, end);
      if (part === '' || part === '.') continue;
      if (part === '..' && this.starts.length > 0 && this.part(this.starts.length - 1) !== '..') this.pop();
      else if (part !== '..' || !isRooted) {
        this.starts.push(start);
        this.ends.push(end);
      }
    }
  }
  private part(k: number): string {
    return this.path.slice(this.starts.array[k], this.ends.array[k]);
  }
  private pop(): void {
    this.starts.length--;
    this.ends.length--;
  }
  text(): string {
    const out = new TextPieces('path_join');
    for (let k = 0; k < this.starts.length; k++) out.add(k === 0 ? this.part(0) : `/${this.part(k)}`);
    return out.text();
  }
}

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
    byRow('parse_path', ['string', 'string'], 'strings', (path, kind = 'both_slash') => {
      const separator = separatorOf(kind);
      return separator instanceof Refusal ? separator : partsOf(path, separator);
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
