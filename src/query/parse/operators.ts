/** Pipe operators that begin with their keyword (grammar.md, section 4). */
import type { JoinAlias, JoinCondition, JoinOp, NameNode, Op, OrderKey, QueryNode, SwitchCase } from '../ast.ts';
import type { Scanner } from './scanner.ts';
import { parseArgs } from './calls.ts';
import { parseExpr, parseLval, parsePath } from './expressions.ts';
import { endsOp, parseAggregate, parseAssignments, parseImplied } from './implied.ts';
import { parseEnclosedQuery, parseRecord } from './primaries.ts';
import { parseSearchOp } from './search.ts';
import { parseCollation, parseEvery } from './sql/sets.ts';
import { parseLoadSource, parseSource } from './sources.ts';
import { parseSqlOp } from './sql/queries.ts';
import { parseId, parseList, parseNameList, parseSqlId } from './strings.ts';

/** One operator: SQL first, then by keyword, then the implied ones. */
export function parseOp(s: Scanner): Op | undefined {
  const sql = s.sql;
  s.sql = true;
  let op: Op | undefined = parseSqlOp(s);
  s.sql = false;
  op ??= parsePipeOp(s);
  s.sql = sql;
  return op;
}

function parsePipeOp(s: Scanner): Op | undefined {
  const start = s.pos;
  if (s.code === 0x3f) return parseSearchOp(s);
  const word = s.peekWord();
  const lower = word.length > 9 ? '' : word.toLowerCase();
  const parse = Object.hasOwn(keywordOps, lower) ? keywordOps[lower] : undefined;
  const op = parse?.(s, lower);
  if (op !== undefined && (!optionalArgs.has(lower) || endsOp(s))) return op;
  s.pos = start;
  // `sort x y` is no call of a user operator `sort`: that operator was there, what follows it is wrong. `pass x` is one
  // of `pass`.
  return parseImplied(s, lower, op === undefined || noArgs.has(lower));
}

/** Operators that may stand alone: `fuse(x)` or `head:=1` are not them. */
const optionalArgs: ReadonlySet<string> = new Set([
  'sort',
  'top',
  'count',
  'head',
  'tail',
  'uniq',
  'fuse',
  'pass',
  'shapes',
  'debug',
]);

/** Those of them that take no expression: with one a user operator is meant. */
const noArgs: ReadonlySet<string> = new Set(['count', 'uniq', 'fuse', 'pass']);

type ParseOp = (s: Scanner, word: string) => Op | undefined;

const keywordOps: Readonly<Record<string, ParseOp>> = {
  fork: parseFork,
  switch: parseSwitch,
  search: parseSearchOp,
  assert: parseAssert,
  sort: parseSort,
  order: parseSort,
  top: parseTop,
  call: parseCall,
  count: parseCount,
  cut: parseAssigning,
  put: parseAssigning,
  rename: parseAssigning,
  distinct: parseDistinct,
  drop: parseDrop,
  head: parseHead,
  limit: parseLimit,
  tail: parseTail,
  skip: parseSkip,
  where: parseWhere,
  uniq: parseUniq,
  fuse: parseBare,
  pass: parseBare,
  anti: parseJoin,
  inner: parseJoin,
  left: parseJoin,
  right: parseJoin,
  join: parseJoin,
  cross: parseCrossJoin,
  shapes: parseShapes,
  from: parseFrom,
  merge: parseMerge,
  unnest: parseUnnest,
  values: parseValues,
  load: parseLoad,
  output: parseOutput,
  debug: parseDebug,
  aggregate: parseAggregate,
  summarize: parseAggregate,
};

interface Place {
  readonly start: number;
  readonly end: number;
}

function place(s: Scanner, start: number): Place {
  return { start: s.byte(start), end: s.byte(s.pos) };
}

/** Takes the keyword and the space that must follow. */
function openOp(s: Scanner, word: string): boolean {
  s.pos += word.length;
  return s.space();
}

/** `[~ X]`: what stands behind white space, or nothing, with the scanner where it was. */
function optional<T>(s: Scanner, parse: (scanner: Scanner) => T | undefined): T | undefined {
  const before = s.pos;
  const node = s.space() ? parse(s) : undefined;
  if (node === undefined) s.pos = before;
  return node;
}

/** `[~ "-x"]`. */
function parseFlag(s: Scanner, flag: string): boolean {
  const before = s.pos;
  if (s.space() && s.take(flag) && !s.continuesIdentifier(s.pos)) return true;
  s.pos = before;
  return false;
}

function parseBody(s: Scanner): QueryNode | undefined {
  return parseEnclosedQuery(s, '(', ')');
}

/** `list(Expr [ASC|DESC] [NULLS FIRST|LAST])`. */
export function parseOrderList(s: Scanner): OrderKey[] | undefined {
  return parseList(s, parseOrderKey);
}

