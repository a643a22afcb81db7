/**
 * A request in bytes as batches of rows: a row for each log record, span or data point, with what is said once for many
 * of them beside it, looked up in a dictionary.
 *
 * - Rows are records of one shape for logs and spans; those of metrics have one for each kind of points.
 * - A batch ends as batches of other formats do: what holds for several batches is written into each.
 */
import { Builder } from '../../vectors/builder.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { types } from '../../vectors/type.ts';
import { type Field, type RecordVector, type Vector, ofForm } from '../../vectors/vector.ts';
import { BatchSize } from '../batches.ts';
import { AnyValues } from './any-values.ts';
import type { ValueMemory } from '../value-memory.ts';
import { Messages } from './messages.ts';
import {
  type PointKind,
  type Signal,
  aggregation,
  logRecord,
  metric,
  pointKinds,
  resource,
  scope,
  span,
} from './schema.ts';
import { type Envelope, Wire, otherType, wireType } from './wire.ts';

/** What a request is read with. `turn`: does a long piece of work, so that it can be stopped. */
export interface RowOptions {
  readonly batchRows: number;
  readonly nestingMax: number;
  readonly memory: ValueMemory;
  readonly turn?: (<T>(work: () => T) => T) | undefined;
}

/** Rows that are longer than this are work that can be stopped. */
const longRowBytes = 1 << 20;

const field = (number: number): number => number * 8 + wireType.bytes;
const first = field(1);
const second = field(2);
const third = field(3);
/** Messages that hold others, and how many of their fields are known. */
const envelopes = {
  request: { name: 'the request', known: 1 },
  resource: { name: 'resources', known: 3 },
  scope: { name: 'scopes', known: 3 },
  points: { name: 'points', known: 1 },
} as const satisfies Readonly<Record<string, Envelope>>;

/**
 * A reader of requests of a signal. It knows the fields of the signal's messages, and the keys of attributes that it has
 * seen: with small requests that is more work than to read them, so that readers are used again (`requestRows`).
 */
export class RequestRows {
  readonly wire = new Wire();
  private readonly signal: Signal;
  private rows: Rows | undefined;
  constructor(signal: Signal) {
    this.signal = signal;
  }

  /** The batches of a request; `hold` accounts for bytes that are copied. @throws BytesFault, LakeError format-memory */
  *read(bytes: Uint8Array, options: RowOptions, hold: (bytes: number) => void): Generator<Vector> {
    const wire = this.wire.open(bytes, hold);
    const rows = (this.rows ??= new Rows(wire, this.signal, options));
    rows.open(options);
    const size = bytes.length;
    for (let at = 0; at < size; ) {
      checkStopAt(rows.steps++);
      const end = next(wire, at, size, first, envelopes.request);
      const start = wire.at;
      at = end;
      if (wire.found) yield* resourceRows(wire, rows, start, end);
    }
    if (rows.length > 0) yield rows.take();
    this.end(size);
  }
  /** All was read: what holds little is there for the next request. */
  private end(size: number): void {
    this.wire.close();
    const waiting = idle[this.signal];
    if (size <= keptBodyBytes && this.rows!.keyBytes <= keptKeyBytes && waiting.length < idleMax) waiting.push(this);
  }
}
/** Readers that have read all of a request, by its signal. One whose request failed, or was given up, is not used again. */
const idle: Readonly<Record<Signal, RequestRows[]>> = { logs: [], traces: [], metrics: [] };
/** Requests of a thread are read one after the other, unless their batches are waited for. */
const idleMax = 4;
const keptBodyBytes = 64 << 10;
const keptKeyBytes = 1 << 20;

/** A reader of one request of a signal. */
export const requestRows = (signal: Signal): RequestRows => idle[signal].pop() ?? new RequestRows(signal);

/**
 * Goes by one field, from `at` on: `found` tells whether it is the one that is wanted, which begins at `wire.at`.
 * `envelope`: of a message whose fields nobody has looked at.
 */
const next = (wire: Wire, at: number, end: number, wanted: number, envelope?: Envelope): number => {
  wire.at = at;
  const tag = wire.tag(end);
  if (tag === wanted) {
    wire.found = true;
    return wire.length(end);
  }
  wire.found = false;
  if (envelope) wire.skipOther(tag, end, envelope);
  else wire.skip(tag, end);
  return wire.at;
};

