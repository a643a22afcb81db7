/** Tagged bodies one behind the other, all of one type, as they occur outside of BSUP streams. */
import type { Type } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { spanAt } from './decode-leaves.ts';
import { decodeColumn } from './decode.ts';
import { measure } from './encode.ts';
import { taggedSize } from './encode-leaves.ts';

/** Reads so many values at a time. */
export class BodyCursor {
  private readonly type: Type;
  private readonly bytes: Uint8Array;
  private readonly nestingMax: number;
  private at = 0;
  constructor(type: Type, bytes: Uint8Array, nestingMax: number) {
    this.type = type;
    this.bytes = bytes;
    this.nestingMax = nestingMax;
  }
  /** The next `count` values. @throws BytesFault */
  next(count: number): Vector {
    const { bytes } = this;
    if (count > bytes.length - this.at) throw new BytesFault('malformed BSUP value');
    const at = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      at[i] = this.at;
      if (this.at < bytes.length) this.at += spanAt(bytes, this.at);
      else throw new BytesFault('malformed BSUP value');
    }
    if (this.at > bytes.length) throw new BytesFault('malformed BSUP value');
    return decodeColumn(bytes, this.type, { at, length: count }, this.nestingMax);
  }
}

/** The tagged bodies of all rows, one behind the other. */
export const bodiesOf = (v: Vector): Uint8Array => {
  if (v.length === 0) return new Uint8Array(0);
  const { bodies, write } = measure(v);
  const places = new Float64Array(v.length);
  let size = 0;
  for (let i = 0; i < v.length; i++) {
    places[i] = size;
    size += taggedSize(bodies[i]);
  }
  const out = new Uint8Array(size);
  write(0, v.length, places, out);
  return out;
};
