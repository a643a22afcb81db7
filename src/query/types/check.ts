/**
 * The type checker: types of expressions and pipelines, and the compile errors that follow from them.
 *
 * Invariants:
 * - A fault is reported only when no alternative of the operands' types could work; what is unknown always could.
 * - Each expression is reported on once, however many parts of the plan share it (SQL's aliases do).
 * - A user function is checked where it is called first, with arguments of unknown types, and again for each call;
 *   within functions once for each combination of argument types. A recursive call of the same types is unknown.
 */
import {
  type Type,
  arrayType,
  isFloat,
  isInteger,
  mapType,
  recordType,
  setType,
  typeText,
  types,
  unionType,
} from '../../vectors/type.ts';
import { longDecimalType } from '../../vectors/decimal.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { distinctNames } from '../../vectors/field-names.ts';
import type { Span } from '../ast.ts';
import { fieldHint } from '../analyze/hints.ts';
import type {
  CompileEnvironment,
  Correlated,
  Pipeline,
  PlanExpr,
  PlanFunction,
  PlanOp,
  ResolvedSource,
} from '../plan/plan.ts';
import { someExpr } from '../plan/walk.ts';
import { RecordDraft } from './draft.ts';
import {
  alternatives,
  bare,
  either,
  fieldType,
  fuseAll,
  hasUnknown,
  numberIn,
  orNull,
  recordOf,
  unknownType,
  areDates,
  toldOf,
  withoutTold,
} from './of.ts';
import { scaleOfCall } from '../sql/values/decimals.ts';
import {
  type SqlType,
  areIntervals,
  dateFunctions,
  dateType,
  decimalType,
  intervalType,
  modelType,
  toldText,
} from '../sql/values/types.ts';
import { pipelineType } from './ops.ts';

/** Is told of a fault; `place` is undefined where the expression stands nowhere in the text. */
type Report = (message: string, place: Span | undefined, hint?: string) => void;

/** Where expressions and paths of a plan stand in the query text. */
interface Places {
  /** The whole expression. */
  readonly whole: WeakMap<object, Span>;
  /** Of a field access only the name; of an array of path components, each. */
  readonly name: WeakMap<object, Span>;
  readonly path: WeakMap<object, readonly Span[]>;
  /** Expressions whose faults are reported twice. */
  readonly twice: WeakSet<object>;
  /** Subqueries, calls and operators whose results are of no known type. */
  readonly untyped: WeakSet<object>;
  /** Records of a query's columns, which are never absent. */
  readonly columns: WeakSet<object>;
  /** What to write instead of a field that is not there. */
  readonly hint: WeakMap<object, string>;
  /**
   * Of what type, by content, that is for which an expression stands that is not there yet: results of aggregates and
   * windows, elements of UNNEST.
   */
  readonly stands: WeakMap<object, () => Type>;
}

/**
 * What comes of intervals that may have months, one of which stands on a side at least, and of times with one another
 * and with durations.
 */
const arithmeticOfSpans = (operator: string, left: Type, right: Type): Type | undefined => {
  if (!areIntervals(left) && !areIntervals(right)) return arithmeticOfTimes(operator, left, right);
  const others = [left, right].filter((t) => !areIntervals(t));
  if (others.some((t) => alternatives(t).some(isOpen) && t !== types.null)) return unknownType;
  return others.some((t) => alternatives(t).includes(types.time)) ? orNull(types.time) : intervalType;
};
const arithmeticOfTimes = (operator: string, left: Type, right: Type): Type | undefined => {
  const [x, y] = [left, right].map((t) => alternatives(t).filter((m) => m !== types.null));
  if (x!.length !== 1 || y!.length !== 1) return undefined;
  const [from, to] = [x![0], y![0]];
  const either = alternatives(left).length > 1 || alternatives(right).length > 1 ? orNull : (t: Type): Type => t;
  if (from === types.time && to === types.time && operator === '-') return either(types.duration);
  const isMoved =
    (from === types.time && to === types.duration) ||
    (from === types.duration && to === types.time && operator === '+');
  return isMoved ? either(types.time) : undefined;
};
/** The type of what a cast of SQL gives: decimals, dates, and texts that are more than that, are told by a name. */
const castType = (t: SqlType): Type => {
  if (t.kind === 'wide') return orNull(unionType([modelType(t), longDecimalType]));
  if (t.kind === 'date') return orNull(dateType);
  if (t.kind === 'list' && (t.element.kind === 'date' || toldText(t.element)))
    return orNull(arrayType(castType(t.element)));
  return orNull(t.kind === 'decimal' ? decimalType(t.scale, t.precision) : (toldText(t) ?? modelType(t)));
};

