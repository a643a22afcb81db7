/**
 * The syntax tree of SuperSQL: what the parser makes and the analyzer reads.
 *
 * Invariants:
 * - Plain frozen-shape JSON: every node has `kind`, and `start`/`end`, UTF-8 byte offsets into the query text (end
 *   exclusive).
 * - Kinds are unique over the whole tree: operators end in `-op`, declarations in `-decl`, types begin with `type-`,
 *   search terms with `search-`, sources with `source-`, SQL nodes with `sql-`; expressions have bare names.
 * - Nothing is resolved: names, aggregate or function, what an implied operator means, and the ranges of literals are
 *   the analyzer's.
 * - Parentheses leave no node (spans exclude them). Absent optional parts are absent or `undefined`.
 * - No path through the tree is deeper than twice the parser's `queryDepthMax` (500), so that recursion over it is
 *   safe.
 */

import type { SqlType } from './sql/values/types.ts';

/** A place in the query text: UTF-8 byte offsets, end exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A name as it stands in the text, with quotes and escapes resolved in `text`. */
export interface NameNode extends Span {
  readonly kind: 'name';
  readonly text: string;
}

// ---- Program
// ------------------------------------------------------------------------------------------------------------------

/**
 * A scope: declarations, then a pipeline of at least one operator. The whole program, and every body or subquery, is
 * one.
 */
export interface QueryNode extends Span {
  readonly kind: 'query';
  readonly decls: readonly Decl[];
  readonly ops: readonly Op[];
}

/** A declaration at the head of a scope. Each is known in the whole scope, whatever their order. */
export type Decl = ConstDecl | FnDecl | LetDecl | OpDecl | PragmaDecl | TypeDecl;

/** `const name = expr`. */
export interface ConstDecl extends Span {
  readonly kind: 'const-decl';
  readonly name: NameNode;
  readonly expr: Expr;
}
/** `fn name(a, b): body`. */
export interface FnDecl extends Span {
  readonly kind: 'fn-decl';
  readonly name: NameNode;
  readonly params: readonly NameNode[];
  readonly body: Expr;
}
/** `let name = (query)`: a named query. */
export interface LetDecl extends Span {
  readonly kind: 'let-decl';
  readonly name: NameNode;
  readonly query: QueryNode;
}
/** `op name a, b: (body)`: a user operator. */
export interface OpDecl extends Span {
  readonly kind: 'op-decl';
  readonly name: NameNode;
  readonly params: readonly NameNode[];
  readonly body: QueryNode;
}
/** `pragma name [= expr]`; without `expr` it stands for true. */
export interface PragmaDecl extends Span {
  readonly kind: 'pragma-decl';
  readonly name: NameNode;
  readonly expr?: Expr;
}
/** `type name = type`. */
export interface TypeDecl extends Span {
  readonly kind: 'type-decl';
  readonly name: NameNode;
  readonly type: TypeNode;
}

// ---- Pipe operators
// -----------------------------------------------------------------------------------------------------------

/** One operator of a pipeline; `|` or `|>` stands between two. */
export type Op =
  | SqlOp
  | ForkOp
  | SwitchOp
  | SearchOp
  | AssertOp
  | SortOp
  | TopOp
  | CallOp
  | CountOp
  | CutOp
  | PutOp
  | RenameOp
  | DistinctOp
  | DropOp
  | HeadOp
  | TailOp
  | SkipOp
  | WhereOp
  | UniqOp
  | FuseOp
  | PassOp
  | JoinOp
  | ShapesOp
  | FromOp
  | MergeOp
  | UnnestOp
  | ValuesOp
  | LoadOp
  | CreateViewOp
  | RenameViewOp
  | DropViewOp
  | ChangeRowsOp
  | MergeRowsOp
  | OutputOp
  | DebugOp
  | ScopeOp
  | AssignmentsOp
  | AggregateOp
  | ExprOp;

/**
 * A SQL query as an operator of its own: `select ..`, `from t select ..`, `values (..)`, `with ..`, or one of these in
 * parentheses.
 */
export interface SqlOp extends Span {
  readonly kind: 'sql-op';
  readonly query: SqlQuery;
}
/** `fork (branch) (branch) ..`: at least one branch. */
export interface ForkOp extends Span {
  readonly kind: 'fork-op';
  readonly branches: readonly QueryNode[];
}
/** `switch [expr] case .. (..) default (..)`: without `expr` the cases are predicates. */
export interface SwitchOp extends Span {
  readonly kind: 'switch-op';
  readonly expr?: Expr;
  readonly cases: readonly SwitchCase[];
}
/** One branch; `expr` is absent for `default`. */
export interface SwitchCase extends Span {
  readonly kind: 'switch-case';
  readonly expr?: Expr;
  readonly body: QueryNode;
}
/** `search terms`, and `? terms`. */
export interface SearchOp extends Span {
  readonly kind: 'search-op';
  readonly search: SearchNode;
}
/** `text` is the predicate as written, trimmed; it goes into the error value. */
export interface AssertOp extends Span {
  readonly kind: 'assert-op';
  readonly expr: Expr;
  readonly text: string;
}
/** `sort [-r] [keys]` and `order by [-r] [keys]`; no keys: the key is guessed from the first value. */
export interface SortOp extends Span {
  readonly kind: 'sort-op';
  readonly reverse: boolean;
  readonly keys: readonly OrderKey[];
}
/** `top [-r] [limit] [keys]`. No `limit`: one row; no keys: the key is guessed from the first value. */
export interface TopOp extends Span {
  readonly kind: 'top-op';
  readonly reverse: boolean;
  readonly limit?: Expr;
  readonly keys: readonly OrderKey[];
}
/** Call of a user operator: `call name args` (implied: false), `name args` or a bare `name` (implied: true). */
export interface CallOp extends Span {
  readonly kind: 'call-op';
  readonly name: NameNode;
  readonly args: readonly Arg[];
  readonly implied: boolean;
}
/**
 * `count [record]`. The last element of the record is the bare name of the field for the number, which the analyzer
 * checks.
 */
