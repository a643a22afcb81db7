/**
 * The body of Elasticsearch's bulk request: a line that says what is to be done, and for most operations a line with the
 * document.
 *
 * Invariants:
 * - A document that cannot be read fails alone; a line in the place of an action that is none fails all of the body, for
 *   nobody knows then what the lines behind it are.
 * - The last line ends with a newline: a body that was cut is not taken for a shorter one.
 * - A document's `_id` is kept, as its first field: pools have no identities.
 */
import { LakeError } from '../../errors.ts';
import { Batches } from '../../formats/batches.ts';
import { ByteWindow } from '../../formats/byte-window.ts';
import { readLimits } from '../../formats/format.types.ts';
import type { Layout } from '../../formats/key-layouts.ts';
import { JsonTape, kind } from '../../formats/json/tape.ts';
import { writeObjectFields, writeValue } from '../../formats/json/write.ts';
import { type Builder, type RecordBuilder, type Shape, shapeOf } from '../../vectors/builder.ts';
import { type WireError, toWire } from '../messages.ts';
import type { DecodeContext } from './ingest.types.ts';

/** What an item asks for; those that are not supported come last. */
export const bulkOperations = ['index', 'create', 'update', 'delete'] as const;
export type BulkOperation = (typeof bulkOperations)[number];

/** The items of a body, in their order. */
export interface BulkTold {
  /** Places in `bulkOperations`. */
  readonly operations: Uint8Array;
  /** Places in `names`. */
  readonly pools: Uint32Array;
  readonly names: readonly string[];
  /** Each document has an id or a time: the same bytes again are the same documents. */
  readonly isKnown: boolean;
  /** Of items that have one, by their place. */
  readonly ids: ReadonlyMap<number, string>;
  /** Of items that failed by themselves, by their place. */
  readonly failures: ReadonlyMap<number, WireError>;
}

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
/** The answer has each of them. */
const itemsMax = 1_000_000;
/** The longest line of an action. */
const actionBytesMax = 64 << 10;

interface Action {
  readonly operation: BulkOperation;
  readonly pool: string;
  readonly id: string | undefined;
}

/** Reads a body; a pool's records come in the order of their items. @throws format-broken, format-limit, format-memory */
export const decodeBulk = async (input: AsyncIterable<Uint8Array>, context: DecodeContext): Promise<BulkTold> => {
  const limits = readLimits(context.options);
  const items = new Items(context, limits);
  const window = new ByteWindow(input, {
    format: 'bulk',
    valueBytesMax: limits.valueBytesMax,
    place: () => ` (line ${items.line})`,
  });
  try {
    while (await window.more()) {
      while (window.nextLine()) {
        const full = items.take(window);
        if (full) await context.emit(full.pool, full.batches.take());
      }
    }
    const told = items.end();
    for (const { pool, batches } of items.waiting()) await context.emit(pool, batches.take());
    return told;
  } finally {
    await window.close();
  }
};

