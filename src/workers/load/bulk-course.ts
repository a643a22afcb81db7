/**
 * What the operations of a bulk request come to, one after the other: each sees what those before it did, and the first
 * of an id what the pool has.
 */
import { sameData } from '../../vectors/compare.ts';
import { types } from '../../vectors/type.ts';
import { type Value, recordValue, stringValue, underValue, fieldsData } from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import type { BulkOperation, BulkResult } from '../ingest/bulk-results.ts';

/** A record: a row of those that came, or a value that was made. */
export type Row = { readonly rows: Vector; readonly at: number } | { readonly value: Value };
/** What is wanted, of which id. */
export interface Operation {
  readonly kind: BulkOperation;
  readonly id: string | undefined;
  /** Of `index` and `create`; `own`: what its field of the id has. */
  readonly row: Row;
  readonly own: Value;
  /** Of `update`. */
  readonly update: UpdateBody | undefined;
}
/** What an update says. `upsert`: the record where there is none. */
interface UpdateBody {
  readonly doc: Value;
  readonly upsert: Value | undefined;
  readonly docAsUpsert: boolean;
  readonly detectNoop: boolean;
}
interface State {
  readonly before: Row | undefined;
  now: Row | undefined;
}

/** The ids of one request, and what they are at. */
export class Course {
  private readonly field: string;
  private readonly there: ReadonlyMap<string, Row>;
  private readonly states = new Map<string, State>();
  private readonly others: Row[] = [];
  /** `there`: what the pool has of the ids. */
  constructor(field: string, there: ReadonlyMap<string, Row>) {
    this.field = field;
    this.there = there;
  }

  /** Does one of them. */
  add({ kind, id, row, own, update }: Operation): BulkResult {
    if (id === undefined) {
      this.others.push(row);
      return 'created';
    }
    const state = this.stateOf(id);
    switch (kind) {
      case 'index':
      case 'create':
        if (kind === 'create' && state.now) return 'exists';
        return isText(own, id) ? put(state, row) : 'other-id';
      case 'delete': {
        const result = state.now ? 'deleted' : 'not_found';
        state.now = undefined;
        return result;
      }
      case 'update':
        return update ? this.update(state, id, update) : 'no-object';
    }
  }
  private update(state: State, id: string, { doc, upsert, docAsUpsert, detectNoop }: UpdateBody): BulkResult {
    if (!fieldsOf(doc) || (upsert && !fieldsOf(upsert))) return 'no-object';
    const made = docAsUpsert ? doc : upsert;
    if (!state.now) return made ? this.putValue(state, id, this.withId(made, id)) : 'missing';
    const before = valueOf(state.now);
    const after = merged(before, doc);
    // Merged with nothing it has the same form.
    const isSame = detectNoop && isEqual(merged(before, nothing), after);
    return isSame ? 'noop' : this.putValue(state, id, after);
  }
  private putValue(state: State, id: string, value: Value): BulkResult {
    return isText(fieldsOf(value)?.get(this.field) ?? nothing, id) ? put(state, { value }) : 'other-id';
  }
  private withId(value: Value, id: string): Value {
    const fields = fieldsOf(value) ?? new Map<string, Value>();
    return fields.has(this.field) ? value : recordOf(new Map([[this.field, stringValue(id)], ...fields]));
  }
  private stateOf(id: string): State {
    let state = this.states.get(id);
    if (!state) {
      const before = this.there.get(id);
      this.states.set(id, (state = { before, now: before }));
    }
    return state;
  }

  /** Ids whose records go. */
  gone(): readonly string[] {
    return [...this.states].flatMap(([id, { before, now }]) => (before && now !== before ? [id] : []));
  }
  /** Records that come. */
  come(): readonly Row[] {
    const changed = [...this.states.values()].flatMap(({ before, now }) => (now && now !== before ? [now] : []));
    return [...changed, ...this.others];
  }
}

const nothing = recordValue([]);
const put = (state: State, row: Row): BulkResult => {
  const result = state.now ? 'updated' : 'created';
  state.now = row;
  return result;
};
const isText = (value: Value, text: string): boolean => {
  const { type, data } = underValue(value);
  return type === types.string && data === text;
};
const valueOf = (row: Row): Value => ('value' in row ? row.value : valueAt(row.rows, row.at));
/** The fields that a record has; undefined if it is none. */
const fieldsOf = (value: Value): Map<string, Value> | undefined => {
  const { type, data } = underValue(value);
  if (type.kind !== 'record') return undefined;
  const fields = new Map<string, Value>();
  type.fields.forEach(({ name, type: own }, i) => {
    const inner = fieldsData(data)[i];
    if (inner !== undefined) fields.set(name, { type: own, data: inner });
  });
  return fields;
};
const recordOf = (fields: ReadonlyMap<string, Value>): Value =>
  recordValue([...fields].map(([name, value]) => ({ name, value })));
/** Records field by field, anything else as the change has it. */
const merged = (before: Value, change: Value): Value => {
  const fields = fieldsOf(before);
  const changes = fieldsOf(change);
  if (!fields || !changes) return change;
  for (const [name, value] of changes) {
    const old = fields.get(name);
    fields.set(name, old ? merged(old, value) : value);
  }
  return recordOf(fields);
};
const isEqual = (a: Value, b: Value): boolean => a.type === b.type && sameData(a.type, a.data, b.data);