export interface CountOp extends Span {
  readonly kind: 'count-op';
  readonly record?: RecordExpr;
}
/** `cut [target :=] expr, ..`. */
export interface CutOp extends Span {
  readonly kind: 'cut-op';
  readonly assignments: readonly Assignment[];
}
/** `put [target :=] expr, ..`. */
export interface PutOp extends Span {
  readonly kind: 'put-op';
  readonly assignments: readonly Assignment[];
}
/** `rename target := expr, ..`: `expr` is the path as it was. */
export interface RenameOp extends Span {
  readonly kind: 'rename-op';
  readonly assignments: readonly Assignment[];
}
/** `distinct expr`. */
export interface DistinctOp extends Span {
  readonly kind: 'distinct-op';
  readonly expr: Expr;
}
/** `drop a, b.c, ..`: each an `id`, a `dot` or an `index`. */
export interface DropOp extends Span {
  readonly kind: 'drop-op';
  readonly fields: readonly Expr[];
}
/** `head [n]`, and `limit n`. */
export interface HeadOp extends Span {
  readonly kind: 'head-op';
  readonly count?: Expr;
}
/** `tail [n]`. No `count`: one row. */
export interface TailOp extends Span {
  readonly kind: 'tail-op';
  readonly count?: Expr;
}
/** `skip n`. */
export interface SkipOp extends Span {
  readonly kind: 'skip-op';
  readonly count: Expr;
}
/** `where expr`. */
export interface WhereOp extends Span {
  readonly kind: 'where-op';
  readonly expr: Expr;
}
/** `counted` for `uniq -c`. */
export interface UniqOp extends Span {
  readonly kind: 'uniq-op';
  readonly counted: boolean;
}
/** `fuse`. */
export interface FuseOp extends Span {
  readonly kind: 'fuse-op';
}
/** `pass`, and the empty query text. */
export interface PassOp extends Span {
  readonly kind: 'pass-op';
}
/** Pipe join. `right` absent: the two parents are the sides. `condition` is absent exactly for `cross`. */
export interface JoinOp extends Span {
  readonly kind: 'join-op';
  readonly style: 'inner' | 'left' | 'right' | 'anti' | 'cross';
  readonly right?: QueryNode;
  readonly alias?: JoinAlias;
  readonly condition?: JoinCondition;
}
/** `as {left, right}`: the fields of the pair that the sides go to. */
export interface JoinAlias extends Span {
  readonly kind: 'join-alias';
  readonly left: NameNode;
  readonly right: NameNode;
}
/** What joined rows have to fulfil: `on expr` or `using (a, b)`. */
export type JoinCondition = JoinOn | JoinUsing;
/** `on expr`. */
export interface JoinOn extends Span {
  readonly kind: 'join-on';
  readonly expr: Expr;
}
/** `using (a, b)`: the names of fields that both sides have. */
export interface JoinUsing extends Span {
  readonly kind: 'join-using';
  readonly fields: readonly IdExpr[];
}
/** `shapes [expr]`. No `expr`: shapes of the whole value. */
export interface ShapesOp extends Span {
  readonly kind: 'shapes-op';
  readonly expr?: Expr;
}
/** `from source`, without SELECT. */
export interface FromOp extends Span {
  readonly kind: 'from-op';
  readonly source: SourceNode;
}
/** `merge key, ..`. */
export interface MergeOp extends Span {
  readonly kind: 'merge-op';
  readonly keys: readonly OrderKey[];
}
/** `unnest expr [into (body)]`. */
export interface UnnestOp extends Span {
  readonly kind: 'unnest-op';
  readonly expr: Expr;
  readonly body?: QueryNode;
}
/** `values a, b, ..`. With every expression in parentheses it is the VALUES of SQL instead. */
export interface ValuesOp extends Span {
  readonly kind: 'values-op';
  readonly exprs: readonly Expr[];
}
/**
 * `load pool[@branch] [(key text ..)]`: `source.origin` is always a `source-text`. `insert`: of the statement of SQL,
 * which may come to no rows; `columns`: the names that it gives to columns.
 */
export interface LoadOp extends Span {
  readonly kind: 'load-op';
  readonly source: SourceNode;
  readonly insert?: { readonly columns: readonly NameNode[] };
}
/**
 * `create view name as query`, which is a whole text. `text`: of the query, as it was written. `existing`: what is done
 * where there is one of that name; `require` is `alter view name as query`.
 */
