/** Stack traces that name the lines of the sources, for a program that runs from a bundle. */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { basename, dirname, join } from 'node:path';

/**
 * Lets the engine name lines so, of all files in this folder. A file's map is read when one of its lines is named for
 * the first time. Code that the engine kept names files by where they were built, so that of a program that was moved
 * since the folder's own name and its parent's tell.
 */
export const nameSourceLines = (folder: string): void => {
  const maps = new Map<string, SourceMap | undefined>();
  const mapOf = (file: string): SourceMap | undefined => {
    if (placeIn(dirname(file)) !== placeIn(folder)) return undefined;
    const name = basename(file);
    if (!maps.has(name)) maps.set(name, readMap(join(folder, name)));
    return maps.get(name);
  };
  const placeOf = (site: NodeJS.CallSite): string => {
    const text = String(site);
    const file = site.getFileName();
    const line = site.getLineNumber();
    const column = site.getColumnNumber();
    if (!file || !line || !column) return text;
    const found = mapOf(file)?.findEntry(line - 1, column - 1);
    return found && 'originalSource' in found
      ? text.replace(
          `${file}:${line}:${column}`,
          `${found.originalSource.replace(/^(\.\.\/)+/, '')}:${found.originalLine + 1} (${basename(file)}:${line})`,
        )
      : text;
  };
  Error.prepareStackTrace = (error, sites) => [headOf(error), ...sites.map(placeOf)].join('\n    at ');
};

/** `dist/bundle`, wherever that is. */
const placeIn = (folder: string): string => join(basename(dirname(folder)), basename(folder));

const headOf = (error: unknown): string => {
  try {
    return String(error);
  } catch {
    return 'Error';
  }
};

const readMap = (file: string): SourceMap | undefined => {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')) as ConstructorParameters<typeof SourceMap>[0]);
  } catch {
    return undefined;
  }
};
