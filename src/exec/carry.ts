/**
 * What the engine makes, on its way to another thread: plans, vectors and states of aggregates as data that can be
 * cloned, and back.
 *
 * Invariants:
 * - Types are the same objects by `===` where they arrive; what was one object at the start is one object at the end.
 * - Typed arrays are copied before they leave: a view may be a part of something larger that others go on reading.
 * - Only classes of the list below travel; a function never does.
 */
import { strict as assert } from 'node:assert';
import { BytesBuilder } from '../vectors/builder-leaves.ts';
import { Uint32List, Uint8List } from '../vectors/lists.ts';
import {
  type Type,
  arrayType,
  enumType,
  errorType,
  mapType,
  namedType,
  primitiveNamed,
  recordType,
  setType,
  unionType,
} from '../vectors/type.ts';
import { UnionOfOne } from '../vectors/unions.ts';
import { AnyExtremeState } from './aggregates/any-extremes.ts';
import { TimelyAvgState } from './aggregates/numbers/averages.ts';
import { AvgState } from './aggregates/numbers/avg.ts';
import { BitStringState } from './aggregates/bit-strings.ts';
import { BitsState } from './aggregates/bits.ts';
import { CellState } from './aggregates/grouping/cells.ts';
import { CollectMapState } from './aggregates/collect-map.ts';
import { BestTexts } from './aggregates/best-texts.ts';
import { CollectState } from './aggregates/collect.ts';
import { CombineState } from './aggregates/states.ts';
import { CountState } from './aggregates/count.ts';
import { CountTrueState } from './aggregates/count-true.ts';
import { DistinctCountState } from './aggregates/dcount.ts';
import { ExportedState } from './aggregates/exported.ts';
import { ExtremeState } from './aggregates/extremes.ts';
import { FuseState } from './aggregates/fuse.ts';
import { HeldState } from './aggregates/grouping/held.ts';
import { JsonGroupState } from './aggregates/json-groups.ts';
import { LogicState } from './aggregates/logic.ts';
import { MedianState } from './aggregates/numbers/median.ts';
import { ModeState } from './aggregates/mode.ts';
import { ArgumentState } from './aggregates/grouping/best-rows.ts';
import { TextState } from './aggregates/grouping/pairs.ts';
import { PlaceState } from './aggregates/grouping/places.ts';
import { QuantileState } from './aggregates/numbers/quantiles.ts';
import { SpreadState } from './aggregates/numbers/spread.ts';
import { StrictState } from './aggregates/strict.ts';
import { SumState } from './aggregates/numbers/sum.ts';
import { PairTable } from './aggregates/grouping/pair-table.ts';
import { WideSums } from './aggregates/numbers/wide-sums.ts';

/** Their place in the list is their name on the way: both ends run the same program. */
const classes: readonly (abstract new (...args: never[]) => object)[] = [
  AvgState,
  CollectMapState,
  CollectState,
  CombineState,
  CountState,
  DistinctCountState,
  ExtremeState,
  FuseState,
  LogicState,
  SumState,
  PairTable,
  Uint32List,
  Uint8List,
  ArgumentState,
  CountTrueState,
  MedianState,
  ModeState,
  SpreadState,
  StrictState,
  TextState,
  BytesBuilder,
  AnyExtremeState,
  BestTexts,
  BitStringState,
  BitsState,
  CellState,
  HeldState,
  PlaceState,
  QuantileState,
  TimelyAvgState,
  WideSums,
  JsonGroupState,
  ExportedState,
];

/** Something packed, and the buffers to transfer along with it. */
interface Cargo {
  readonly content: unknown;
  readonly buffers: readonly ArrayBuffer[];
}

type Packed =
  | { readonly of: 'data'; readonly data: unknown }
  | { readonly of: 'list'; readonly items: readonly unknown[] }
  | {
      readonly of: 'record';
      readonly class: number;
      readonly names: readonly string[];
      readonly values: readonly unknown[];
    }
  | { readonly of: 'map'; readonly entries: readonly (readonly [unknown, unknown])[] }
  | { readonly of: 'type'; readonly type: Type };

/** Smaller buffers are sooner cloned than transferred. */
const transferBytesMin = 4096;
const plain = -1;