export interface CreateViewOp extends Span {
  readonly kind: 'create-view-op';
  readonly name: NameNode;
  readonly columns?: readonly NameNode[];
  readonly existing: 'refuse' | 'replace' | 'keep' | 'require';
  readonly query: QueryNode;
  readonly text: string;
}
/** `alter view name rename to name`, which is a whole text. */
export interface RenameViewOp extends Span {
  readonly kind: 'rename-view-op';
  readonly name: NameNode;
  readonly to: NameNode;
  readonly ifExists: boolean;
}
/** `drop view name`, which is a whole text. */
export interface DropViewOp extends Span {
  readonly kind: 'drop-view-op';
  readonly name: NameNode;
  readonly ifExists: boolean;
}
/**
 * `update pool set a = .. where ..` and `delete from pool where ..`, which are a whole text. `query`: the new values of
 * the rows that are changed, a column each of `targets`.
 */
export interface ChangeRowsOp extends Span {
  readonly kind: 'change-rows-op';
  readonly verb: 'update' | 'delete';
  readonly source: SourceNode;
  readonly targets: readonly (readonly NameNode[])[];
  readonly query: SqlQuery;
}
/**
 * `merge into pool using table on .. when ..`, which is a whole text. Rows of the queries have the number of their clause
 * in `clause`, null for none; `row`, the pair of the rows of pool and table, of `others` the row of the table; and `c1v0`, .., the values of a
 * clause's targets. `once`: a row for each row of the pool that has a clause.
 */
export interface MergeRowsOp extends Span {
  readonly kind: 'merge-rows-op';
  readonly source: SourceNode;
  readonly clauses: readonly MergeAction[];
  readonly matched?: SqlQuery;
  readonly once?: SqlQuery;
  readonly others?: SqlQuery;
}
/** What a clause does. `insert row`: with the row of the table as it is. */
export interface MergeAction {
  readonly verb: 'update' | 'delete' | 'insert' | 'insert row' | 'nothing';
  readonly targets: readonly (readonly NameNode[])[];
}
/** `output name`: the name of a channel. */
export interface OutputOp extends Span {
  readonly kind: 'output-op';
  readonly name: NameNode;
}
/** `debug [expr]`. No `expr`: the whole value. */
export interface DebugOp extends Span {
  readonly kind: 'debug-op';
  readonly expr?: Expr;
}
/** Parenthesised declarations with their own pipeline, as one operator. */
export interface ScopeOp extends Span {
  readonly kind: 'scope-op';
  readonly body: QueryNode;
}
/**
 * Implied `a:=e, b:=f`: a put, or an aggregate when the right sides call aggregate functions. Every assignment has a
 * target.
 */
export interface AssignmentsOp extends Span {
  readonly kind: 'assignments-op';
  readonly assignments: readonly Assignment[];
}
/** `[aggregate] a:=f(x), g(y) by k, ..`. `aggs` is empty for keys alone; every agg's `expr` is a `call` or an `agg`. */
export interface AggregateOp extends Span {
  readonly kind: 'aggregate-op';
  /** True without the keyword `aggregate` or `summarize`. */
  readonly implied: boolean;
  readonly aggs: readonly Assignment[];
  readonly keys: readonly Assignment[];
  /** Digits of `with -limit N`. */
  readonly limit?: string;
}
/**
 * A bare expression: where, values, or an aggregate when it is the call of an aggregate function. Never a lone name or
 * literal.
 */
export interface ExprOp extends Span {
  readonly kind: 'expr-op';
  readonly expr: Expr;
}

/** `[target :=] expr`. Without a target the name is implied (see `print.ts`). */
export interface Assignment extends Span {
  readonly kind: 'assignment';
  readonly target?: Expr;
  readonly expr: Expr;
}
/** `expr [asc|desc] [nulls first|last]`. No `order`: ascending; no `nulls`: last, in either order. */
export interface OrderKey extends Span {
  readonly kind: 'order-key';
  readonly expr: Expr;
  readonly order?: 'asc' | 'desc';
  readonly nulls?: 'first' | 'last';
  /** Of SQL: the functions that a text goes through before it is compared. */
  readonly collation?: readonly string[];
}

// ---- Sources
// ------------------------------------------------------------------------------------------------------------------

/** `origin [@commit] [:meta] [(key value ..)]`. */
export interface SourceNode extends Span {
  readonly kind: 'source';
  readonly origin: SourceOrigin;
  readonly commit?: NameNode;
  readonly meta?: NameNode;
  readonly args: readonly SourceArg[];
}
/** What a source is read from: something named, matched, worked out, or the lake itself. */
export type SourceOrigin = SourceText | SourceGlob | SourceRegexp | SourceFString | SourceMeta;
/**
 * Name, path or URL. It may also be the name of a CTE or a `let` query; unquoted, that of a constant or an operator
 * parameter too.
 */
export interface SourceText extends Span {
  readonly kind: 'source-text';
  readonly text: string;
  readonly quoted: boolean;
}
/** Name with `*` (also `*` alone). In the pattern `\*` and `\\` are the only escapes. */
export interface SourceGlob extends Span {
  readonly kind: 'source-glob';
  readonly pattern: string;
}
/** `/pattern/`: all names that match. A slash inside, `\/` in the text, is plain in the pattern. */
export interface SourceRegexp extends Span {
  readonly kind: 'source-regexp';
  readonly pattern: string;
}
/** `f".."`: a name, path or URL that is worked out, for each row if it reads the row. */
export interface SourceFString extends Span {
  readonly kind: 'source-fstring';
  readonly expr: FStringExpr;
}
/** `from :pools`: a meta query of the whole lake. */
export interface SourceMeta extends Span {
  readonly kind: 'source-meta';
  readonly name: NameNode;
}
/** One `key value`; `key` is lower case as written. The value is an expression for `headers`, text for all others. */
export interface SourceArg extends Span {
  readonly kind: 'source-arg';
  readonly key: NameNode;
  readonly value: SourceText | Expr;
}

