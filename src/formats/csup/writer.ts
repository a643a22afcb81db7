/** Writes CSUP: rows are gathered until an object is full. */
import { concat } from '../../vectors/concat.ts';
import { vectorOf } from '../../vectors/builder.ts';
import { sizeOf } from '../../vectors/sizes.ts';
import { chargeHeld } from '../../vectors/stop.ts';
import { type Vector, noRows, slice } from '../../vectors/vector.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { valueOf } from './descriptors.ts';
import { encodeObject } from './encode.ts';
import type { BsupParts } from './parts.ts';
import { headerBytes, magic, version } from './reader.ts';

/** An object ends with this many rows, or when they take this much memory: who reads them holds an object at a time. */
const objectRowsMax = 120_000;
const objectBytesMax = 16 << 20;

export const csupWriter =
  (bsup: BsupParts) =>
  (options: WriteOptions): Writer =>
    new CsupWriter(bsup, options);

/** About the bytes of the rows once each has its own: what views repeat is counted as often as they do. */
const unfoldedSize = (v: Vector): number => {
  switch (v.form) {
    case 'constant':
      return v.length * unfoldedSize(v.inner);
    case 'dictionary':
      return v.length * (unfoldedSize(v.values) / Math.max(1, v.values.length));
    case 'selected':
      return v.length * (unfoldedSize(v.base) / Math.max(1, v.base.length));
    case 'record':
      return v.fields.reduce((n, f) => n + unfoldedSize(f.values), 0);
    case 'dynamic':
      return v.parts.reduce((n, p) => n + unfoldedSize(p), v.length * 8);
    default:
      return sizeOf(v);
  }
};

class CsupWriter implements Writer {
  private readonly bsup: BsupParts;
  private held: Vector[] = [];
  private rows = 0;
  private bytes = 0;
  private written = false;
  private readonly options: WriteOptions;
  constructor(bsup: BsupParts, options: WriteOptions) {
    this.bsup = bsup;
    this.options = options;
  }

  *write(batch: Vector): Generator<Uint8Array> {
    const bytesMax = Math.min(objectBytesMax, this.options.gatherBytesMax?.() ?? objectBytesMax);
    for (let start = 0; start < batch.length; ) {
      let end = Math.min(batch.length, start + objectRowsMax - this.rows);
      let part = slice(batch, start, end);
      let size = unfoldedSize(part);
      for (; size > bytesMax && end > start + 1; size = unfoldedSize(part)) {
        end = start + ((end - start) >> 1);
        part = slice(batch, start, end);
      }
      chargeHeld(size);
      this.held.push(part);
      this.rows += part.length;
      this.bytes += size;
      start += part.length;
      if (this.rows >= objectRowsMax || this.bytes >= bytesMax) yield* this.object();
    }
  }

  *end(): Generator<Uint8Array> {
    if (this.rows > 0 || !this.written) yield* this.object();
  }

  private *object(): Generator<Uint8Array> {
    const { descriptors, data, root } = encodeObject(this.held.length > 0 ? concat(this.held) : noRows, this.bsup);
    this.held = [];
    this.rows = this.bytes = 0;
    this.written = true;
    const writer = this.bsup.createWriter(this.options);
    const metadata: Uint8Array[] = [];
    metadata.push(...writer.write(vectorOf(descriptors.map(valueOf))), ...writer.end());
    const size = metadata.reduce((n, b) => n + b.length, 0);
    const head = new Uint8Array(headerBytes);
    const view = new DataView(head.buffer);
    view.setUint32(0, magic, true);
    view.setUint32(4, version, true);
    view.setBigUint64(8, BigInt(size), true);
    view.setBigUint64(16, BigInt(data.length), true);
    view.setUint32(24, root, true);
    yield head;
    yield* metadata;
    if (data.length > 0) yield data;
  }
}