function* resourceRows(wire: Wire, rows: Rows, start: number, end: number): Generator<Vector> {
  rows.resource.note(wire, start, end);
  for (let at = start; at < end; ) {
    checkStopAt(rows.steps++);
    const to = next(wire, at, end, second);
    const from = wire.at;
    at = to;
    if (wire.found) yield* scopeRows(wire, rows, from, to);
  }
  rows.check(rows.resource);
}
function* scopeRows(wire: Wire, rows: Rows, start: number, end: number): Generator<Vector> {
  rows.scope.note(wire, start, end);
  for (let at = start; at < end; ) {
    checkStopAt(rows.steps++);
    const to = next(wire, at, end, second);
    const from = wire.at;
    at = to;
    if (!wire.found) continue;
    if (rows.metric) yield* metricRows(wire, rows, rows.metric, from, to);
    else {
      rows.add(0, from, to);
      if (rows.isFull) yield rows.take();
    }
  }
  rows.check(rows.scope);
}
function* metricRows(wire: Wire, rows: Rows, owner: MetricOwner, start: number, end: number): Generator<Vector> {
  const kind = owner.note(wire, start, end);
  const { dataStart, dataEnd } = owner;
  for (let at = dataStart; at < dataEnd; ) {
    const to = next(wire, at, dataEnd, first, envelopes.points);
    const from = wire.at;
    at = to;
    if (!wire.found) continue;
    rows.add(kind, from, to);
    if (rows.isFull) yield rows.take();
  }
  rows.check(owner);
}

/** What holds for many rows: its record is written when the first row of a batch needs it. */
abstract class Owner {
  protected builder = new Builder();
  /** Of the record that holds now; -1 while it is not written. */
  private code = -1;
  private isRead = false;

  get now(): number {
    if (this.code < 0) {
      this.code = this.builder.length;
      this.write();
      this.isRead = true;
    }
    return this.code;
  }
  /** Another one holds. */
  protected changed(): void {
    this.code = -1;
    this.isRead = false;
  }
  /** Reads the one that holds now if no row needed it: what makes no sense is refused there too. @throws BytesFault */
  check(): void {
    if (!this.isRead) this.read();
  }
  protected abstract read(): void;
  protected abstract write(): void;
  protected abstract fields(): readonly Field[];
  /** The fields of the records that were written; another batch begins. */
  take(): readonly Field[] {
    const fields = this.fields();
    this.code = -1;
    return fields;
  }
}
const fieldsOf = (builder: Builder): readonly Field[] => ofForm(builder.finish(), 'record').fields;
const column = (name: string, builder: Builder): Field => ({ name, optional: false, values: builder.finish() });

/** Where records are written that nobody wants. */
class Unused {
  private builder = new Builder();
  next(): Builder {
    if (this.builder.length === unusedMax) this.builder = new Builder();
    return this.builder;
  }
}
const unusedMax = 1000;

/** A resource or a scope, with the address of its schema. */
class NamedOwner extends Owner {
  private readonly wire: Wire;
  private readonly messages: Messages;
  private schemas = new Builder();
  private start = 0;
  private end = 0;
  private schemaStart = 0;
  private schemaEnd = 0;
  private readonly envelope: Envelope;
  private readonly unused = new Unused();
  constructor(wire: Wire, messages: Messages, envelope: Envelope) {
    super();
    this.wire = wire;
    this.messages = messages;
    this.envelope = envelope;
  }

  /** What holds from here on stands in this message. */
  note(wire: Wire, start: number, end: number): void {
    this.changed();
    this.start = this.end = this.schemaStart = this.schemaEnd = 0;
    let pieces: number[] | undefined;
    wire.at = start;
    while (wire.at < end) {
      const tag = wire.tag(end);
      if (tag === first) {
        const to = wire.length(end);
        if (this.start !== 0) (pieces ??= [this.start, this.end]).push(wire.at, to);
        this.start = wire.at;
        this.end = wire.at = to;
      } else if (tag === third) {
        this.schemaEnd = wire.length(end);
        this.schemaStart = wire.at;
        wire.at = this.schemaEnd;
      } else if (tag === second) wire.at = wire.length(end);
      else wire.skipOther(tag, end, this.envelope);
    }
    if (pieces) {
      this.end = wire.join(pieces, pieces.length);
      this.start = wire.at;
    }
  }
  protected read(): void {
    if (this.end > this.start) this.messages.write(this.unused.next(), this.start, this.end);
  }
  protected write(): void {
    this.messages.write(this.builder, this.start, this.end);
    if (this.schemaEnd > this.schemaStart)
      this.schemas.run(types.string, this.wire.bytes, this.schemaStart, this.schemaEnd);
    else this.schemas.null();
  }
  protected fields(): readonly Field[] {
    const fields = [...fieldsOf(this.builder), column('schema_url', this.schemas)];
    this.builder = new Builder();
    this.schemas = new Builder();
    return fields;
  }
}