/** Functions that give one of their arguments, whatever it is. */
const firstOf: ReadonlySet<string> = new Set(['coalesce', 'ifnull']);
const isRecordOrNull = (t: Type): boolean => alternatives(t).every((m) => m.kind === 'record' || m === types.null);
const isListOf = (t: Type): boolean => alternatives(t).every((m) => m.kind === 'array' || m === types.null);
const elementsOf = (t: Type): Type =>
  orNull(fuseAll(alternatives(t).flatMap((m) => (m.kind === 'array' ? [m.element] : []))));
/** A list of records of the elements of several lists, by their places. */
const zippedType = (lists: readonly Type[]): Type => {
  if (!lists.every(isListOf)) return unknownType;
  const type = arrayType(recordType(lists.map((t, i) => ({ name: `c${i}`, type: elementsOf(t) }))));
  return lists.some((t) => alternatives(t).includes(types.null)) ? orNull(type) : type;
};
const oneOf: ReadonlySet<string> = new Set(['coalesce', 'greatest', 'ifnull', 'least', 'nullif']);

/** How deep calls of user functions are followed. */
const callDepthMax = 24;
/** How many calls of user functions are looked at. */
const callsMax = 10_000;

/**
 * How types are looked at: where faults go, what rows sources have, whether casts of SQL give their type (which they do
 * not where faults are told).
 */
interface CheckOptions {
  readonly report?: Report;
  readonly typeOfSource?: (source: ResolvedSource) => Type;
  readonly knowsCasts?: boolean;
}

/** Works out types; `report`, if there is one, is told of the faults on the way. */
export class TypeChecker {
  readonly environment: CompileEnvironment;
  readonly functions: readonly PlanFunction[];
  readonly places: Places;
  private report: Report | undefined;
  private reported = new Set<PlanExpr>();
  private readonly calls = new Set<string>();
  private prefix = '';
  private callCount = 0;
  private steps = 0;
  /** What is looked at: the query, a function as it is declared, or as it is called. */
  private within: 'query' | 'declaration' | 'call' = 'query';
  private readonly declared = new Set<number>();
  /** Calls within functions that were reported on. */
  private readonly nested = new Set<string>();
  /** Within a call, the place of the path that is looked at: faults of its parts are told there. */
  private path: Span | undefined;
  private readonly opTypes = new WeakMap<PlanOp, { readonly input: Type; readonly output: Type }>();

  readonly knowsCasts: boolean;
  /** Of what type the rows of a source are. */
  readonly typeOfSource: (source: ResolvedSource) => Type;

  constructor(
    environment: CompileEnvironment,
    functions: readonly PlanFunction[],
    places: Places,
    { report, typeOfSource, knowsCasts = false }: CheckOptions = {},
  ) {
    this.typeOfSource = typeOfSource ?? (({ type }): Type => type ?? unknownType);
    this.knowsCasts = knowsCasts;
    this.environment = environment;
    this.functions = functions;
    this.places = places;
    this.report = report;
  }

  fault(message: string, place: Span | undefined, hint?: string): void {
    this.report?.(this.prefix + message, place, hint);
  }

  /** The type without reporting anything. */
  quietly<T>(work: () => T): T {
    const report = this.report;
    this.report = undefined;
    try {
      return work();
    } finally {
      this.report = report;
    }
  }

  pipeline(pipeline: Pipeline, input: Type): Type {
    return pipelineType(this, pipeline.ops, input);
  }

  /** Remembers what an operator makes of a type, where nothing is reported: lowering asks again and again. */
  remembered(op: PlanOp, input: Type, work: () => Type): Type {
    if (this.report) return work();
    const known = this.opTypes.get(op);
    if (known?.input === input) return known.output;
    const output = work();
    this.opTypes.set(op, { input, output });
    return output;
  }

