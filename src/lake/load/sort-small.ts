/**
 * The rows of a small body to objects: those that `sortIntoObjects` makes of them, in one go.
 *
 * Invariant: nothing is waited for, unless an object turned out so large that it has a file.
 */
import { heldSize } from '../../vectors/shown-size.ts';
import { vectorsIn } from '../../vectors/sizes.ts';
import type { Vector } from '../../vectors/vector.ts';
import { wholeInOrder } from './sort.ts';
import { ObjectCutter, type SortKeys, type SortedObjects } from '../objects/cutter.ts';
import { LoadShapes, type ShapeLimits } from './shapes.ts';
import type { ObjectStore } from '../objects/objects.ts';

/** What the rows of a small body become, and where their objects go. */
interface SmallSortOptions extends SortKeys {
  /** Bytes: about where an object is cut. */
  readonly threshold: number;
  readonly objects: ObjectStore;
  /** Default: none. */
  readonly shapeLimits?: ShapeLimits | undefined;
}

/**
 * Sorts all rows and writes them as objects. When the promise rejects, no file is left. @throws load-types,
 * load-columns, and what the batches throw
 */
export const sortSmall = (
  batches: Iterable<Vector>,
  options: SmallSortOptions,
): SortedObjects | Promise<SortedObjects> => {
  const held: Vector[] = [];
  const limits = new HeldShapes(options.shapeLimits);
  let rows = 0;
  let bytes = 0;
  for (const batch of batches) {
    if (batch.length === 0) continue;
    held.push(batch);
    limits.check(held);
    rows += batch.length;
    bytes += heldSize(batch);
  }
  const cutter = new ObjectCutter(options, options.objects, options.threshold);
  if (rows === 0) return cutter.end();
  cutter.expect(rows, bytes / rows);
  try {
    for (const piece of wholeInOrder(held, rows, bytes, options)) cutter.add(piece);
    const ended = cutter.end();
    return ended instanceof Promise ? ended.catch((error: unknown) => undo(cutter, error)) : ended;
  } catch (error) {
    return undo(cutter, error);
  }
};
const undo = async (cutter: ObjectCutter, error: unknown): Promise<never> => {
  await cutter.abort();
  throw error;
};

/** Shapes and columns are counted from where there could be too many of them: there are no more than vectors. */
class HeldShapes {
  private readonly limits: ShapeLimits | undefined;
  private shapes: LoadShapes | undefined;
  private seen = 0;
  private vectors = 0;
  constructor(limits: ShapeLimits | undefined) {
    this.limits = limits;
  }

  check(held: readonly Vector[]): void {
    if (!this.limits) return;
    this.vectors += vectorsIn(held.at(-1)!);
    if (this.vectors <= this.limits.typesMax && this.vectors <= this.limits.columnsMax) return;
    this.shapes ??= new LoadShapes(this.limits);
    while (this.seen < held.length) this.shapes.add(held[this.seen++]);
  }
}
