/**
 * The normalised text of expressions and types, and the names it gives to expressions without one (grammar.md, section
 * 4).
 */
import { typeText } from '../vectors/type.ts';
import { sqlTypeText } from './sql/values/types.ts';
import type {
  Arg,
  CallExpr,
  CastTarget,
  Expr,
  FStringExpr,
  FrameBound,
  LambdaNode,
  NameNode,
  OrderKey,
  QueryNode,
  RecordElem,
  Span,
  TypeNode,
  WindowSpec,
} from './ast.ts';

/** What a name depends on besides the expression. */
interface NameOptions {
  /** Inside a SQL operator, where a string literal keeps its quotes. */
  readonly sql: boolean;
  /** The query text: lets subqueries print as they were written. */
  readonly text?: string;
}

/** The name of an expression that has none in the query: last component, function name, or text. */
export function impliedName(expr: Expr, options: NameOptions): string {
  switch (expr.kind) {
    case 'id':
      return expr.name === 'this' && !expr.quoted ? 'that' : expr.name;
    case 'dot':
      return isPath(expr.expr) ? expr.name.text : printExpr(expr, options.text);
    case 'call':
      if (expr.callee.kind !== 'name') return printExpr(expr, options.text);
      return isQuiet(expr) ? impliedName(expr.args[0] as Expr, options) : expr.callee.text;
    case 'agg':
      return expr.name.text;
    case 'window':
      return impliedName(expr.call, options);
    case 'literal':
      if (expr.type === 'null') return '';
      // Alone, a string is not escaped.
      return expr.type !== 'string' ? printExpr(expr) : options.sql ? `"${expr.text}"` : expr.text;
    default:
      return printExpr(expr, options.text);
  }
}

/**
 * Binding strength of the operators as they are written. An operand that is an operation of less strength gets
 * parentheses; what is not listed here has none, casts by `::` included. These are v0.2.0's names: they need not read
 * back as the same expression (`a-(b-c)` is `a-b-c`).
 */
const strengths: Readonly<Record<string, number>> = {
  or: 1,
  and: 2,
  '==': 4,
  '!=': 4,
  '<': 4,
  '<=': 4,
  '>': 4,
  '>=': 4,
  in: 4,
  '+': 5,
  '-': 5,
  '*': 6,
  '/': 6,
  '%': 6,
};

/** Words with blanks around them; the last row is not in v0.2.0. */
const spaced: ReadonlySet<string> = new Set([
  'and',
  'or',
  'in',
  'ilike',
  'not ilike',
  'glob',
  'similar to',
  'not similar to',
  'is distinct from',
  'is not distinct from',
]);

/**
 * The text of an expression, as v0.2.0 gives it: blanks around `and`, `or` and `in` alone; null is empty. `source` is
 * the query text.
 */
export function printExpr(expr: Expr, source?: string): string {
  return new Printer(source).expr(expr);
}

class Printer {
  private readonly source: string | undefined;
  constructor(source: string | undefined) {
    this.source = source;
  }

  expr(expr: Expr): string {
    switch (expr.kind) {
      case 'literal':
        return expr.type === 'string' ? quote(expr.text) : expr.type === 'null' ? '' : expr.text;
      case 'date':
        return `${expr.type.toUpperCase()} ${quote(expr.text)}`;
      case 'type-value':
        return `<${this.type(expr.type)}>`;
      case 'fstring':
        return this.fstring(expr);
      case 'id':
        return expr.quoted && this.sqlQuoted(expr) ? quote(expr.name) : expr.name;
      case 'unary':
        return `${expr.op}${this.operand(expr.operand, Infinity)}`;
      case 'binary':
        return `${this.binary(expr.written ?? expr.op, expr.left, expr.right)}${expr.escape ? ` escape ${this.expr(expr.escape)}` : ''}`;
      case 'between':
        return `(${this.expr(expr.expr)}${expr.negated ? ' not' : ''} between ${expr.symmetric ? 'symmetric ' : ''}${this.expr(expr.lower)} and ${this.expr(expr.upper)})`;
      case 'is-null':
        return `${this.expr(expr.expr)}IS ${expr.negated ? 'NOT ' : ''}NULL`;
      case 'conditional':
        return `(${this.expr(expr.condition)}) ? ${this.expr(expr.then)} : ${this.expr(expr.otherwise)}`;
      case 'case':
        return this.case(expr);
      case 'cast':
        return expr.call
          ? `${expr.attempt ? 'TRY_' : ''}CAST(${this.expr(expr.expr)} AS ${this.calledTarget(expr.target)})`
          : `${this.expr(expr.expr)}::${this.target(expr.target)}`;
      case 'index':
        return `${this.expr(expr.expr)}[${this.expr(expr.index)}]`;
      case 'slice':
        return `${this.expr(expr.expr)}[${this.maybe(expr.from)}:${this.maybe(expr.to)}${expr.step ? `:${this.expr(expr.step)}` : ''}]`;
      case 'dot':
        return expr.expr.kind === 'id' && expr.expr.name === 'this' && !expr.expr.quoted
          ? expr.name.text
          : `${this.expr(expr.expr)}.${expr.name.text}`;
      case 'call':
        return this.call(expr);
      case 'agg':
        return this.agg(expr);
      case 'record':
        return `{${expr.elems.map((elem) => this.recordElem(elem)).join(',')}}`;
      case 'array':
        return `[${this.elems(expr.elems)}]`;
      case 'set':
        return `|[${this.elems(expr.elems)}]|`;
      case 'map':
        return `|{${expr.entries.map(({ key, value }) => `${this.expr(key)}:${this.expr(value)}`).join(',')}}|`;
      case 'tuple':
        return `(${expr.elems.map((elem) => this.expr(elem)).join(', ')})`;
      case 'subquery':
        return `(${this.query(expr.query)})`;
      case 'array-subquery':
        return `[${this.query(expr.query)}]`;
      case 'exists':
        return `exists(${this.query(expr.query)})`;
      case 'quantified':
        return `${this.expr(expr.left)}${expr.op}${expr.quantifier}(${this.query(expr.query)})`;
      case 'interval':
        return `INTERVAL ${expr.unit === undefined || expr.amount.kind === 'literal' ? this.expr(expr.amount) : `(${this.expr(expr.amount)})`}${expr.unit === undefined ? '' : ` ${expr.unit}`}`;
      case 'columns':
        return `${expr.unpacked ? '*' : ''}columns(${expr.pattern === undefined ? '*' : quote(expr.pattern)})`;
      case 'extract':
        return `EXTRACT(${this.expr(expr.part)} FROM ${this.expr(expr.expr)})`;
      case 'substring':
        return this.substring(expr);
      case 'window':
        return `${this.expr(expr.call)}${expr.nulls ? ` ${expr.nulls} nulls` : ''} over ${expr.over.kind === 'name' ? name(expr.over.text) : this.window(expr.over)}`;
    }
  }

