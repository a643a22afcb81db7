import type { Data, Value } from '../../../src/vectors/value.ts';
import type { Type } from '../../../src/vectors/type.ts';

/**
 * Variants read as the specification says (VariantEncoding.md, VariantShredding.md of Parquet): a decoder of its own, for
 * what the service writes. Values come as texts that say their type: `int8 5`, `string "x"`.
 */

/** A value as a tree: a text for what is in nothing else. */
export type Tree = string | readonly Tree[] | { readonly [name: string]: Tree };

const uint = (b: Buffer, at: number, size: number): number => b.readUIntLE(at, size);

/** The names of metadata; sorted and unique, or it throws. */
export const namesIn = (bytes: Uint8Array): readonly string[] => {
  const b = Buffer.from(bytes);
  const head = b[0]!;
  if ((head & 15) !== 1) throw new Error(`version ${head & 15}`);
  const size = (head >> 6) + 1;
  const count = uint(b, 1, size);
  const offsets = Array.from({ length: count + 1 }, (_, i) => uint(b, 1 + size * (i + 1), size));
  const start = 1 + size * (count + 2);
  if (offsets[0] !== 0 || start + offsets[count]! !== b.length) throw new Error('metadata of another length');
  const names = offsets.slice(1).map((end, i) => b.subarray(start + offsets[i]!, start + end));
  if (head & 16)
    for (let i = 1; i < count; i++) if (Buffer.compare(names[i - 1]!, names[i]!) >= 0) throw new Error('not sorted');
  return names.map((name) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(name));
};

const text = (bytes: Buffer): string =>
  `string ${JSON.stringify(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))}`;
/** Without zeros at its end: equal numbers are one decimal. */
export const decimal = (units: bigint, scale: number): string =>
  scale > 0 && units % 10n === 0n ? decimal(units / 10n, scale - 1) : `decimal ${units}e-${scale}`;
/** A number of an engine that may be a float: its bits say what it is. */
export const floatText = (kind: 'float' | 'double', x: number): string => `${kind} ${Object.is(x, -0) ? '-0' : x}`;

/** A value, and where it ends. */
const valueAt = (b: Buffer, at: number, names: readonly string[]): { readonly tree: Tree; readonly end: number } => {
  const basic = b[at]! & 3;
  const head = b[at]! >> 2;
  const from = at + 1;
  if (basic === 1) return { tree: text(b.subarray(from, from + head)), end: from + head };
  if (basic === 0) return primitiveAt(b, from, head);
  const isLarge = ((basic === 2 ? head >> 4 : head >> 2) & 1) === 1;
  const offsetSize = (head & 3) + 1;
  const idSize = basic === 2 ? ((head >> 2) & 3) + 1 : 0;
  const count = uint(b, from, isLarge ? 4 : 1);
  const ids = from + (isLarge ? 4 : 1);
  const offsets = ids + count * idSize;
  const values = offsets + (count + 1) * offsetSize;
  const at2 = (i: number): number => values + uint(b, offsets + i * offsetSize, offsetSize);
  const end = at2(count);
  let seen = values;
  const trees = Array.from({ length: count }, (_, i) => {
    const { tree, end: own } = valueAt(b, at2(i), names);
    seen = Math.max(seen, own);
    return tree;
  });
  if (seen !== end) throw new Error('the last offset is not the end');
  if (basic === 3) return { tree: trees, end };
  const keys = trees.map((_, i) => names[uint(b, ids + i * idSize, idSize)]!);
  for (let i = 1; i < count; i++)
    if (Buffer.compare(Buffer.from(keys[i - 1]!), Buffer.from(keys[i]!)) >= 0) throw new Error('fields out of order');
  return { tree: Object.fromEntries(trees.map((tree, i) => [`.${keys[i]}`, tree])), end };
};
const primitiveAt = (b: Buffer, at: number, type: number): { readonly tree: Tree; readonly end: number } => {
  const long = (name: string): { tree: Tree; end: number } => ({
    tree: `${name} ${b.readBigInt64LE(at)}`,
    end: at + 8,
  });
  const run = (): Buffer => b.subarray(at + 4, at + 4 + b.readUInt32LE(at));
  switch (type) {
    case 0:
      return { tree: 'null', end: at };
    case 1:
    case 2:
      return { tree: `bool ${type === 1}`, end: at };
    case 3:
      return { tree: `int8 ${b.readInt8(at)}`, end: at + 1 };
    case 4:
      return { tree: `int16 ${b.readInt16LE(at)}`, end: at + 2 };
    case 5:
      return { tree: `int32 ${b.readInt32LE(at)}`, end: at + 4 };
    case 6:
      return long('int64');
    case 7:
      return { tree: floatText('double', b.readDoubleLE(at)), end: at + 8 };
    case 8:
      return { tree: decimal(BigInt(b.readInt32LE(at + 1)), b[at]!), end: at + 5 };
    case 9:
      return { tree: decimal(b.readBigInt64LE(at + 1), b[at]!), end: at + 9 };
    case 10:
      return {
        tree: decimal((b.readBigInt64LE(at + 9) << 64n) | b.readBigUInt64LE(at + 1), b[at]!),
        end: at + 17,
      };
    case 11:
      return { tree: `date ${b.readInt32LE(at)}`, end: at + 4 };
    case 12:
      return long('timestamp');
    case 13:
      return long('timestamp without zone');
    case 14:
      return { tree: floatText('float', b.readFloatLE(at)), end: at + 4 };
    case 15:
      return { tree: `binary ${run().toString('hex')}`, end: at + 4 + run().length };
    case 16:
      return { tree: text(run()), end: at + 4 + run().length };
    case 17:
      return long('time');
    case 18:
      return long('timestamp in nanoseconds');
    case 19:
      return long('timestamp in nanoseconds without zone');
    case 20:
      return { tree: `uuid ${b.subarray(at, at + 16).toString('hex')}`, end: at + 16 };
    default:
      throw new Error(`primitive type ${type}`);
  }
};

