/** Function and aggregate calls, their arguments, and lambdas (grammar.md, sections 4 and 7). */
import type {
  AggExpr,
  Arg,
  CallExpr,
  Expr,
  IdExpr,
  LambdaNode,
  NameNode,
  OrderKey,
  RecordField,
  WindowExpr,
} from '../ast.ts';
import type { Scanner } from './scanner.ts';
import { parseExpr, parseOrExpr } from './expressions.ts';
import { isAhead } from './sql/sets.ts';
import { parseId, parseList, parseNameList, parseSqlId } from './strings.ts';
import { parseNullTreatment, parseOrderBy, parseOver } from './sql/windows.ts';

/** `name(..)`, maybe over a window, or the name alone. */
export function parseCallOrId(s: Scanner): CallExpr | AggExpr | WindowExpr | IdExpr | undefined {
  const quoted = s.code === 0x60;
  const name = parseId(s);
  if (name === undefined) return undefined;
  const call = parseCall(s, name);
  return call === undefined
    ? { kind: 'id', name: name.text, quoted, start: name.start, end: name.end }
    : parseOver(s, call);
}

/** `value.name(..)` of SQL, behind the name: the call that has the value as its first argument. */
export function parseMethod(s: Scanner, value: Expr, name: NameNode): CallExpr | AggExpr | WindowExpr | undefined {
  const call = parseCall(s, name);
  if (call === undefined) return undefined;
  const { start } = value;
  if (call.kind === 'call') return parseOver(s, { ...call, args: [value, ...call.args], start });
  const more = [...(call.arg ? [call.arg] : []), ...(call.more ?? [])];
  return parseOver(s, { ...call, arg: value, ...(more.length > 0 && { more }), start });
}

/** A function or aggregate call; nothing for a bare name. */
export function parseNamedCall(s: Scanner): CallExpr | AggExpr | undefined {
  const start = s.pos;
  const name = parseId(s);
  const call = name === undefined ? undefined : parseCall(s, name);
  if (call === undefined) s.pos = start;
  return call;
}

/** The part behind the name. */
function parseCall(s: Scanner, name: NameNode): CallExpr | AggExpr | undefined {
  const before = s.pos;
  s.skip();
  if (s.code === 0x28) {
    s.nestings++;
    s.pos++;
    s.skip();
    const call = parseMarkedAgg(s, name) ?? parsePlainCall(s, name);
    if (call !== undefined) return s.sql && isAhead(s, /\s*export_state\b/iy) ? exported(s, call) : call;
  } else s.fail();
  s.pos = before;
  return undefined;
}

/** `distinct e)`, `all e)` and `*)`: what only aggregates have. */
function parseMarkedAgg(s: Scanner, name: NameNode): AggExpr | undefined {
  const start = s.pos;
  if (s.code === 0x2a && name.text.toLowerCase() === 'count') {
    s.pos++;
    if (s.takeNext(')')) return agg(s, name, undefined, false);
  }
  s.pos = start;
  const distinct = s.keyword('distinct');
  if (distinct || s.keyword('all')) {
    s.skip();
    const [arg, ...more] = (s.sql ? parseList(s, parseExpr) : optional(parseExpr(s))) ?? [];
    const inside = arg && parseInside(s);
    if (inside && s.takeNext(')')) return agg(s, name, arg, distinct, { ...(more.length > 0 && { more }), ...inside });
  }
  s.pos = start;
  return undefined;
}
const optional = (e: Expr | undefined): readonly Expr[] | undefined => e && [e];

/** `AGGREGATE(..) EXPORT_STATE`: the word is ahead. */
function exported(s: Scanner, call: CallExpr | AggExpr): CallExpr | AggExpr {
  const args = call.kind === 'call' ? call.args.filter((x): x is Expr => !isFunctionArg(x)) : [];
  if (call.kind === 'call' && (call.callee.kind !== 'name' || args.length < call.args.length)) return call;
  s.match(/\s*export_state/iy);
  const end = s.byte(s.pos);
  if (call.kind === 'agg') return { ...call, exported: true, end };
  const [arg, ...more] = args;
  const { callee, start } = call;
  return {
    kind: 'agg',
    name: callee as NameNode,
    ...(arg && { arg }),
    ...(more.length > 0 && { more }),
    distinct: false,
    exported: true,
    start,
    end,
  };
}
const isFunctionArg = (x: Arg): boolean => x.kind === 'lambda' || x.kind === 'function-ref';