function parseOrderKey(s: Scanner): OrderKey | undefined {
  const expr = parseEvery(s) ?? parseExpr(s);
  if (expr === undefined) return undefined;
  const collation = s.sql ? parseCollation(s) : undefined;
  const order =
    (s.sql ? parseUsing(s) : undefined) ??
    (s.spaceKeyword('asc') ? 'asc' : s.spaceKeyword('desc') ? 'desc' : undefined);
  const before = s.pos;
  let nulls: OrderKey['nulls'];
  if (s.spaceKeyword('nulls')) nulls = s.spaceKeyword('first') ? 'first' : s.spaceKeyword('last') ? 'last' : undefined;
  if (nulls === undefined) s.pos = before;
  return {
    kind: 'order-key',
    expr,
    order,
    nulls,
    ...(collation && { collation }),
    start: expr.start,
    end: s.byte(s.pos),
  };
}

/** `USING <` and `USING >`: PostgreSQL's way to write ASC and DESC. */
function parseUsing(s: Scanner): OrderKey['order'] {
  const operator = s.match(/\s+using\s*[<>](?![<>=])/iy);
  return operator === undefined ? undefined : operator.endsWith('<') ? 'asc' : 'desc';
}

function parseFork(s: Scanner): Op | undefined {
  const start = s.pos;
  s.pos += 4;
  const branches: QueryNode[] = [];
  for (let body = parseBody(s); body !== undefined; body = parseBody(s)) branches.push(body);
  return branches.length === 0 ? undefined : { kind: 'fork-op', branches, ...place(s, start) };
}

function parseSwitch(s: Scanner): Op | undefined {
  const start = s.pos;
  s.pos += 6;
  const behind = s.pos;
  const plain = parseCases(s);
  if (plain.length > 0) return { kind: 'switch-op', cases: plain, ...place(s, start) };
  s.pos = behind;
  const expr = optional(s, parseExpr);
  const cases = expr === undefined ? [] : parseCases(s);
  return cases.length === 0 ? undefined : { kind: 'switch-op', expr, cases, ...place(s, start) };
}

function parseCases(s: Scanner): SwitchCase[] {
  const cases: SwitchCase[] = [];
  for (;;) {
    const before = s.pos;
    const found = s.skip() ? parseSwitchCase(s) : s.fail();
    if (found === undefined) {
      s.pos = before;
      return cases;
    }
    cases.push(found);
  }
}

function parseSwitchCase(s: Scanner): SwitchCase | undefined {
  const start = s.pos;
  let expr: SwitchCase['expr'];
  if (s.keyword('case')) {
    expr = optional(s, parseExpr);
    if (expr === undefined) return undefined;
  } else if (!s.keyword('default')) return undefined;
  const behind = s.pos;
  let body = parseBody(s);
  if (body === undefined && expr !== undefined) {
    // `case flag (pass)` reads like a call of `flag`.
    s.pos = start + 'case'.length;
    s.skip();
    expr = parsePath(s);
    body = expr === undefined ? undefined : parseBody(s);
    if (body === undefined) s.pos = behind;
  }
  return body === undefined ? undefined : { kind: 'switch-case', expr, body, ...place(s, start) };
}

function parseAssert(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  if (!openOp(s, word)) return undefined;
  const from = s.pos;
  const expr = parseExpr(s);
  return expr === undefined
    ? undefined
    : { kind: 'assert-op', expr, text: s.text.slice(from, s.pos), ...place(s, start) };
}

function parseSort(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  s.pos += word.length;
  if (word === 'order' && !s.spaceKeyword('by')) return undefined;
  const reverse = parseFlag(s, '-r');
  const before = s.pos;
  s.skip();
  const keys = parseOrderList(s) ?? [];
  if (keys.length === 0) s.pos = before;
  return { kind: 'sort-op', reverse, keys, ...place(s, start) };
}

function parseTop(s: Scanner): Op | undefined {
  const start = s.pos;
  s.pos += 3;
  const reverse = parseFlag(s, '-r');
  const limit = optional(s, parseExpr);
  const keys = optional(s, parseOrderList) ?? [];
  return { kind: 'top-op', reverse, limit, keys, ...place(s, start) };
}

function parseCall(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const name = openOp(s, word) ? parseId(s) : undefined;
  if (name === undefined) return undefined;
  const args = optional(s, parseArgs) ?? [];
  return { kind: 'call-op', name, args, implied: false, ...place(s, start) };
}

function parseCount(s: Scanner): Op | undefined {
  const start = s.pos;
  s.pos += 5;
  const record = optional(s, parseRecord);
  return { kind: 'count-op', record, ...place(s, start) };
}

function parseAssigning(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const assignments = openOp(s, word) ? parseAssignments(s) : undefined;
  if (assignments === undefined) return undefined;
  return { kind: `${word as 'cut' | 'put' | 'rename'}-op`, assignments, ...place(s, start) };
}

function parseDistinct(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const expr = openOp(s, word) ? parseExpr(s) : undefined;
  return expr === undefined ? undefined : { kind: 'distinct-op', expr, ...place(s, start) };
}

function parseDrop(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const fields = openOp(s, word) ? parseList(s, parseLval) : undefined;
  return fields === undefined ? undefined : { kind: 'drop-op', fields, ...place(s, start) };
}

