/** Declarations and pipelines (grammar.md, section 3). */
import type { Decl, NameNode, Op, QueryNode } from '../ast.ts';
import { memoQuery } from './scanner.ts';
import type { Scanner } from './scanner.ts';
import { parseExpr } from './expressions.ts';
import { parseOp } from './operators.ts';
import { parseEnclosedQuery } from './primaries.ts';
import { parseId, parseList } from './strings.ts';
import { parseType } from './types.ts';

/** Declarations and a pipeline, up to what ends a scope. */
export function parseQuery(s: Scanner): QueryNode | undefined {
  const sql = s.sql;
  s.sql = false;
  const query = s.memo(memoQuery, parseScope);
  s.sql = sql;
  return query;
}

function parseScope(s: Scanner): QueryNode | undefined {
  const start = s.pos;
  const decls: Decl[] = [];
  for (let decl = parseDecl(s); decl !== undefined; decl = parseDecl(s)) {
    decls.push(decl);
    if (!s.space()) return undefined;
  }
  const ops = parsePipeline(s);
  return ops === undefined ? undefined : { kind: 'query', decls, ops, start: s.byte(start), end: s.byte(s.pos) };
}

function parsePipeline(s: Scanner): Op[] | undefined {
  const first = parseOp(s);
  if (first === undefined) return undefined;
  const ops = [first];
  for (;;) {
    const before = s.pos;
    s.skip();
    if (!s.take('|>') && !s.take('|')) {
      s.pos = before;
      return ops;
    }
    s.skip();
    const op = parseOp(s);
    if (op === undefined) {
      s.pos = before;
      return ops;
    }
    ops.push(op);
  }
}

function parseDecl(s: Scanner): Decl | undefined {
  const start = s.pos;
  const decl = parseDeclForm(s, s.peekWord().toLowerCase());
  if (decl === undefined) s.pos = start;
  return decl;
}

function parseDeclForm(s: Scanner, keyword: string): Decl | undefined {
  switch (keyword) {
    case 'const':
      return parseConst(s);
    case 'fn':
      return parseFn(s);
    case 'let':
      return parseLet(s);
    case 'op':
      return parseOpDecl(s);
    case 'pragma':
      return parsePragma(s);
    case 'type':
      return parseTypeDecl(s);
    default:
      return undefined;
  }
}

/** `keyword ~ Id`. */
function declaredName(s: Scanner, keyword: string): NameNode | undefined {
  s.pos += keyword.length;
  return s.space() ? parseId(s) : undefined;
}

function parseConst(s: Scanner): Decl | undefined {
  const start = s.byte(s.pos);
  const name = declaredName(s, 'const');
  if (name === undefined || !s.takeNext('=')) return undefined;
  s.skip();
  const expr = parseExpr(s);
  return expr === undefined ? undefined : { kind: 'const-decl', name, expr, start, end: s.byte(s.pos) };
}

function parseFn(s: Scanner): Decl | undefined {
  const start = s.byte(s.pos);
  const name = declaredName(s, 'fn');
  if (name === undefined || !s.takeNext('(')) return undefined;
  s.skip();
  const params = parseList(s, parseId) ?? [];
  if (!s.takeNext(')') || !s.takeNext(':')) return undefined;
  s.skip();
  const body = parseExpr(s);
  return body === undefined ? undefined : { kind: 'fn-decl', name, params, body, start, end: s.byte(s.pos) };
}

function parseLet(s: Scanner): Decl | undefined {
  const start = s.byte(s.pos);
  const name = declaredName(s, 'let');
  if (name === undefined || !s.takeNext('=')) return undefined;
  const query = parseEnclosedQuery(s, '(', ')');
  return query === undefined ? undefined : { kind: 'let-decl', name, query, start, end: s.byte(s.pos) };
}

function parseOpDecl(s: Scanner): Decl | undefined {
  const start = s.byte(s.pos);
  const name = declaredName(s, 'op');
  if (name === undefined) return undefined;
  const before = s.pos;
  const params = s.space() ? (parseList(s, parseId) ?? []) : [];
  if (params.length === 0) s.pos = before;
  if (!s.takeNext(':')) return undefined;
  const body = parseEnclosedQuery(s, '(', ')');
  return body === undefined ? undefined : { kind: 'op-decl', name, params, body, start, end: s.byte(s.pos) };
}

function parsePragma(s: Scanner): Decl | undefined {
  const start = s.byte(s.pos);
  const name = declaredName(s, 'pragma');
  if (name === undefined) return undefined;
  const before = s.pos;
  if (s.takeNext('=')) {
    s.skip();
    const expr = parseExpr(s);
    if (expr !== undefined) return { kind: 'pragma-decl', name, expr, start, end: s.byte(s.pos) };
    s.pos = before;
  }
  return { kind: 'pragma-decl', name, start, end: s.byte(s.pos) };
}

function parseTypeDecl(s: Scanner): Decl | undefined {
  const start = s.byte(s.pos);
  const name = declaredName(s, 'type');
  if (name === undefined || !s.takeNext('=')) return undefined;
  s.skip();
  const type = parseType(s);
  return type === undefined ? undefined : { kind: 'type-decl', name, type, start, end: s.byte(s.pos) };
}
