/**
 * The body of Elasticsearch's bulk request: a line that says what is to be done, and for most operations a line with the
 * document.
 *
 * Invariants:
 * - A document that cannot be read fails alone; a line in the place of an action that is none fails all of the body, for
 *   nobody knows then what the lines behind it are.
 * - The last line ends with a newline: a body that was cut is not taken for a shorter one.
 * - A document's `_id` is kept, as its first field. In a pool whose identity is one field it fills that field, and what
 *   is to be done goes there as it came, row by row (bulk-rows.ts): what becomes of it depends on what the pool has.
 */
import { LakeError } from '../../errors.ts';
import { ByteWindow } from '../../formats/byte-window.ts';
import { readLimits } from '../../formats/format.types.ts';
import type { Layout } from '../../formats/columns/key-layouts.ts';
import { keepTape, takeTape } from '../../formats/json/kept-tape.ts';
import { JsonTape, kind } from '../../formats/json/tape.ts';
import { writeObjectFields, writeValue } from '../../formats/json/write.ts';
import { type Builder, type RecordBuilder, type Shape, shapeOf } from '../../vectors/builder.ts';
import { type WireError, toWire } from '../messages.ts';
import { type BulkOperation, bulkOperations } from './bulk-results.ts';
import { type Known, type OperationRow, faultOfUpdate, knownOf, writeOperation } from './bulk-rows.ts';
import { Gathered, type PoolBatches } from './gathered.ts';
import type { BulkTold, DecodeContext } from './ingest.types.ts';

/** What may stand beside the index and the id: how Elasticsearch is to write what pools write in one way. */
const actionFields: ReadonlySet<string> = new Set([
  '_index',
  '_id',
  '_type',
  'routing',
  '_routing',
  'version',
  'version_type',
  'if_seq_no',
  'if_primary_term',
  'retry_on_conflict',
  'pipeline',
  'op_type',
  'require_alias',
  'require_data_stream',
  'list_executed_pipelines',
  'dynamic_templates',
]);
/** What makes an item depend on what Elasticsearch counts: nothing of that is kept. */
const conditions = ['if_seq_no', 'if_primary_term', 'version'] as const;
/** The answer has each of them. */
const itemsMax = 1_000_000;
/** Places for so many at the beginning: short lists stay in the heap (vectors/lists.ts). */
const operationsFirst = 16;
/** The longest line of an action. */
const actionBytesMax = 64 << 10;

/** A pool that the body names. */
interface NamedPool {
  readonly name: string;
  /** Its place among the names. */
  readonly place: number;
  /** What is known of it; undefined: nobody was asked yet. */
  known: Known | undefined;
  batches: PoolBatches | undefined;
  /** Of a shape: the same with the id before its fields. */
  readonly withId: WeakMap<Layout, Shape>;
}
interface Action {
  readonly operation: BulkOperation;
  readonly pool: NamedPool;
  readonly id: string | undefined;
  /** The parameter that makes it depend on what Elasticsearch counts. */
  readonly condition: string | undefined;
}

/** Reads a body; a pool's records come in the order of their items. @throws format-broken, format-limit, format-memory */
export const decodeBulk = async (input: AsyncIterable<Uint8Array>, context: DecodeContext): Promise<BulkTold> => {
  const limits = readLimits(context.options);
  const gathered = new Gathered(context);
  const items = new Items(context, gathered, limits.nestingMax);
  const window = new ByteWindow(input, {
    format: 'bulk',
    valueBytesMax: limits.valueBytesMax,
    place: () => ` (line ${items.line})`,
  });
  try {
    while (await window.more()) {
      while (window.nextLine()) {
        const action = items.take(window);
        if (!action) continue;
        const full = items.add(action, action.pool.known ?? (await knownOf(context, action.pool.name)));
        if (full) await gathered.handOn(full);
      }
    }
    const told = items.end();
    await gathered.end();
    return told;
  } finally {
    items.close();
    await window.close();
  }
};