/** The tree of a binary value, which is all of these bytes. */
export const treeOf = (value: Uint8Array, names: readonly string[]): Tree => {
  const b = Buffer.from(value);
  const { tree, end } = valueAt(b, 0, names);
  if (end !== b.length) throw new Error(`${b.length - end} bytes behind the value`);
  return tree;
};

/** A value without names around it; undefined for null and what is absent. */
const bare = (type: Type, data: Data | undefined): Value | undefined => {
  if (data === undefined || data === null) return undefined;
  if (type.kind === 'union') return bare((data as Value).type, (data as Value).data);
  return { type, data };
};
/** A field of a record; undefined for null. */
export const fieldIn = ({ type, data }: Value, name: string): Value | undefined => {
  if (type.kind !== 'record') throw new Error('no record');
  const i = type.fields.findIndex((field) => field.name === name);
  return i < 0 ? undefined : bare(type.fields[i]!.type, (data as readonly (Data | undefined)[])[i]);
};

/** The variant of a column's row `{metadata,value,typed_value}`, put together again. */
export const variantIn = (row: Value): Tree | undefined => {
  const metadata = fieldIn(row, 'metadata');
  if (!metadata) throw new Error('a variant without metadata');
  return whole(row, namesIn(metadata.data as Uint8Array));
};
const whole = (row: Value, names: readonly string[]): Tree | undefined => {
  const value = fieldIn(row, 'value');
  const tree = value && treeOf(value.data as Uint8Array, names);
  const typed = fieldIn(row, 'typed_value');
  const isObject = typeof tree === 'object' && !Array.isArray(tree);
  if (!typed) {
    if (isObject && hasTyped(row, 'record')) throw new Error('an object that is not typed');
    if (Array.isArray(tree) && hasTyped(row, 'array')) throw new Error('an array that is not typed');
    return tree;
  }
  if (typed.type.kind === 'record') {
    if (tree !== undefined && !isObject) throw new Error('typed, and no object');
    const fields: [string, Tree][] = Object.entries((tree ?? {}) as Readonly<Record<string, Tree>>);
    for (const { name } of typed.type.fields) {
      if (!names.includes(name)) continue;
      if (fields.some(([own]) => own === `.${name}`)) throw new Error(`${name} is typed and in the value`);
      const field = fieldIn(typed, name);
      const own = field && whole(field, names);
      if (own !== undefined) fields.push([`.${name}`, own]);
    }
    return Object.fromEntries(fields);
  }
  if (tree !== undefined) throw new Error('both a value and a typed one');
  if (typed.type.kind === 'array') {
    const { element } = typed.type;
    return (typed.data as readonly Data[]).map((item) => {
      const own = bare(element, item);
      const inner = own && whole(own, names);
      if (inner === undefined) throw new Error('an item is missing');
      return inner;
    });
  }
  return scalar(typed);
};
const hasTyped = ({ type }: Value, kind: Type['kind']): boolean => {
  const field = type.kind === 'record' ? type.fields.find(({ name }) => name === 'typed_value') : undefined;
  const own = field?.type;
  return own?.kind === kind || (own?.kind === 'union' && own.members.some((member) => member.kind === kind));
};
const scalar = ({ type, data }: Value): string => {
  if (type.kind === 'named') {
    const [, scale] = /^deciaml_(\d+)_\d+$/.exec(type.name) ?? [];
    if (scale !== undefined) return decimalOfText(Number(data).toFixed(Math.min(100, Number(scale))));
    if (type.name === 'sql_decimal') return decimalOfText(data as string);
    if (type.name === 'arrow_uuid') return `uuid ${Buffer.from(data as Uint8Array).toString('hex')}`;
    if (type.name.startsWith('arrow_date')) return `date ${BigInt(data as number) / 86_400_000_000_000n}`;
    return scalar({ type: type.inner, data });
  }
  if (type.kind !== 'primitive') throw new Error(`a typed value of ${type.kind}`);
  switch (type.name) {
    case 'float32':
      return floatText('float', data as number);
    case 'float64':
      return floatText('double', data as number);
    case 'time':
      return `timestamp ${BigInt(data as number | bigint) / 1000n}`;
    case 'bytes':
      return `binary ${Buffer.from(data as Uint8Array).toString('hex')}`;
    case 'string':
      return `string ${JSON.stringify(data)}`;
    default:
      return `${type.name} ${String(data)}`;
  }
};
const decimalOfText = (text: string): string => {
  const [whole = '', fraction = ''] = text.split('.');
  return decimal(BigInt(whole + fraction), fraction.length);
};
