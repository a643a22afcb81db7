/** output: batches go to a channel; nothing goes on. */
import { Emission, type Step, eachBatch } from '../operator.ts';

export const output = (channel: string): Step => eachBatch(function* push(batch) { yield new Emission(channel, batch); });
