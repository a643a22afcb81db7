/** Tagged bodies one behind the other, all of one type, as they occur outside of BSUP streams. */
import type { Type } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import { BytesFault } from '../type-bytes.ts';
import { BodyReader } from './body.ts';
import { Column, type Decoder } from './column.ts';
import { measure } from './encode.ts';
import { taggedSize } from './encode-leaves.ts';

/** Reads so many values at a time. */
export class BodyCursor {
  private readonly bytes: Uint8Array;
  private readonly column: Column;
  private readonly decoder: Decoder;
  private readonly bodies: BodyReader;
  private at = 0;
  constructor(type: Type, bytes: Uint8Array, nestingMax: number) {
    this.bytes = bytes;
    this.column = new Column({ exact: true, emptyType: type }, { columns: 0 });
    this.decoder = this.column.decoderOf(type);
    this.bodies = new BodyReader(nestingMax);
  }
  /** The next `count` values. @throws BytesFault */
  next(count: number): Vector {
    if (count > this.bytes.length - this.at) throw new BytesFault('malformed BSUP value');
    this.bodies.begin(this.bytes);
    for (let i = 0; i < count; i++) this.at = this.bodies.appendTagged(this.decoder, this.bytes, this.at, this.bytes.length);
    return this.column.take();
  }
}

/** The tagged bodies of all rows, one behind the other. */
export const bodiesOf = (v: Vector): Uint8Array => {
  if (v.length === 0) return new Uint8Array(0);
  const { bodies, write } = measure(v), places = new Float64Array(v.length);
  let size = 0;
  for (let i = 0; i < v.length; i++) {
    places[i] = size;
    size += taggedSize(bodies[i]);
  }
  const out = new Uint8Array(size);
  write(0, v.length, places, out);
  return out;
};
