/** output: batches go to a channel; nothing goes on. */
import { Emission, type Step, eachBatch } from '../operator.ts';

/** Sends its input to the channel. */
export const output = (channel: string): Step =>
  eachBatch(function* push(batch) {
    yield new Emission(channel, batch);
  });