  private window(spec: WindowSpec): string {
    const bound = ({ bound, offset }: FrameBound): string => (offset ? `${this.expr(offset)} ${bound}` : bound);
    const { base, partitionBy, orderBy, frame } = spec;
    const parts: string[] = base ? [name(base.text)] : [];
    if (partitionBy.length > 0) parts.push(`partition by ${partitionBy.map((e) => this.expr(e)).join(',')}`);
    if (orderBy.length > 0) parts.push(`order by ${this.orderKeys(orderBy)}`);
    if (frame)
      parts.push(
        `${frame.unit} ${frame.last ? `between ${bound(frame.first)} and ${bound(frame.last)}` : bound(frame.first)}${frame.exclude ? ` exclude ${frame.exclude}` : ''}`,
      );
    return `(${parts.join(' ')})`;
  }

  /** An operand of something of this strength. */
  private operand(expr: Expr, strength: number): string {
    const text = this.expr(expr);
    return isOperation(expr) && strengthOf(expr) < strength ? `(${text})` : text;
  }

  /** Names in double quotes, which only SQL has, keep them. */
  private sqlQuoted(expr: Span): boolean {
    return this.source !== undefined && sliceBytes(this.source, expr).startsWith('"');
  }

  private maybe(expr: Expr | undefined): string {
    return expr === undefined ? '' : this.expr(expr);
  }

  private binary(op: string, left: Expr, right: Expr): string {
    const strength = strengths[op] ?? 0;
    const sides = [this.operand(left, strength), this.operand(right, strength)];
    return sides.join(spaced.has(op) ? ` ${op} ` : op);
  }

  private case(expr: Extract<Expr, { readonly kind: 'case' }>): string {
    const parts = ['case'];
    if (expr.operand !== undefined) parts.push(this.expr(expr.operand));
    for (const { when, then } of expr.whens) parts.push(`when ${this.expr(when)} then ${this.expr(then)}`);
    if (expr.otherwise !== undefined) parts.push(`else ${this.expr(expr.otherwise)}`);
    return [...parts, 'end'].join(' ');
  }

  private call(expr: CallExpr): string {
    const callee = expr.callee.kind === 'name' ? expr.callee.text : `(${this.lambda(expr.callee)})`;
    return `${callee}(${expr.args.map((arg) => this.arg(arg)).join(', ')})`;
  }

  private arg(arg: Arg): string {
    if (arg.kind === 'function-ref') return `&${arg.name.text}`;
    return arg.kind === 'lambda' ? this.lambda(arg) : this.expr(arg);
  }

  private lambda(lambda: LambdaNode): string {
    return `lambda ${names(lambda.params, ',')}:${this.expr(lambda.body)}`;
  }

  private orderKeys(keys: readonly OrderKey[]): string {
    return keys
      .map((k) =>
        [
          this.expr(k.expr),
          k.collation ? `collate ${k.collation.join('.')}` : '',
          k.order ?? '',
          k.nulls ? `nulls ${k.nulls}` : '',
        ]
          .filter((x) => x !== '')
          .join(' '),
      )
      .join(',');
  }

