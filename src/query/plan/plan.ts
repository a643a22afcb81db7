/**
 * The plan: what `exec` runs. Plain data made by `analyze` and rewritten by the rules; SQL is gone here, names are
 * resolved, constants folded.
 *
 * Invariants:
 * - A pipeline is a list of ops; each takes the streams that the op before it gives. Most give one; `fork` and `switch`
 *   give one a branch; the op behind them (`merge`, `join` without `right`, anything else) takes them all: `merge` in
 *   order, `join` as left and right, others as one stream in any order.
 * - A pipeline begins with a source op (`scan`, `null`, `empty`, `combine`, `recursive`, `shared`; inside a recursion `working`)
 *   unless it takes values of its surroundings (bodies of fork, switch, unnest, correlated subqueries).
 * - In a `PlanExpr`, `this` is the value of the row in work; a user function's body sees a record of its parameters as
 *   `this`.
 */
import type { RecordType, Type } from '../../vectors/type.ts';
import type { Value } from '../../vectors/value.ts';
import type { SqlType } from '../sql/values/types.ts';

/** Names of nested fields, outermost first. The empty path is the value itself. */
export type FieldPath = readonly string[];

/** Operators of `arithmetic`; `||` is a kind of its own, `concat`. */
export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%';
/** Comparisons by value: numbers are compared whatever their types, NaN equals nothing. */
export type CompareOperator = '==' | '!=' | '<' | '<=' | '>' | '>=';

/** A bound of a slice of SQL that is left out, as a number: minus this one in front, this one behind. */
export const openBound = Number.MAX_SAFE_INTEGER;