/** What it says of documents that they have such fields. */
interface Traits {
  readonly hasId: boolean;
  readonly hasTime: boolean;
}
/** The items, line by line. */
class Items {
  /** Lines before the one that is read. */
  line = 1;
  private readonly context: DecodeContext;
  private readonly gathered: Gathered;
  private readonly tape: JsonTape;
  private readonly pools = new Map<string, NamedPool>();
  private readonly traits = new WeakMap<Layout, Traits>();
  /** Documents of the same layout come one after the other. */
  private lastLayout: Layout | undefined;
  private lastTraits: Traits = { hasId: false, hasTime: false };
  private isKnown = true;
  private readonly ids = new Map<number, string>();
  private readonly failures = new Map<number, WireError>();
  private operations = new Uint8Array(operationsFirst);
  private poolOf = new Uint32Array(operationsFirst);
  private count = 0;
  /** Whose document the next line is. */
  private action: Action | undefined;
  /** Bytes of the document that is on the tape. */
  private documentBytes = 0;
  /** The line of the last action without an id: most are like the one before. */
  private lastLine: Uint8Array = new Uint8Array(0);
  private lastAction: Action | undefined;
  /** The line that is read, as the tape sees it. */
  private readonly sub = { bytes: this.lastLine, start: 0, end: 0, final: true, offset: 0 };
  /** Builders of a record behind its id. */
  private readonly behindId = new WeakMap<RecordBuilder, readonly Builder[]>();

  constructor(context: DecodeContext, gathered: Gathered, nestingMax: number) {
    this.context = context;
    this.gathered = gathered;
    const { memory } = context.options;
    this.tape = memory ? new JsonTape(nestingMax, { memory }) : takeTape(nestingMax);
  }

  /** Takes the window's line; gives the action that is whole now, to be added. */
  take(window: ByteWindow): Action | undefined {
    const { bytes, lineStart: start, lineEnd: end } = window;
    if (end === window.end) this.fail('the body must end with a newline');
    const { action } = this;
    if (action === undefined) {
      const begun = isBlank(bytes, start, end) ? undefined : this.begin(bytes, start, end);
      this.line++;
      return begun;
    }
    this.action = undefined;
    const isRead = this.document(action, window);
    if (!isRead) this.count++;
    this.line++;
    return isRead ? action : undefined;
  }
  /** Adds an action, its document on the tape; gives the records of a pool that are a batch now. */
  add(action: Action, target: Known): PoolBatches | undefined {
    const makes = action.operation === 'index' || action.operation === 'create';
    // A pool that is made for records has no identity; what cannot make it leaves that to the next item.
    if (!('absent' in target)) action.pool.known = target;
    else if (makes) action.pool.known = {};
    const full = this.added(action, target);
    this.count++;
    return full;
  }
  private added(action: Action, target: Known): PoolBatches | undefined {
    const { operation, id } = action;
    const field = 'field' in target ? target.field : undefined;
    const fault = this.faultOf(action, target);
    if (fault !== undefined) {
      if (operation !== 'delete') this.tape.taken();
      this.failures.set(this.count, toWire(fault));
      return undefined;
    }
    // What it comes to the next time depends on what the pool has then.
    if (field !== undefined || (id === undefined && !this.traitsOf(this.tape.formAt(0).layout).hasTime))
      this.isKnown = false;
    const waiting = (action.pool.batches ??= this.gathered.of(action.pool.name, field));
    const { batches } = waiting;
    const builder = batches.begin();
    if (field !== undefined) writeOperation(builder, this.rowOf(action, field));
    else this.writeDocument(builder, action);
    batches.end(operation === 'delete' ? id!.length : this.documentBytes);
    return batches.isFull ? waiting : undefined;
  }
  /** Why an action whose document could be read is not done. */
  private faultOf({ operation, pool: { name: pool }, id, condition }: Action, target: Known): unknown {
    const isById = operation === 'update' || operation === 'delete';
    if (!('field' in target) && isById) {
      if ('error' in target) return target.error;
      return 'absent' in target
        ? new LakeError('pool-not-found', { pool })
        : new LakeError('bulk-operation', { operation, pool });
    }
    if (!('field' in target)) return undefined;
    // The line behind the last one of the item is the next one.
    const place = ` (line ${this.line - 1})`;
    const broken = (fault: string): LakeError =>
      new LakeError('format-broken', { format: 'bulk', fault, place, values: this.count });
    if (isById && id === undefined) return broken(`${operation}: _id is missing`);
    if (condition !== undefined) return broken(`${operation}: ${condition} is not supported`);
    const fault = operation === 'update' && faultOfUpdate(this.tape.formAt(0).layout.shape.names);
    return fault ? broken(fault) : undefined;
  }
  private rowOf(action: Action, field: string): OperationRow {
    const { operation, id } = action;
    const write = (builder: Builder): void => {
      if (operation === 'delete') builder.null();
      else if (operation === 'update') writeValue(this.tape, builder);
      else this.writeDocument(builder, action, field);
    };
    return { item: this.count, operation: bulkOperations.indexOf(operation), id, write };
  }
  /** The document with its id before its fields, unless it has that field itself. */
  private writeDocument(builder: Builder, { pool, id }: Action, field = '_id'): void {
    if (id === undefined || this.tape.formAt(0).layout.shape.names.includes(field)) writeValue(this.tape, builder);
    else this.writeWithId(pool, builder, id, field);
  }

