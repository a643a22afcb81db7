/**
 * Pages of objects on their way between threads: a few large pieces instead of thousands of small ones, which would be
 * copied one by one.
 */
import type { ObjectMeta, ObjectPage } from '../lake/lake.types.ts';

/** `bytes`: of each object the sort keys of both ends, then its body at a multiple of eight. */
export interface PackedPage {
  readonly next?: number;
  /** One behind the other, 40 characters each. */
  readonly ids: string;
  /** Texts of the keys: two an object. */
  readonly texts: readonly string[];
  /** Of each object: rows, size, lengths of the two sort keys and of the body; -1: it has none. */
  readonly numbers: Float64Array;
  readonly bytes: Uint8Array;
}

const idLength = 40;
const perObject = 5;
const aligned = (length: number): number => Math.ceil(length / 8) * 8;

/** A page as few large pieces. */
export const packPage = ({ objects, next }: ObjectPage): PackedPage => {
  const numbers = new Float64Array(objects.length * perObject);
  const texts: string[] = [];
  let length = 0;
  objects.forEach(({ count, size, min, max, inline }, i) => {
    numbers.set([count, size, min.sort.length, max.sort.length, inline?.length ?? -1], i * perObject);
    texts.push(min.text, max.text);
    length += aligned(min.sort.length + max.sort.length) + aligned(inline?.length ?? 0);
  });
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const { min, max, inline } of objects) {
    bytes.set(min.sort, at);
    bytes.set(max.sort, at + min.sort.length);
    at += aligned(min.sort.length + max.sort.length);
    if (!inline) continue;
    bytes.set(inline, at);
    at += aligned(inline.length);
  }
  return { ids: objects.map((o) => o.id).join(''), texts, numbers, bytes, ...(next !== undefined && { next }) };
};

/** The page again; its keys and bodies are views of the packed bytes. */
export const unpackPage = ({ ids, texts, numbers, bytes, next }: PackedPage): ObjectPage => {
  const objects: ObjectMeta[] = [];
  let at = 0;
  for (let i = 0, n = 0; n < numbers.length; i++, n += perObject) {
    const minLength = numbers[n + 2]!;
    const maxLength = numbers[n + 3]!;
    const bodyLength = numbers[n + 4]!;
    const maxAt = at + minLength;
    const body = at + aligned(minLength + maxLength);
    const min = { text: texts[2 * i]!, sort: bytes.subarray(at, maxAt) };
    const max = { text: texts[2 * i + 1]!, sort: bytes.subarray(maxAt, maxAt + maxLength) };
    at = body + aligned(Math.max(0, bodyLength));
    const object = {
      id: ids.slice(i * idLength, (i + 1) * idLength),
      count: numbers[n]!,
      size: numbers[n + 1]!,
      min,
      max,
    };
    objects.push(bodyLength < 0 ? object : { ...object, inline: bytes.subarray(body, body + bodyLength) });
  }
  return { objects, ...(next !== undefined && { next }) };
};
