/** UNNEST in a select list: each row comes once for each element of the list, with that element. */
import type { Analysis } from './analyze-context.ts';
import type { Span } from './ast.ts';
import { callOf, exprKey, fieldOf, literal, mapParts, thisExpr } from './plan-walk.ts';
import type { PlanExpr, PlanOp } from './plan.ts';
import { arrayValue } from '../vectors/value.ts';

const rowField = 'row', elementField = 'element', emptyList = literal(arrayValue([]));

/** An element; of what is no list the error that says so, which stands in the place of the row. */
const elementExpr: PlanExpr = { kind: 'conditional', test: callOf('is_error', thisExpr), then: thisExpr, otherwise: fieldOf(thisExpr, elementField) };

/** The UNNEST of one SELECT, noted while the select list is lowered. */
export class SqlUnnest {
  readonly #a: Analysis;
  #list: PlanExpr | undefined;
  readonly #results = new WeakSet<PlanExpr>();
  constructor(a: Analysis) {
    this.#a = a;
  }

  get isUsed(): boolean { return this.#list !== undefined; }

  /** Notes a list and gives what stands for its elements. */
  readonly collect = (list: PlanExpr, place: Span): PlanExpr => {
    if (this.#list && exprKey(this.#list) !== exprKey(list)) return this.#a.wrong('a select list takes one unnest', place, 'write from t, unnest(t.first) as a(x), unnest(t.second) as b(y) for all pairs');
    this.#list = list;
    const result = fieldOf(thisExpr, '\u0000element');
    this.#results.add(result);
    return result;
  };

  /** The operators that make the rows; of no list, and of null, there are none. */
  ops(): readonly PlanOp[] {
    if (!this.#list) return [];
    return [{
      kind: 'unnest',
      expr: { kind: 'record', elements: [{ kind: 'field', name: rowField, value: thisExpr }, { kind: 'field', name: elementField, value: callOf('coalesce', this.#list, emptyList) }] },
    }];
  }

  /** An expression over these rows. */
  settle(e: PlanExpr): PlanExpr {
    if (!this.#list) return e;
    const visit = (part: PlanExpr): PlanExpr => {
      if (this.#results.has(part)) return this.#a.like(part, elementExpr);
      if (part.kind === 'this') return this.#a.like(part, fieldOf(thisExpr, rowField));
      if (part.kind === 'subquery' && part.correlated) return this.#a.like(part, { ...part, body: { ops: [{ kind: 'values', exprs: [fieldOf(thisExpr, rowField)] }, ...part.body.ops] } });
      return this.#a.like(part, mapParts(part, visit));
    };
    return visit(e);
  }
}
