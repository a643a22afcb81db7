/** The normalised text of expressions and types, and the names it gives to expressions without one (grammar.md, section 4). */
import type { Arg, BinaryOperator, CallExpr, CastTarget, Expr, FStringExpr, FrameBound, LambdaNode, LiteralType, NameNode, QueryNode, RecordElem, Span, TypeNode, WindowSpec } from './ast.ts';

export interface NameOptions {
  /** Inside a SQL operator, where a string literal keeps its quotes. */
  readonly sql: boolean;
  /** The query text: lets subqueries print as they were written. */
  readonly text?: string;
}

/** The name of an expression that has none in the query: last component, function name, or text. */
export function impliedName(expr: Expr, options: NameOptions): string {
  switch (expr.kind) {
    case 'id': return expr.name === 'this' && !expr.quoted ? 'that' : expr.name;
    case 'dot': return expr.name.text;
    case 'call': return expr.callee.kind === 'name' ? expr.callee.text : printExpr(expr, options.text);
    case 'agg': return expr.name.text;
    case 'window': return impliedName(expr.call, options);
    case 'literal':
      if (expr.type === 'null') return '';
      return expr.type === 'string' && !options.sql ? expr.text : printExpr(expr);
    default: return printExpr(expr, options.text);
  }
}

/** Binding strength; operands that bind less than their operator get parentheses. */
const strengths: Readonly<Record<BinaryOperator, number>> = {
  'or': 1, 'and': 2, '==': 4, '!=': 4, '<': 4, '<=': 4, '>': 4, '>=': 4, 'in': 4, 'not in': 4, 'like': 4, 'not like': 4, '~': 4,
  'ilike': 4, 'not ilike': 4, 'similar to': 4, 'not similar to': 4, 'is distinct from': 4, 'is not distinct from': 4,
  '+': 5, '-': 5, '*': 6, '/': 6, '%': 6, '||': 7,
};
const strengthNot = 3;
const strengthSign = 8;
const strengthPrimary = 9;

/** The text of an expression: no blanks around symbols, blanks around words, parentheses only where they are needed. `source` is the query text. */
export function printExpr(expr: Expr, source?: string): string {
  return new Printer(source).expr(expr);
}

/** The text of a type, as in `<…>`. */
export function printType(type: TypeNode): string {
  return new Printer(undefined).type(type);
}

class Printer {
  readonly #source: string | undefined;
  constructor(source: string | undefined) {
    this.#source = source;
  }

  expr(expr: Expr): string {
    switch (expr.kind) {
      case 'literal': return expr.type === 'string' ? quote(expr.text) : expr.text;
      case 'date': return `${expr.type.toUpperCase()} ${quote(expr.text)}`;
      case 'type-value': return `<${this.type(expr.type)}>`;
      case 'fstring': return this.#fstring(expr);
      case 'id': return plainOrQuoted(expr.name);
      case 'unary': return this.#unary(expr.op, expr.operand);
      case 'binary': return this.#binary(expr.op, expr.left, expr.right);
      case 'between': return `(${this.#operand(expr.expr, strengths['+'])}${expr.negated ? ' not' : ''} between ${expr.symmetric ? 'symmetric ' : ''}${this.#operand(expr.lower, strengths['+'])} and ${this.#operand(expr.upper, strengths['+'])})`;
      case 'is-null': return `${this.#operand(expr.expr, strengths['+'])} is ${expr.negated ? 'not ' : ''}null`;
      case 'conditional': return `(${this.expr(expr.condition)}) ? ${this.expr(expr.then)} : ${this.expr(expr.otherwise)}`;
      case 'case': return this.#case(expr);
      case 'cast': return `CAST(${this.expr(expr.expr)} AS ${this.#target(expr.target)})`;
      case 'index': return `${this.#operand(expr.expr, strengthPrimary)}[${this.expr(expr.index)}]`;
      case 'slice': return `${this.#operand(expr.expr, strengthPrimary)}[${this.#maybe(expr.from)}:${this.#maybe(expr.to)}]`;
      case 'dot': return `${expr.expr.kind === 'literal' ? `(${this.expr(expr.expr)})` : this.#operand(expr.expr, strengthPrimary)}.${plainOrQuoted(expr.name.text)}`;
      case 'call': return this.#call(expr);
      case 'agg': return this.#agg(expr);
      case 'record': return `{${expr.elems.map((elem) => this.#recordElem(elem)).join(',')}}`;
      case 'array': return `[${this.#elems(expr.elems)}]`;
      case 'set': return `|[${this.#elems(expr.elems)}]|`;
      case 'map': return `|{${expr.entries.map(({ key, value }) => `${this.expr(key)}:${this.expr(value)}`).join(',')}}|`;
      case 'tuple': return `(${expr.elems.map((elem) => this.expr(elem)).join(',')})`;
      case 'subquery': return `(${this.#query(expr.query)})`;
      case 'array-subquery': return `[${this.#query(expr.query)}]`;
      case 'exists': return `EXISTS(${this.#query(expr.query)})`;
      case 'quantified': return `${this.#operand(expr.left, 5)}${expr.op}${expr.quantifier}(${this.#query(expr.query)})`;
      case 'extract': return `EXTRACT(${this.expr(expr.part)} FROM ${this.expr(expr.expr)})`;
      case 'substring': return this.#substring(expr);
      case 'window': return `${this.expr(expr.call)}${expr.nulls ? ` ${expr.nulls} nulls` : ''} over ${expr.over.kind === 'name' ? name(expr.over.text) : this.#window(expr.over)}`;
    }
  }

