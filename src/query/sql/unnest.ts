/**
 * UNNEST in a select list: each row comes once for each element of the lists, with these elements; records become
 * columns.
 *
 * Invariants:
 * - It happens behind groups and windows, before ORDER BY, DISTINCT and the limits; lists whose elements are keys of
 *   GROUP BY are taken apart before the groups are made.
 * - Several lists go in step: the shorter ones give null at their ends. Of no list, and of null, there are no rows.
 */
import type { Analysis } from '../analyze/context.ts';
import type { Arg, CallExpr, Expr, LiteralExpr } from '../ast.ts';
import { callOf, exprKey, fieldOf, literal, mapParts, someExpr, thisExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp, RecordElement } from '../plan/plan.ts';
import { alternatives, fuseAll, orNull, unknownType } from '../types/of.ts';
import { type Type, typeText, types } from '../../vectors/type.ts';
import { arrayValue } from '../../vectors/value.ts';

const rowField = 'row';
const elementField = 'element';
const emptyList = literal(arrayValue([]));
const marker = '\u0000element ';

/** A column that UNNEST gives. */
interface UnnestedColumn {
  readonly name?: string;
  readonly expr: PlanExpr;
}

/** The calls of UNNEST in one SELECT, noted while the select list is lowered. */
export class SqlUnnest {
  private readonly a: Analysis;
  /** The type of an expression as far as it is known, by the content of pools too. */
  private readonly typeOf: (e: PlanExpr) => Type;
  private readonly lists: PlanExpr[] = [];
  /** Those whose elements rows are grouped by. */
  private readonly grouped = new Set<number>();
  constructor(a: Analysis, typeOf: (e: PlanExpr) => Type) {
    this.a = a;
    this.typeOf = typeOf;
  }

  /** Whether a value depends on an element that rows are not grouped by. */
  isIn(e: PlanExpr): boolean {
    return someExpr(e, (part) => isMarker(part) && !this.grouped.has(indexOf(part)));
  }

  /** The lists whose elements a value depends on. */
  listsIn(e: PlanExpr): readonly PlanExpr[] {
    const found: PlanExpr[] = [];
    someExpr(e, (part) => {
      if (isMarker(part)) found.push(this.lists[indexOf(part)]);
      return false;
    });
    return found;
  }

  /**
   * Notes the keys of GROUP BY and gives the operators that make the rows to group: those of before, each once for each
   * element of the lists that keys depend on, which stand in them as fields.
   */
  group(keys: readonly PlanExpr[]): readonly PlanOp[] {
    for (const key of keys)
      someExpr(key, (part) => {
        if (isMarker(part)) this.grouped.add(indexOf(part));
        return false;
      });
    const own = [...this.grouped];
    if (own.length === 0) return [];
    const elements = own.map(
      (i): RecordElement => ({
        kind: 'field',
        name: `${marker}${i}`,
        value: elementAt(own, i),
      }),
    );
    const row: PlanExpr = {
      kind: 'record',
      elements: [{ kind: 'spread', value: fieldOf(thisExpr, rowField) }, ...elements],
    };
    const lists = own.map((i) => this.lists[i]);
    return [unnestOp(lists), { kind: 'values', exprs: [orError(row)] }];
  }

  /** The lists that are taken apart behind the groups. */
  private get others(): readonly number[] {
    return [...this.lists.keys()].filter((i) => !this.grouped.has(i));
  }

  /** Notes the list of a call and gives what stands for its elements. */
  readonly collect = (call: CallExpr, list: PlanExpr): PlanExpr => {
    const { expr, type } = this.elements(call, list, this.typeOf(list));
    if (recordIn(type) && expr === list)
      return this.a.wrong(
        'unnest of a struct gives several columns',
        call,
        'write it as a column of its own in the select list',
      );
    return expr;
  };

  /** The columns that a call gives which is a whole item of the select list; a list gives one without a name. */
  columns(call: CallExpr, value: PlanExpr): readonly UnnestedColumn[] {
    const { expr, type, depth } = this.elements(call, value, this.typeOf(value));
    return fieldsOf({ expr, type, depth, within: this.options(call).keepsParents ? '' : undefined });
  }

