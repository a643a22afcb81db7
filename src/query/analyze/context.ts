/**
 * What one run of the analysis carries along: faults, places, functions, sources that are resolved and those that are
 * still to be.
 */
import { LakeError } from '../../errors.ts';
import { type Value, missing } from '../../vectors/value.ts';
import { type Type, recordType, types } from '../../vectors/type.ts';
import type { Expr, Span } from '../ast.ts';
import { foldSubqueries } from './constant-queries.ts';
import { catalogHint } from './hints.ts';
import { CompileError, type CompileFault, type FaultSubject, SourceFault } from '../parse/error.ts';
import { bodyIn, callOf, hasSubquery, isWithin, literal, readsRow, someExpr } from '../plan/walk.ts';
import type {
  Aggregate,
  CompileEnvironment,
  FoundSource,
  FieldPath,
  Pipeline,
  PlanExpr,
  PlanFunction,
  PlanOp,
  PoolContent,
  ResolvedSource,
  SourceRequest,
  WindowCall,
} from '../plan/plan.ts';
import { aggregateResult, windowResult } from '../types/ops.ts';
import { impliedName } from '../print.ts';
import type { FunctionBinding, OperatorStack, Scope, ScopeSymbol } from './scope.ts';
import type { ViewTexts } from './view-texts.ts';
import { TypeChecker } from '../types/check.ts';
import { recordOf, unknownType } from '../types/of.ts';

/** What a request for a source was answered with. */
export interface Resolution {
  readonly sources?: readonly FoundSource[];
  readonly error?: unknown;
}

/** What the rounds before found out: sources by their requests, contents of pools by their handles. */
interface Answers {
  readonly resolutions: ReadonlyMap<string, Resolution>;
  readonly contents: ReadonlyMap<string, PoolContent>;
}

/** Views whose queries are being lowered, outermost first. `place`: where it is named; one that is made is not. */
export interface OpenView {
  readonly key: string;
  readonly name: string;
  readonly place?: Span;
}
/** Equal for equal requests. */
const requestKey = (request: SourceRequest): string => JSON.stringify(request);

/** A user function that is lowered already, for these functions passed to it. */
interface Specialisation extends FunctionPlace {
  readonly bindings: Bindings;
  readonly id: number;
}
/** A declaration (or lambda) and the scope that it was made in. */
interface FunctionPlace {
  readonly decl: object;
  readonly scope: Scope;
}
/** The functions that are passed, at their parameters' places. */
type Bindings = readonly (FunctionBinding | undefined)[];

/** Most user functions of a plan: functions that pass ever new lambdas to themselves would go on for ever. */
const functionsMax = 1000;
/** How many user functions may be lowered one inside the other. */
const functionNestingMax = 100;
/** Body of a function that is being lowered: its type is not known. */
const inWork: PlanExpr = { kind: 'call', name: '', arguments: [] };
/** Most expressions and operators that a query is lowered to. */
const partsMax = 200_000;
const operatorsMax = 2_000;
/** Longest message of a fault. */
const faultCharactersMax = 5_000;
/** Most bytes (roughly) of a constant. */
const constantBytesMax = 1 << 20;

/**
 * One run of the analysis over one query text. Faults are noted and the run goes on, so that many are found at once.
 * @throws CompileError at once when a query grows beyond bounds (parts of the plan, user functions, constants). Errors
 * of the environment that are no faults of the query pass on.
 */