  /** No more lines. Without a bound of memory the body is small, and its tape the kept one. */
  close(): void {
    if (!this.context.options.memory) keepTape(this.tape);
  }
  end(): BulkTold {
    if (this.action) this.fail(`${this.action.operation}: its document is missing`);
    if (this.count === 0) this.fail('no operations');
    return {
      operations: this.operations.slice(0, this.count),
      pools: this.poolOf.slice(0, this.count),
      names: [...this.pools.keys()],
      isKnown: this.isKnown,
      ids: this.ids,
      failures: this.failures,
    };
  }

  /** The line of an action; gives it if it is all. */
  private begin(bytes: Uint8Array, start: number, end: number): Action | undefined {
    let action = this.lastAction;
    if (!action || !sameLine(this.lastLine, bytes, start, end)) {
      action = this.actionOf(bytes, start, end);
      this.lastAction = action.id === undefined ? action : undefined;
      if (this.lastAction) this.lastLine = bytes.slice(start, end);
    }
    this.note(action);
    if (action.operation === 'delete') return action;
    this.action = action;
    return undefined;
  }
  private note({ operation, pool, id }: Action): void {
    if (this.count === itemsMax)
      throw new LakeError('format-too-large', {
        format: 'bulk',
        fault: `more than ${itemsMax} operations`,
        place: ` (line ${this.line})`,
      });
    if (this.count === this.operations.length) {
      const { operations, poolOf } = this;
      (this.operations = new Uint8Array(this.count * 2)).set(operations);
      (this.poolOf = new Uint32Array(this.count * 2)).set(poolOf);
    }
    this.operations[this.count] = bulkOperations.indexOf(operation);
    this.poolOf[this.count] = pool.place;
    if (id !== undefined) this.ids.set(this.count, id);
  }