// ---- Search
// -------------------------------------------------------------------------------------------------------------------

/** What a search looks for. */
export type SearchNode = SearchBinary | SearchNot | SearchWord | SearchGlob | SearchRegexp | SearchLiteral | SearchExpr;
/** `a and b`, `a b` (both `and`), `a or b`. */
export interface SearchBinary extends Span {
  readonly kind: 'search-binary';
  readonly op: 'and' | 'or';
  readonly left: SearchNode;
  readonly right: SearchNode;
}
/** `not a`, `!a`. */
export interface SearchNot extends Span {
  readonly kind: 'search-not';
  readonly search: SearchNode;
}
/** A word or a string: case-insensitive substring of any string or field name. */
export interface SearchWord extends Span {
  readonly kind: 'search-word';
  readonly text: string;
}
/** A word with `*`; anchored at both ends. In the pattern `\*` and `\\` are the only escapes. */
export interface SearchGlob extends Span {
  readonly kind: 'search-glob';
  readonly pattern: string;
}
/** `/pattern/`; not anchored. */
export interface SearchRegexp extends Span {
  readonly kind: 'search-regexp';
  readonly pattern: string;
}
/** A literal that is no string; `text` is its source text, for the substring match. */
export interface SearchLiteral extends Span {
  readonly kind: 'search-literal';
  readonly literal: LiteralExpr | TypeValueExpr;
  readonly text: string;
}
/** An ordinary predicate: a comparison or a function call. */
export interface SearchExpr extends Span {
  readonly kind: 'search-expr';
  readonly expr: Expr;
}

// ---- Expressions
// --------------------------------------------------------------------------------------------------------------

/** Any expression. `window` and `quantified` come from SQL alone. */
export type Expr =
  | LiteralExpr
  | DateExpr
  | TypeValueExpr
  | FStringExpr
  | IdExpr
  | UnaryExpr
  | BinaryExpr
  | BetweenExpr
  | IsNullExpr
  | ConditionalExpr
  | CaseExpr
  | CastExpr
  | IndexExpr
  | SliceExpr
  | DotExpr
  | CallExpr
  | AggExpr
  | RecordExpr
  | ArrayExpr
  | SetExpr
  | MapExpr
  | TupleExpr
  | SubqueryExpr
  | ArraySubqueryExpr
  | ExistsExpr
  | IntervalExpr
  | ExtractExpr
  | SubstringExpr
  | WindowExpr
  | QuantifiedExpr
  | ColumnsExpr;

/** The type of a literal, which its form tells. */
export type LiteralType =
  | 'int64'
  | 'float64'
  | 'duration'
  | 'time'
  | 'ip'
  | 'net'
  | 'bytes'
  | 'string'
  | 'bool'
  | 'null';
/**
 * A constant. `text` is the decoded text of a string (any quote, raw too), lower case for bool and null, else the
 * source text with its sign. Ranges and digits are not checked (`invalid integer: ..`, `time overflow: ..`, `invalid
 * bytes: ..` are the analyzer's).
 */
export interface LiteralExpr extends Span {
  readonly kind: 'literal';
  readonly type: LiteralType;
  readonly text: string;
}
/** `date '..'`, `timestamp '..'`: a constant of type time. */
export interface DateExpr extends Span {
  readonly kind: 'date';
  readonly type: 'date' | 'timestamp';
  readonly text: string /** Where the string begins, in bytes; it ends with the whole. */;
  readonly textStart: number;
}
/** `<type>`. */
export interface TypeValueExpr extends Span {
  readonly kind: 'type-value';
  readonly type: TypeNode;
}
/** Parts in order: decoded text or an expression. */
export interface FStringExpr extends Span {
  readonly kind: 'fstring';
  readonly parts: readonly FStringPart[];
}
/** A part of an f-string. */
export type FStringPart = FStringText | FStringValue;
/** Text of an f-string, with escapes resolved. */
export interface FStringText extends Span {
  readonly kind: 'fstring-text';
  readonly text: string;
}
/** `{expr}` in an f-string; the span includes the braces. */
export interface FStringValue extends Span {
  readonly kind: 'fstring-value';
  readonly expr: Expr;
}
/**
 * A name: field of `this`, constant, parameter, column, table; `this` itself too. `quoted` for `"x"` inside SQL, and
 * for backticks.
 */
export interface IdExpr extends Span {
  readonly kind: 'id';
  readonly name: string;
  readonly quoted: boolean /** In double quotes: where no column can be meant a string. */;
  readonly double?: true;
  /** Of SQL, `#n`: the column at that place of FROM, or of ORDER BY's and GROUP BY's output. */ readonly position?: number;
  /** The column of the table whose row lies there: what COLUMNS stands for. */ readonly path?: readonly string[];
}
/** `!e` and `not e` (both `!`), `-e`, `+e`. A minus directly before a number belongs to the literal. */
export interface UnaryExpr extends Span {
  readonly kind: 'unary';
  readonly op: '!' | '-' | '+';
  readonly operand: Expr;
}
/**
 * `=` is `==`, `<>` is `!=`. Long chains of `and` or `or` may come as balanced trees (both are associative). `written`:
 * the symbol of the text, where it is another.
 */
