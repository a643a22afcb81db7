/** TABLESAMPLE behind a table and USING SAMPLE behind SELECT, as in DuckDB. None of the words is reserved. */
import type { SqlSample } from '../../ast.ts';
import { isAhead } from './sets.ts';
import type { Scanner } from '../scanner.ts';

const methods = 'reservoir|bernoulli|system';
const tableSample = new RegExp(String.raw`tablesample\s*(?:\(|\d|\.\d|(?:${methods})\s*\()`, 'iy');
const usingSample = new RegExp(String.raw`using\s+sample\s*(?:\(|\d|\.\d|(?:${methods})\s*\()`, 'iy');

/** `TABLESAMPLE ..`, when it is there. */
export const parseTableSample = (s: Scanner): SqlSample | undefined => parseBehind(s, tableSample, /tablesample/iy);
/** `USING SAMPLE ..`, when it is there. */
export const parseUsingSample = (s: Scanner): SqlSample | undefined => parseBehind(s, usingSample, /using\s+sample/iy);

const parseBehind = (s: Scanner, ahead: RegExp, words: RegExp): SqlSample | undefined => {
  const before = s.pos;
  s.skip();
  const start = s.pos;
  const found = isAhead(s, ahead) && s.match(words) !== undefined ? parseSize(s) : undefined;
  if (found === undefined) {
    s.pos = before;
    return undefined;
  }
  const repeatable = parseRepeatable(s);
  return {
    kind: 'sql-sample',
    ...found,
    ...(repeatable !== undefined && { seed: repeatable }),
    start: s.byte(start),
    end: s.byte(s.pos),
  };
};

type Size = Pick<SqlSample, 'size' | 'unit' | 'method' | 'seed'>;
/** `n [rows|%|percent] [(method[, seed])]`, or `method (n ..)`. */
const parseSize = (s: Scanner): Size | undefined => {
  s.skip();
  const method = parseMethod(s);
  s.skip();
  const isEnclosed = s.take('(');
  s.skip();
  const text = s.match(/\d+(?:\.\d*)?|\.\d+/y);
  if (text === undefined) return undefined;
  const unit =
    s.takeNext('%') || s.keywordNext('percent')
      ? 'percent'
      : s.keywordNext('rows') || s.keywordNext('row')
        ? 'rows'
        : undefined;
  if (isEnclosed && !s.takeNext(')')) return undefined;
  // Of a method a bare number is a percentage, as in the standard; without one it counts rows.
  const size: Size = {
    size: Number(text),
    unit: unit ?? (method === undefined || method === 'reservoir' ? 'rows' : 'percent'),
    ...(method && { method }),
  };
  return method ? size : { ...size, ...parseBehindSize(s) };
};
const parseMethod = (s: Scanner): SqlSample['method'] =>
  s.match(new RegExp(methods, 'iy'))?.toLowerCase() as SqlSample['method'];

const parseSeed = (s: Scanner): string | undefined => {
  s.skip();
  return s.match(/\d+/y);
};
/** `(method[, seed])`. */
const parseBehindSize = (s: Scanner): Pick<Size, 'method' | 'seed'> => {
  const before = s.pos;
  if (s.takeNext('(')) {
    s.skip();
    const method = parseMethod(s);
    const seed = method !== undefined && s.takeNext(',') ? parseSeed(s) : undefined;
    if (method !== undefined && s.takeNext(')')) return { method, ...(seed !== undefined && { seed: Number(seed) }) };
  }
  s.pos = before;
  return {};
};

/** `REPEATABLE (seed)`. */
const parseRepeatable = (s: Scanner): number | undefined => {
  const before = s.pos;
  if (s.keywordNext('repeatable') && s.takeNext('(')) {
    s.skip();
    const seed = s.match(/\d+/y);
    if (seed !== undefined && s.takeNext(')')) return Number(seed);
  }
  s.pos = before;
  return undefined;
};