export class Analysis {
  readonly environment: CompileEnvironment;
  /** The query's text, and those of the views that it reads. */
  readonly texts: ViewTexts;
  readonly faults: CompileFault[] = [];
  /** What a query is told that runs all the same. */
  readonly warnings = new Set<string>();
  /** Aggregates where none can be; told when nothing else is wrong, each place once. */
  private readonly misplaced = new Map<string, CompileFault>();
  /** Faults without a place, found when all else is well; only the first is told. */
  readonly lateFaults: { readonly message: string; readonly hint?: string | undefined }[] = [];
  readonly functions: PlanFunction[] = [];
  readonly places = {
    whole: new WeakMap<object, Span>(),
    name: new WeakMap<object, Span>(),
    path: new WeakMap<object, readonly Span[]>(),
    twice: new WeakSet<object>(),
    untyped: new WeakSet<object>(),
    columns: new WeakSet<object>(),
    hint: new WeakMap<object, string>(),
    stands: new WeakMap<object, () => Type>(),
  };
  readonly pending = new Map<string, SourceRequest>();
  operatorStack: OperatorStack = [];
  /** Set while a constant is lowered: it may not read data. */
  inConstant = 0;
  readonly openViews: OpenView[] = [];
  /** Declarations of named queries whose bodies are being lowered. */
  readonly openQueries = new Set<object>();
  /** For the next subquery that may use outer values, and the next recursion. */
  nextLevel = 0;
  /** The main query needs the environment's default source. */
  defaultNeeded: boolean;
  readonly checker: TypeChecker;
  /** Pools whose content is wanted and not known yet, by their handles. */
  readonly unread = new Map<string, ResolvedSource>();
  /** Types where the rows of pools have the fields that are known of them, of unknown types. */
  private readonly byContent: TypeChecker;
  private readonly contents: ReadonlyMap<string, PoolContent>;
  private readonly resolutions: ReadonlyMap<string, Resolution>;
  private readonly specialisations: Specialisation[] = [];
  private readonly hints = new Map<Span, string | undefined>();
  private readonly sourceFaults = new Set<string>();
  private sourceFailed = false;
  private typesLost = false;
  private moment: Value | undefined;
  private partsMade = 0;
  private nesting = 0;

  constructor(
    environment: CompileEnvironment,
    texts: ViewTexts,
    { resolutions, contents }: Answers,
    defaultNeeded: boolean,
  ) {
    this.environment = environment;
    this.texts = texts;
    this.resolutions = resolutions;
    this.defaultNeeded = defaultNeeded;
    this.checker = new TypeChecker(environment, this.functions, this.places);
    this.contents = contents;
    this.byContent = new TypeChecker(environment, this.functions, this.places, {
      typeOfSource: (source) => this.typeOfSource(source),
      knowsCasts: true,
    });
  }

  /** All texts: places are bytes of it. */
  get text(): string {
    return this.texts.text;
  }

  /** Says something about a query that runs all the same, once. */
  warn(message: string): void {
    this.warnings.add(message);
  }

  fault(message: string, { start, end }: Span, hint?: string, about?: FaultSubject): void {
    // A message may quote what is very long.
    const shown = message.length > faultCharactersMax ? `${message.slice(0, faultCharactersMax)}...` : message;
    this.faults.push({ message: shown, start, end, ...(hint !== undefined && { hint }), ...(about && { about }) });
  }

  /** What is advised at a place, made up once: one in an operator's body may come many thousand times. */
  hintAt(place: Span, hint: () => string | undefined): string | undefined {
    if (!this.hints.has(place)) this.hints.set(place, hint());
    return this.hints.get(place);
  }

  /** A fault that leaves rows without a shape: types are not looked at then. */
  faultOfShape(message: string, place: Span, hint?: string): void {
    this.fault(message, place, hint);
    this.typesLost = true;
  }

  /**
   * False once a source or the shape of rows is not known for a fault: what would be told of types then follows from
   * that.
   */
  get typesKnown(): boolean {
    return this.sourcesKnown && !this.typesLost;
  }

  /** Parts of the plan so far: macros, named queries and tables of WITH can multiply a short text beyond measure. */
  get parts(): number {
    return this.partsMade;
  }
  /** Counts parts of the plan. @throws CompileError beyond what a query may have */
  grow(parts = 1): void {
    this.partsMade += parts;
    if (this.partsMade > partsMax) throw failure(`query is too large: more than ${partsMax} parts after expansion`);
  }