/** What a call has beside its first argument. */
type Rest = Pick<AggExpr, 'more' | 'order' | 'nulls' | 'within'>;

function agg(s: Scanner, name: NameNode, arg: Expr | undefined, distinct: boolean, rest: Rest = {}): AggExpr {
  const within = parseWithin(s);
  const filter = parseFilter(s);
  return {
    kind: 'agg',
    name,
    arg,
    distinct,
    filter,
    ...rest,
    ...(within && { within }),
    start: name.start,
    end: s.byte(s.pos),
  };
}

function parsePlainCall(s: Scanner, name: NameNode): CallExpr | AggExpr | undefined {
  const order = s.sql ? parseOrderBy(s) : undefined;
  const args = order ? [] : (parseArgs(s) ?? []);
  const inside = order ? { order } : parseInside(s);
  if (!s.takeNext(')')) return undefined;
  const end = s.byte(s.pos);
  const [arg, ...more] = args.filter((x): x is Expr => x.kind !== 'lambda' && x.kind !== 'function-ref');
  if ((args.length <= 1 || s.sql) && args.length === (arg ? 1 : 0) + more.length) {
    const made = agg(s, name, arg, false, { ...(more.length > 0 && { more }), ...inside });
    if (made.filter || made.order || made.nulls || made.within) return made;
  }
  return inside.order || inside.nulls ? undefined : { kind: 'call', callee: name, args, start: name.start, end };
}

/** What SQL has behind the arguments: IGNORE NULLS, and ORDER BY. */
function parseInside(s: Scanner): Pick<Rest, 'order' | 'nulls'> {
  if (!s.sql) return {};
  const before = parseNullTreatment(s);
  const order = parseOrderBy(s);
  const nulls = before ?? (order && parseNullTreatment(s));
  return { ...(order && { order }), ...(nulls && { nulls }) };
}

/** `WITHIN GROUP ( ORDER BY keys )`. */
function parseWithin(s: Scanner): readonly OrderKey[] | undefined {
  const before = s.pos;
  if (s.sql && s.keywordNext('within') && s.spaceKeyword('group') && s.takeNext('(')) {
    s.nestings++;
    const order = parseOrderBy(s);
    if (order !== undefined && s.takeNext(')')) return order;
  }
  s.pos = before;
  return undefined;
}

/** `FILTER ( [WHERE] predicate )`. */
function parseFilter(s: Scanner): Expr | undefined {
  const before = s.pos;
  if (s.keywordNext('filter') && s.takeNext('(')) {
    s.skip();
    if (s.keyword('where')) s.skip();
    const filter = parseOrExpr(s);
    if (filter !== undefined && s.takeNext(')')) return filter;
  }
  s.pos = before;
  return undefined;
}

/** Arguments of calls, at least one. In SQL those with a name (`a := 1`) come as one record behind the others. */
export function parseArgs(s: Scanner): Arg[] | undefined {
  const named: RecordField[] = [];
  const args = parseList<Arg | RecordField>(s, (scanner) => parseNamedArg(scanner) ?? parseArg(scanner));
  const plain = args?.filter((arg): arg is Arg => {
    if (arg.kind === 'record-field') named.push(arg);
    return arg.kind !== 'record-field';
  });
  const [first] = named;
  const last = named.at(-1);
  return first && last
    ? [...plain!, { kind: 'record', elems: named, ofCall: true, start: first.start, end: last.end }]
    : plain;
}

const namedArgAhead = /(?:[\p{L}_$][\p{L}\p{Nd}_$]*|"[^"]*")\s*:=/uy;