export interface BinaryExpr extends Span {
  readonly kind: 'binary';
  readonly op: BinaryOperator;
  readonly written?: string;
  readonly left: Expr;
  readonly right: Expr /** Of LIKE and ILIKE. */;
  readonly escape?: Expr;
}
/**
 * Operators with two operands, in one spelling each. `is true` and `is false` are `is not distinct from`; with `not`
 * they are `is distinct from`.
 */
export type BinaryOperator =
  | 'and'
  | 'or'
  | '=='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'in'
  | 'not in'
  | 'like'
  | 'not like'
  | 'ilike'
  | 'not ilike'
  | 'similar to'
  | 'not similar to'
  | 'is distinct from'
  | 'is not distinct from'
  | '~'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '||'
  | SqlOperator;
/** Operators that SQL alone has. */
export type SqlOperator =
  | '->'
  | '->>'
  | '!~'
  | '~*'
  | '!~*'
  | 'glob'
  | '//'
  | '**'
  | '^@'
  | '<<'
  | '>>'
  | '@>'
  | '<@'
  | '&&'
  | '&';
/** `expr [not] between [symmetric] lower and upper`. */
export interface BetweenExpr extends Span {
  readonly kind: 'between';
  readonly negated: boolean;
  readonly symmetric?: true;
  readonly expr: Expr;
  readonly lower: Expr;
  readonly upper: Expr;
}
/** `expr is [not] null`, and `expr is [not] unknown`. */
export interface IsNullExpr extends Span {
  readonly kind: 'is-null';
  readonly negated: boolean;
  readonly expr: Expr;
}
/** `condition ? then : otherwise`. */
export interface ConditionalExpr extends Span {
  readonly kind: 'conditional';
  readonly condition: Expr;
  readonly then: Expr;
  readonly otherwise: Expr;
}
/** `case [operand] {when a then b} [else c] end`. There may be no `when` at all. */
export interface CaseExpr extends Span {
  readonly kind: 'case';
  readonly operand?: Expr;
  readonly whens: readonly CaseWhen[];
  readonly otherwise?: Expr;
}
/** `when a then b`: `a` is a predicate, or what the operand of the case has to equal. */
export interface CaseWhen extends Span {
  readonly kind: 'case-when';
  readonly when: Expr;
  readonly then: Expr;
}
/** `e::T`, and `CAST(e AS T)`, which is a `call`. */
export interface CastExpr extends Span {
  readonly kind: 'cast';
  readonly call?: true /** TRY_CAST: null for what cannot be cast. */;
  readonly attempt?: true;
  readonly expr: Expr;
  readonly target: CastTarget;
}
/** A type; a name as an expression (declared type, or a parameter that holds a type); `=name`; or SQL's DATE. */
export type CastTarget = TypeNode | IdExpr | CastName | CastDate | SqlTypeNode;
/** A type as SQL writes it. */
export interface SqlTypeNode extends Span {
  readonly kind: 'sql-type';
  readonly type: SqlType;
}
/** `::=name`: wraps in a new named type. */
export interface CastName extends Span {
  readonly kind: 'cast-name';
  readonly name: string;
}
/** `CAST(e AS DATE)`: to time, truncated to the day. */
export interface CastDate extends Span {
  readonly kind: 'cast-date';
}
/** `e[index]`. */
export interface IndexExpr extends Span {
  readonly kind: 'index';
  readonly expr: Expr;
  readonly index: Expr;
}
/** `e[from:to]`; SQL's has a step too. */
export interface SliceExpr extends Span {
  readonly kind: 'slice';
  readonly expr: Expr;
  readonly from?: Expr;
  readonly to?: Expr;
  readonly step?: Expr;
}
/** `e.name`, `e."name"`. */
export interface DotExpr extends Span {
  readonly kind: 'dot';
  readonly expr: Expr;
  readonly name: NameNode;
}
/** `f(a, b)` of a built-in, a user function, an aggregate without marks, or a lambda. */
export interface CallExpr extends Span {
  readonly kind: 'call';
  readonly callee: NameNode | LambdaNode;
  readonly args: readonly Arg[];
}
/**
 * A call that can only be an aggregate: `f(distinct x)`, `f(all x)`, `count(*)`, `f(x) filter (..)`; in SQL also `f(x
 * order by y)`, `f(x) within group (order by y)`, and a window function with its nulls treated inside of the
 * parentheses. No `arg`: `f()` or `count(*)`.
 */