/** A metric: what it is, and of which kind its points are. */
class MetricOwner extends Owner {
  private readonly messages: Messages;
  private readonly aggregations: Messages;
  private kinds = new Builder();
  private aggregated = new Builder();
  private start = 0;
  private end = 0;
  private kind = -1;
  private readonly unused = { metric: new Unused(), aggregation: new Unused() };
  /** Where the points are: nowhere if it has none. */
  dataStart = 0;
  dataEnd = 0;
  constructor(wire: Wire, values: AnyValues) {
    super();
    this.messages = new Messages(wire, values, metric);
    this.aggregations = new Messages(wire, values, aggregation);
  }

  /** The metric there holds from here on. The place of its kind of points in `pointKinds`; -1: it has none. */
  note(wire: Wire, start: number, end: number): number {
    this.changed();
    this.kind = -1;
    this.start = start;
    this.end = end;
    this.dataStart = this.dataEnd = 0;
    let pieces: number[] | undefined;
    wire.at = start;
    while (wire.at < end) {
      const tag = wire.tag(end);
      const kind = kindByTag.get(tag);
      if (kind === undefined && kindNumbers.has(tag >>> 3)) throw otherType(tag, metric.name);
      if (kind === undefined) wire.skip(tag, end);
      else {
        const to = wire.length(end);
        // Points of another kind take the place of those before; more of the same kind come to them.
        if (kind !== this.kind) pieces = undefined;
        else (pieces ??= [this.dataStart, this.dataEnd]).push(wire.at, to);
        this.kind = kind;
        this.dataStart = wire.at;
        this.dataEnd = wire.at = to;
      }
    }
    if (pieces) {
      this.dataEnd = wire.join(pieces, pieces.length);
      this.dataStart = wire.at;
    }
    return this.kind;
  }
  protected read(): void {
    if (this.end > this.start) this.messages.write(this.unused.metric.next(), this.start, this.end);
    if (this.dataEnd > this.dataStart)
      this.aggregations.write(this.unused.aggregation.next(), this.dataStart, this.dataEnd);
  }
  protected write(): void {
    this.messages.write(this.builder, this.start, this.end);
    this.kinds.text(pointKinds[this.kind].kind);
    this.aggregations.write(this.aggregated, this.dataStart, this.dataEnd);
  }
  protected fields(): readonly Field[] {
    const [name, description, unit, metadata] = fieldsOf(this.builder);
    const fields = [name, description, unit, column('kind', this.kinds), ...fieldsOf(this.aggregated), metadata];
    this.builder = new Builder();
    this.kinds = new Builder();
    this.aggregated = new Builder();
    return fields;
  }
}
const kindNumbers: ReadonlySet<number> = new Set(pointKinds.map(({ number }) => number));
const kindByTag: ReadonlyMap<number, number> = new Map(
  pointKinds.map(({ number }: PointKind, k) => [field(number), k] as const),
);

/** Rows of one shape, and whose they are. */
class Kind {
  readonly messages: Messages;
  builder = new Builder();
  codes: readonly Uint32List[] = [];
  constructor(messages: Messages) {
    this.messages = messages;
  }
}
/** Fields of a data point that stand before what its metric says. */
const pointFieldsFirst = 2;

/** The rows of a batch in the making. */
class Rows {
  readonly resource: NamedOwner;
  readonly scope: NamedOwner;
  readonly metric: MetricOwner | undefined;
  private readonly owners: readonly Owner[];
  private readonly kinds: readonly Kind[];
  private readonly values: AnyValues;
  private size: BatchSize;
  private memory: ValueMemory;
  private turn: RowOptions['turn'];
  private tags = new Uint32List();
  private slots = new Uint32List();
  /** Messages that were gone through. */
  steps = 0;