  /** The type of an expression over rows of type `self`. */
  expr(e: PlanExpr, self: Type): Type {
    if (this.report && e.kind !== 'this' && e.kind !== 'literal') {
      if (this.reported.has(e)) return this.quietly(() => this.typeOf(e, self));
      this.reported.add(e);
    }
    return this.typeOf(e, self);
  }

  /** Like `expr`, but faults may be reported a second time. */
  again(e: PlanExpr, self: Type): Type {
    this.reported.delete(e);
    return this.expr(e, self);
  }

  /** A predicate: anything but a known type that is no bool. */
  predicate(e: PlanExpr, self: Type): void {
    const t = this.expr(e, self);
    if (!isBoolLike(t)) this.notBool(e, t);
  }

  /** An operand, and a check of its type that is made in calls of user functions alone. */
  private inCall(operand: PlanExpr, self: Type, check: (t: Type) => void): Type {
    const t = this.expr(operand, self);
    if (this.within === 'call') check(t);
    return t;
  }

  private negated(e: PlanExpr & { readonly kind: 'not' }, self: Type): Type {
    const t = this.inCall(e.operand, self, (of) => {
      if (!isBoolLike(of)) this.notBool(e, of);
    });
    return this.within === 'call' ? types.bool : t;
  }

  private notBool(e: PlanExpr, t: Type): void {
    this.fault(`boolean type required, encountered type ${JSON.stringify(shownType(t))}`, this.places.whole.get(e));
  }

  private typeOf(e: PlanExpr, self: Type): Type {
    checkStopAt(this.steps++);
    switch (e.kind) {
      // An error stands for what the analysis could not make.
      case 'literal':
        return e.value.type.kind === 'error'
          ? unknownType
          : this.knowsCasts && e.scale !== undefined
            ? decimalType(e.scale)
            : withoutTold(e.value.type);
      case 'this':
        return self;
      case 'field':
        return this.field(e, self);
      case 'index':
        return this.index(e, self);
      case 'slice':
        return this.slice(e, self);
      // As v0.2.0 has them: looked at in calls alone, and a predicate's fault is told of the whole.
      case 'negate':
        return this.inCall(e.operand, self, (t) => this.numeric(e.operand, t));
      case 'not':
        return this.negated(e, self);
      case 'isNull':
        this.expr(e.operand, self);
        return types.bool;
      case 'like':
      case 'match':
      case 'searchText':
      case 'searchRegexp':
      case 'searchValue':
        this.expr(e.operand, self);
        return types.bool;
      case 'compare':
        this.both(e, self);
        return types.bool;
      case 'and':
      case 'or':
        return this.operands(e, self, types.bool, (of, t) => this.notBool(of, t));
      // Not looked at in functions, and what comes out of it is of no known type there, as v0.2.0 has it.
      case 'concat':
        return e.sql
          ? this.concatenated(e, self)
          : this.calls.size > 0
            ? (this.both(e, self), unknownType)
            : this.operands(e, self, types.string, (of) =>
                this.fault('expected type string', this.places.whole.get(of)),
              );
      case 'arithmetic':
        return this.arithmetic(e, self);
      case 'in':
        this.containment(e, self);
        return types.bool;
      case 'conditional': {
        this.predicate(e.test, self);
        const [then, otherwise] = this.branches([e.then, e.otherwise], self);
        // An error says what went wrong, not of what type the values are.
        if (this.knowsCasts && e.test.kind === 'call' && e.test.name === 'is_error') return otherwise!;
        return either(then!, otherwise!);
      }
      case 'case':
        return this.cases(e, self);
      case 'call':
        return this.call(e, self);
      case 'userCall': {
        const result = this.userCall(
          e.id,
          e.arguments.map((a) => this.expr(a, self)),
        );
        return this.places.untyped.has(e) ? unknownType : result;
      }
      case 'mapElements':
        return this.mapElements(e, self);
      case 'cast':
        return this.cast(e, self);
      case 'sqlCast':
        return this.sqlCast(e, self);
      case 'castNamed':
        this.expr(e.operand, self);
        return unknownType;
      case 'record':
        return this.record(e, self);
      case 'array':
        return arrayType(this.elements(e.elements, self));
      case 'set':
        return setType(this.elements(e.elements, self));
      case 'map':
        return mapType(
          this.fused(e.entries.map((x) => this.expr(x.key, self))),
          this.fused(e.entries.map((x) => this.expr(x.value, self))),
        );
      case 'fstring':
        for (const p of e.parts) if (typeof p !== 'string') this.expr(p, self);
        return this.calls.size > 0 ? unknownType : types.string;
      case 'subquery':
        return this.subquery(e, self);
      case 'apply': {
        const out = this.correlated(e.body, e.outer, self);
        return e.form === 'exists' ? types.bool : this.onlyColumn(e.form, out);
      }
      case 'outer':
        return unknownType;
      case 'columns':
        return this.columns(e, self);
    }
  }

