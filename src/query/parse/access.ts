/** Fields, indexes and slices behind an expression (grammar.md, section 7). */
import type { DotExpr, Expr, IndexExpr, NameNode, SliceExpr } from '../ast.ts';
import type { Scanner } from './scanner.ts';
import { parseMethod } from './calls.ts';
import { parseExpr } from './expressions.ts';
import { parsePrimary } from './primaries.ts';
import { isAhead } from './sql/sets.ts';
import { parseDelimited, parseId } from './strings.ts';

/** A primary expression with dots and brackets behind it. */
export function parsePostfix(s: Scanner): Expr | undefined {
  const start = s.byte(s.pos);
  let expr = parsePrimary(s);
  while (expr !== undefined) {
    const next: Expr | undefined =
      s.code === 0x5b ? parseIndex(s, expr) : s.code === 0x2e ? parseMember(s, expr) : s.fail();
    if (next === undefined) return expr;
    expr = { ...next, start };
  }
  return undefined;
}

/** `.name`, in SQL also `.name(..)`: a call with the value before it as its first argument. */
function parseMember(s: Scanner, expr: Expr): Expr | undefined {
  const dot = parseDot(s, expr);
  return dot && s.sql && s.code === 0x28 ? (parseMethod(s, expr, dot.name) ?? dot) : dot;
}

/** `.name` behind an expression; in SQL with blanks behind the dot, as generated texts have them. */
export function parseDot(s: Scanner, expr: Expr): DotExpr | undefined {
  const start = s.pos++;
  if (s.sql) s.skip();
  const name = parseFieldName(s);
  if (name !== undefined) return { kind: 'dot', expr, name, start: expr.start, end: name.end };
  s.pos = start;
  return undefined;
}

function parseFieldName(s: Scanner): NameNode | undefined {
  const start = s.pos;
  if (s.code !== 0x22) return parseId(s);
  const text = parseDelimited(s, 0x22);
  return text === undefined ? undefined : { kind: 'name', text, start: s.byte(start), end: s.byte(s.pos) };
}

function parseIndex(s: Scanner, expr: Expr): IndexExpr | SliceExpr | undefined {
  const start = s.pos++;
  s.nestings++;
  s.skip();
  const node =
    s.code === 0x3a && s.text[s.pos + 1] !== ':' ? parseSliceEnd(s, expr, undefined) : parseIndexOrSlice(s, expr);
  if (node === undefined) s.pos = start;
  return node;
}

function parseIndexOrSlice(s: Scanner, expr: Expr): IndexExpr | SliceExpr | undefined {
  const index = parseExpr(s);
  if (index === undefined) return undefined;
  if (s.takeNext(']')) return { kind: 'index', expr, index, start: expr.start, end: s.byte(s.pos) };
  s.skip();
  return s.code === 0x3a ? parseSliceEnd(s, expr, index) : s.fail();
}

const openEnd = /-\s*:/y;

function parseSliceEnd(s: Scanner, expr: Expr, from: Expr | undefined): SliceExpr | undefined {
  s.pos++;
  s.skip();
  // `l[a:-:step]` is SQL's way to leave out the end.
  const open = s.sql && isAhead(s, openEnd);
  if (open) s.pos++;
  const to = open ? undefined : parseExpr(s);
  let step: Expr | undefined;
  if (s.sql && s.takeNext(':')) {
    s.skip();
    step = parseExpr(s);
  }
  if (!s.takeNext(']') || (!s.sql && from === undefined && to === undefined)) return undefined;
  return { kind: 'slice', expr, from, to, ...(step && { step }), start: expr.start, end: s.byte(s.pos) };
}