  /** One after another: rows go through all of them on one stack. @throws CompileError beyond what a query may have */
  limitOperators(count: number): void {
    if (count > operatorsMax)
      throw failure(`query is too large: more than ${operatorsMax} operators one after another, after expansion`);
  }

  /** Notes where an expression stands, and gives it back. */
  at<T extends PlanExpr>(place: Span, e: T): T {
    this.grow();
    if (!this.places.whole.has(e)) this.places.whole.set(e, place);
    return e;
  }

  /** The new expression stands where the old one stood. */
  like(old: PlanExpr, made: PlanExpr): PlanExpr {
    if (made === old) return made;
    const whole = this.places.whole.get(old);
    const name = this.places.name.get(old);
    if (whole) this.places.whole.set(made, whole);
    if (name) this.places.name.set(made, name);
    if (this.places.columns.has(old)) this.places.columns.add(made);
    return made;
  }

  /** The record of a query's columns. */
  recordOfColumns(columns: readonly { readonly name: string; readonly value: PlanExpr }[]): PlanExpr {
    const made: PlanExpr = {
      kind: 'record',
      elements: columns.map(({ name, value }) => ({ kind: 'field', name, value })),
    };
    this.places.columns.add(made);
    return made;
  }

  /** An expression in place of one that has a fault. */
  wrong(message: string, place: Span, hint?: string, about?: FaultSubject): PlanExpr {
    this.fault(message, place, hint, about);
    return literal(missing);
  }

  /** An expression in place of an aggregate that stands where none can be. */
  misplacedAggregate({ start, end }: Span): PlanExpr {
    this.misplaced.set(`${start}-${end}`, {
      message: 'call to aggregate function in non-aggregate context',
      start,
      end,
    });
    const e = literal(missing);
    this.places.untyped.add(e);
    return e;
  }

  /** The name of an expression that has none. */
  nameOf(e: Expr, sql: boolean): string {
    return impliedName(e, { sql, text: this.text });
  }

  /** Does work on an operator's argument as its caller would: with the operators that are open there. */
  asCaller<T>(template: ScopeSymbol & { readonly kind: 'template' }, work: () => T): T {
    const stack = this.operatorStack;
    this.operatorStack = template.callers;
    try {
      return work();
    } finally {
      this.operatorStack = stack;
    }
  }

  /**
   * False while sources are not resolved or could not be: then what is not known about tables is no fault of the query.
   */
  get sourcesKnown(): boolean {
    return this.pending.size === 0 && this.unread.size === 0 && !this.sourceFailed;
  }

  /**
   * The sources of a request; none while they are not resolved, or when they have a fault. `placeOf` knows a better
   * place for some faults.
   */
  resolve(
    request: SourceRequest,
    place: Span | undefined,
    placeOf?: (fault: string) => Span | undefined,
  ): readonly FoundSource[] {
    const key = requestKey(request);
    const answer = this.resolutions.get(key);
    const described = (sources: readonly FoundSource[]): readonly FoundSource[] =>
      this.contents.size === 0
        ? sources
        : sources.map((source) => {
            const content = source.kind === 'view' ? undefined : this.contents.get(source.handle);
            return content ? { ...source, content } : source;
          });
    if (!answer) {
      const known = this.environment.known?.(request);
      if (known) return described(known);
      this.pending.set(key, request);
      return [];
    }
    if (answer.sources) return described(answer.sources);
    const { error } = answer;
    if (!place || !(error instanceof Error) || (error instanceof LakeError && error.status !== 400)) throw error;
    this.faultOfSource(
      error.message,
      placeOf?.(error.message) ?? place,
      (request.kind === 'name' ? catalogHint(request.name) : undefined) ??
        (error instanceof SourceFault ? error.hint : undefined),
    );
    this.sourceFailed = true;
    return [];
  }
  /** A statement asks for its pool as what it writes and as what it reads: what is wrong with it is told once. */
  private faultOfSource(message: string, place: Span, hint: string | undefined): void {
    const key = `${place.start}-${place.end} ${message}`;
    if (this.sourceFaults.has(key)) return;
    this.sourceFaults.add(key);
    this.fault(message, place, hint);
  }