  #window(spec: WindowSpec): string {
    const bound = ({ bound, offset }: FrameBound): string => (offset ? `${this.expr(offset)} ${bound}` : bound);
    const { base, partitionBy, orderBy, frame } = spec, parts: string[] = base ? [name(base.text)] : [];
    if (partitionBy.length > 0) parts.push(`partition by ${partitionBy.map((e) => this.expr(e)).join(',')}`);
    if (orderBy.length > 0) parts.push(`order by ${orderBy.map((k) => [this.expr(k.expr), k.order ?? '', k.nulls ? `nulls ${k.nulls}` : ''].filter((x) => x !== '').join(' ')).join(',')}`);
    if (frame) parts.push(`${frame.unit} ${frame.last ? `between ${bound(frame.first)} and ${bound(frame.last)}` : bound(frame.first)}${frame.exclude ? ` exclude ${frame.exclude}` : ''}`);
    return `(${parts.join(' ')})`;
  }

  #operand(expr: Expr, strength: number): string {
    const text = this.expr(expr);
    return strengthOf(expr) < strength ? `(${text})` : text;
  }

  #maybe(expr: Expr | undefined): string {
    return expr === undefined ? '' : this.expr(expr);
  }

  #unary(op: string, operand: Expr): string {
    const text = this.#operand(operand, operand.kind === 'unary' && (op === '!' || operand.op !== '!') ? 0 : strengthSign);
    // Two signs begin a comment, and one before an address belongs to nothing.
    const apart = op === '-' && (/^[-\d.:]/.test(text) && !(operand.kind === 'literal' && signed.has(operand.type) && !text.startsWith('-')));
    return apart ? `${op}(${text})` : `${op}${text}`;
  }

  #binary(op: BinaryOperator, left: Expr, right: Expr): string {
    const strength = strengths[op];
    // Comparisons do not chain; the others lean left, save and/or, which may be balanced and are associative.
    const leftText = this.#operand(left, strength === 4 ? 5 : strength);
    const rightText = this.#operand(right, op === 'and' || op === 'or' ? strength : strength + 1);
    // Two minus signs begin a comment.
    if (op === '-' && rightText.startsWith('-')) return `${leftText}-(${rightText})`;
    return /[a-z]/.test(op) ? `${leftText} ${op} ${rightText}` : `${leftText}${op}${rightText}`;
  }

  #case(expr: Extract<Expr, { readonly kind: 'case' }>): string {
    const parts = ['case'];
    if (expr.operand !== undefined) parts.push(this.expr(expr.operand));
    for (const { when, then } of expr.whens) parts.push(`when ${this.expr(when)} then ${this.expr(then)}`);
    if (expr.otherwise !== undefined) parts.push(`else ${this.expr(expr.otherwise)}`);
    return [...parts, 'end'].join(' ');
  }

  #call(expr: CallExpr): string {
    const callee = expr.callee.kind === 'name' ? expr.callee.text : `(${this.#lambda(expr.callee)})`;
    return `${callee}(${expr.args.map((arg) => this.#arg(arg)).join(', ')})`;
  }

  #arg(arg: Arg): string {
    if (arg.kind === 'function-ref') return `&${arg.name.text}`;
    return arg.kind === 'lambda' ? this.#lambda(arg) : this.expr(arg);
  }

  #lambda(lambda: LambdaNode): string {
    return `lambda ${names(lambda.params, ',')}:${this.expr(lambda.body)}`;
  }

  #agg(expr: Extract<Expr, { readonly kind: 'agg' }>): string {
    const filter = expr.filter === undefined ? '' : ` filter (${this.expr(expr.filter)})`;
    return `${expr.name.text}(${expr.distinct ? 'distinct ' : ''}${this.#maybe(expr.arg)})${filter}`;
  }

  #substring(expr: Extract<Expr, { readonly kind: 'substring' }>): string {
    const from = expr.from === undefined ? '' : ` FROM ${this.expr(expr.from)}`;
    const length = expr.length === undefined ? '' : ` FOR ${this.expr(expr.length)}`;
    return `SUBSTRING(${this.expr(expr.expr)}${from}${length})`;
  }

  #recordElem(elem: RecordElem): string {
    if (elem.kind === 'spread') return `...${this.expr(elem.expr)}`;
    return elem.kind === 'record-field' ? `${name(elem.name.text)}:${this.expr(elem.expr)}` : this.expr(elem.expr);
  }

  #elems(elems: Extract<Expr, { readonly kind: 'array' }>['elems']): string {
    return elems.map((elem) => (elem.kind === 'spread' ? `...${this.expr(elem.expr)}` : this.expr(elem))).join(',');
  }

  #fstring(expr: FStringExpr): string {
    const parts = expr.parts.map((part) => (part.kind === 'fstring-text' ? quote(part.text).slice(1, -1).replaceAll('{', '\\{') : `{${this.expr(part.expr)}}`));
    return `f"${parts.join('')}"`;
  }

  /** A query as it was written, with single blanks. */
  #query(query: QueryNode): string {
    return this.#source === undefined ? '...' : sliceBytes(this.#source, query).replace(/\s+/g, ' ');
  }

  #target(target: CastTarget): string {
    switch (target.kind) {
      case 'id': return target.name;
      case 'cast-name': return `=${name(target.name)}`;
      case 'cast-date': return 'DATE';
      default: return this.type(target);
    }
  }

  type(type: TypeNode): string {
    switch (type.kind) {
      case 'type-primitive': return type.alias ?? type.name;
      case 'type-name': return name(type.name);
      case 'type-named': return `${name(type.name)}=${this.#member(type.type)}`;
      case 'type-record': return `{${type.fields.map((field) => `${name(field.name.text)}${field.optional ? '?' : ''}:${this.type(field.type)}`).join(',')}}`;
      case 'type-array': return `[${this.type(type.elem)}]`;
      case 'type-set': return `|[${this.type(type.elem)}]|`;
      case 'type-map': return `|{${this.type(type.key)}:${this.type(type.value)}}|`;
      case 'type-union': return type.types.map((member) => this.#member(member)).join('|');
      case 'type-enum': return `enum(${names(type.symbols, ',')})`;
      case 'type-error': return `error(${this.type(type.type)})`;
    }
  }

  #member(type: TypeNode): string {
    const text = this.type(type);
    return type.kind === 'type-union' ? `(${text})` : text;
  }
}

function strengthOf(expr: Expr): number {
  switch (expr.kind) {
    case 'binary': return strengths[expr.op];
    case 'unary': return expr.op === '!' ? strengthNot : strengthSign;
    case 'is-null': return strengths['=='];
    case 'conditional': return 0;
    default: return strengthPrimary;
  }
}

function names(list: readonly NameNode[], separator: string): string {
  return list.map(({ text }) => name(text)).join(separator);
}

function name(text: string): string {
  return /^[\p{L}_$][\p{L}\p{Mn}\p{Mc}\p{Nd}\p{Pc}$]*$/u.test(text) ? text : quote(text);
}

const signed: ReadonlySet<LiteralType> = new Set(['int64', 'float64', 'duration']);

/** An identifier, in backticks if it would not be read as one. */
function plainOrQuoted(text: string): string {
  return name(text) === text && !/^(true|false|null)$/i.test(text) ? text : `\`${quote(text).slice(1, -1).replaceAll('`', '\\u0060')}\``;
}

const escapes: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quote(text: string): string {
  const escaped = text.replace(/["\\\u0000-\u001f]/g, (char) => escapes[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `"${escaped}"`;
}

function sliceBytes(text: string, { start, end }: Span): string {
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(start, end));
}