function parseHead(s: Scanner): Op | undefined {
  const start = s.pos;
  s.pos += 4;
  const count = optional(s, parseExpr);
  return { kind: 'head-op', count, ...place(s, start) };
}

function parseLimit(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const count = openOp(s, word) ? parseExpr(s) : undefined;
  return count === undefined ? undefined : { kind: 'head-op', count, ...place(s, start) };
}

function parseTail(s: Scanner): Op | undefined {
  const start = s.pos;
  s.pos += 4;
  const count = optional(s, parseExpr);
  return { kind: 'tail-op', count, ...place(s, start) };
}

function parseSkip(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const count = openOp(s, word) ? parseExpr(s) : undefined;
  return count === undefined ? undefined : { kind: 'skip-op', count, ...place(s, start) };
}

function parseWhere(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const expr = openOp(s, word) ? parseExpr(s) : undefined;
  return expr === undefined ? undefined : { kind: 'where-op', expr, ...place(s, start) };
}

function parseUniq(s: Scanner): Op | undefined {
  const start = s.pos;
  s.pos += 4;
  const counted = parseFlag(s, '-c');
  return { kind: 'uniq-op', counted, ...place(s, start) };
}

function parseBare(s: Scanner, word: string): Op {
  const start = s.pos;
  s.pos += word.length;
  return { kind: `${word as 'fuse' | 'pass'}-op`, ...place(s, start) };
}

function parseJoin(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  s.pos += word.length;
  if (word !== 'join' && !s.spaceKeyword('join')) return undefined;
  const right = parseBody(s);
  const alias = optional(s, parseJoinAlias);
  const condition = optional(s, parseJoinCondition);
  if (condition === undefined) return undefined;
  const style = word === 'join' ? 'inner' : (word as JoinOp['style']);
  return { kind: 'join-op', style, right, alias, condition, ...place(s, start) };
}

function parseCrossJoin(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  s.pos += word.length;
  if (!s.spaceKeyword('join')) return undefined;
  const right = parseBody(s);
  const alias = optional(s, parseJoinAlias);
  return { kind: 'join-op', style: 'cross', right, alias, ...place(s, start) };
}

function parseJoinAlias(s: Scanner): JoinAlias | undefined {
  if (!s.keyword('as') || !s.takeNext('{')) return undefined;
  const start = s.pos - 1;
  const left = nextId(s);
  if (left === undefined || !s.takeNext(',')) return undefined;
  const right = nextId(s);
  if (right === undefined || !s.takeNext('}')) return undefined;
  return { kind: 'join-alias', left, right, ...place(s, start) };
}

function nextId(s: Scanner): NameNode | undefined {
  s.skip();
  return parseId(s);
}

/** `ON Expr` or `USING (names)`. */
export function parseJoinCondition(s: Scanner): JoinCondition | undefined {
  const start = s.pos;
  if (s.keyword('on')) {
    const expr = s.gap() ? parseExpr(s) : undefined;
    return expr === undefined ? undefined : { kind: 'join-on', expr, ...place(s, start) };
  }
  const fields = s.keyword('using') ? parseNameList(s, parseSqlId) : undefined;
  if (fields === undefined) return undefined;
  return {
    kind: 'join-using',
    fields: fields.map(({ text, ...span }) => ({ ...span, kind: 'id', name: text, quoted: false })),
    ...place(s, start),
  };
}

function parseShapes(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  s.pos += word.length;
  const expr = optional(s, parseExpr);
  return { kind: 'shapes-op', expr, ...place(s, start) };
}

function parseFrom(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const source = openOp(s, word) ? parseSource(s) : undefined;
  return source === undefined ? undefined : { kind: 'from-op', source, ...place(s, start) };
}

function parseMerge(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const keys = openOp(s, word) ? parseOrderList(s) : undefined;
  return keys === undefined ? undefined : { kind: 'merge-op', keys, ...place(s, start) };
}

function parseUnnest(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const expr = openOp(s, word) ? parseExpr(s) : undefined;
  if (expr === undefined) return undefined;
  const before = s.pos;
  const body = s.apartKeyword('into') ? parseBody(s) : undefined;
  if (body === undefined) s.pos = before;
  return { kind: 'unnest-op', expr, body, ...place(s, start) };
}

function parseValues(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const exprs = openOp(s, word) ? parseList(s, parseExpr) : undefined;
  return exprs === undefined ? undefined : { kind: 'values-op', exprs, ...place(s, start) };
}

function parseLoad(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const source = openOp(s, word) ? parseLoadSource(s) : undefined;
  return source === undefined ? undefined : { kind: 'load-op', source, ...place(s, start) };
}

function parseOutput(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  const name = openOp(s, word) ? parseId(s) : undefined;
  return name === undefined ? undefined : { kind: 'output-op', name, ...place(s, start) };
}

function parseDebug(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  s.pos += word.length;
  const expr = optional(s, parseExpr);
  return { kind: 'debug-op', expr, ...place(s, start) };
}