  /** The type of a pipeline's output, nothing reported. */
  typeOf(ops: readonly PlanOp[], input: Type): Type {
    return this.checker.pipeline({ ops }, input);
  }

  /** The fields of a table's rows where pools are among its sources; undefined if they are not known, or not yet. */
  fieldsOf(ops: readonly PlanOp[], input: Type): readonly string[] | undefined {
    const record = recordOf(this.rowTypeByContent(ops, input));
    return record && record !== 'dynamic' ? record.fields.map((f) => f.name) : undefined;
  }
  /** The fields that rows of a pool have; none where they are not known, or not yet. */
  fieldsOfSource(source: ResolvedSource): readonly string[] {
    const type = this.typeOfSource(source);
    return type.kind === 'record' ? type.fields.map((f) => f.name) : [];
  }
  private typeOfSource(source: ResolvedSource): Type {
    if (source.type || source.kind !== 'pool' || !this.environment.content) return source.type ?? unknownType;
    const content = this.contents.get(source.handle);
    if (!content) this.unread.set(source.handle, source);
    return content?.fields ? typeOfFields(content.fields) : unknownType;
  }

  /** The type of an expression over a table's rows, by the content of pools too. */
  typeByContent(ops: readonly PlanOp[], input: Type, e: PlanExpr): Type {
    return this.byContent.expr(e, this.rowTypeByContent(ops, input));
  }

  /** The type of an expression over rows of a type that `rowTypeByContent` gave. */
  typeOfRows(e: PlanExpr, rows: Type): Type {
    return this.byContent.expr(e, rows);
  }
  /** The type of a table's rows, by the content of pools too. */
  rowTypeByContent(ops: readonly PlanOp[], input: Type): Type {
    return this.byContent.pipeline({ ops }, input);
  }

  /**
   * Notes the type, by content, of what an expression stands for until it is written over the rows that have it;
   * content is asked for where the type is.
   */
  stands(e: PlanExpr, type: () => Type): void {
    this.places.stands.set(e, type);
  }
  /** The type of an aggregate's result, by content. */
  typeOfAggregate(aggregate: Aggregate, rows: Type): Type {
    return aggregateResult(this.byContent, aggregate, rows);
  }
  /** The type of a window call's result, by content. */
  typeOfWindow(call: Omit<WindowCall, 'target' | 'frame'>, rows: Type): Type {
    return windowResult(this.byContent, call, rows);
  }

  typeOfExpr(e: PlanExpr, self: Type): Type {
    return this.checker.expr(e, self);
  }

  /**
   * Folds an expression that depends on no row; undefined for others and for those with subqueries that have to run.
   */
  constant(e: PlanExpr): Extract<PlanExpr, { kind: 'literal' }> | undefined {
    if (e.kind === 'literal') return e;
    if (readsRow(e)) return undefined;
    const folded = foldSubqueries(e, (part) => this.constant(part)?.value);
    if (this.waits(folded, new Set())) return undefined;
    const value = this.evaluated(folded);
    if (!value) return undefined;
    if (!isWithin(value, constantBytesMax)) throw failure(`constant is too large: more than ${constantBytesMax} bytes`);
    return { kind: 'literal', value };
  }

  /** The moment of the query: SELECT reads the clock once, whatever asks for it, and so do the views that it reads. */
  now(): PlanExpr {
    this.environment.varies?.();
    this.moment ??= this.environment.now?.() ?? this.environment.evaluate(callOf('now'), []);
    return literal(this.moment);
  }