/** An expression over one row. What does not fit gives an error value. */
export type PlanExpr =
  /** `scale`: a decimal of SQL, which is written with so many places behind the point. */
  | { readonly kind: 'literal'; readonly value: Value; readonly scale?: number }
  | { readonly kind: 'this' }
  /**
   * `of.name`; error("missing") where there is none, in SQL (`sql`) null. A path a.b.c is nested fields over `this`.
   */
  | { readonly kind: 'field'; readonly of: PlanExpr; readonly name: string; readonly sql?: true }
  /**
   * `of[at]`; `base` is the index of the first element (0 or 1). `byName`: the query has a name there, which means the
   * field as a dot does, whatever the value.
   */
  | {
      readonly kind: 'index';
      readonly of: PlanExpr;
      readonly at: PlanExpr;
      readonly base: 0 | 1;
      readonly byName?: true;
      readonly sql?: true;
    }
  | {
      readonly kind: 'slice';
      readonly of: PlanExpr;
      readonly from?: PlanExpr;
      readonly to?: PlanExpr;
      readonly base: 0 | 1;
      readonly sql?: true;
    }
  /** `sql`: what has no place in its type ends the query, and durations have a sign. */
  | { readonly kind: 'negate'; readonly operand: PlanExpr; readonly sql?: true }
  | { readonly kind: 'not'; readonly operand: PlanExpr }
  | { readonly kind: 'and' | 'or'; readonly left: PlanExpr; readonly right: PlanExpr }
  /**
   * `sql`: a time and a whole number are days, and what leaves 64 bits, or divides whole numbers by zero, ends the
   * query. `scale`: of decimals, rounded at so many places. `whole`: floats are not divided by zero either. `attempt`:
   * within TRY, a division by zero is an error value.
   */
  | {
      readonly kind: 'arithmetic';
      readonly operator: ArithmeticOperator;
      readonly left: PlanExpr;
      readonly right: PlanExpr;
      readonly sql?: true;
      readonly scale?: number;
      readonly whole?: true;
      readonly attempt?: true;
    }
  /** `sql`: a text beside a value of another type is cast to that type; lists and records have an order. */
  | {
      readonly kind: 'compare';
      readonly operator: CompareOperator;
      readonly left: PlanExpr;
      readonly right: PlanExpr;
      readonly sql?: true;
    }
  /** `sql`: as SQL has it, of lists too, and of any value with a text. */
  | { readonly kind: 'concat'; readonly left: PlanExpr; readonly right: PlanExpr; readonly sql?: true }
  /** `ofQuery`: of SQL's IN over a query, where in an empty list nothing is, null neither. */
  | {
      readonly kind: 'in';
      readonly left: PlanExpr;
      readonly right: PlanExpr;
      readonly ofQuery?: true /** The query gives the values of one column, not rows. */;
      readonly ofColumn?: true;
      /** The query gives texts, nulls and errors alone. */
      readonly ofTexts?: true;
      readonly sql?: true;
    }
  /** LIKE with a constant pattern (`%`, `_`); `caseless` for ILIKE. */
  | {
      readonly kind: 'like';
      readonly operand: PlanExpr;
      readonly pattern: string;
      readonly caseless?: true /** Null gives null, as in SQL. */;
      readonly sql?: true;
    }
  /** `operand ~ "re"`: RE2 search. */
  | { readonly kind: 'match'; readonly operand: PlanExpr; readonly pattern: string }
  /** `sql`: what is missing is null too. */
  | { readonly kind: 'isNull'; readonly operand: PlanExpr; readonly sql?: true }
  | { readonly kind: 'conditional'; readonly test: PlanExpr; readonly then: PlanExpr; readonly otherwise: PlanExpr }
  | {
      readonly kind: 'case';
      readonly sql?: true;
      readonly operand?: PlanExpr;
      readonly branches: readonly { readonly when: PlanExpr; readonly then: PlanExpr }[];
      readonly otherwise?: PlanExpr;
    }
  /** A built-in function of the catalog, by its lower-case name. */
  /**
   * `sql`: as SQL has it where that differs; its arguments come without unions, so that what may be null is of its
   * type. `attempt`: within TRY nothing ends the query.
   */
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly arguments: readonly PlanExpr[];
      readonly sql?: true;
      readonly attempt?: true;
      readonly lambda?: PlanLambda;
    }
  /** A user function: `plan.functions[id]`. */
  | { readonly kind: 'userCall'; readonly id: number; readonly arguments: readonly PlanExpr[] }
  /** `map(of, fn)`: `body` is evaluated for each element with `this` = {[parameter]: element}. */
  | { readonly kind: 'mapElements'; readonly of: PlanExpr; readonly parameter: string; readonly body: PlanExpr }
  | { readonly kind: 'cast'; readonly operand: PlanExpr; readonly type: Type }
  /**
   * A cast of SQL. What cannot be cast ends the query, or is null (TRY_CAST). `from`: what the query says of the
   * operand's type; `written`: the cast in an error.
   */
  | {
      readonly kind: 'sqlCast';
      readonly operand: PlanExpr;
      readonly type: SqlType;
      readonly from?: SqlType;
      readonly failure: 'error' | 'null';
      readonly written: string;
    }
  /** `e::=name`. */
  | { readonly kind: 'castNamed'; readonly operand: PlanExpr; readonly name: string }
  | { readonly kind: 'record'; readonly elements: readonly RecordElement[] }
  | {
      readonly kind: 'array' | 'set';
      readonly elements: readonly { readonly spread: boolean; readonly value: PlanExpr }[];
    }
  | { readonly kind: 'map'; readonly entries: readonly { readonly key: PlanExpr; readonly value: PlanExpr }[] }
  | { readonly kind: 'fstring'; readonly parts: readonly (string | PlanExpr)[] }
  /** Search terms over `operand` and everything inside it (grammar.md section 8). */
  | { readonly kind: 'searchText'; readonly operand: PlanExpr; readonly text: string }
  | { readonly kind: 'searchRegexp'; readonly operand: PlanExpr; readonly pattern: string; readonly anchored: boolean }
  | { readonly kind: 'searchValue'; readonly operand: PlanExpr; readonly value: Value; readonly text: string }
  /**
   * `(query)`, `[query]`, `exists(query)` and SQL subqueries. `correlated`: runs once a row with the row as its single
   * input; else once for all rows. `scalar`: one value, null for none, the error for several. `sqlScalar`: rows of one
   * column, as sql.md section 5 says. `array`: all values.
   */
  | {
      readonly kind: 'subquery';
      readonly body: Pipeline;
      readonly form: 'scalar' | 'sqlScalar' | 'array' | 'list' | 'collected' | 'exists';
      readonly correlated: boolean;
    }
  /** A SQL subquery that uses columns of the queries around it: those are `outer`, expressions over the row at hand. */
  | {
      readonly kind: 'apply';
      readonly form: 'sqlScalar' | 'array' | 'exists';
      readonly outer: readonly PlanExpr[];
      readonly body: Correlated;
    }
  /**
   * In the pipeline of a `Correlated` of mode `each`: the value of its `outer` at `index`. `level` tells it apart from
   * those of subqueries around.
   */
  | { readonly kind: 'outer'; readonly level: number; readonly index: number }
  /**
   * The row of a SELECT whose columns are not all known before it runs: fields, and the fields of records (`*`; what is
   * no record has none). Repeated names get `_1`, `_2`.
   */
  | { readonly kind: 'columns'; readonly elements: readonly ColumnsElement[] };