  private agg(expr: Extract<Expr, { readonly kind: 'agg' }>): string {
    const filter = expr.filter === undefined ? '' : ` filter ${this.expr(expr.filter)}`;
    const args = [...(expr.arg ? [expr.arg] : []), ...(expr.more ?? [])].map((e) => this.expr(e)).join(', ');
    const order = expr.order ? ` order by ${this.orderKeys(expr.order)}` : '';
    const within = expr.within ? ` within group (order by ${this.orderKeys(expr.within)})` : '';
    return `${expr.name.text}(${expr.distinct ? 'distinct ' : ''}${args}${order}${expr.nulls ? ` ${expr.nulls} nulls` : ''})${within}${filter}`;
  }

  private substring(expr: Extract<Expr, { readonly kind: 'substring' }>): string {
    const from = expr.from === undefined ? '' : ` FROM ${this.expr(expr.from)}`;
    const length = expr.length === undefined ? '' : ` FOR ${this.expr(expr.length)}`;
    return `SUBSTRING(${this.expr(expr.expr)}${from}${length})`;
  }

  private recordElem(elem: RecordElem): string {
    if (elem.kind === 'spread') return `...${this.expr(elem.expr)}`;
    return elem.kind === 'record-field' ? `${name(elem.name.text)}:${this.expr(elem.expr)}` : this.expr(elem.expr);
  }

  private elems(elems: Extract<Expr, { readonly kind: 'array' }>['elems']): string {
    return elems.map((elem) => (elem.kind === 'spread' ? `...${this.expr(elem.expr)}` : this.expr(elem))).join(',');
  }

  private fstring(expr: FStringExpr): string {
    const parts = expr.parts.map((part) => (part.kind === 'fstring-text' ? part.text : `{${this.expr(part.expr)}}`));
    return `f"${parts.join('')}"`;
  }

  /** A query as it was written, with single blanks. */
  private query(query: QueryNode): string {
    return this.source === undefined ? '...' : sliceBytes(this.source, query).replace(/\s+/g, ' ');
  }

  private target(target: CastTarget): string {
    switch (target.kind) {
      case 'id':
        return target.name;
      case 'cast-name':
        return quote(target.name);
      case 'cast-date':
        return 'date';
      case 'sql-type':
        return target.type.kind === 'plain' ? `<${typeText(target.type.type)}>` : sqlTypeText(target.type);
      default:
        return `<${this.type(target)}>`;
    }
  }

  private calledTarget(target: CastTarget): string {
    if (target.kind === 'sql-type') return sqlTypeText(target.type);
    return target.kind === 'id' || target.kind === 'cast-name' || target.kind === 'cast-date'
      ? this.target(target)
      : this.type(target);
  }

  /** Unions and what a name stands for are in parentheses. */
  type(type: TypeNode): string {
    switch (type.kind) {
      case 'type-primitive':
        return type.name;
      case 'type-name':
        return type.name;
      case 'type-named':
        return `${type.name}=(${this.type(type.type)})`;
      case 'type-record':
        return `{${type.fields.map((field) => `${name(field.name.text)}:${this.type(field.type)}`).join(',')}}`;
      case 'type-array':
        return `[${this.type(type.elem)}]`;
      case 'type-set':
        return `|[${this.type(type.elem)}]|`;
      case 'type-map':
        return `|{${this.type(type.key)}:${this.type(type.value)}}|`;
      case 'type-union':
        return `(${type.types.map((member) => this.type(member)).join('|')})`;
      case 'type-enum':
        return `enum(${names(type.symbols, ',')})`;
      case 'type-error':
        return `error(${this.type(type.type)})`;
    }
  }
}

/** `quiet(e)`, which is called what `e` is. */
const isQuiet = (expr: CallExpr): boolean =>
  expr.callee.kind === 'name' &&
  expr.callee.text.toLowerCase() === 'quiet' &&
  expr.args.length === 1 &&
  expr.args[0].kind !== 'lambda' &&
  expr.args[0].kind !== 'function-ref';

/** What is reached by names and dots alone. */
const isPath = (expr: Expr): boolean => expr.kind === 'id' || (expr.kind === 'dot' && isPath(expr.expr));

const isOperation = (expr: Expr): boolean => expr.kind === 'binary' || (expr.kind === 'cast' && !expr.call);
const strengthOf = (expr: Expr): number => (expr.kind === 'binary' ? (strengths[expr.written ?? expr.op] ?? 0) : 0);

function names(list: readonly NameNode[], separator: string): string {
  return list.map(({ text }) => name(text)).join(separator);
}

function name(text: string): string {
  return /^[\p{L}_$][\p{L}\p{Mn}\p{Mc}\p{Nd}\p{Pc}$]*$/u.test(text) ? text : quote(text);
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

function quote(text: string): string {
  const escaped = text.replace(
    /["\\\u0000-\u001f]/g,
    (char) => escapes[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `"${escaped}"`;
}

function sliceBytes(text: string, { start, end }: Span): string {
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(start, end));
}
