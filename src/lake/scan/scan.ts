/**
 * Objects to batches: in the pool's order, merging objects that overlap, or one after the other when nobody needs the
 * order.
 *
 * Invariants:
 * - Objects are listed page by page, and one is opened only when the rows given out have come near its first key, so
 *   that the first rows cost the first page. Small objects are opened ahead until a batch is full: many tiny ones
 *   become few batches.
 * - Rows of equal keys: those of small objects are ordered by their bytes, others keep the order of the list.
 * - Objects and blocks that the pruner rules out are not read; of the rest only the columns that are named.
 * - Without an order rows of unlike types come in batches of their own: each then has one shape.
 * - A filter is asked for every row that is given, for those of large objects before columns that it does not need are
 *   read.
 */
import type { Vector } from '../../vectors/vector.ts';
import { ScanInput } from './input.ts';
import { OrderedScan } from './ordered.ts';
import type { ScanOptions, ScanSource } from './scan.types.ts';
import { UnorderedScan } from './unordered.ts';

/** Rows of a scan; `nextNow` gives those that are at hand without a wait, if any. */
type ScannedRows = AsyncGenerator<Vector> & { readonly nextNow: () => Vector | undefined };

/** The rows of all objects. */
export const scanObjects = (source: ScanSource, options: ScanOptions): ScannedRows => {
  const input = new ScanInput(source, options);
  if (options.ordered) return Object.assign(new OrderedScan(input).rows(), { nextNow: () => undefined });
  const scan = new UnorderedScan(input);
  return Object.assign(scan.rows(), { nextNow: () => scan.nextNow() });
};

/** All rows in the pool's order, as pieces that are not merged yet (`OrderedScan.steps`). */
export const scanSteps = (
  source: ScanSource,
  options: Omit<ScanOptions, 'ordered' | 'filter'>,
): AsyncGenerator<readonly Vector[]> => new OrderedScan(new ScanInput(source, { ...options, ordered: true })).steps();
