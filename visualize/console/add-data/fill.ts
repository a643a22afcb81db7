/**
 * A configuration of the manual, filled in. In the manual it is for a service at http://127.0.0.1:9867, and what is for
 * keys alone is marked: a line by a comment at its end, several by a line of comment before them that ends in a colon.
 */
import { shellWord } from '../curl.ts';
import type { Recipe } from '../../docs/recipes.ts';

/** What is filled in; `guarded`: the service asks for keys, which stay a variable of the environment. */
export interface Filling {
  readonly address: string;
  readonly pool: string;
  readonly guarded: boolean;
}

export const filledIn = ({ text, pool, language }: Recipe, { address, pool: own, guarded }: Filling): string => {
  const url = new URL(address);
  const isTls = url.protocol === 'https:';
  const port = url.port || (isTls ? '443' : '80');
  const withKeys = guarded ? text : text.replaceAll(' -H "Authorization: Bearer $LAKE_TOKEN"', '');
  return keyed(withKeys.trimEnd().split('\n'), guarded)
    .flatMap((line) => {
      const found = /^(\s+)Port(\s+)9867$/.exec(line);
      if (!found) return [line];
      const [, indent = '', gap = ''] = found;
      return [`${indent}Port${gap}${port}`, ...(isTls ? [`${indent}tls ${gap}On`] : [])];
    })
    .map((line) =>
      line
        .replaceAll('http://127.0.0.1:9867', address)
        .replaceAll('127.0.0.1', url.hostname)
        .replace(new RegExp(`(?<![\\w-])${pool}(?![\\w-])`, 'g'), () => shown(own, line, language)),
    )
    .join('\n');
};

/** Within an address a name is escaped; in YAML and for a shell it is quoted where it is no plain word. */
const shown = (pool: string, line: string, language: string): string => {
  if (/\?pool=|\/pool\//.test(line)) return encodeURIComponent(pool);
  if (language === 'sh') return shellWord(pool);
  return language === 'yaml' && !/^[A-Za-z_][\w-]*$/.test(pool) ? JSON.stringify(pool) : pool;
};

const inline = /\s+# where the service asks for keys$/;
const above = /^\s*# where the service asks for keys:$/;
const indentOf = (line: string): number => line.length - line.trimStart().length;

const keyed = (lines: readonly string[], guarded: boolean): readonly string[] => {
  const kept: string[] = [];
  let held: number | undefined;
  for (const line of lines) {
    if (above.test(line)) {
      held = indentOf(line);
      continue;
    }
    if (held !== undefined && indentOf(line) < held) held = undefined;
    if (guarded || (held === undefined && !inline.test(line))) kept.push(line.replace(inline, ''));
  }
  return kept;
};