  /** `||` of SQL: of lists, or of texts. */
  private concatenated(e: PlanExpr & { readonly kind: 'concat' }, self: Type): Type {
    return this.both(e, self).every((t) => alternatives(t).every((m) => m === types.string || m === types.null))
      ? types.string
      : unknownType;
  }

  /** The type of what a correlated pipeline gives for each row. */
  correlated(body: Correlated, outer: readonly PlanExpr[], self: Type): Type {
    const columns = outer.map((e, i) => ({ name: `c${i}`, type: this.expr(e, self) }));
    if (body.mode === 'each') return this.pipeline(body.pipeline, types.null);
    return (
      fieldType(this.pipeline(body.pipeline, recordType([{ name: 'id', type: types.int64 }, ...columns])), 'row') ??
      unknownType
    );
  }

  /** Known if the columns of all tables that stars stand for are. */
  private columns(e: PlanExpr & { readonly kind: 'columns' }, self: Type): Type {
    const fields: { readonly name: string; readonly type: Type }[] = [];
    let isKnown = true;
    for (const x of e.elements) {
      const type = this.expr(x.value, self);
      const record = x.kind === 'star' ? recordOf(type) : undefined;
      if (x.kind === 'field') fields.push({ name: x.name, type });
      else if (record && record !== 'dynamic') fields.push(...record.fields.filter((f) => !x.without.includes(f.name)));
      else isKnown = false;
    }
    if (!isKnown) return unknownType;
    const names = distinctNames(fields.map((f) => f.name));
    return recordType(fields.map(({ type }, i) => ({ name: names[i], type })));
  }

  private both(e: { readonly left: PlanExpr; readonly right: PlanExpr }, self: Type): readonly [Type, Type] {
    return [this.expr(e.left, self), this.expr(e.right, self)];
  }

  /** Two operands that must be of one type, which the whole is of too. */
  private operands(
    e: { readonly left: PlanExpr; readonly right: PlanExpr },
    self: Type,
    wanted: Type,
    fault: (of: PlanExpr, t: Type) => void,
  ): Type {
    const found = this.both(e, self);
    for (const [i, t] of found.entries())
      if (!alternatives(t).some((m) => m === wanted || isOpen(m))) fault(i === 0 ? e.left : e.right, t);
    return wanted;
  }

  private field(e: PlanExpr & { readonly kind: 'field' }, self: Type): Type {
    const stands = this.places.stands.get(e);
    if (stands) return this.knowsCasts ? stands() : unknownType;
    const place = this.placeOfField(e);
    const of = this.base(e, self, place);
    const found = fieldType(of, e.name);
    if (found) {
      if (alternatives(of).every((m) => m.kind === 'map' && !isKey(types.string, m.key))) this.fault(otherKey, place);
      return found;
    }
    this.fault(`no such field "${e.name}"`, place, this.places.hint.get(e) ?? fieldHint(of, e.name));
    return unknownType;
  }

  /**
   * Where the fault of a field is told: at its name; within a call at the whole path, without the indexes at its end.
   */
  private placeOfField(e: PlanExpr): Span | undefined {
    if (this.within !== 'call')
      return (e.kind === 'field' ? this.places.name.get(e) : undefined) ?? this.places.whole.get(e);
    if (this.path) return this.path;
    let end = e;
    while (end.kind === 'index') end = end.of;
    return this.places.whole.get(end);
  }

  /** The type of what a field is taken from; `place` is told of what is wrong with a path. */
  private base(e: PlanExpr & { readonly kind: 'field' | 'index' }, self: Type, place: Span | undefined): Type {
    const outer = this.path;
    this.path = isPath(e) ? place : undefined;
    const of = this.expr(e.of, self);
    this.path = outer;
    return of;
  }

