/** Stack traces that name the lines of the sources, for a program that runs from a bundle. */
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';

interface SourceMap { readonly sources: readonly string[]; readonly mappings: string }
/** Of each line of a bundled file: the source of what begins it, and the line there; -1 where it comes from none. */
interface Lines { readonly sources: readonly string[]; readonly source: Int32Array; readonly line: Int32Array }

/** Lets the engine name lines so, of all files in this folder. A file's map is read when one of its lines is named for the first time. */
export const nameSourceLines = (folder: string): void => {
  const files = new Map<string, Lines | undefined>();
  const linesOf = (file: string): Lines | undefined => {
    if (dirname(file) !== folder) return undefined;
    if (!files.has(file)) files.set(file, readLines(file));
    return files.get(file);
  };
  const placeOf = (site: NodeJS.CallSite): string => {
    const text = String(site), file = site.getFileName(), at = site.getLineNumber();
    const lines = file && at ? linesOf(file) : undefined, source = lines?.source[at! - 1] ?? -1;
    return source < 0 ? text : text.replace(`${file}:${at}:${site.getColumnNumber()}`, `${lines!.sources[source]}:${lines!.line[at! - 1]! + 1} (${basename(file!)}:${at})`);
  };
  Error.prepareStackTrace = (error, sites) => [headOf(error), ...sites.map(placeOf)].join('\n    at ');
};

const headOf = (error: unknown): string => {
  try {
    return String(error);
  } catch {
    return 'Error';
  }
};

const readLines = (file: string): Lines | undefined => {
  try {
    const { sources, mappings } = JSON.parse(readFileSync(`${file}.map`, 'utf8')) as SourceMap;
    return { sources: sources.map((path) => path.replace(/^(\.\.\/)+/, '')), ...decoded(mappings) };
  } catch {
    return undefined;
  }
};

const digits = new Int8Array(128).fill(-1);
for (const [value, digit] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries()) digits[digit.charCodeAt(0)] = value;

/** Mappings: lines that end with `;`, of segments with a comma between them, of up to five numbers in base 64, each the difference to the last: column, source, line, column there, name. */
const decoded = (mappings: string): Pick<Lines, 'source' | 'line'> => {
  const count = mappings.split(';').length, source = new Int32Array(count).fill(-1), line = new Int32Array(count).fill(-1), last = [0, 0, 0, 0, 0];
  let at = 0, field = 0, value = 0, shift = 0;
  for (const c of mappings) {
    const digit = digits[c.charCodeAt(0)]!;
    if (digit >= 0) {
      value |= (digit & 31) << shift;
      shift += 5;
      if (digit & 32) continue;
      last[field]! += value & 1 ? -(value >> 1) : value >> 1;
      if (field === 2 && source[at] === -1) {
        source[at] = last[1]!;
        line[at] = last[2]!;
      }
      field++;
      value = shift = 0;
    } else {
      field = 0;
      if (c !== ';') continue;
      last[0] = 0;
      at++;
    }
  }
  return { source, line };
};