/** `name := expr`. */
function parseNamedArg(s: Scanner): RecordField | undefined {
  if (!s.sql || !isAhead(s, namedArgAhead)) return undefined;
  const start = s.pos;
  const name = parseSqlId(s);
  if (name !== undefined && s.takeNext(':=')) {
    s.skip();
    const expr = parseExpr(s);
    if (expr !== undefined) return { kind: 'record-field', name, expr, start: name.start, end: expr.end };
  }
  s.pos = start;
  return undefined;
}

/** An argument of a call. */
export function parseArg(s: Scanner): Arg | undefined {
  const start = s.pos;
  if (s.code === 0x26) {
    s.pos++;
    s.skip();
    const name = parseId(s);
    if (name !== undefined) return { kind: 'function-ref', name, start: s.byte(start), end: name.end };
    s.pos = start;
    return undefined;
  }
  if (isLambdaAhead(s)) {
    const lambda = parseLambda(s);
    // A lambda that is called here is an expression.
    if (lambda !== undefined && !isOpenNext(s)) return lambda;
    s.pos = start;
  }
  return parseArrow(s) ?? parseExpr(s);
}

/** Behind a single name a text is the path of JSON's arrow: `json_type(j -> 'a')`. */
const arrowAhead =
  /(?:[\p{L}_$][\p{L}\p{Nd}_$]*(?!\s*->\s*')|\(\s*[\p{L}_$][\p{L}\p{Nd}_$]*\s*(?:,\s*[\p{L}_$][\p{L}\p{Nd}_$]*\s*)*\))\s*->(?!>)/uy;

/** `x -> body` and `(x, y) -> body`, in SQL alone. */
function parseArrow(s: Scanner): LambdaNode | undefined {
  if (!s.sql || !isAhead(s, arrowAhead)) return undefined;
  const start = s.pos;
  const single = s.code === 0x28 ? undefined : parseId(s);
  const params = single ? [single] : parseNameList(s, parseId);
  if (params !== undefined && s.takeNext('->')) {
    s.skip();
    s.nestings++;
    const body = parseExpr(s);
    if (body !== undefined) return { kind: 'lambda', isArrow: true, params, body, start: s.byte(start), end: body.end };
  }
  s.pos = start;
  return undefined;
}

function isOpenNext(s: Scanner): boolean {
  const before = s.pos;
  const open = s.takeNext('(');
  s.pos = before;
  return open;
}

const lambdaAhead = /[(\s]*lambda(?=[\s:/-])/iy;

/** Whether a lambda begins here, maybe in parentheses. */
export function isLambdaAhead(s: Scanner): boolean {
  lambdaAhead.lastIndex = s.pos;
  return lambdaAhead.test(s.text);
}

/** `LAMBDA [params] ":" body`, maybe in parentheses. */
function parseLambda(s: Scanner): LambdaNode | undefined {
  const start = s.pos;
  const lambda = s.code === 0x28 ? parseEnclosedLambda(s) : parseBareLambda(s);
  if (lambda === undefined) s.pos = start;
  return lambda;
}

function parseEnclosedLambda(s: Scanner): LambdaNode | undefined {
  s.pos++;
  s.skip();
  s.enter();
  const lambda = parseLambda(s);
  s.leave();
  return lambda !== undefined && s.takeNext(')') ? lambda : undefined;
}

function parseBareLambda(s: Scanner): LambdaNode | undefined {
  const start = s.pos;
  if (!s.keyword('lambda')) return undefined;
  s.nestings++;
  s.skip();
  const params = parseList(s, parseId) ?? [];
  if (!s.takeNext(':')) return undefined;
  s.skip();
  const body = parseExpr(s);
  return body === undefined ? undefined : { kind: 'lambda', params, body, start: s.byte(start), end: body.end };
}

/** `(lambda ..)(args)`. */
export function parseLambdaCall(s: Scanner): CallExpr | undefined {
  const start = s.pos;
  const callee = parseLambda(s);
  if (callee !== undefined && s.takeNext('(')) {
    s.skip();
    const args = parseArgs(s) ?? [];
    if (s.takeNext(')')) return { kind: 'call', callee, args, start: s.byte(start), end: s.byte(s.pos) };
  }
  s.pos = start;
  return undefined;
}