  private index(e: PlanExpr & { readonly kind: 'index' }, self: Type): Type {
    const place = this.placeOfField(e);
    const of = this.base(e, self, place);
    const at = this.expr(e.at, self);
    const name = e.at.kind === 'literal' && typeof e.at.value.data === 'string' ? e.at.value.data : undefined;
    let found: Type | undefined;
    const add = (t: Type | undefined): void => {
      found = found && t ? either(found, t) : (t ?? found);
    };
    for (const m of alternatives(of)) {
      if (isOpen(m)) add(unknownType);
      else if (m.kind === 'array' || m.kind === 'set') add(m.element);
      else if (m.kind === 'map') add(m.value);
      else if (m.kind === 'record') add(name === undefined ? unknownType : fieldType(m, name));
    }
    const isField = name !== undefined && isPath(e.of);
    const isEach = (test: (m: Type) => boolean): boolean => alternatives(of).every(test);
    if (isField && (!found || isEach((m) => m.kind === 'array' || m.kind === 'set')))
      this.fault(`no such field "${name}"`, place, fieldHint(of, name));
    else if (!found && !(name !== undefined && alternatives(of).some((m) => m.kind === 'record')))
      this.fault('indexed entity is not indexable', this.places.whole.get(e.of));
    else if (isEach((m) => m.kind === 'array' || m.kind === 'set')) this.integer(e.at, at);
    else if (
      isEach((m) => m.kind === 'record') &&
      !alternatives(at).some((m) => isOpen(m) || m === types.string || isInteger(m))
    ) {
      this.fault('string or integer type required to index record', this.places.whole.get(e.at));
    } else if (isEach((m) => m.kind === 'map' && !isKey(at, m.key)))
      this.fault(isField ? otherKey : 'type mismatch indexing map', isField ? place : this.places.whole.get(e.at));
    return found ?? unknownType;
  }

  private slice(e: PlanExpr & { readonly kind: 'slice' }, self: Type): Type {
    const of = this.expr(e.of, self);
    const possible =
      of !== types.null &&
      alternatives(of).some(
        (m) =>
          isOpen(m) ||
          m.kind === 'array' ||
          m.kind === 'set' ||
          m.kind === 'record' ||
          m === types.string ||
          m === types.bytes,
      );
    if (!possible) this.fault('sliced entity is not sliceable', this.places.whole.get(e.of));
    for (const bound of [e.from, e.to]) if (bound) this.integer(bound, this.expr(bound, self));
    return possible ? of : unknownType;
  }

  private integer(e: PlanExpr, t: Type): void {
    if (!alternatives(t).some((m) => (isOpen(m) && t !== types.null) || isInteger(m))) {
      this.fault(`integer type required, encountered ${shownType(t)}`, this.places.whole.get(e));
    }
  }

  private numeric(e: PlanExpr, t: Type): void {
    if (!alternatives(t).some(isNumberLike))
      this.fault(`numeric type required, encountered ${shownType(t)}`, this.places.whole.get(e));
  }

  private arithmetic(e: PlanExpr & { readonly kind: 'arithmetic' }, self: Type): Type {
    const both = this.both(e, self);
    const ofSpans = e.sql ? arithmeticOfSpans(e.operator, both[0], both[1]) : undefined;
    if (ofSpans) return ofSpans;
    if (this.knowsCasts && e.scale !== undefined && e.scale > 0) return orNull(decimalType(e.scale));
    // What has no places of its own is a float, whatever its operands are: a quotient of decimals is none.
    const [left, right] = e.scale === undefined ? [withoutTold(both[0]), withoutTold(both[1])] : both;
    if (left === unknownType || right === unknownType) return unknownType;
    const numbers = [left, right].map(numberIn);
    if (this.knowsCasts && e.sql && numbers.every((t) => t !== undefined) && numbers.includes(types.float64))
      return orNull(types.float64);
    if (e.operator !== '+') {
      this.numeric(e.left, left);
      this.numeric(e.right, right);
      return either(left, right);
    }
    if (!alternatives(left).some((l) => isNumberLike(l) && alternatives(right).some(isNumberLike))) {
      const couldFit = (t: Type): boolean => alternatives(t).some((m) => isOpen(m) && m !== types.null);
      if (!couldFit(left) && !couldFit(right)) {
        this.fault(`type mismatch: ${shownType(left)} + ${shownType(right)}`, this.places.whole.get(e));
      }
      return unknownType;
    }
    return either(left, right);
  }