  /**
   * The value of a constant; undefined for what ends the query where a row asks for it: a cast that fails, a division
   * by zero.
   */
  private evaluated(e: PlanExpr): Value | undefined {
    try {
      return this.environment.evaluate(e, this.functions);
    } catch (error) {
      if (error instanceof LakeError && (error.code === 'query-cast' || error.code === 'query-division'))
        return undefined;
      throw error;
    }
  }

  /** True if a subquery would have to run, in a user function too, or for values of a query around it. */
  private waits(e: PlanExpr, seen: Set<number>): boolean {
    return (
      hasSubquery(e) ||
      someExpr(e, (part) => {
        if (part.kind === 'outer') return true;
        const body = bodyIn(part);
        if (body && this.waits(body, seen)) return true;
        if (part.kind !== 'userCall' || seen.has(part.id)) return false;
        seen.add(part.id);
        return this.waits(this.functions[part.id].body, seen);
      })
    );
  }

  /**
   * The id of a user function for these function arguments: `lower` is called when it is new, after its id is known.
   */
  specialise(
    { decl, scope }: FunctionPlace,
    bindings: Bindings,
    head: Omit<PlanFunction, 'body'>,
    lower: () => PlanExpr,
  ): number {
    const found = this.specialisations.find(
      (s) => s.decl === decl && s.scope === scope && s.bindings.every((b, i) => sameBinding(b, bindings[i])),
    );
    if (found) return found.id;
    const id = this.functions.length;
    if (id >= functionsMax || this.nesting >= functionNestingMax)
      throw failure(`function "${head.name}" is passed to itself without end`);
    this.specialisations.push({ decl, scope, bindings, id });
    this.functions.push({ ...head, body: inWork });
    this.nesting++;
    this.functions[id] = { ...head, body: lower() };
    this.nesting--;
    return id;
  }

  /** Checks the types of the whole query and notes the faults. */
  check(pipeline: Pipeline): void {
    this.reporting().pipeline(pipeline, types.null);
  }

  /** The same for the expression of a constant, which sees no row. */
  checkConstant(e: PlanExpr): void {
    this.reporting().expr(e, types.null);
  }

  private reporting(): TypeChecker {
    return new TypeChecker(this.environment, this.functions, this.places, {
      report: (message, place, hint) => {
        this.fault(message, place ?? nowhere, hint);
      },
    });
  }

  throwFaults(): void {
    if (this.faults.length > 0) throw new CompileError(this.faults);
  }

  throwLateFaults(): void {
    if (this.misplaced.size > 0) throw new CompileError([...this.misplaced.values()]);
    const [first] = this.lateFaults;
    if (first !== undefined)
      throw new CompileError([
        { message: first.message, start: -1, end: -1, ...(first.hint !== undefined && { hint: first.hint }) },
      ]);
  }

  /** The path of components, with their places noted for the checker. */
  path(names: FieldPath, spans: readonly Span[]): FieldPath {
    this.places.path.set(names, spans);
    return names;
  }
}

/** Types of rows by the fields that they may have: it is asked for them over and over, and there may be thousands. */
const typesOfFields = new WeakMap<object, Type>();
const typeOfFields = (fields: NonNullable<PoolContent['fields']>): Type => {
  let type = typesOfFields.get(fields);
  if (!type) {
    type = recordType(fields.map((f) => ({ name: f.name, type: f.type, optional: true })));
    typesOfFields.set(fields, type);
  }
  return type;
};

const nowhere: Span = { start: -1, end: -1 };

const failure = (message: string): CompileError => new CompileError([{ message, start: -1, end: -1 }]);

const sameBinding = (a: FunctionBinding | undefined, b: FunctionBinding | undefined): boolean => {
  if (a === b) return true;
  if (!a || !b) return false;
  if (a.kind === 'builtin') return b.kind === 'builtin' && a.name === b.name;
  return b.kind === 'user' && a.decl === b.decl && a.scope === b.scope;
};
