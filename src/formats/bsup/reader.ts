/** Reads BSUP: frames of typedefs and of values, segment after segment. */
import { LakeError } from '../../errors.ts';
import { Builder } from '../../vectors/builder.ts';
import { lz4Decode } from '../../vectors/lz4.ts';
import type { Vector } from '../../vectors/vector.ts';
import { ByteWindow } from '../byte-window.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { BsupBytes, BsupFault, BsupTypes } from './types.ts';
import { BsupValues } from './values.ts';

interface Frame { readonly kind: number; readonly payload: BsupBytes }

/** @throws LakeError `format-broken` with the byte of the frame, after giving out what came before */
export async function* readBsup(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const limits = readLimits(options);
  const window = new ByteWindow(input, { format: 'bsup', valueBytesMax: limits.valueBytesMax });
  const table = new BsupTypes(limits.nestingMax), values = new BsupValues(limits.nestingMax);
  let builder = new Builder(), count = 0;
  try {
    for (let frame = await nextFrame(window, limits.valueBytesMax); frame; frame = await nextFrame(window, limits.valueBytesMax)) {
      if (frame === 'end of segment') {
        table.clear();
        continue;
      }
      const { kind, payload } = frame;
      if (kind === 2) throw new BsupFault('control');
      if (kind === 0) table.define(payload);
      else {
        while (payload.at < payload.end) {
          values.append(payload, table.get(payload.uvarint()), builder);
          count++;
          if (builder.length < limits.batchRows) continue;
          yield builder.finish();
          builder = new Builder();
        }
      }
    }
  } catch (problem) {
    if (!(problem instanceof BsupFault)) throw problem;
    throw new LakeError('format-broken', { format: 'bsup', fault: problem.message, place: ` (frame that ends at byte ${window.offset + window.start}, after ${count} values)`, values: count });
  } finally {
    await window.close();
  }
  if (builder.length > 0) yield builder.finish();
}

/** The next frame with its payload expanded, and the window behind it; undefined at the end of the input. */
const nextFrame = async (window: ByteWindow, bytesMax: number): Promise<Frame | 'end of segment' | undefined> => {
  if (!await has(window, 1)) return undefined;
  const version = window.bytes[window.start]!;
  if (version === 0xff) {
    window.start++;
    return 'end of segment';
  }
  if ((version & 0x80) === 0 || (version & 0x7f) !== 1) throw new BsupFault(`BSUP version mismatch: expected 1, found ${version & 0x80 ? version & 0x7f : 0}`);
  const { size, header } = await frameSize(window);
  const code = window.bytes[window.start + 1]!, kind = (code >> 4) & 3;
  if (kind === 3) throw new BsupFault('unknown BSUP message frame type: 3');
  if (size > bytesMax) throw new BsupFault(`large value of ${size} bytes exceeds maximum read buffer`);
  if (!await has(window, header + size)) throw new BsupFault('truncated input');
  const start = window.start + header;
  window.start = start + size;
  const payload = new BsupBytes(window.bytes, start, start + size);
  return { kind, payload: (code & 0x40) === 0 ? payload : expanded(payload, bytesMax) };
};

const frameSize = async (window: ByteWindow): Promise<{ readonly size: number; readonly header: number }> => {
  let size = 0, scale = 16, header = 2;
  for (;; header++) {
    if (header > 9) throw new BsupFault('malformed BSUP value');
    if (!await has(window, header + 1)) throw new BsupFault('truncated input');
    const b = window.bytes[window.start + header]!;
    size += (b & 0x7f) * scale;
    scale *= 128;
    if (b < 0x80) break;
  }
  return { size: size + (window.bytes[window.start + 1]! & 15), header: header + 1 };
};

const has = async (window: ByteWindow, size: number): Promise<boolean> => {
  while (window.end - window.start < size) if (!await window.more()) return false;
  return true;
};

const expanded = (payload: BsupBytes, bytesMax: number): BsupBytes => {
  if (payload.at >= payload.end) throw new BsupFault('bsupio: frame length (0) too small');
  const format = payload.byte();
  if (format !== 0) throw new BsupFault(`bsupio: unknown compression format 0x${format.toString(16)}`);
  const size = payload.uvarint();
  if (size > bytesMax) throw new BsupFault(`large value of ${size} bytes exceeds maximum read buffer`);
  const bytes = lz4Decode(payload.bytes.subarray(payload.at, payload.end), size);
  if (!bytes) throw new BsupFault('malformed BSUP value');
  return new BsupBytes(bytes);
};