  private sqlCast(e: PlanExpr & { readonly kind: 'sqlCast' }, self: Type): Type {
    const from = this.expr(e.operand, self);
    if (!this.knowsCasts) return unknownType;
    const isSpan = e.type.kind === 'plain' && e.type.type === types.duration;
    return isSpan && !alternatives(from).every((t) => isNumber(t) || t === types.null)
      ? intervalType
      : castType(e.type);
  }

  private containment(e: PlanExpr & { readonly kind: 'in' }, self: Type): void {
    const [left, right] = this.both(e, self);
    if (bare(right) === types.net) {
      this.fault(
        'right-hand side of in operator cannot be type net; consider cidr_match()',
        this.places.whole.get(e.right),
      );
      return;
    }
    if (e.sql || compatible(left, right)) return;
    // A query is known by what it gives, as in v0.2.0.
    const ofQuery =
      e.right.kind === 'subquery' && (e.right.form === 'array' || e.right.form === 'list') && right.kind === 'array'
        ? right.element
        : right;
    const container = bare(ofQuery);
    if (container.kind === 'record') {
      this.fault(
        'left-hand side of in operator not compatible with any fields of record on right-hand side',
        this.places.whole.get(e.left),
      );
    } else if (container.kind === 'array' || container.kind === 'set' || container.kind === 'map') {
      this.fault(
        `left-hand side of in operator be compatible with ${container.kind === 'map' ? 'map value or key' : container.kind} type`,
        this.places.whole.get(e.left),
      );
    } else if (container.kind === 'primitive') {
      this.fault(
        `scalar type mismatch for 'in' operator where right-hand side is not container type: ${shownType(ofQuery)}`,
        this.places.whole.get(e),
      );
    }
  }

  private cases(e: PlanExpr & { readonly kind: 'case' }, self: Type): Type {
    if (e.operand) this.expr(e.operand, self);
    const none = e.otherwise ? [] : [unknownType];
    const test = (when: PlanExpr): void => {
      if (e.operand) this.expr(when, self);
      else this.predicate(when, self);
    };
    if (this.calls.size > 0) {
      for (const b of e.branches) test(b.when);
      return [
        ...this.branches([...e.branches.map((b) => b.then), ...(e.otherwise ? [e.otherwise] : [])], self),
        ...none,
      ].reduce(either);
    }
    // From the last to the first, as nested conditions are looked at inside out.
    const list = e.otherwise ? [this.expr(e.otherwise, self)] : none;
    for (const b of e.branches.toReversed()) {
      test(b.when);
      list.unshift(this.expr(b.then, self));
    }
    return list.reduce(either);
  }

  /**
   * The outcomes of a choice. A test of types may stand before them, so that their faults count only if every one has
   * some.
   */
  private branches(list: readonly PlanExpr[], self: Type): readonly Type[] {
    const report = this.report;
    const faults: Parameters<Report>[] = [];
    let sound = false;
    const found = list.map((e) => {
      const before = faults.length;
      if (report)
        this.report = (...fault) => {
          faults.push(fault);
        };
      const t = this.expr(e, self);
      if (faults.length === before) sound = true;
      return t;
    });
    this.report = report;
    if (report && !sound) for (const fault of faults) report(...fault);
    return found;
  }

