/** Runs plans. (The steps follow; this is the signature to import.) */
import type { Plan } from '../query/plan.ts';
import type { ChannelBatch, ExecutionContext } from './source.ts';

/** Runs a plan: batches as they come, each with its channel. Ends early when the consumer returns or `context.signal` aborts. */
export const execute = (plan: Plan, context: ExecutionContext): AsyncIterable<ChannelBatch> => { void plan; void context; throw new Error('in work'); };
