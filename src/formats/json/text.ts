/** JSON text of single values: what the row printer does not print itself, and everything over several lines. */
import { exactOfText, isLongDecimal } from '../../vectors/decimal.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { type Type, isFloat, isInteger, types } from '../../vectors/type.ts';
import {
  type Data,
  type Value,
  entriesData,
  fieldsData,
  itemsData,
  memberData,
  numberData,
  stringData,
  typeData,
} from '../../vectors/value.ts';
import { floatText, jsonFloatText, primitiveText } from '../../vectors/literal.ts';
import { supText, supType } from '../../vectors/sup/print.ts';

const special = /["\\\u0000-\u001f\u2028\u2029]/;
/** A string in JSON's quotes; line separators are escaped, HTML is not. */
export const jsonString = (text: string): string => {
  if (!special.test(text)) return `"${text}"`;
  return JSON.stringify(text).replace(/[\u2028\u2029]/g, (c) => (c === '\u2028' ? '\\u2028' : '\\u2029'));
};

/**
 * The text of a map's key: strings and enum symbols as they are, everything else as SUP; no decorator tells the union
 * or the primitive type of the key.
 */
export const jsonKey = (key: Value): string => {
  let { type } = key;
  while (type.kind === 'named') type = type.inner;
  if (type === types.string) return stringData(key.data);
  if (key.type.kind === 'union') return supText(memberData(key.data));
  if (key.type.kind === 'enum') return key.type.symbols[numberData(key.data)] ?? '';
  if (isInteger(key.type)) return String(key.data);
  return isFloat(key.type) ? floatText(numberData(key.data), key.type === types.float64 ? 64 : 32) : supText(key);
};

/** The JSON text of a value; `indent` blanks per level, 0 for one line. */
export const jsonText = (type: Type, data: Data, indent = 0, level = 0): string => {
  const inner = (t: Type, d: Data): string => jsonText(t, d, indent, level + 1);
  const members = (entries: readonly (readonly [string, string])[]): string =>
    wrapped(
      '{',
      '}',
      entries.map(([k, v]) => `${jsonString(k)}:${indent > 0 ? ' ' : ''}${v}`),
      indent,
      level,
    );
  switch (type.kind) {
    case 'primitive':
      return primitiveJson(type, data);
    case 'record':
      return members(
        type.fields.flatMap((f, i) => {
          const d = fieldsData(data)[i];
          return d === undefined ? [] : [[f.name, inner(f.type, d)] as const];
        }),
      );
    case 'array':
    case 'set':
      return wrapped(
        '[',
        ']',
        itemsData(data).map((d, i) => {
          checkStopAt(i);
          return inner(type.element, d);
        }),
        indent,
        level,
      );
    case 'map':
      return members(
        entriesData(data).map(([k, v]) => [jsonKey({ type: type.key, data: k }), inner(type.value, v)] as const),
      );
    case 'union':
      return jsonText(memberData(data).type, memberData(data).data, indent, level);
    case 'enum':
      return jsonString(type.symbols[numberData(data)] ?? '');
    case 'error':
      return members([['error', inner(type.inner, data)]]);
    case 'named':
      return isLongDecimal(type) && exactOfText(stringData(data))
        ? numberText(stringData(data))
        : jsonText(type.inner, data, indent, level);
  }
};
/** JSON's numbers have neither a plus nor zeros in front. */
export const numberText = (text: string): string => text.replace(/^\+?(-?)0+(?=\d)/, '$1').replace(/^\+/, '');

const primitiveJson = (type: Type, data: Data): string => {
  switch (type) {
    case types.string:
      return jsonString(stringData(data));
    case types.float64:
    case types.float32:
    case types.float16:
      return jsonFloatText(numberData(data));
    case types.type:
      return jsonString(`<${supType(typeData(data))}>`);
    case types.duration:
    case types.time:
    case types.ip:
    case types.net:
    case types.bytes:
      return `"${primitiveText(type, data)}"`;
    default:
      return String(data);
  }
};

const wrapped = (open: string, close: string, items: readonly string[], indent: number, level: number): string => {
  if (items.length === 0) return open + close;
  if (indent === 0) return open + items.join(',') + close;
  const line = `\n${' '.repeat(indent * (level + 1))}`;
  return `${open}${line}${items.join(`,${line}`)}\n${' '.repeat(indent * level)}${close}`;
};