  private call(e: PlanExpr & { readonly kind: 'call' }, self: Type): Type {
    const args = e.arguments.map((a) => this.expr(a, self));
    if (e.name === 'grep') return types.bool;
    if (!this.knowsCasts) return unknownType;
    if (e.name === 'age') return intervalType;
    const scale = scaleOfCall(e, (a) => this.expr(a, self));
    if (scale !== undefined) return orNull(decimalType(scale));
    if (dateFunctions.has(e.name) || (oneOf.has(e.name) && areDates(args))) return orNull(dateType);
    const told = oneOf.has(e.name) ? toldOf(e.name === 'nullif' ? args.slice(0, 1) : args) : undefined;
    if (told) return orNull(told);
    if (firstOf.has(e.name) && args.every(isRecordOrNull)) return orNull(args.reduce(either));
    if (e.name === 'list_zip') return zippedType(args);
    const [first] = args;
    if (!first) return unknownType;
    switch (this.environment.functions.find(e.name)?.gives) {
      case 'element':
        return isListOf(first) ? elementsOf(first) : unknownType;
      case 'list':
        return isListOf(first) ? orNull(first) : unknownType;
      case 'argument':
        return numberIn(first) === types.float64 ? orNull(types.float64) : unknownType;
      case 'float64':
        return args.every((t) => numberIn(t)) ? orNull(types.float64) : unknownType;
      default:
        return unknownType;
    }
  }

  /** The type of a user function's result for arguments of these types. */
  userCall(id: number, args: readonly Type[]): Type {
    const f = this.functions[id];
    const key = `${id} ${args.map((t) => t.id).join(' ')}`;
    if (!f || this.calls.has(key) || this.calls.size >= callDepthMax || ++this.callCount > callsMax) return unknownType;
    if (this.report && this.within === 'query') this.declaration(id, f);
    const isTold = this.within === 'call' && this.nested.has(key);
    if (this.report && this.within === 'call') this.nested.add(key);
    const row = recordType(f.parameters.map((name, i) => ({ name, type: args[i] ?? unknownType })));
    return isTold ? this.quietly(() => this.body(f, key, row, 'call')) : this.body(f, key, row, 'call');
  }

  /** A function as it is declared, behind those that it calls. */
  private declaration(id: number, f: PlanFunction): void {
    if (this.declared.has(id)) return;
    this.declared.add(id);
    someExpr(f.body, (part) => {
      const called = part.kind === 'userCall' ? this.functions[part.id] : undefined;
      if (part.kind === 'userCall' && called) this.declaration(part.id, called);
      return false;
    });
    this.body(f, `${id} declared`, unknownType, 'declaration');
  }

  private body(f: PlanFunction, key: string, row: Type, within: 'declaration' | 'call'): Type {
    const outer = { within: this.within, reported: this.reported, path: this.path };
    this.within = within;
    this.reported = new Set();
    this.path = undefined;
    this.calls.add(key);
    try {
      return this.expr(f.body, row);
    } finally {
      this.calls.delete(key);
      this.within = outer.within;
      this.reported = outer.reported;
      this.path = outer.path;
    }
  }

  private mapElements(e: PlanExpr & { readonly kind: 'mapElements' }, self: Type): Type {
    const of = this.expr(e.of, self);
    let element: Type | undefined;
    let possible = false;
    for (const m of alternatives(of)) {
      if (isOpen(m) && m !== types.null) possible = true;
      if (m.kind !== 'array' && m.kind !== 'set') continue;
      possible = true;
      element = element ? either(element, m.element) : m.element;
    }
    if (!possible) {
      this.fault('map expression must be an array', this.places.whole.get(e));
      return unknownType;
    }
    const prefix = this.prefix;
    this.prefix = 'in functon called from map: ';
    const result = this.expr(e.body, recordType([{ name: e.parameter, type: element ?? unknownType }]));
    this.prefix = prefix;
    const container = bare(of);
    return container.kind === 'array' ? arrayType(result) : container.kind === 'set' ? setType(result) : unknownType;
  }

  private cast(e: PlanExpr & { readonly kind: 'cast' }, self: Type): Type {
    this.expr(e.operand, self);
    return unknownType;
  }

  private record(e: PlanExpr & { readonly kind: 'record' }, self: Type): Type {
    const draft = new RecordDraft();
    let open = e.elements.length === 0;
    for (const x of e.elements) {
      const t = this.expr(x.value, self);
      if (x.kind === 'field') {
        draft.add([x.name], t);
        continue;
      }
      const members = alternatives(t);
      if (members.some(isOpen)) open = true;
      for (const m of members) if (m.kind === 'record') draft.fuse(m);
    }
    if (open) return unknownType;
    const made = draft.type();
    return this.places.columns.has(e) ? recordType(made.fields.map((f) => ({ name: f.name, type: f.type }))) : made;
  }