/** A plan, vector or state as what `postMessage` can send. */
export const pack = (value: unknown): Cargo => {
  const known = new Map<object, Packed>();
  const buffers: ArrayBuffer[] = [];
  const packed = (v: unknown): unknown => {
    assert(typeof v !== 'function' && typeof v !== 'symbol', 'functions do not travel');
    if (typeof v !== 'object' || v === null) return v;
    let found = known.get(v);
    if (!found) known.set(v, (found = packedObject(v, packed, buffers)));
    return found;
  };
  return { content: packed(value), buffers };
};

const packedObject = (v: object, packed: (v: unknown) => unknown, buffers: ArrayBuffer[]): Packed => {
  if (ArrayBuffer.isView(v)) {
    // Not `v.slice()`: that of a Buffer is a view.
    const copy = Uint8Array.prototype.slice.call(v as Uint8Array);
    if (copy.byteLength >= transferBytesMin) buffers.push(copy.buffer as ArrayBuffer);
    return { of: 'data', data: copy };
  }
  if (Array.isArray(v)) return { of: 'list', items: v.map(packed) };
  if (v instanceof Map)
    return {
      of: 'map',
      entries: Array.from(v, ([key, value]: [unknown, unknown]) => [packed(key), packed(value)] as const),
    };
  if (isType(v)) return { of: 'type', type: v };
  const prototype = Object.getPrototypeOf(v) as object | null;
  // The member of a union is found out again where it arrives.
  const isPlain = prototype === Object.prototype || prototype === null || prototype === UnionOfOne.prototype;
  const number = isPlain ? plain : classes.findIndex((c) => c.prototype === prototype);
  assert(isPlain || number !== -1, `objects of class ${prototype?.constructor.name} do not travel`);
  return { of: 'record', class: number, names: Object.keys(v), values: Object.values(v).map(packed) };
};

const typeKinds: ReadonlySet<unknown> = new Set([
  'primitive',
  'record',
  'array',
  'set',
  'map',
  'union',
  'enum',
  'error',
  'named',
] satisfies Type['kind'][]);
/** Expressions have kinds of the same names, but no numbers. */
const isType = (v: object): v is Type => 'id' in v && typeof v.id === 'number' && 'kind' in v && typeKinds.has(v.kind);

/** What `pack` packed. */
export const unpack = (content: unknown): unknown => {
  const known = new Map<object, unknown>();
  const typeOf = typeReader();
  const unpacked = (v: unknown): unknown => {
    if (typeof v !== 'object' || v === null) return v;
    const found = known.get(v);
    if (found !== undefined) return found;
    const made = unpackedObject(v as Packed, unpacked, typeOf);
    known.set(v, made);
    return made;
  };
  return unpacked(content);
};

const unpackedObject = (v: Packed, unpacked: (v: unknown) => unknown, typeOf: (t: Type) => Type): unknown => {
  switch (v.of) {
    case 'data':
      return v.data;
    case 'list':
      return v.items.map(unpacked);
    case 'map':
      return new Map(v.entries.map(([key, value]) => [unpacked(key), unpacked(value)]));
    case 'type':
      return typeOf(v.type);
    case 'record': {
      const made = (v.class === plain ? {} : Object.create(classes[v.class].prototype as object)) as Record<
        string,
        unknown
      >;
      v.names.forEach((name, i) => {
        made[name] = unpacked(v.values[i]);
      });
      return made;
    }
  }
};

/** Clones of types to the types of this thread. */
const typeReader = (): ((t: Type) => Type) => {
  const known = new Map<Type, Type>();
  const read = (t: Type): Type => {
    let found = known.get(t);
    if (!found) known.set(t, (found = made(t)));
    return found;
  };
  const made = (t: Type): Type => {
    switch (t.kind) {
      case 'primitive':
        return primitiveNamed(t.name)!;
      case 'record':
        return recordType(t.fields.map((f) => ({ ...f, type: read(f.type) })));
      case 'array':
        return arrayType(read(t.element));
      case 'set':
        return setType(read(t.element));
      case 'map':
        return mapType(read(t.key), read(t.value));
      case 'union':
        return unionType(t.members.map(read));
      case 'enum':
        return enumType(t.symbols);
      case 'error':
        return errorType(read(t.inner));
      case 'named':
        return namedType(t.name, read(t.inner));
    }
  };
  return read;
};
