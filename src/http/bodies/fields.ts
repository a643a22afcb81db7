/**
 * Reads the record of a body by the schema that describes it: the schema in the document is the one that a request is
 * held to. Fields that it does not name are not looked at.
 */
import assert from 'node:assert';
import type { TSchema } from 'typebox';
import { LakeError } from '../../errors.ts';
import type { BodyRecord } from './decode.ts';

/**
 * The parts of a schema that say how to read a field. What limits its values (`minLength`, `pattern`) is told by the
 * handlers, in the words that clients know.
 */
interface Shape {
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
}

/** The format of ids of data objects, which are text or, as the lake's own sources give them, bytes. */
export const objectIdFormat = 'lake-object';

/** The format of lists of paths that SuperDB does not have: what is none is told by its field. */
export const pathsFormat = 'lake-paths';

/** The fields that are there. @throws body-field-type, body-not-array, body-paths, body-not-record, id-invalid */
export const fieldsOf = (record: BodyRecord, schema: TSchema): Readonly<Record<string, unknown>> => {
  const out: Record<string, unknown> = {};
  for (const [name, shape] of Object.entries((schema as Shape).properties ?? {})) {
    const value = fieldOf(record, name, shape);
    if (value !== undefined) out[name] = value;
  }
  return out;
};

const fieldOf = (record: BodyRecord, name: string, shape: Shape): unknown => {
  const known = shape.anyOf?.find((s) => s.type !== 'null') ?? shape;
  const { type, format, items } = known;
  if (type === 'string') return record.text(name);
  if (type === 'integer') return record.integer(name, format === 'int64' ? 'int64' : 'int');
  if (type === 'object') {
    const inner = record.record(name);
    return inner && fieldsOf(inner, known as TSchema);
  }
  assert(type === 'array' && items, `a field of a body cannot be ${type}`);
  if (items.type === 'array') return format === pathsFormat ? ownPaths(record, name) : record.paths(name);
  if (items.type === 'object') return record.values(name);
  return items.format === objectIdFormat ? record.ids(name) : record.texts(name);
};
const ownPaths = (record: BodyRecord, name: string): unknown => {
  try {
    return record.paths(name);
  } catch (error) {
    if (!(error instanceof LakeError) || (error.code !== 'body-not-array' && error.code !== 'body-field-type'))
      throw error;
    throw new LakeError('body-paths', { name, type: String(error.parameters['type']) });
  }
};
