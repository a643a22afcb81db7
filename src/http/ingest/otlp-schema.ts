/** OTLP's JSON as the document describes it, from the table of messages that requests are read by. */
import { type TSchema, Type } from 'typebox';
import { type FieldSpec, type Kind, type MessageSpec, type Signal, requests } from '../../formats/otlp/schema.ts';

const unsigned = Type.String({ pattern: '^[0-9]{1,19}$', description: 'a whole number, as a string or a number' });
const signed = Type.String({ pattern: '^-?[0-9]{1,18}$', description: 'a whole number, as a string or a number' });
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

const schemaOf = ({ kind, message }: FieldSpec): TSchema => {
  if (kind === 'message') return messageSchema(message!);
  return kind === 'messages' ? Type.Array(messageSchema(message!)) : scalars[kind];
};
const messageSchema = ({ fields }: MessageSpec): TSchema =>
  Type.Object(
    Object.fromEntries(
      fields
        .flatMap((field) => (field.or ? [field, field.or] : [field]))
        .map((field) => [field.json, Type.Optional(schemaOf(field))]),
    ),
  );

/** The request of a signal. */
export const otlpSchema = (signal: Signal): TSchema => messageSchema(requests[signal]);