/**
 * A lambda of SQL. `body` is evaluated for elements: `this` is a record of its `parameters` (`p0` ..) and of those
 * arguments of the call that stand behind the first `values` (`c0` ..).
 */
export interface PlanLambda {
  readonly parameters: number;
  readonly values: number;
  readonly body: PlanExpr;
}

/**
 * A pipeline that depends on outer values.
 * - `joined`: it runs once for many of them: one record `{id,c0,c1,..}` comes in for each, records `{outer,row}` come
 *   out: the one that came in, and a result for it.
 * - `each`: it runs once for each, reads nothing, and has `outer` expressions of that level in it.
 */
export interface Correlated {
  readonly mode: 'joined' | 'each';
  readonly level: number;
  readonly pipeline: Pipeline;
}

/** A column of `columns`: one field, or all fields of a record but those of `without`. */
export type ColumnsElement =
  | { readonly kind: 'field'; readonly name: string; readonly value: PlanExpr }
  | { readonly kind: 'star'; readonly value: PlanExpr; readonly without: readonly string[] };

/** An element of a record expression: one field, or the fields of a record (`...value`). */
export type RecordElement =
  | { readonly kind: 'field'; readonly name: string; readonly value: PlanExpr }
  | { readonly kind: 'spread'; readonly value: PlanExpr };

/**
 * A user function for one set of functions passed to it. `parameters` are those that take values: `body` sees a record
 * of these as `this`.
 */
export interface PlanFunction {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly body: PlanExpr;
}

/** `target := value` of cut and put; the target is never empty. */
export interface Assignment {
  readonly target: FieldPath;
  readonly value: PlanExpr;
}
/** An ascending sort has nulls last by default, and so has a descending one. */
export interface SortKey {
  readonly expr: PlanExpr;
  readonly order: 'asc' | 'desc';
  readonly nulls: 'first' | 'last';
  /** The key of a SELECT: NaN is the greatest number there, and lists and records are compared part by part. */
  readonly sql?: true;
}
/** How an aggregate is called, beside its name and argument: what its state is made for. */
export interface AggregateForm {
  readonly distinct: boolean;
  /**
   * The argument is a record of so many fields `value`, `by`, `third`. Absent: it is the one argument, or a record of
   * it where more may be given (but in SQL alone).
   */
  readonly arity?: number;
  /** The call stands in SQL: it means what SQL means, where pipes mean something else. */
  readonly sql?: true;
  /**
   * The argument is a record of `argument` and the sort keys `k0`, `k1` .. by whose order the rows of a group are
   * taken.
   */
  readonly order?: readonly Omit<SortKey, 'expr'>[];
}
/**
 * `argument` is absent for count(). `where`: only rows for which it is true. `name` is the lower-case name of the
 * catalog.
 */
export interface Aggregate extends AggregateForm {
  readonly name: string;
  readonly argument?: PlanExpr;
  readonly where?: PlanExpr;
}

/**
 * Where a frame of a window begins or ends, seen from the current row: `current` is its peers but for ROWS; offsets are
 * numbers or durations, not negative, the same for all rows or what an argument of the call gives for each.
 */
export type FrameEdge =
  | { readonly kind: 'unbounded' | 'current' }
  | { readonly kind: 'preceding' | 'following'; readonly offset: Value }
  | { readonly kind: 'preceding' | 'following'; readonly argument: number };
/** The rows that a window call sees, from those of its partition. */
export interface WindowFrame {
  /** What offsets count: rows, the distance of the sort key, or groups of peers. */
  readonly unit: 'rows' | 'range' | 'groups';
  readonly start: FrameEdge;
  readonly end: FrameEdge;
  /** What is left out: nothing, the current row, it with its peers, or its peers without it. */
  readonly exclude: 'none' | 'current' | 'group' | 'ties';
}
/**
 * A window function or an aggregate over a window; `name` is the lower-case name of its catalog. `where`: only rows for
 * which it is true.
 */
