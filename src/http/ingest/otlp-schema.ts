/** OTLP's JSON as the document describes it, from the table of messages that requests are read by. */
import { type TSchema, Type } from 'typebox';
import { type FieldSpec, type Kind, type MessageSpec, type Signal, requests } from '../../formats/otlp/schema.ts';

const asText = { description: 'or a string of its digits, up to 64 bits' };
const unsigned = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, ...asText });
const signed = Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, ...asText });
const int32 = Type.Integer({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 });
const uint32 = Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 });
const base64 = Type.String({ pattern: '^([A-Za-z0-9+/]{4})*$' });
const anyValue = Type.Object(
  {
    stringValue: Type.Optional(Type.String()),
    boolValue: Type.Optional(Type.Boolean()),
    intValue: Type.Optional(signed),
    doubleValue: Type.Optional(Type.Number()),
    bytesValue: Type.Optional(base64),
  },
  { description: 'one of these, or `arrayValue` or `kvlistValue` with `values` within' },
);
const attributes = Type.Array(Type.Object({ key: Type.Optional(Type.String()), value: Type.Optional(anyValue) }));

const scalars: Readonly<Record<Exclude<Kind, 'message' | 'messages'>, TSchema>> = {
  time: unsigned,
  text: Type.String(),
  id: Type.String({ pattern: '^([0-9a-fA-F]{2})*$' }),
  bytes: base64,
  bool: Type.Boolean(),
  int32,
  uint32,
  sint32: int32,
  int64: signed,
  uint64: unsigned,
  enum: int32,
  fixed32: uint32,
  fixed64: unsigned,
  sfixed64: signed,
  double: Type.Number(),
  any: anyValue,
  attributes,
  fixed64s: Type.Array(unsigned),
  uint64s: Type.Array(unsigned),
  doubles: Type.Array(Type.Number()),
};

/** What is within a data point is left to the specification. */
const levelsMax = 6;
const schemaOf = ({ kind, message }: FieldSpec, level: number): TSchema => {
  if (kind !== 'message' && kind !== 'messages') return scalars[kind];
  const inner = level < levelsMax ? messageSchema(message!, level) : Type.Object({});
  return kind === 'message' ? inner : Type.Array(inner);
};
const messageSchema = ({ fields }: MessageSpec, level: number): TSchema =>
  Type.Object(
    Object.fromEntries(
      fields
        .flatMap((field) => (field.or ? [field, field.or] : [field]))
        .map((field) => [field.json, Type.Optional(schemaOf(field, level + 1))]),
    ),
  );

/** The request of a signal. */
export const otlpSchema = (signal: Signal): TSchema => messageSchema(requests[signal], 0);