export interface AggExpr extends Span {
  readonly kind: 'agg';
  readonly name: NameNode;
  readonly arg?: Expr;
  /** Arguments behind the first. */
  readonly more?: readonly Expr[];
  readonly distinct: boolean;
  readonly filter?: Expr;
  /** ORDER BY inside of the parentheses. */
  readonly order?: readonly OrderKey[];
  /** WITHIN GROUP (ORDER BY ..). */
  readonly within?: readonly OrderKey[];
  /** IGNORE NULLS or RESPECT NULLS inside of the parentheses. */
  readonly nulls?: 'ignore' | 'respect';
  /** EXPORT_STATE behind the call: the state is wanted. */
  readonly exported?: true;
}
/** `f(..) over w`, `f(..) over (..)`: in SQL alone. The callee is always a name. */
export interface WindowExpr extends Span {
  readonly kind: 'window';
  readonly call: CallExpr | AggExpr;
  /** `ignore nulls`, `respect nulls` behind the call. */
  readonly nulls?: 'ignore' | 'respect';
  readonly over: NameNode | WindowSpec;
}
/** What stands in the parentheses of OVER, and of `window w as (..)`; `base` is a window that it builds on. */
export interface WindowSpec extends Span {
  readonly kind: 'window-spec';
  readonly base?: NameNode;
  readonly partitionBy: readonly Expr[];
  readonly orderBy: readonly OrderKey[];
  readonly frame?: WindowFrameNode;
}
/** `rows|range|groups start` or `between start and end`; a lone start ends at the current row. */
export interface WindowFrameNode extends Span {
  readonly kind: 'window-frame';
  readonly unit: 'rows' | 'range' | 'groups';
  readonly first: FrameBound;
  readonly last?: FrameBound;
  readonly exclude?: 'no others' | 'current row' | 'group' | 'ties';
}
/** `offset` only with `preceding` and `following`. */
export interface FrameBound extends Span {
  readonly kind: 'frame-bound';
  readonly bound: 'unbounded preceding' | 'preceding' | 'current row' | 'following' | 'unbounded following';
  readonly offset?: Expr;
}
/** `name as (spec)` of a WINDOW clause. */
export interface WindowDef extends Span {
  readonly kind: 'window-def';
  readonly name: NameNode;
  readonly spec: WindowSpec;
}
/** An argument of a call: a value, or a function. */
export type Arg = Expr | FunctionRef | LambdaNode;
/** `&name`: a function as an argument. */
export interface FunctionRef extends Span {
  readonly kind: 'function-ref';
  readonly name: NameNode;
}
/** `lambda a, b: body`, maybe in parentheses; in SQL also `(a, b) -> body`. */
export interface LambdaNode extends Span {
  readonly kind: 'lambda';
  readonly isArrow?: true;
  readonly params: readonly NameNode[];
  readonly body: Expr;
}
/** `{a, b: e, ...r}`. */
export interface RecordExpr extends Span {
  readonly kind: 'record';
  readonly elems: readonly RecordElem[] /** It holds the named arguments of a call. */;
  readonly ofCall?: true;
}
/** An element of a record expression. */
export type RecordElem = Spread | RecordField | RecordValue;
/** `...e` in a record, array or set. */
export interface Spread extends Span {
  readonly kind: 'spread';
  readonly expr: Expr;
}
/** `name: e`. */
export interface RecordField extends Span {
  readonly kind: 'record-field';
  readonly name: NameNode;
  readonly expr: Expr;
}
/** An expression with an implied name. */
export interface RecordValue extends Span {
  readonly kind: 'record-value';
  readonly expr: Expr;
}
/** `[a, ...b]`. */
export interface ArrayExpr extends Span {
  readonly kind: 'array';
  readonly elems: readonly (Expr | Spread)[];
}
/** `|[a, ...b]|`. */
export interface SetExpr extends Span {
  readonly kind: 'set';
  readonly elems: readonly (Expr | Spread)[];
}
/** `|{key: value, ..}|`. */
export interface MapExpr extends Span {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}
/** `key: value` of a map expression. */
export interface MapEntry extends Span {
  readonly kind: 'map-entry';
  readonly key: Expr;
  readonly value: Expr;
}
/** `(a, b)`: the record `{c0:a,c1:b}`. */
export interface TupleExpr extends Span {
  readonly kind: 'tuple';
  readonly elems: readonly Expr[];
}
/** `(query)`. The span includes the parentheses. */
export interface SubqueryExpr extends Span {
  readonly kind: 'subquery';
  readonly query: QueryNode;
}
/** `[query]`: all results as an array. */
export interface ArraySubqueryExpr extends Span {
  readonly kind: 'array-subquery';
  readonly query: QueryNode /** `array(query)` of SQL: the values of its one column. */;
  readonly ofColumn?: true;
}
/** `exists (query)`. */
export interface ExistsExpr extends Span {
  readonly kind: 'exists';
  readonly query: QueryNode;
}
/** `left op any (query)`, `left op all (query)`, in SQL alone; SOME is ANY. */
export interface QuantifiedExpr extends Span {
  readonly kind: 'quantified';
  readonly op: '==' | '!=' | '<' | '<=' | '>' | '>=';
  readonly quantifier: 'any' | 'all';
  readonly left: Expr;
  readonly query: QueryNode;
}
/**
 * `columns(..)` and `* like ..` of SQL: the expression that holds it comes once for each column of the star whose name
 * passes the test; `unpacked`: once with all of them, as arguments or elements.
 */
export interface ColumnsExpr extends Span {
  readonly kind: 'columns';
  readonly star: SqlStar;
  readonly unpacked?: true;
  /** A condition over the name, which it calls `parameter`. */
  readonly test?: { readonly parameter: string; readonly body: Expr };
  /** The regular expression that the test is: its groups may stand in an alias. */
  readonly pattern?: string;
}
/** `INTERVAL '1 day'`, `INTERVAL 3 MONTH`, `INTERVAL (e) HOUR`, in SQL alone. `unit` is as it was written. */
export interface IntervalExpr extends Span {
  readonly kind: 'interval';
  readonly amount: Expr;
  readonly unit?: string;
}
/** `EXTRACT(part FROM e)`. */
export interface ExtractExpr extends Span {
  readonly kind: 'extract';
  readonly part: Expr;
  readonly expr: Expr;
}
/** `SUBSTRING(e FROM f FOR n)`; neither is `FROM or FOR must be set`, the analyzer's error. */
export interface SubstringExpr extends Span {
  readonly kind: 'substring';
  readonly expr: Expr;
  readonly from?: Expr;
  readonly length?: Expr;
}