export interface WindowCall extends AggregateForm {
  readonly target: string;
  readonly name: string;
  /** Behind those of the call come the offsets of the frame that differ from row to row. */
  readonly arguments: readonly PlanExpr[];
  readonly where?: PlanExpr;
  readonly ignoreNulls: boolean;
  readonly frame: WindowFrame;
}
/** Calls that share partitions and order. Rows that a sort holds equal are of one partition, or peers. */
export interface WindowGroup {
  readonly partition: readonly PlanExpr[];
  readonly order: readonly SortKey[];
  readonly calls: readonly WindowCall[];
}

/**
 * Rows behind so many better ones of their partition, by the only group's first sort key, are not needed; unless the
 * row has one of these fields.
 */
export interface WindowLeaders {
  readonly count: number;
  readonly unless: readonly FieldPath[];
}

/** A test on one column that a scan may use to skip objects and blocks (never instead of the filter itself). */
export interface Predicate {
  readonly path: FieldPath;
  readonly operator: CompareOperator;
  readonly value: Value /** A text may be read as another type, and values of unlike types end the query. */;
  readonly sql?: true;
}
/** Trees of such tests: skip where the whole is certainly not true. */
export type Pruner =
  | { readonly kind: 'test'; readonly test: Predicate }
  | { readonly kind: 'all' | 'any'; readonly of: readonly Pruner[] };

/** The op that reads pools, files, URLs or metadata. It begins a pipeline. */
export interface Scan {
  readonly kind: 'scan';
  /** What `CompileEnvironment.resolve` gave: one for each pool or file; several are read as one stream in any order. */
  readonly sources: readonly ResolvedSource[];
  /** Only these fields are needed (paths from the row); absent: all of the row. Set by a rule. */
  readonly columns?: readonly FieldPath[];
  /** Set by a rule; a filter op behind the scan still does the exact work unless the scan itself is told `filter`. */
  readonly pruner?: Pruner;
  /** Rows for which this is not true are left out (pushed down from the first filter op). */
  readonly filter?: PlanExpr;
  /** false: nobody behind needs the pool's order. */
  readonly ordered: boolean;
  /** No more than so many rows are asked for (a hint). */
  readonly limit?: number;
}

/** A row of nulls: the names of its columns, and rows within it. */
export type AbsentRow = readonly { readonly name: string; readonly row?: AbsentRow }[];