  /** The elements of a value, and of the lists in it as far as the call goes; `depth`: how far it may go on. */
  private elements(
    call: CallExpr,
    value: PlanExpr,
    type: Type,
  ): { readonly expr: PlanExpr; readonly type: Type; readonly depth: number } {
    const { depth } = this.options(call);
    if (recordIn(type)) return { expr: value, type, depth };
    const wrong = others(type).find(
      (t) => t !== unknownType && t.kind !== 'array' && t.kind !== 'set' && t.kind !== 'error',
    );
    if (wrong) this.a.fault(`unnest takes a list or a struct, not ${typeText(wrong)}`, call);
    let lists = value;
    let element = elementOf(type);
    let left = depth - 1;
    for (let next = element && elementOf(element); next !== undefined && left > 0; next = elementOf(next)) {
      lists = { kind: 'call', name: 'flatten', arguments: [lists], sql: true };
      element = next;
      left--;
    }
    if (depth > 1) this.checkKnown(call, element ?? type, left);
    const expr = this.marked(lists);
    if (element) this.a.stands(expr, () => orNull(element));
    return { expr, type: element ?? unknownType, depth: left };
  }

  /** What is taken apart further has to be known. */
  private checkKnown(call: CallExpr, type: Type, depth: number): void {
    if (depth > 0 && isUnknown(type) && this.a.sourcesKnown)
      this.a.fault(
        'what a recursive unnest gives is not known before the query runs',
        call,
        'cast the value to its type: unnest(x::STRUCT(a INTEGER)[], recursive := true)',
      );
  }

  private marked(list: PlanExpr): PlanExpr {
    const key = exprKey(list);
    const known = this.lists.findIndex((x) => exprKey(x) === key);
    return fieldOf(thisExpr, `${marker}${known < 0 ? this.lists.push(list) - 1 : known}`);
  }

  private options(call: CallExpr): Options {
    const [, options, another] = call.args;
    const found = options === undefined ? plainly : another ? undefined : optionsOf(options);
    if (!found)
      this.a.fault(
        'unnest takes a value, and recursive := true, max_depth := n or keep_parent_names := true',
        options ?? call,
      );
    return found ?? plainly;
  }

  /** The operators that make the rows. `settle`: how expressions are written over the rows before. */
  ops(settle: (e: PlanExpr) => PlanExpr): readonly PlanOp[] {
    const own = this.others;
    return own.length === 0 ? [] : [unnestOp(own.map((i) => settle(this.lists[i])))];
  }

  /** An expression over these rows. */
  settle(e: PlanExpr): PlanExpr {
    const own = this.others;
    if (own.length === 0) return e;
    // What is written out as a list is one in each row.
    const isWritten = own.length === 1 && this.lists[own[0]].kind === 'array';
    const visit = (part: PlanExpr): PlanExpr => {
      if (isMarker(part)) {
        const element = elementAt(own, indexOf(part));
        return this.a.like(part, isWritten ? element : orError(element));
      }
      if (part.kind === 'this') return this.a.like(part, fieldOf(thisExpr, rowField));
      if (part.kind === 'subquery' && part.correlated)
        return this.a.like(part, {
          ...part,
          body: { ops: [{ kind: 'values', exprs: [fieldOf(thisExpr, rowField)] }, ...part.body.ops] },
        });
      return this.a.like(part, mapParts(part, visit));
    };
    return visit(e);
  }
}

/**
 * The rows, each as often as its lists have elements, with one of each. The operator drops what is null: to ask first took
 * a list three times.
 */
const unnestOp = (lists: readonly PlanExpr[]): PlanOp => ({
  kind: 'unnest',
  sql: true,
  expr: {
    kind: 'record',
    elements: [
      { kind: 'field', name: rowField, value: thisExpr },
      {
        kind: 'field',
        name: elementField,
        value: lists.length === 1 ? lists[0] : callOf('list_zip', ...lists.map(orEmpty)),
      },
    ],
  },
});
/** The element of one of the lists that were taken apart together. */
const elementAt = (lists: readonly number[], index: number): PlanExpr => {
  const element = fieldOf(thisExpr, elementField);
  return lists.length === 1 ? element : fieldOf(element, `c${lists.indexOf(index)}`);
};
/** What is no list left an error in the place of the row, which says so. */
const orError = (value: PlanExpr): PlanExpr => ({
  kind: 'conditional',
  test: callOf('is_error', thisExpr),
  then: thisExpr,
  otherwise: value,
});