  private elements(list: readonly { readonly spread: boolean; readonly value: PlanExpr }[], self: Type): Type {
    return this.fused(
      list.map((x) => {
        const t = this.expr(x.value, self);
        if (!x.spread) return t;
        const m = bare(t);
        return m.kind === 'array' || m.kind === 'set' ? m.element : unknownType;
      }),
    );
  }

  /** What elements, keys or values of these types have in common. */
  private fused(list: readonly Type[]): Type {
    return list.some(hasUnknown) ? unknownType : list.length === 0 ? types.null : fuseAll(list);
  }

  private subquery(e: PlanExpr & { readonly kind: 'subquery' }, self: Type): Type {
    const out = this.pipeline(e.body, e.correlated ? self : types.null);
    if (e.form === 'exists') return types.bool;
    if (this.places.untyped.has(e)) return unknownType;
    if (e.form === 'array' || e.form === 'list' || e.form === 'collected')
      return hasUnknown(out) ? unknownType : arrayType(out);
    return e.form === 'scalar' ? out : this.onlyColumn(e.form, out);
  }

  /** What a subquery of SQL gives for a value: its column, or null where there is no row. */
  private onlyColumn(form: 'sqlScalar' | 'array', rows: Type): Type {
    const record = this.knowsCasts && form === 'sqlScalar' ? recordOf(rows) : undefined;
    return record && record !== 'dynamic' && record.fields.length === 1 ? orNull(record.fields[0].type) : unknownType;
  }
}

const otherKey = 'type mismatch between map key and index';
/** Whether a value of this type could be a key of that type. */
const isKey = (t: Type, key: Type): boolean => {
  const keys = alternatives(key);
  return alternatives(t).some(
    (m) => isOpen(m) || keys.some((k) => k === m || isOpen(k) || (isNumber(m) && isNumber(k))),
  );
};

/**
 * The row, or a field of a field of it by names alone: there an index by a constant text is another way to write a
 * field.
 */
const isPath = (e: PlanExpr): boolean =>
  e.kind === 'this' ||
  (e.kind === 'field' && isPath(e.of)) ||
  (e.kind === 'index' && e.byName === true && isPath(e.of));

const isBoolLike = (t: Type): boolean => alternatives(t).some((m) => m === types.bool || isOpen(m));

/** Null and the unknown go with everything. */
export const isOpen = (t: Type): boolean => t === unknownType || t === types.null;
const isNumberLike = (t: Type): boolean =>
  isOpen(t) || isInteger(t) || isFloat(t) || t === types.duration || t === types.time || t.kind === 'enum';

/** The text of a type in messages: what is unknown stands as an error of anything. */
const shownType = (t: Type): string =>
  typeText(t).replaceAll(typeText(unknownType), 'error({})').replaceAll('"\\u0000unknown"', 'error({})');

const isNumber = (t: Type): boolean => isInteger(t) || isFloat(t) || t === types.duration || t === types.time;
/**
 * Whether a value of the one type could be found in a value of the other by `in`: as what a container holds, or as a
 * scalar that equals it.
 */
const compatible = (left: Type, right: Type): boolean => {
  const l = alternatives(left);
  const r = alternatives(right);
  if (l.some(isOpen) || r.some(isOpen) || l.some((m) => m.kind === 'enum')) return true;
  return r.some((c) => {
    switch (c.kind) {
      case 'record':
        return c.fields.some((f) => couldEqual(l, f.type));
      case 'array':
      case 'set':
        return couldEqual(l, c.element);
      case 'map':
        return couldEqual(l, c.key) || couldEqual(l, c.value);
      default:
        return couldEqual(l, c);
    }
  });
};
/** Whether a value of one of these types could equal one of the other. Containers may, whatever they hold. */
const couldEqual = (of: readonly Type[], other: Type): boolean =>
  alternatives(other).some(
    (c) => isOpen(c) || of.includes(c) || of.some((m) => areAlike(m, c) || (isNumber(m) && isNumber(c))),
  );
const isList = (t: Type): boolean => t.kind === 'array' || t.kind === 'set' || t.kind === 'map';
const areAlike = (a: Type, b: Type): boolean =>
  (isList(a) && isList(b)) || (a.kind === 'record' && b.kind === 'record');