/** One operator of a pipeline; no SQL and no user operators are left. */
export type PlanOp =
  | Scan
  /** One null; what a query without a source runs on. */
  | { readonly kind: 'null' }
  /** No values. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'pass' }
  | {
      readonly kind: 'values';
      readonly exprs: readonly PlanExpr[] /** SQL's VALUES: no column is in scope. */;
      readonly alone?: true;
    }
  | { readonly kind: 'filter'; readonly expr: PlanExpr }
  | { readonly kind: 'cut'; readonly assignments: readonly Assignment[] }
  | { readonly kind: 'put'; readonly assignments: readonly Assignment[] }
  | { readonly kind: 'rename'; readonly assignments: readonly { readonly from: FieldPath; readonly to: FieldPath }[] }
  | { readonly kind: 'drop'; readonly paths: readonly FieldPath[] }
  | { readonly kind: 'head' | 'tail' | 'skip'; readonly count: number }
  /**
   * No keys: guessed from the first value (operators.tsv, sort); `reverse` then turns the order. `groupKeys`: of rows
   * that are equal in so many keys only the first is wanted.
   */
  | { readonly kind: 'sort'; readonly keys: readonly SortKey[]; readonly reverse: boolean; readonly groupKeys?: number }
  | { readonly kind: 'top'; readonly count: number; readonly keys: readonly SortKey[]; readonly reverse: boolean }
  | { readonly kind: 'uniq'; readonly withCount: boolean }
  /** `sql`: what may be null is of its own type. `order`: that of the input, in which rows go on. */
  | { readonly kind: 'distinct'; readonly expr: PlanExpr; readonly sql?: true; readonly order?: readonly SortKey[] }
  | { readonly kind: 'fuse' }
  | { readonly kind: 'shapes'; readonly expr: PlanExpr }
  /** The running counter: {that, count}, or the record of `expr` with the counter as last field `field`. */
  | { readonly kind: 'count'; readonly expr?: PlanExpr; readonly field: string }
  | { readonly kind: 'assert'; readonly expr: PlanExpr; readonly text: string }
  | { readonly kind: 'debug'; readonly expr: PlanExpr }
  | { readonly kind: 'output'; readonly channel: string }
  /** `isInsert`: without rows there is no commit, and null in its place; else that is an error. */
  | {
      readonly kind: 'load';
      readonly target: ResolvedSource;
      readonly author: string;
      readonly message: string;
      readonly meta: string;
      readonly isInsert?: true;
    }
  /** Makes, renames or drops a view; it stands alone, and gives one row that says what became of it. */
  | { readonly kind: 'changeView'; readonly change: ViewChange }
  /** Changes or deletes rows of a pool; it stands alone, and gives the commit, null for none. `text`: the statement. */
  | {
      readonly kind: 'changeRows';
      readonly verb: ChangeVerb;
      readonly target: ResolvedSource;
      readonly text: string;
      readonly indexBase?: 0 | 1;
    }
  /** `into`: run once for each input value on its elements. */
  /** `sql`: elements keep the names of their types. */
  | { readonly kind: 'unnest'; readonly expr: PlanExpr; readonly into?: Pipeline; readonly sql?: true }
  /**
   * Gives records of keys, then aggregates, always (a bare result is a `values` op behind it). Without keys: one row,
   * also for no input.
   */
  | {
      readonly kind: 'aggregate';
      readonly keys: readonly { readonly target: FieldPath; readonly expr: PlanExpr }[];
      readonly aggregates: readonly { readonly target: FieldPath; readonly aggregate: Aggregate }[];
      readonly groupsMax?: number;
      /** The input comes in order of the first key (set by a rule): groups can be given as soon as the key moves on. */
      readonly sortedBy?: 'asc' | 'desc';
      /** Keys that may be null are of their own types. */
      readonly sql?: true;
    }
  /**
   * Gives {[row]: V, ..} with a field for the target of each call, in the order of the last group. Expressions see V as
   * `this`.
   */
  | {
      readonly kind: 'window';
      readonly row: string;
      readonly groups: readonly WindowGroup[];
      readonly leaders?: WindowLeaders;
    }
  /**
   * Matches give {[leftName]: V, [rightName]: V}. Keys see one side's value as `this`; `residual` sees the pair.
   * Without `right` the op before gives two streams. `nullsMatch`: null keys match each other, as in joins of pipes,
   * and rows whose key is missing take no part; else, as in SQL, both match nothing, and are rows without a match.
   */
  | {
      readonly kind: 'join';
      readonly style: 'inner' | 'left' | 'right' | 'full' | 'anti' | 'cross';
      readonly right?: Pipeline;
      readonly leftName: string;
      readonly rightName: string;
      readonly equal: readonly { readonly left: PlanExpr; readonly right: PlanExpr }[];
      readonly residual?: PlanExpr;
      /** Nothing else is read of the rows of `right` once they are there; absent: all may be. */
      readonly rightColumns?: readonly FieldPath[];
      readonly nullsMatch: boolean;
      /**
       * Numbers are equal whatever their types, as with `==`, and NaN equals nothing; else keys have to agree in type
       * too.
       */
      readonly loose?: true;
      /**
       * The pipeline may run again and again (subqueries, recursion): `right` gives the same each time and is read
       * once.
       */
      readonly kept?: true;
      /** A left row is wanted once, however many matches it has. */
      readonly firstOnly?: true;
      /**
       * `not in` of SQL as an anti join: a null among the right keys leaves no row, and a left row without a key is
       * given only where there are no right rows at all.
       */
      readonly nullAware?: true;
      /**
       * Of the matches by an inequality only the one with the greatest or least value on the right is wanted (ASOF);
       * others may come too.
       */
      readonly nearest?: true;
      /** Nobody relies on the order of the rows, as in SQL: sides may be exchanged. */
      readonly anyOrder?: true;
      /**
       * The left side is likely to have fewer rows than the right one: it is read first, and if it has no more rows
       * than this, and fits, the right side streams past it.
       */
      readonly leftFirst?: number;
      /** What is read of the left rows then, or later; absent: all may be. */
      readonly leftColumns?: readonly FieldPath[];
      /**
       * What stands for the row of a side that has none: nulls in the columns of its tables, as in SQL. Absent: nothing
       * does.
       */
      readonly absentLeft?: AbsentRow;
      readonly absentRight?: AbsentRow;
    }
  /**
   * INTERSECT and EXCEPT: rows of the input that are, or are not, in `right`, by type and value. Not `all`: each once;
   * else as often as the counts say. Without `right` the op before gives two streams.
   */
  | {
      readonly kind: 'setOperation';
      readonly operator: 'intersect' | 'except';
      readonly all: boolean;
      readonly right?: Pipeline;
    }
  /**
   * WITH RECURSIVE: the rows of `first`, then those of `next` run on the rows that came last, until none come.
   * `distinct`: rows that were there before are left out.
   */
  | {
      readonly kind: 'recursive';
      readonly id: number;
      readonly name: string;
      readonly distinct: boolean;
      readonly first: Pipeline;
      readonly next: Pipeline;
      /** `working` of this id: all rows so far. */
      readonly all?: number;
      readonly keyed?: KeyedRecursion;
    }
  /** Inside `next` of the recursion of that id: the rows that came last; see also `all` and `keyed` of it. */
  | { readonly kind: 'working'; readonly id: number; readonly columns?: readonly string[] }
  /**
   * The rows of a table of WITH that is named several times: the first who reads them runs `body`, all others of that
   * id read what it gave. The bodies of an id are the same, by identity.
   */
  | { readonly kind: 'shared'; readonly id: number; readonly name: string; readonly body: Pipeline }
  /**
   * Each row with each result of `body` for it: {[leftName]: V, [rightName]: result}. `residual` sees the pair; `left`:
   * rows without results come alone, or with `absentRight`.
   */
  | {
      readonly kind: 'lateral';
      readonly style: 'inner' | 'left';
      readonly leftName: string;
      readonly rightName: string;
      readonly outer: readonly PlanExpr[];
      readonly body: Correlated;
      readonly residual?: PlanExpr;
      readonly absentRight?: AbsentRow;
    }
  /** Rows [skip, skip + count) of each group, in the order in which they come. */
  | { readonly kind: 'groupSlice'; readonly group: PlanExpr; readonly skip: number; readonly count?: number }
  | { readonly kind: 'fork'; readonly branches: readonly Pipeline[] }
  /**
   * Each row goes to the first case whose test is true. Where a test before that is an error, other than missing, the
   * error goes to its case, too. `test` absent: the default, the last case. Rows for which `dropMissing` is missing go
   * nowhere.
   */
  | {
      readonly kind: 'switch';
      readonly cases: readonly { readonly test?: PlanExpr; readonly branch: Pipeline }[];
      readonly dropMissing?: PlanExpr;
    }
  | { readonly kind: 'merge'; readonly keys: readonly SortKey[] }
  /** Several pipelines side by side as one stream (UNION ALL and the like); they have sources of their own. */
  | { readonly kind: 'combine'; readonly branches: readonly Pipeline[] }
  /** A `from f"..."` that depends on the row: opens what the text names, once a row. */
  | { readonly kind: 'fromEach'; readonly expr: PlanExpr; readonly format?: string };