  constructor(wire: Wire, signal: Signal, { batchRows, turn, ...limits }: RowOptions) {
    const values = new AnyValues(wire, limits);
    const specs = { logs: [logRecord], traces: [span], metrics: pointKinds.map(({ point }) => point) }[signal];
    this.values = values;
    this.memory = limits.memory;
    this.turn = turn;
    this.size = new BatchSize(batchRows);
    this.resource = new NamedOwner(wire, new Messages(wire, values, resource), envelopes.resource);
    this.scope = new NamedOwner(wire, new Messages(wire, values, scope), envelopes.scope);
    this.metric = signal === 'metrics' ? new MetricOwner(wire, values) : undefined;
    this.owners = [this.resource, this.scope, ...(this.metric ? [this.metric] : [])];
    this.kinds = specs.map((spec) => new Kind(new Messages(wire, values, spec)));
    this.begin();
  }
  /** Another request, with limits of its own; of the one before all rows were taken. */
  open({ batchRows, turn, ...limits }: RowOptions): void {
    this.memory = limits.memory;
    this.turn = turn;
    this.size = new BatchSize(batchRows);
    this.values.open(limits);
    this.steps = 0;
  }
  /** Bytes that the keys of attributes take which it knows, about. */
  get keyBytes(): number {
    return this.values.keyBytes;
  }
  private begin(): void {
    this.tags = new Uint32List();
    this.slots = new Uint32List();
    for (const kind of this.kinds) {
      kind.builder = new Builder();
      kind.codes = this.owners.map(() => new Uint32List());
    }
    this.size.reset();
  }

  get length(): number {
    return this.tags.length;
  }
  get isFull(): boolean {
    return this.size.isFull(this.tags.length);
  }

  /** What no row needed is read all the same. @throws BytesFault, LakeError format-memory */
  check(owner: Owner): void {
    this.memory.watchParts();
    owner.check();
    this.values.trim();
    this.memory.free();
  }
  /** Adds the message there as a row of the kind. */
  add(tag: number, start: number, end: number): void {
    const kind = this.kinds[tag];
    const { builder, codes } = kind;
    const { owners, size, memory } = this;
    size.begin();
    memory.watchParts();
    this.tags.push(tag);
    this.slots.push(builder.length);
    for (let i = 0; i < owners.length; i++) codes[i].push(owners[i].now);
    if (this.turn && end - start > longRowBytes) this.turn(() => kind.messages.write(builder, start, end));
    else kind.messages.write(builder, start, end);
    this.values.trim();
    memory.free();
    size.end(end - start);
  }

  /** The rows that are there, as a batch. */
  take(): Vector {
    const [resources, scopes, metrics] = this.owners.map((owner) => owner.take());
    const live = this.kinds.flatMap((kind, tag) => (kind.builder.length > 0 ? [{ kind, tag }] : []));
    const parts = live.map(({ kind }): RecordVector => {
      const length = kind.builder.length;
      const [ofResource, ofScope, ofMetric] = kind.codes.map((codes) => codes.done());
      const own = fieldsOf(kind.builder);
      const fields = [
        ...own.slice(0, pointFieldsFirst),
        ...(metrics?.map((f) => coded(f, ofMetric, length)) ?? []),
        ...own.slice(pointFieldsFirst),
        coded(recordField('resource', resources), ofResource, length),
        coded(recordField('scope', scopes), ofScope, length),
      ];
      return { form: 'record', length, fields };
    });
    const { length } = this;
    const tags = this.tags.done();
    const slots = this.slots.done();
    this.begin();
    if (parts.length === 1) return parts[0];
    const place = new Uint32Array(this.kinds.length);
    live.forEach(({ tag }, at) => {
      place[tag] = at;
    });
    return { form: 'dynamic', length, tags: tags.map((tag) => place[tag]), slots, parts };
  }
}

const recordField = (name: string, fields: readonly Field[]): Field => ({
  name,
  optional: false,
  values: { form: 'record', length: fields[0].values.length, fields },
});
/** Rows of the field by their codes: the columns in it are looked up, not the records, so that each stays one. */
const coded = (f: Field, codes: Uint32Array, length: number): Field => ({
  ...f,
  values: codedVector(f.values, codes, length),
});
const codedVector = (values: Vector, codes: Uint32Array, length: number): Vector =>
  values.form === 'record'
    ? { form: 'record', length, fields: values.fields.map((f) => coded(f, codes, length)) }
    : { form: 'dictionary', length, codes, values };
