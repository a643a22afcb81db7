/** Values as Zeek can hold them. */
import { bytesText } from '../../vectors/literal.ts';
import { supText } from '../../vectors/sup/print.ts';
import { arrayType, nullable, types, underType } from '../../vectors/type.ts';
import {
  type Value,
  nullValue,
  recordValue,
  stringValue,
  underValue,
  bytesData,
  fieldsData,
  itemsData,
} from '../../vectors/value.ts';
import { zeekOfType } from './types.ts';

/**
 * The value with text in the place of what Zeek has no type for: `0x` and hexadecimal digits for bytes, the text in SUP
 * for all else. Nulls are strings that are unset.
 */
export const asText = (value: Value): Value => {
  const plain = underValue(value);
  const { type, data } = plain;
  if (type.kind === 'record') {
    const items = fieldsData(data);
    return recordValue(
      type.fields.flatMap((f, i) =>
        items[i] === undefined ? [] : [{ name: f.name, value: asText({ type: f.type, data: items[i] }) }],
      ),
    );
  }
  if (zeekOfType(value.type) !== undefined) return value;
  if (type === types.null) return { type: nullable(types.string), data: nullValue };
  if (type === types.bytes) return stringValue(bytesText(bytesData(data)));
  if (type.kind === 'array' || type.kind === 'set') {
    // Without elements nothing says of what they would be.
    if (type.element === types.null && itemsData(data).length === 0) return { type: arrayType(types.string), data };
    if (underType(type.element) === types.bytes)
      return { type: arrayType(types.string), data: itemsData(data).map((d) => bytesText(bytesData(d))) };
  }
  return stringValue(supText(plain));
};
