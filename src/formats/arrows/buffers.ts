/**
 * The buffers of a batch: places in the body of its message. Compressed ones are expanded when they are first asked
 * for.
 *
 * Invariants: a buffer is used only as far as it reaches; of a body that is spooled no more is in memory than is asked
 * for.
 */
import { type Codec, expand } from '../codings/block-codecs.ts';
import type { ReadMemory } from '../read-memory.ts';
import { Spool } from '../spool.ts';
import type { ScratchBytes } from '../spool.ts';
import { BytesFault } from '../columns/type-bytes.ts';

/** Compressed buffers expand to more than the limit. */
export class TooMuch extends Error {}

/** A buffer as it is once it is expanded. */
export interface Buffer {
  readonly length: number;
  readonly read: (at: number, length: number) => Uint8Array;
}

/** `expandedBytesMax`: what compressed buffers may come to in sum. */
export interface BufferOptions {
  readonly memory: ReadMemory;
  readonly scratch: (() => ScratchBytes) | undefined;
  readonly expandedBytesMax: number;
}

export class Buffers {
  private readonly body: Spool;
  /** Places and lengths of all buffers, in pairs. */
  private readonly places: readonly number[];
  private readonly codec: Codec | undefined;
  private readonly options: BufferOptions;
  private readonly expanded: Spool;
  /** Those that were expanded: others are looked up again, since there may be very many. */
  private readonly made = new Map<number, Buffer>();
  private expandedLeft: number;

  constructor(
    body: Spool,
    { places, codec }: { readonly places: readonly number[]; readonly codec: Codec | undefined },
    options: BufferOptions,
  ) {
    this.body = body;
    this.places = places;
    this.codec = codec;
    this.options = options;
    this.expandedLeft = options.expandedBytesMax;
    this.expanded = new Spool({ ...options, format: 'arrows', what: 'expanded buffers' });
  }

  get count(): number {
    return this.places.length >> 1;
  }
  /** Bytes of the message's body. */
  get bodyLength(): number {
    return this.body.size;
  }
  close(): void {
    this.expanded.close();
  }

  /** @throws BytesFault, TooMuch, LakeError format-memory */
  at(k: number): Buffer {
    return this.made.get(k) ?? this.make(k);
  }

  private make(k: number): Buffer {
    const start = this.places[k * 2];
    const length = this.places[k * 2 + 1];
    if (start === undefined) throw new BytesFault('too few buffers');
    if (start + length > this.body.size) throw new BytesFault('buffer outside of the body');
    if (!this.codec || length === 0) return { length, read: (at, count) => this.body.read(start + at, count) };
    if (length < 8) throw new BytesFault('compressed buffer too short');
    const head = this.body.read(start, 8);
    const view = new DataView(head.buffer, head.byteOffset);
    const low = view.getUint32(0, true);
    const high = view.getInt32(4, true);
    if (high === -1 && low === 0xffffffff)
      return { length: length - 8, read: (at, count) => this.body.read(start + 8 + at, count) };
    this.expandedLeft -= low;
    if (high !== 0 || this.expandedLeft < 0) throw new TooMuch();
    return this.expand(k, start + 8, length - 8, low);
  }
  private expand(k: number, start: number, length: number, size: number): Buffer {
    const { memory } = this.options;
    const bytes = length + size;
    const { expanded } = this;
    const place = expanded.size;
    memory.hold(bytes, { format: 'arrows', what: `compressed buffer of ${size} bytes` });
    try {
      expanded.append(expand(this.codec!, this.body.read(start, length), size));
    } finally {
      memory.free(bytes);
    }
    const buffer = { length: size, read: (at: number, count: number) => expanded.read(place + at, count) };
    this.made.set(k, buffer);
    return buffer;
  }
}
