/**
 * Which errors a shipper may send its batch again for. A shipper drops a batch that is refused for good: what will pass
 * - a full disk, a worker that died, a connection that stalled - must be told as such, whatever status it has elsewhere.
 */
import { type ErrorCode, LakeError } from '../../errors.ts';

const passing: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'storage-full',
  'spill-full',
  'spill-unwritten',
  'object-unwritten',
  'worker-died',
  'body-stalled',
  'body-slow',
]);

/** The error as a shipper is to be told it: 503 for what will pass, others as they are. */
export const shipperError = (error: unknown): unknown =>
  error instanceof LakeError && passing.has(error.code) && error.status !== 503
    ? new LakeError('shipment-again', { fault: error.message }, { cause: error })
    : error;
