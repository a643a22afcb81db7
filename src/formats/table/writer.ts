/**
 * Writes tables for people: columns as wide as their widest cell, a header for each type of records that follow one
 * another.
 */
import { LakeError } from '../../errors.ts';
import { decimalFloatText, primitiveText } from '../../vectors/literal.ts';
import { supText } from '../../vectors/sup/print.ts';
import { TextOut } from '../../vectors/texts/out.ts';
import { type Type, isFloat, types } from '../../vectors/type.ts';
import {
  type Data,
  type Value,
  isMissing,
  underValue,
  bytesData,
  fieldsData,
  itemsData,
  numberData,
  numericData,
  stringData,
} from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import { asRecord, leafValues } from '../columns/flat.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { escapedText, secondsText } from '../log-cell.ts';

/** Rows that are kept to find the widths; more of one type are laid out in parts. */
const rowsMax = 10_000;

export const createTableWriter = (_options: WriteOptions): Writer => {
  const out = new TextOut();
  let type: Type | undefined;
  let lines: string[][] = [];
  const flush = (): void => {
    const widths: number[] = [];
    for (const line of lines)
      line.forEach((cell, i) => {
        widths[i] = Math.max(widths[i] ?? 0, [...cell].length);
      });
    for (const line of lines)
      out.text(
        `${line.map((cell, i) => (i === line.length - 1 ? cell : cell + ' '.repeat(widths[i] - [...cell].length))).join(' ')}\n`,
      );
    lines = [];
  };
  const add = (value: Value): void => {
    const record = asRecord(value);
    if (!record) throw new LakeError('write-not-record', { writer: 'table', value: supText(value) });
    const leaves = leafValues(record.type, record.data);
    if (record.type !== type || lines.length >= rowsMax) {
      flush();
      if (record.type !== type) lines.push(leaves.map((l) => l.name));
      type = record.type;
    }
    lines.push(
      leaves.map(({ type: declared, data }) =>
        data === undefined || isMissing({ type: declared, data }) ? '-' : cellText(declared, data),
      ),
    );
  };
  return {
    *write(batch: Vector) {
      for (let row = 0; row < batch.length; row++) {
        try {
          add(valueAt(batch, row));
        } catch (problem) {
          flush();
          if (out.length > 0) yield out.take();
          throw problem;
        }
      }
      if (out.length > 0) yield out.take();
    },
    *end() {
      flush();
      if (out.length > 0) yield out.take();
    },
  };
};

/**
 * Text as in Zeek logs, and for what those cannot hold: errors their text, records their fields in turn. `inner`:
 * within a container.
 */
const cellText = (declared: Type, data: Data, inner = false): string => {
  const { type, data: d } = underValue({ type: declared, data });
  switch (type) {
    case types.string:
      return escapedText(stringData(d), inner);
    case types.null:
      return '-';
    case types.bool:
      return d ? 'T' : 'F';
    case types.bytes:
      return Buffer.from(bytesData(d)).toString('base64');
    case types.duration:
      return secondsText(numericData(d));
    case types.time:
      return inner || declared !== types.time ? secondsText(numericData(d)) : primitiveText(type, d);
    case types.type:
      return supText({ type, data: d });
  }
  switch (type.kind) {
    case 'primitive':
      return isFloat(type) ? decimalFloatText(numberData(d), type === types.float64 ? 64 : 32) : primitiveText(type, d);
    case 'enum':
      return String(d);
    case 'array':
    case 'set': {
      const items = itemsData(d);
      return items.length === 0 ? '(empty)' : items.map((item) => cellText(type.element, item, true)).join(',');
    }
    case 'record':
      return leafValues(type, fieldsData(d))
        .map((l) => (l.data === undefined ? '-' : cellText(l.type, l.data, true)))
        .join(',');
    case 'error':
      return type.inner === types.string ? stringData(d) : supText({ type, data: d });
    default:
      return supText({ type, data: d });
  }
};