const isMarker = (e: PlanExpr): e is Extract<PlanExpr, { kind: 'field' }> =>
  e.kind === 'field' && e.name.startsWith(marker);
const indexOf = (e: Extract<PlanExpr, { kind: 'field' }>): number => Number(e.name.slice(marker.length));

/** Null and what is missing as no elements; another error stays one. */
const orEmpty = (list: PlanExpr): PlanExpr => ({
  kind: 'conditional',
  then: emptyList,
  otherwise: list,
  test: { kind: 'or', left: { kind: 'isNull', operand: list }, right: callOf('missing', list) },
});

const others = (t: Type): readonly Type[] => alternatives(t).filter((x) => x !== types.null);
const isUnknown = (t: Type): boolean => others(t).some((x) => x === unknownType);
/** What the elements of lists are; undefined for what is not known to be a list. */
const elementOf = (t: Type): Type | undefined => {
  const members = others(t);
  const elements = members.flatMap((x) => (x.kind === 'array' || x.kind === 'set' ? [x.element] : []));
  return elements.length > 0 && elements.length === members.length ? fuseAll(elements) : undefined;
};
const recordIn = (t: Type): Extract<Type, { kind: 'record' }> | undefined => {
  const [only, another] = others(t);
  return only?.kind === 'record' && !another ? only : undefined;
};
/** A value that is taken apart `depth` levels; `within`: what stands before the names of its fields, if that is kept. */
interface Unnested {
  readonly expr: PlanExpr;
  readonly type: Type;
  readonly depth: number;
  readonly within: string | undefined;
  readonly name?: string;
}
const fieldsOf = ({ expr, type, depth, within, name }: Unnested): readonly UnnestedColumn[] => {
  const record = depth > 0 ? recordIn(type) : undefined;
  if (!record) return [{ ...(name !== undefined && { name }), expr }];
  // The fields of `row(..)` have places, not names: these need no parent.
  const isNamed = !record.fields.every((f, i) => f.name === `c${i}`);
  return record.fields.flatMap((f) => {
    const full = within && isNamed ? `${within}.${f.name}` : f.name;
    return fieldsOf({
      expr: { kind: 'field', of: expr, name: f.name, sql: true },
      type: f.type,
      depth: depth - 1,
      within: within === undefined ? undefined : full,
      name: full,
    });
  });
};

/** How many levels of lists and structs a call takes away, and whether names have those of what they were in. */
interface Options {
  readonly depth: number;
  readonly keepsParents: boolean;
}
const plainly: Options = { depth: 1, keepsParents: false };
/** Undefined for what are none. */
const optionsOf = (e: Arg): Options | undefined => {
  if (e.kind !== 'record') return undefined;
  const given = new Map<string, LiteralExpr>();
  for (const element of e.elems) {
    if (element.kind !== 'record-field' || element.expr.kind !== 'literal') return undefined;
    const name = element.name.text.toLowerCase();
    if (optionTypes.get(name) !== element.expr.type || given.has(name)) return undefined;
    given.set(name, element.expr);
  }
  const isOn = (name: string): boolean => given.get(name)?.text.toLowerCase() === 'true';
  const most = given.get('max_depth');
  if (most && !(Number(most.text) > 0)) return undefined;
  const depth = isOn('recursive') ? Infinity : 1;
  return { depth: most ? Number(most.text) : depth, keepsParents: isOn('keep_parent_names') };
};
const optionTypes: ReadonlyMap<string, LiteralExpr['type']> = new Map([
  ['recursive', 'bool'],
  ['max_depth', 'int64'],
  ['keep_parent_names', 'bool'],
]);

/** Whether an expression is a call of UNNEST. */
export const isUnnestCall = (e: Expr): e is CallExpr =>
  e.kind === 'call' && e.callee.kind === 'name' && e.callee.text.toLowerCase() === 'unnest' && e.args.length > 0;
