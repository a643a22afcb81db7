/**
 * Elasticsearch's `filter_path`: which parts of an answer a client wants. Paths are separated by commas; `*` stands for
 * any part of a name, `**` for names at any depth, `-` before a path leaves out what it names. What is left empty goes.
 */
import { LakeError } from '../../errors.ts';

/** Names of one path. */
type Path = readonly string[];
/** What is left of paths at a place of the answer: from which name on, by the places of the paths. */
type Rest = readonly { readonly path: Path; readonly from: number }[];

const depths = '**';
/** Names of all paths of a filter, at most: each part of an answer is compared with them. */
const namesMax = 100;

/** What a filter keeps. */
export class PathFilter {
  private readonly kept: Rest;
  private readonly left: Rest;
  constructor(kept: Rest, left: Rest) {
    this.kept = kept;
    this.left = left;
  }

  /** The part of a JSON value that is kept; undefined: nothing of it. */
  of(value: unknown): unknown {
    return filtered(value, this.kept, this.left);
  }
  /** The same of what stands in a field of that name, or in the elements of its list. */
  inside(name: string): PathFilter {
    if (this.left.some(isReached)) return new PathFilter([], []);
    return new PathFilter(inside(this.kept, name), inside(this.left, name));
  }
}

/** The filter that a request asks for. @throws filter-path-long */
export const pathFilterOf = (text: string | undefined): PathFilter | undefined => {
  if (text === undefined) return undefined;
  const paths = text.split(',').map((path) => path.trim());
  const names = paths.reduce((sum, path) => sum + path.split('.').length, 0);
  if (names > namesMax) throw new LakeError('filter-path-long', { names, limit: namesMax });
  const kept = paths.filter((path) => path !== '' && !path.startsWith('-')).map(begun);
  const left = paths.filter((path) => path.startsWith('-')).map((path) => begun(path.slice(1)));
  return new PathFilter(kept.length === 0 ? [begun('')] : kept, left);
};
const begun = (path: string): Rest[number] => ({ path: path === '' ? [] : path.split('.'), from: 0 });

const filtered = (value: unknown, kept: Rest, left: Rest): unknown => {
  if (kept.length === 0 || left.some(isReached)) return undefined;
  const isKept = kept.some(isReached);
  if (isKept && left.length === 0) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => filtered(item, kept, left)).filter((item) => item !== undefined);
    return items.length > 0 ? items : undefined;
  }
  if (typeof value !== 'object' || value === null) return isKept ? value : undefined;
  const fields = Object.entries(value).flatMap(([name, inner]) => {
    const found = filtered(inner, inside(kept, name), inside(left, name));
    return found === undefined ? [] : [[name, found] as const];
  });
  return fields.length > 0 ? Object.fromEntries(fields) : undefined;
};
/** The path names what is here, and with it all that is inside. */
const isReached = ({ path, from }: Rest[number]): boolean => path.every((name, k) => k < from || name === depths);

/** What is left of paths within a field; one that was reached stays so. */
const inside = (paths: Rest, name: string): Rest => {
  const found: { path: Path; from: number }[] = [];
  const add = (path: Path, from: number): void => {
    if (!found.some((one) => one.path === path && one.from === from)) found.push({ path, from });
  };
  for (const { path, from } of paths) {
    let at = from;
    // Names at any depth may be none.
    for (; path[at] === depths; at++) add(path, at);
    const first = path[at];
    if (first === undefined) add(path, at);
    else if (isLike(first, name)) add(path, at + 1);
  }
  return found;
};
const isLike = (pattern: string, name: string): boolean => {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
};
