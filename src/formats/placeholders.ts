/**
 * Vectors of no rows and of one row that nobody reads, by type. A type's parts are shared by all that refer to them,
 * and so are these vectors: what a hostile type costs is what its definition costs, not what it is written out in full.
 */
import type { Type } from '../vectors/type.ts';
import { type FlatVector, emptyVector } from '../vectors/vector.ts';

const empties = new WeakMap<Type, FlatVector>();
const zeros = new WeakMap<Type, FlatVector>();

/** The vector of no rows of that type. */
export const emptyOf = (type: Type): FlatVector => kept(empties, type, () => madeOf(type, emptyOf, 0));
/** A vector of one row of that type. */
export const zeroOf = (type: Type): FlatVector => kept(zeros, type, () => madeOf(type, zeroOf, 1));

const kept = (known: WeakMap<Type, FlatVector>, type: Type, make: () => FlatVector): FlatVector => {
  let vector = known.get(type);
  if (!vector) known.set(type, (vector = make()));
  return vector;
};

const madeOf = (type: Type, of: (type: Type) => FlatVector, length: 0 | 1): FlatVector => {
  const offsets = new Uint32Array(length + 1);
  const codes = new Uint32Array(length);
  const flags = new Uint8Array(length);
  switch (type.kind) {
    case 'primitive':
      return primitiveOf(type, length);
    case 'record':
      return {
        form: 'record',
        length,
        fields: type.fields.map((f) => ({
          name: f.name,
          optional: f.optional,
          values: of(f.type),
          ...(f.optional && { present: flags }),
        })),
      };
    case 'array':
    case 'set':
      return { form: 'list', type, length, offsets, items: emptyOf(type.element) };
    case 'map':
      return { form: 'map', type, length, offsets, keys: emptyOf(type.key), values: emptyOf(type.value) };
    case 'union':
      return {
        form: 'union',
        type,
        length,
        tags: codes,
        slots: codes,
        members: type.members.map((m, k) => (k === 0 ? of(m) : emptyOf(m))),
      };
    case 'enum':
      return { form: 'enum', type, length, codes };
    case 'error':
      return { form: 'error', length, inner: of(type.inner) };
    case 'named':
      return { form: 'named', name: type.name, length, inner: of(type.inner) };
  }
};

const primitiveOf = (type: Extract<Type, { kind: 'primitive' }>, length: 0 | 1): FlatVector => {
  const empty = emptyVector(type);
  if (length === 0) return empty;
  switch (empty.form) {
    case 'number':
      return { ...empty, length, values: new Float64Array(1) };
    case 'bool':
      return { ...empty, length, values: new Uint8Array(1) };
    case 'type':
      return { ...empty, length, codes: new Uint32Array(1), table: [type] };
    case 'bytes': {
      const size = type.name === 'ip' ? 4 : type.name === 'net' ? 8 : 0;
      return { ...empty, length, offsets: Uint32Array.of(0, size), bytes: new Uint8Array(size) };
    }
    default:
      return { form: 'null', length };
  }
};
