/** Query texts that nobody would write. */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Random } from '../../support/random.ts';

/** Queries of the case files. */
export const querySamples = (): readonly Uint8Array[] => {
  const folder = fileURLToPath(new URL('../../cases/', import.meta.url));
  const out: Uint8Array[] = [];
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((n) => n.endsWith('.yaml'))
    .sort()) {
    for (const [, text] of readFileSync(folder + name, 'utf8').matchAll(/^\s*(?:- )?query: (?:\|\n\s*)?(.+)$/gm))
      out.push(new Uint8Array(Buffer.from(text.replace(/^['"]|['"]$/g, ''))));
  }
  return out;
};

const repeat = (text: string, times: number): string => text.repeat(times);
const list = (length: number, item: (i: number) => string, between = ' '): string =>
  Array.from({ length }, (_, i) => item(i)).join(between);

/** Deep, long, or small and growing when names are put in their places. `size` is how deep or long. */
export const hostileQuery = (random: Random, size: number): string => {
  const few = Math.min(size, 60);
  const some = Math.min(size, 3_000);
  const open = random.pick([
    '(',
    '[',
    '{a:',
    '|[',
    '|{1:',
    'not ',
    '-',
    '!',
    'a[',
    'a.',
    'f"{',
    'upper(',
    'case when true then ',
    '<[',
    '<(int64|',
    'select * from (',
    'fork (',
    'switch ( case true => ',
    'over a => (',
    'unnest a into (',
    'exists (',
    'with t as (',
    'map(a, ',
  ]);
  const closers: Readonly<Record<string, string>> = {
    '(': ')',
    '[': ']',
    '{a:': '}',
    '|[': ']|',
    '|{1:': '}|',
    'a[': ']',
    'f"{': '}"',
    'upper(': ')',
    'case when true then ': ' end',
    '<[': ']>',
    'select * from (': ')',
    'fork (': ')',
    'unnest a into (': ')',
  };
  return random.pick([
    () => repeat(open, size),
    () => `${repeat(open, size)}1${repeat(closers[open] ?? '', size)}`,
    () => `yield ${repeat(open, size)}1${repeat(closers[open] ?? '', size)}`,
    () =>
      `values 1${repeat(random.pick(['+1', ' and 1', ' or a', '||"x"', '==1', '.b', '[0]', '::int64', ' ? 1 : 2', ' ?? 1', ' in [1]']), size)}`,
    () =>
      repeat(
        random.pick([
          'pass | ',
          'pass |> ',
          'where a==1 | ',
          'put a:=1 | ',
          'sort a | ',
          'head 1 | ',
          'fork ( => pass ) | ',
          '| ',
        ]),
        some,
      ) + 'pass',
    () => `cut ${list(some, (i) => `a${i}`, ',')}`,
    () => `values {${list(some, (i) => `f${i}:${i}`, ',')}}`,
    () => `count() by ${list(some, (i) => `a${i}`, ',')}`,
    () => `values "${repeat('x', size * 10)}"`,
    () => `values ${repeat('9', size)}`,
    // Small texts that stand for large ones.
    () => `${list(few, (i) => `const c${i} = ${i === 0 ? '1' : `[c${i - 1},c${i - 1}]`}`)} values c${few - 1}`,
    () => `${list(few, (i) => `type t${i} = ${i === 0 ? 'int64' : `{a:t${i - 1},b:t${i - 1}}`}`)} values <t${few - 1}>`,
    () => `${list(few, (i) => `fn f${i}(x): (${i === 0 ? 'x' : `f${i - 1}(x)+f${i - 1}(x)`})`)} values f${few - 1}(1)`,
    () => `${list(few, (i) => `op o${i}: (${i === 0 ? 'pass' : `o${i - 1} | o${i - 1}`})`)} o${few - 1}`,
    () => `${list(few, (i) => `let l${i} = ${i === 0 ? '1' : `[l${i - 1},l${i - 1}]`}`)} values l${few - 1}`,
    () =>
      `with ${list(few, (i) => `t${i} as (${i === 0 ? 'select 1 as a' : `select * from t${i - 1} union all select * from t${i - 1}`})`, ', ')} select * from t${few - 1}`,
    () => `fn f(x): (f(x)) values f(1)`,
    () => `op o(): (o()) o()`,
    () => `with recursive t as (select 1 union all select * from t) select * from t`,
    () => `select ${list(some, (i) => `a${i}`, ',')} from p`,
    () => `select * from ${list(few, (i) => `p t${i}`, random.pick([', ', ' join ', ' cross join ']))}`,
    () => `select * from p where ${repeat('a in (select a from p where ', few)}true${repeat(')', few)}`,
    () => `/* ${repeat('/*', size)}`,
    () => `values /${repeat('(a', size)}/`,
    () => `values regexp(r"${repeat('(a|', few)}b${repeat(')*', few)}", "x")`,
    () => repeat(random.pick(['"', "'", '`', '\\', '\u0000', '\ud800', '*', '?']), size),
  ])();
};