// ---- Types
// --------------------------------------------------------------------------------------------------------------------

/** A type as it is written in `<type>`, declarations and casts. */
export type TypeNode =
  | TypePrimitive
  | TypeName
  | TypeNamed
  | TypeRecord
  | TypeArray
  | TypeSet
  | TypeMap
  | TypeUnion
  | TypeEnum
  | TypeErrorOf;

/**
 * A primitive by its canonical name (`int64` for the alias `bigint`). `alias` is the SQL alias as written, for
 * printing.
 */
export interface TypePrimitive extends Span {
  readonly kind: 'type-primitive';
  readonly name: PrimitiveName;
  readonly alias?: string;
}
/** Canonical names of the primitive types. */
export type PrimitiveName =
  | 'uint8'
  | 'uint16'
  | 'uint32'
  | 'uint64'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'float16'
  | 'float32'
  | 'float64'
  | 'bool'
  | 'string'
  | 'duration'
  | 'time'
  | 'bytes'
  | 'ip'
  | 'net'
  | 'type'
  | 'null';
/** Reference to a named type. */
export interface TypeName extends Span {
  readonly kind: 'type-name';
  readonly name: string;
}
/** `name=type`: definition in place. */
export interface TypeNamed extends Span {
  readonly kind: 'type-named';
  readonly name: string;
  readonly type: TypeNode;
}
/** `{a: T, b?: T}`. */
export interface TypeRecord extends Span {
  readonly kind: 'type-record';
  readonly fields: readonly TypeField[];
}
/** `name: type`, `name?: type` of a record type. */
export interface TypeField extends Span {
  readonly kind: 'type-field';
  readonly name: NameNode;
  readonly optional: boolean;
  readonly type: TypeNode;
}
/** `[T]`. */
export interface TypeArray extends Span {
  readonly kind: 'type-array';
  readonly elem: TypeNode;
}
/** `|[T]|`. */
export interface TypeSet extends Span {
  readonly kind: 'type-set';
  readonly elem: TypeNode;
}
/** `|{K: V}|`. */
export interface TypeMap extends Span {
  readonly kind: 'type-map';
  readonly key: TypeNode;
  readonly value: TypeNode;
}
/** `T | U ..`: at least two. */
export interface TypeUnion extends Span {
  readonly kind: 'type-union';
  readonly types: readonly TypeNode[];
}
/** `enum(a, b)`. */
export interface TypeEnum extends Span {
  readonly kind: 'type-enum';
  readonly symbols: readonly NameNode[];
}
/** `error(T)`. */
export interface TypeErrorOf extends Span {
  readonly kind: 'type-error';
  readonly type: TypeNode;
}

// ---- SQL
// ----------------------------------------------------------------------------------------------------------------------

/** A whole SQL query. Each part also stands alone in parentheses as a `SqlBody`. */
export interface SqlQuery extends Span {
  readonly kind: 'sql-query';
  readonly with?: SqlWith;
  readonly body: SqlBody;
  readonly orderBy?: readonly OrderKey[];
  /** Absent for `limit all`. */
  readonly limit?: Expr;
  readonly offset?: Expr;
  /** LIMIT counts in hundredths of the rows. */
  readonly isPercent?: true;
}
/** What WITH, ORDER BY and the limits stand around: a block, a set operation, or a query in parentheses. */
export type SqlBody = SqlSelect | SqlValues | SqlUnion | SqlSetOperation | SqlQuery | SqlDescribe | SqlExplain;
/** `describe x`, `show x`, `summarize x`; without a query `show tables`. */
export interface SqlDescribe extends Span {
  readonly kind: 'sql-describe';
  readonly form: 'describe' | 'summarize' | 'tables';
  readonly query?: SqlQuery;
}
/** `explain [analyze] query`: the whole program. */
export interface SqlExplain extends Span {
  readonly kind: 'sql-explain';
  readonly analyze: boolean;
  readonly query: QueryNode;
}
/** INTERSECT binds tighter than UNION and EXCEPT. */
export interface SqlSetOperation extends Span {
  readonly kind: 'sql-set';
  readonly operator: 'intersect' | 'except';
  readonly all: boolean;
  readonly left: SqlBody;
  readonly right: SqlBody;
}
/** `distinct` is false for UNION ALL. */
export interface SqlUnion extends Span {
  readonly kind: 'sql-union';
  readonly distinct: boolean /** Columns go together by their names. */;
  readonly byName?: true;
  readonly left: SqlBody;
  readonly right: SqlBody;
}
/**
 * `select [distinct] columns [from ..] [where ..] [group by ..] [having ..] [window ..] [qualify ..]`; FROM may come
 * before SELECT.
 */
export interface SqlSelect extends Span {
  readonly kind: 'sql-select';
  readonly distinct: boolean;
  /** DISTINCT ON: of the rows that agree in these the first one, in the order of ORDER BY. */
  readonly distinctOn?: readonly Expr[];
  readonly columns: readonly SqlColumn[];
  readonly from?: SqlTableExpr;
  readonly where?: Expr;
  readonly groupBy?: readonly (Expr | SqlGroupingSets)[];
  readonly having?: Expr;
  readonly windows?: readonly WindowDef[];
  readonly qualify?: Expr;
  /** USING SAMPLE: of the rows of FROM. */
  readonly sample?: SqlSample;
}
/** `tablesample n [rows|percent] ..`, `using sample ..`. */
export interface SqlSample extends Span {
  readonly kind: 'sql-sample';
  readonly size: number;
  readonly unit: 'rows' | 'percent';
  readonly method?: 'reservoir' | 'bernoulli' | 'system' | undefined;
  readonly seed?: number;
}
/**
 * `rollup (a, b)`, `cube (a, b)`, `grouping sets ((a, b), a, ())`: each item stands for several groupings. The elements
 * of `sets` are those that are written; GROUPING SETS may have others inside. `()` is one empty set.
 */