/** Records of a pool that wait until they are a batch. */
interface PoolBatches {
  readonly pool: string;
  readonly batches: Batches;
  /** Of a shape: the same with the id before its fields. */
  readonly withId: WeakMap<Layout, Shape>;
}

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
  private readonly batchRows: number;
  private readonly tape: JsonTape;
  private readonly pools = new Map<string, PoolBatches>();
  private readonly names = new Map<string, number>();
  /** Documents of the same layout come one after the other. */
  private readonly traits = new WeakMap<Layout, Traits>();
  private isKnown = true;
  private readonly ids = new Map<number, string>();
  private readonly failures = new Map<number, WireError>();
  private operations = new Uint8Array(1024);
  private poolOf = new Uint32Array(1024);
  private count = 0;
  /** Whose document the next line is. */
  private action: Action | undefined;
  /** The line of the last action without an id: most are like the one before. */
  private lastLine: Uint8Array = new Uint8Array(0);
  private lastAction: Action | undefined;
  /** The line that is read, as the tape sees it. */
  private readonly sub = { bytes: this.lastLine, start: 0, end: 0, final: true, offset: 0 };
  /** Builders of a record behind its id. */
  private readonly behindId = new WeakMap<RecordBuilder, readonly Builder[]>();

  constructor(
    context: DecodeContext,
    { batchRows, nestingMax }: { readonly batchRows: number; readonly nestingMax: number },
  ) {
    this.context = context;
    this.batchRows = batchRows;
    this.tape = new JsonTape(nestingMax, { memory: context.options.memory });
  }

  /** Takes the window's line; gives the records of a pool that are a batch now. */
  take(window: ByteWindow): PoolBatches | undefined {
    const { bytes, lineStart: start, lineEnd: end } = window;
    if (end === window.end) this.fail('the body must end with a newline');
    const { action } = this;
    if (action === undefined) {
      if (!isBlank(bytes, start, end)) this.begin(bytes, start, end);
      this.line++;
      return undefined;
    }
    this.action = undefined;
    const full = action.operation === 'update' ? undefined : this.document(action, window);
    this.count++;
    this.line++;
    return full;
  }

  end(): BulkTold {
    if (this.action) this.fail(`${this.action.operation}: its document is missing`);
    if (this.count === 0) this.fail('no operations');
    return {
      operations: this.operations.slice(0, this.count),
      pools: this.poolOf.slice(0, this.count),
      names: [...this.names.keys()],
      isKnown: this.isKnown,
      ids: this.ids,
      failures: this.failures,
    };
  }
  *waiting(): Generator<PoolBatches> {
    for (const pool of this.pools.values()) if (!pool.batches.isEmpty) yield pool;
  }

  /** The line of an action. */
  private begin(bytes: Uint8Array, start: number, end: number): void {
    let action = this.lastAction;
    if (!action || !sameLine(this.lastLine, bytes, start, end)) {
      action = this.actionOf(bytes, start, end);
      this.lastAction = action.id === undefined ? action : undefined;
      if (this.lastAction) this.lastLine = bytes.slice(start, end);
    }
    this.note(action);
    const { operation } = action;
    if (operation === 'update' || operation === 'delete')
      this.failures.set(this.count, toWire(new LakeError('bulk-operation', { operation })));
    if (operation === 'delete') this.count++;
    else this.action = action;
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
    let name = this.names.get(pool);
    if (name === undefined) this.names.set(pool, (name = this.names.size));
    this.operations[this.count] = bulkOperations.indexOf(operation);
    this.poolOf[this.count] = name;
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
    return { operation, pool, id: this.textOf(fields, '_id') };
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

  /** The line of a document. */
  private document(
    action: Action,
    { bytes, lineStart: start, lineEnd: end, offset }: ByteWindow,
  ): PoolBatches | undefined {
    const { sub, tape } = this;
    // What the tape stops at; the newline is used up.
    bytes[end] = 0;
    Object.assign(sub, { bytes, start, end, offset });
    tape.place = { lines: this.line, lineStart: offset + start };
    try {
      const found = tape.next(sub, this.count);
      if (found !== 'value' || tape.kinds[0] !== kind.object) this.fail('expected a document, which is an object');
      if (!isBlank(bytes, sub.start, end)) this.fail('more than one document in its line');
      if (this.traitsOf(tape.formAt(0).layout).hasId) this.fail('_id belongs into the action, not the document');
    } catch (problem) {
      if (!(problem instanceof LakeError) || problem.code !== 'format-broken') throw problem;
      tape.taken();
      this.failures.set(this.count, toWire(problem));
      return undefined;
    }
    if (action.id === undefined && !this.traitsOf(tape.formAt(0).layout).hasTime) this.isKnown = false;
    const pool = this.batchesOf(action.pool);
    const builder = pool.batches.begin();
    if (action.id === undefined) writeValue(tape, builder);
    else this.writeWithId(pool, builder, action.id);
    pool.batches.end(end - start);
    return pool.batches.isFull ? pool : undefined;
  }
  private writeWithId({ withId }: PoolBatches, builder: Builder, id: string): void {
    const { layout } = this.tape.formAt(0);
    let shape = withId.get(layout);
    if (!shape) {
      const { names, optional } = layout.shape;
      const fields = names.map((name, k) => ({ name, optional: optional[k]! }));
      withId.set(layout, (shape = shapeOf([{ name: '_id' }, ...fields])));
    }
    const record = builder.record(shape);
    let fields = this.behindId.get(record);
    if (!fields) this.behindId.set(record, (fields = record.fields.slice(1)));
    record.fields[0]!.text(id);
    writeObjectFields(this.tape, fields);
    record.end();
  }
  private traitsOf(layout: Layout): Traits {
    let found = this.traits.get(layout);
    if (!found) {
      const { names } = layout.shape;
      found = { hasId: names.includes('_id'), hasTime: names.includes(this.context.time ?? '') };
      this.traits.set(layout, found);
    }
    return found;
  }
  private batchesOf(pool: string): PoolBatches {
    let found = this.pools.get(pool);
    if (!found) this.pools.set(pool, (found = { pool, batches: new Batches(this.batchRows), withId: new WeakMap() }));
    return found;
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