/** USING KEY: what the rows of a recursion are put together to, one row a key. */
export interface KeyedRecursion {
  /** One row a key, of the rows that are `working` of the id `log`. */
  readonly pipeline: Pipeline;
  readonly log: number;
  /** What came out once may stand for the rows that it was made of. */
  readonly folds: boolean;
}
/** The kinds of operators; exec has a maker for each. */
export type PlanOpKind = PlanOp['kind'];

/** Operators in the order in which values go through them. */
export interface Pipeline {
  readonly ops: readonly PlanOp[];
}

/** What `compile` gives and exec runs. */
export interface Plan {
  readonly pipeline: Pipeline;
  /** User functions; the `id` of a `userCall` is an index into them. */
  readonly functions: readonly PlanFunction[];
  /**
   * The type of the rows, if it was asked for and is wholly known: a record, of fields that each have one type and may
   * be absent.
   */
  readonly rowType?: RecordType;
  /** EXPLAIN ANALYZE: what the operators do is the answer, not what they give. */
  readonly analyze?: true;
  /** What whoever asks is told, such as names that no row has. */
  readonly warnings?: readonly string[];
}

/** A source as the query names it. */
export type SourceRequest =
  /**
   * `base`: what `:diff` compares with, a branch or commit;
   * `forLoad`: the pool branch that a `load` operator writes to (a branch that is not there is told when it runs);
   * `anyCase`: a table of SQL, whose letter case counts only between pools; `inView`: it stands in the text of a view,
   * which means the same for everybody; `atHead`: `commit` is the request's default branch, which no
   * view has.
   */
  | {
      readonly kind: 'name';
      readonly name: string;
      readonly commit?: string;
      /** The time at which the branch is wanted. */
      readonly asof?: string;
      readonly meta?: string;
      readonly base?: string;
      readonly format?: string;
      readonly forLoad?: boolean;
      /** What else than loading it is for. */
      readonly verb?: ChangeVerb;
      readonly anyCase?: boolean;
      readonly inView?: true;
      readonly atHead?: true;
    }
  | { readonly kind: 'glob' | 'regexp'; readonly pattern: string; readonly format?: string }
  | { readonly kind: 'lakeMeta'; readonly meta: string }
  | {
      readonly kind: 'url';
      readonly url: string;
      readonly format?: string;
      readonly method?: string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, readonly string[]>>;
    };

