/**
 * Lexical scopes: what the declarations of a query bind names to.
 *
 * Invariants:
 * - A name is declared once in a scope; inner scopes override outer ones.
 * - Bodies are kept as syntax with the scope that they were declared in, and are lowered where they are used: operators
 *   are macros, functions are specialised by the functions that are passed to them.
 * - Names of tables that WITH declares live beside the symbols: FROM alone sees them.
 */
import type { ConstDecl, Expr, FnDecl, LambdaNode, LetDecl, OpDecl, SqlCte, TypeDecl } from '../ast.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';

/** A function as a value of the compiler: what `&name` and a lambda stand for. */
export type FunctionBinding =
  | { readonly kind: 'builtin'; readonly name: string }
  | { readonly kind: 'user'; readonly decl: FnDecl | LambdaNode; readonly scope: Scope };

/**
 * A constant. `busy` while it is worked out, so that one that needs itself is found; `expr` is there once it is `done`.
 */
export interface ConstSymbol {
  readonly kind: 'const';
  readonly decl: ConstDecl;
  readonly scope: Scope;
  state: 'new' | 'busy' | 'done';
  expr?: PlanExpr;
}

/** What a name is bound to. `scope` is where the declaration or the argument stands. */
export type ScopeSymbol =
  | ConstSymbol
  | { readonly kind: 'let'; readonly decl: LetDecl; readonly scope: Scope }
  | { readonly kind: 'op'; readonly decl: OpDecl; readonly scope: Scope }
  | { readonly kind: 'type'; readonly decl: TypeDecl; readonly scope: Scope }
  | { readonly kind: 'function'; readonly binding: FunctionBinding; readonly declared: boolean }
  /** A parameter of a function or lambda: the field of that name of `this`. */
  | { readonly kind: 'parameter' }
  /** A parameter of a lambda of SQL: found by the names of its clause. */
  | { readonly kind: 'column' }
  /** A parameter of a user operator: an expression template of the caller's scope. */
  | { readonly kind: 'template'; readonly expr: Expr; readonly scope: Scope; readonly callers: OperatorStack };

/** User operators that are being expanded, outermost first. */
export type OperatorStack = readonly { readonly decl: object; readonly name: string }[];

/**
 * A table of a WITH clause. `open`: it is being lowered (a reference now is recursive); `recursion` is there while the
 * part is that may refer to the table itself.
 */
export interface CteBinding {
  readonly cte: SqlCte;
  readonly scope: Scope;
  readonly recursive: boolean /** Of a subquery: it may use columns of the queries around. */;
  readonly inner: boolean;
  /** Its name stands in FROM more than once, as far as the text alone tells. */
  readonly isRepeated: boolean;
  /** What all references to it are, where its rows are shared among them. */
  shared?: Extract<PlanOp, { kind: 'shared' }>;
  /** Of what is shared, with all that it reads: each reference counts them, since whoever walks a plan does too. */
  sharedParts?: number;
  open: boolean;
  recursion?: Recursion;
}
/** The rows that came last in a recursion. `used`: something refers to them. */
export interface Recursion {
  readonly id: number;
  readonly columns: readonly string[] | undefined;
  used: boolean /** By which `recurring.name` has all rows so far; `usedAll`: something refers to them. */;
  readonly all?: number;
  usedAll?: boolean;
}

/** What `pragma default_null_order` can say, with the places of nulls in both directions. */
export const nullOrders = {
  nulls_last: { asc: 'last', desc: 'last' },
  nulls_first: { asc: 'first', desc: 'first' },
  nulls_first_on_asc_last_on_desc: { asc: 'first', desc: 'last' },
  nulls_last_on_asc_first_on_desc: { asc: 'last', desc: 'first' },
} as const satisfies Record<string, Record<'asc' | 'desc', 'first' | 'last'>>;
export type NullOrder = keyof typeof nullOrders;

/**
 * One scope, with the way to those around it. Symbols are found by their exact names, tables in any letter case; inner
 * ones hide outer ones.
 */
export class Scope {
  readonly parent: Scope | undefined;
  readonly symbols = new Map<string, ScopeSymbol>();
  /** By their names in lower case. */
  readonly tables = new Map<string, CteBinding>();
  /** Pragmas set in this very scope. */
  readonly pragmas: { indexBase?: 0 | 1; pg?: boolean; nullOrder?: NullOrder } = {};

  constructor(parent: Scope | undefined) {
    this.parent = parent;
  }

  lookup(name: string): ScopeSymbol | undefined {
    for (let scope: Scope | undefined = this; scope; scope = scope.parent) {
      const symbol = scope.symbols.get(name);
      if (symbol) return symbol;
    }
    return undefined;
  }

  /** Names that are bound here or further out to symbols of a kind. */
  names(isMeant: (symbol: ScopeSymbol) => boolean): readonly string[] {
    const found: string[] = [];
    for (let scope: Scope | undefined = this; scope; scope = scope.parent)
      for (const [name, symbol] of scope.symbols) if (isMeant(symbol)) found.push(name);
    return found;
  }

  /** A table of WITH by its name in any letter case. */
  table(name: string): CteBinding | undefined {
    for (let scope: Scope | undefined = this; scope; scope = scope.parent) {
      const table = scope.tables.get(name.toLowerCase());
      if (table) return table;
    }
    return undefined;
  }

  get indexBase(): 0 | 1 {
    return this.pragma('indexBase') ?? 0;
  }
  /** Whether a pragma says from where indexes count. */
  get hasIndexBase(): boolean {
    return this.pragma('indexBase') !== undefined;
  }
  /**
   * GROUP BY looks at input columns before aliases, whether these are known or not; false: behind aliases. Undefined
   * where no pragma says so.
   */
  get pg(): boolean | undefined {
    return this.pragma('pg');
  }

  /** Where the nulls of a key of ORDER BY in SELECT come that does not say it itself. */
  nullsOf(order: 'asc' | 'desc'): 'first' | 'last' {
    return nullOrders[this.pragma('nullOrder') ?? 'nulls_last'][order];
  }

  /** What the innermost pragma of that name says. */
  private pragma<K extends keyof Scope['pragmas']>(name: K): Scope['pragmas'][K] {
    for (let scope: Scope | undefined = this; scope; scope = scope.parent)
      if (scope.pragmas[name] !== undefined) return scope.pragmas[name];
    return undefined;
  }
}
