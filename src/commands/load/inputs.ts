/** What `lake load` is told to read: files, folders, globs and URLs, as the inputs that they come to. */
import { type Dirent, existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join, resolve as resolvePath } from 'node:path';
import { type FormatName, formatOfFile } from '../../formats/formats.ts';

/** One input. `path`: where a file is, whatever the working folder. */
export type LoadInput =
  | { readonly kind: 'stdin'; readonly name: string }
  | { readonly kind: 'url'; readonly name: string }
  | { readonly kind: 'file'; readonly name: string; readonly path: string };

/**
 * The inputs in order, each once; files of folders and globs by their names. `isHive`: of folders without what Hive and
 * Spark keep for themselves. @throws Error for what is not there
 */
export const inputsOf = (given: readonly string[], cwd: string, isHive = false): readonly LoadInput[] => {
  const seen = new Set<string>();
  return given.flatMap((name) => expanded(name, cwd, isHive)).filter(({ name }) => !seen.has(name) && seen.add(name));
};

const expanded = (name: string, cwd: string, isHive: boolean): readonly LoadInput[] => {
  if (name === '-') return [{ kind: 'stdin', name: 'standard input' }];
  if (/^https?:\/\//i.test(name)) return [{ kind: 'url', name }];
  const file = (found: string): LoadInput => ({ kind: 'file', name: found, path: resolvePath(cwd, found) });
  const path = resolvePath(cwd, name);
  if (existsSync(path)) {
    if (!statSync(path).isDirectory()) return [file(name)];
    const all = filesUnder(name, cwd, isHive ? isOfHive : undefined);
    if (all.length === 0) throw new Error(`${name}: the folder has no files`);
    return all.map(file);
  }
  if (!isGlob(name)) throw new Error(`${name}: file does not exist`);
  const all = filesMatching(name, cwd);
  if (all.length === 0) throw new Error(`${name}: no file matches`);
  return all.map(file);
};

/** Whether a name has characters that stand for others. */
export const isGlob = (name: string): boolean => /[*?[]/.test(name);

/** Files that a glob names: `*` and `?` within a name, `[abc]`, and `**` for any folders. Hidden ones are to be named. */
export const filesMatching = (pattern: string, cwd: string): readonly string[] => {
  const found: string[] = [];
  const walk = (folder: string, parts: readonly string[]): void => {
    const [part, ...rest] = parts;
    if (part === undefined) return;
    if (part === '**') walk(folder, rest.length === 0 ? ['*'] : rest);
    else if (!isGlob(part)) {
      const path = join(folder, part);
      if (rest.length > 0) walk(path, rest);
      else if (isFile(resolvePath(cwd, path))) found.push(path);
      return;
    }
    const matches = part === '**' ? () => true : matcher(part);
    for (const entry of entriesOf(resolvePath(cwd, folder))) {
      if (!matches(entry.name) || (entry.name.startsWith('.') && !part.startsWith('.'))) continue;
      const path = join(folder, entry.name);
      if (part === '**') {
        if (entry.isDirectory()) walk(path, parts);
      } else if (rest.length > 0) walk(path, rest);
      else if (isFile(resolvePath(cwd, path))) found.push(path);
    }
  };
  walk(
    pattern.startsWith('/') ? '/' : '',
    pattern.split('/').filter((part) => part !== '' && part !== '.'),
  );
  return [...new Set(found)].sort();
};

const matcher = (part: string): ((name: string) => boolean) => {
  const text = part.replace(/\[(!?)([^\]]+)\]|[\\^$.|+(){}[\]*?]/g, (found, not: string | undefined, set: string) => {
    if (set) return `[${not ? '^' : ''}${set.replace(/[\\\]^]/g, '\\$&')}]`;
    return found === '*' ? '.*' : found === '?' ? '.' : `\\${found}`;
  });
  const expression = new RegExp(`^${text}$`, 's');
  return (name) => expression.test(name);
};

/** `_SUCCESS`, `_metadata`, `_temporary`; a folder that names a field may begin so (`_c=1`). */
const isOfHive = (name: string): boolean => name.startsWith('_') && !name.includes('=');

/** All files below a folder; hidden ones, and those of hidden folders, are left out, and those of which `isOut` is true. */
export const filesUnder = (
  folder: string,
  cwd: string,
  isOut: (name: string) => boolean = () => false,
): readonly string[] =>
  entriesOf(resolvePath(cwd, folder))
    .filter(({ name }) => !name.startsWith('.') && !isOut(name))
    .flatMap((entry): readonly string[] => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return filesUnder(path, cwd, isOut);
      return isFile(resolvePath(cwd, path)) ? [path] : [];
    });

/** Of what is no folder, or went away meanwhile: none. */
const entriesOf = (path: string): readonly Dirent[] => {
  try {
    return readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
};
const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

/** The format that the name of an input tells; undefined: its bytes have to. */
export const formatOfInput = (input: LoadInput): FormatName | undefined => {
  if (input.kind === 'stdin') return undefined;
  const name = input.kind === 'url' ? new URL(input.name).pathname : basename(input.name);
  return formatOfFile(name.replace(/\.gz$/i, ''));
};