/**
 * What a source turned out to be. `handle` means something to the environment alone (a snapshot, a file); plain data,
 * so that plans can cross threads.
 */
export interface ResolvedSource {
  readonly kind: 'pool' | 'poolMeta' | 'poolDiff' | 'lakeMeta' | 'file' | 'url';
  readonly name: string;
  readonly handle: string;
  /** The type of every row if it is known before running (files: their first 1,000 values, fused). */
  readonly type?: Type;
  /** The order of a pool scan. */
  readonly sortKeys?: readonly FieldPath[];
  readonly order?: 'asc' | 'desc';
  /** Of a pool, once somebody asked (`CompileEnvironment.content`). */
  readonly content?: PoolContent;
}

/**
 * A view that a source turned out to be; no plan has it, since its query takes its place. `handle`: of its version.
 * `isNewest`: it was asked for without one.
 */
export interface ViewSource {
  readonly kind: 'view';
  readonly name: string;
  readonly handle: string;
  readonly query: string;
  readonly columns?: readonly string[];
  readonly indexBase?: 0 | 1;
  readonly isNewest: boolean;
}
/** What a source turned out to be, as long as views stand for themselves. */
export type FoundSource = ResolvedSource | ViewSource;
/** What a query does to a view. `existing`: what is done where there is one of that name. */
export type ViewChange =
  | ({ readonly action: 'create'; readonly existing: 'refuse' | 'replace' | 'keep' | 'require' } & Omit<
      ViewSource,
      'kind' | 'handle' | 'isNewest'
    >)
  | { readonly action: 'rename'; readonly name: string; readonly to: string; readonly ifExists: boolean }
  | { readonly action: 'drop'; readonly name: string; readonly ifExists: boolean };

/** What a commit of a pool holds, told by its data objects: no row is read. */
export interface PoolContent {
  readonly rowCount: number;
  /** The fields that any row has, and the fusion of the types of their values; undefined if they are not known. */
  readonly fields: readonly { readonly name: string; readonly type: Type }[] | undefined;
}