  private actionOf(bytes: Uint8Array, start: number, end: number): Action {
    if (end - start > actionBytesMax) this.fail(`an action of more than ${actionBytesMax} bytes`);
    const action = this.objectOf(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString());
    const entries = Object.entries(action);
    const [name = '', fields] = entries[0] ?? [];
    const operation = bulkOperations.find((known) => known === name);
    if (entries.length !== 1 || !operation)
      this.fail(`expected one of ${bulkOperations.join(', ')}, got ${entries.map(([key]) => key).join(', ') || '{}'}`);
    if (!isObject(fields)) this.fail(`${operation}: expected an object`);
    for (const key of Object.keys(fields))
      if (!actionFields.has(key)) this.fail(`${operation}: unknown parameter ${key}`);
    const pool = this.textOf(fields, '_index') ?? this.context.pool;
    if (pool === undefined || pool === '') this.fail(`${operation}: _index is missing`);
    const condition = conditions.find((name) => fields[name] !== undefined);
    return { operation, pool: this.named(pool), id: this.textOf(fields, '_id'), condition };
  }
  private named(name: string): NamedPool {
    let pool = this.pools.get(name);
    if (!pool)
      this.pools.set(
        name,
        (pool = { name, place: this.pools.size, known: undefined, batches: undefined, withId: new WeakMap() }),
      );
    return pool;
  }
  private objectOf(text: string): Readonly<Record<string, unknown>> {
    try {
      const value: unknown = JSON.parse(text);
      if (isObject(value)) return value;
    } catch {
      // Said below, as of all that is no object.
    }
    return this.fail('expected an action, such as {"index":{}}');
  }
  /** Elasticsearch takes ids that are numbers. */
  private textOf(fields: Readonly<Record<string, unknown>>, key: string): string | undefined {
    const value = fields[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'string') return value.toWellFormed();
    return typeof value === 'number' ? String(value) : this.fail(`${key}: expected a string`);
  }

  /** Reads the line of a document onto the tape; false if it cannot be read. */
  private document({ operation }: Action, { bytes, lineStart: start, lineEnd: end, offset }: ByteWindow): boolean {
    const { sub, tape } = this;
    // What the tape stops at; the newline is used up.
    bytes[end] = 0;
    sub.bytes = bytes;
    sub.start = start;
    sub.end = end;
    sub.offset = offset;
    tape.place = { lines: this.line, lineStart: offset + start };
    try {
      const found = tape.next(sub, this.count);
      if (found !== 'value' || tape.kinds[0] !== kind.object) this.fail('expected a document, which is an object');
      if (!isBlank(bytes, sub.start, end)) this.fail('more than one document in its line');
      if (operation !== 'update' && this.traitsOf(tape.formAt(0).layout).hasId)
        this.fail('_id belongs into the action, not the document');
    } catch (problem) {
      if (!(problem instanceof LakeError) || problem.code !== 'format-broken') throw problem;
      tape.taken();
      this.failures.set(this.count, toWire(problem));
      return false;
    }
    this.documentBytes = end - start;
    return true;
  }
  private writeWithId({ withId }: NamedPool, builder: Builder, id: string, field: string): void {
    const { layout } = this.tape.formAt(0);
    let shape = withId.get(layout);
    if (!shape) {
      const { names, optional } = layout.shape;
      const fields = names.map((name, k) => ({ name, optional: optional[k]! }));
      withId.set(layout, (shape = shapeOf([{ name: field }, ...fields])));
    }
    const record = builder.record(shape);
    let fields = this.behindId.get(record);
    if (!fields) this.behindId.set(record, (fields = record.fields.slice(1)));
    record.fields[0]!.text(id);
    writeObjectFields(this.tape, fields);
    record.end();
  }
  private traitsOf(layout: Layout): Traits {
    if (layout === this.lastLayout) return this.lastTraits;
    let found = this.traits.get(layout);
    if (!found) {
      const { names } = layout.shape;
      found = { hasId: names.includes('_id'), hasTime: names.includes(this.context.time ?? '') };
      this.traits.set(layout, found);
    }
    this.lastLayout = layout;
    return (this.lastTraits = found);
  }
  private fail(fault: string): never {
    throw new LakeError('format-broken', { format: 'bulk', fault, place: ` (line ${this.line})`, values: this.count });
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isBlank = (bytes: Uint8Array, start: number, end: number): boolean => {
  for (let i = start; i < end; i++) if (bytes[i] !== 0x20 && bytes[i] !== 0x0d && bytes[i] !== 0x09) return false;
  return true;
};
const sameLine = (line: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean => {
  if (line.length !== end - start) return false;
  for (let i = 0; i < line.length; i++) if (line[i] !== bytes[start + i]) return false;
  return true;
};