export interface SqlGroupingSets extends Span {
  readonly kind: 'sql-grouping';
  readonly form: 'rollup' | 'cube' | 'sets';
  readonly sets: readonly (readonly Expr[] | SqlGroupingSets)[];
}
/** `values (a, b), (c, d)`; rows have at least one expression. */
export interface SqlValues extends Span {
  readonly kind: 'sql-values';
  readonly rows: readonly TupleExpr[];
}
/** `with [recursive] a as (..), b as (..)`. */
export interface SqlWith extends Span {
  readonly kind: 'sql-with';
  readonly recursive: boolean;
  readonly ctes: readonly SqlCte[];
}
/** `name [(column, ..)] [using key (column, aggregate [as column], ..)] as [[not] materialized] (query)`. */
export interface SqlCte extends Span {
  readonly kind: 'sql-cte';
  readonly alias: SqlAlias;
  /** Absent: neither is written, and what costs next to nothing runs wherever its name stands. */
  readonly materialized?: boolean;
  /** Columns, and aggregates for others of them; the rows are kept by the former. */
  readonly usingKey?: readonly SqlExprColumn[];
  readonly query: SqlQuery;
}
/** One item of a select list. */
export type SqlColumn = SqlStar | SqlExprColumn;
/** `*` or `t.*`, maybe with an alias. */
export interface SqlStar extends Span {
  readonly kind: 'sql-star';
  readonly table?: NameNode;
  readonly as?: NameNode;
  /** Columns that are left out, stand for another expression, have another name. */
  readonly exclude?: readonly StarName[];
  readonly replace?: readonly { readonly name: NameNode; readonly expr: Expr }[];
  readonly rename?: readonly { readonly from: StarName; readonly to: NameNode }[];
}
/** `column` or `table.column` in what follows a star. */
export interface StarName extends Span {
  readonly table?: NameNode;
  readonly column: NameNode;
}
/** `expr [[as] alias]`. */
export interface SqlExprColumn extends Span {
  readonly kind: 'sql-column';
  readonly expr: Expr;
  readonly as?: NameNode;
}
/** What FROM reads: a table, a subquery, or a join of these. */
export type SqlTableExpr = SqlTable | SqlSubqueryTable | SqlJoin | SqlPivotTable | SqlUnpivotTable;
/**
 * `source pivot (using for on in (..) ..)`: a row for each group, with a column for each value (or combination of
 * values) of `on`. Without `using` rows are counted; without `groupBy` all columns that are named nowhere are its keys.
 */
export interface SqlPivotTable extends Span {
  readonly kind: 'sql-pivot';
  readonly source: SqlTableExpr;
  readonly on: readonly PivotOn[];
  readonly using?: readonly SqlExprColumn[];
  readonly groupBy?: readonly Expr[];
  readonly alias?: SqlAlias;
}
/** Without `values` those that the rows have. */
export interface PivotOn {
  readonly expr: Expr;
  readonly values?: readonly PivotValue[];
}
/** A value of PIVOT or a column of UNPIVOT, and what it is called. */
export interface PivotValue {
  readonly expr: Expr;
  readonly as?: NameNode;
}
/** `source unpivot (values for name in (items))`: a row for each item, with its name and its values. */
export interface SqlUnpivotTable extends Span {
  readonly kind: 'sql-unpivot';
  readonly source: SqlTableExpr;
  readonly values: readonly NameNode[];
  readonly name: NameNode;
  readonly items: readonly PivotValue[];
  readonly includeNulls: boolean;
  readonly alias?: SqlAlias;
}
/** A source as a table: pool, file, CTE or `let` query. */
export interface SqlTable extends Span {
  readonly kind: 'sql-table';
  readonly source: SourceNode;
  readonly ordinality: boolean;
  readonly alias?: SqlAlias;
  readonly sample?: SqlSample;
}
/** `(pipeline or SQL query) alias`. */
export interface SqlSubqueryTable extends Span {
  readonly kind: 'sql-subquery-table';
  readonly query: QueryNode;
  /** It may use columns of the tables before it. */
  readonly lateral?: true;
  readonly ordinality: boolean;
  readonly alias?: SqlAlias;
  readonly sample?: SqlSample;
}
/**
 * `condition` is absent exactly for `cross` (also written as a comma), `positional` and NATURAL joins. `asof`: of the
 * matches of a row the nearest one by the inequality of the condition.
 */
export interface SqlJoin extends Span {
  readonly kind: 'sql-join';
  readonly style: 'inner' | 'left' | 'right' | 'full' | 'anti' | 'semi' | 'cross' | 'positional';
  readonly natural?: true;
  readonly asof?: true;
  readonly left: SqlTableExpr;
  readonly right: SqlTableExpr;
  readonly condition?: JoinCondition;
}
/** `name [(column, ..)]`. */
export interface SqlAlias extends Span {
  readonly kind: 'sql-alias';
  readonly name: NameNode;
  readonly columns?: readonly NameNode[];
}