/** What analysis knows of a built-in function, an aggregate or a window function. */
export interface FunctionSignature {
  /** Lower case. */
  readonly name: string;
  readonly argumentsMin: number;
  /** Infinity for any number. */
  readonly argumentsMax: number;
  /**
   * Of a window function: the type of its result if it is known from the arguments' types (undefined entries: unknown).
   */
  readonly result?: (argumentTypes: readonly (Type | undefined)[]) => Type | undefined;
  /**
   * An aggregate that gives a value of its argument, of the first where there are several, or all of them as an array,
   * or one at a fraction, and as many as there are fractions (`fraction`),
   * or of numbers a float64; a function that gives an element of its first argument, elements of it as a list
   * (`list`), of floats one of these, or of numbers a float64.
   */
  readonly gives?: 'argument' | 'array' | 'element' | 'float64' | 'fraction' | 'list';
  /** An aggregate to which null is as good as no value. */
  readonly skipsNulls?: true;
  /** An aggregate that gives the value beside which its second argument is least or greatest. */
  readonly comparesSecond?: true;
  /** A window function that takes IGNORE NULLS. */
  readonly treatsNulls?: boolean;
  /** A window function that may have an order of its own: ORDER BY among its arguments. */
  readonly takesOrder?: boolean;
  /** Of a window function: the names by which SQL may give its arguments, `offset := 2`. */
  readonly parameters?: readonly string[];
  /** An aggregate that takes its argument from WITHIN GROUP (ORDER BY ..), always or where one is written. */
  readonly withinGroup?: 'needed' | 'allowed';
  /**
   * What SQL alone knows: pipes refuse the function as SuperDB does (`all`), or calls of it with more arguments than
   * these.
   */
  readonly sqlOnly?: 'all' | { readonly pipeArgumentsMax: number };
  /** The meaning that the name has in SQL, where that is another: its numbers of arguments. */
  readonly inSql?: { readonly argumentsMin: number; readonly argumentsMax: number };
  /** The second argument is a lambda, of so many parameters; in SQL alone. */
  readonly lambda?: { readonly least: number; readonly most: number };
  /** Evaluated again for each row (now in pipes, ksuid without argument): never folded. */
  readonly impure?: boolean;
}
/** Functions by their lower-case names. */
export interface FunctionCatalog {
  readonly find: (name: string) => FunctionSignature | undefined;
  /** All names, for suggestions. */
  readonly names?: () => Iterable<string>;
}

/** What analysis needs from outside; `query` imports neither exec nor lake. */
export interface CompileEnvironment {
  /** `lake`: names are pools. `files`: names are files. */
  readonly mode: 'files' | 'lake';
  /**
   * Called for what makes a query answer otherwise from the same commits, beside impure functions: the moment, a draw, a
   * source that is known only while the query runs, since a row names it.
   */
  readonly varies?: () => void;
  /** The moment of a statement of which several queries are made; without it each query has its own. */
  readonly now?: () => Value;
  /** `lake` only: names that are no pools may be files, so that sources may have a format. */
  readonly filesToo?: boolean;
  readonly functions: FunctionCatalog;
  readonly aggregates: FunctionCatalog;
  /** What stands with OVER alone: row_number, lag and the like. */
  readonly windows: FunctionCatalog;
  /**
   * Rejects with an Error whose message is the text of a compile error at the source's place. A LakeError is one too if
   * its status is 400; others (an unknown commit is a 404) pass as they are.
   */
  readonly resolve: (request: SourceRequest) => Promise<readonly FoundSource[]>;
  /** What is known of a source already, so that nobody has to be asked; absent or undefined: ask `resolve`. */
  readonly known?: (request: SourceRequest) => readonly ResolvedSource[] | undefined;
  /**
   * What a resolved pool holds; asked for where names of SQL or the order of joins depend on it. Absent: nobody knows.
   */
  readonly content?: (source: ResolvedSource) => Promise<PoolContent>;
  /**
   * What a main query without a source of its own reads (`head.pool` and `head.branch` of a request); absent: one null.
   */
  readonly defaultSource?: SourceRequest;
  /** From where indexes count where no pragma says it; absent: from 0 in pipes, from 1 in SELECT. */
  readonly indexBase?: 0 | 1;
  /** Evaluates an expression that depends on no row (engine of exec, given by the caller). */
  readonly evaluate: (expr: PlanExpr, functions: readonly PlanFunction[]) => Value;
  /** Does work of the analysis that awaits nothing, on the account of whoever asked for it; absent: on nobody's. */
  readonly turn?: <T>(work: () => T) => T;
}

/** Statements that change rows of a pool, but add none alone. */
export type ChangeVerb = 'update' | 'delete' | 'merge into';
/** What a clause of MERGE INTO does: `columns` have the values of `targets`. */
export interface MergeClause {
  readonly verb: 'update' | 'delete' | 'insert' | 'insert row' | 'nothing';
  readonly targets: readonly FieldPath[];
  readonly columns: readonly string[];
}
