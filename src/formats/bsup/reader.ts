/**
 * Reads BSUP streams: the rows of frames are found first, whole batches of them are decoded then, a column at a time.
 */
import { LakeError } from '../../errors.ts';
import type { Vector } from '../../vectors/vector.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { Batches, PlacedFault } from './batches.ts';
import { FrameReader, frameKind } from './frames.ts';

/**
 * Longest frame. The reference's limit is eight times that; its frames end at half a MiB, or with one value that is
 * longer.
 */
const frameBytesMax = 128 << 20;

/**
 * Batches of the values of a BSUP stream. @throws LakeError `format-broken`, `format-too-large`, after giving out what
 * came before
 */
export async function* readBsup(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const batches = new Batches(readLimits(options));
  const frames = new FrameReader(input, {
    frameBytesMax: options.bsupFrameBytesMax ?? frameBytesMax,
    memory: options.memory,
    fault: (text, offset) => new PlacedFault(text, offset),
  });
  try {
    try {
      for (let frame = await frames.next(); frame !== undefined; frame = await frames.next()) {
        if (frame === 'segment') batches.endSegment();
        else if (frame.kind === frameKind.values) yield* batches.read(frame, frames.offset);
        else if (frame.kind === frameKind.types) batches.define(frame);
        else throw new PlacedFault('control', frames.offset);
      }
    } catch (problem) {
      // The rows before may be at fault, too: then that is what is said.
      yield* batches.rest();
      throw problem;
    }
    yield* batches.rest();
  } catch (problem) {
    if (!(problem instanceof BytesFault)) throw problem;
    const offset = problem instanceof PlacedFault ? problem.offset : frames.offset;
    throw new LakeError(
      'format-broken',
      { format: 'bsup', fault: problem.message, place: ` (byte ${offset})`, values: batches.count },
      { cause: problem },
    );
  } finally {
    await frames.close();
  }
}
