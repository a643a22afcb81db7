/** How a job ends that was prepared on an older tip. */
import { objectNames } from '../commits/merge.ts';
import type { Id } from '../lake.types.ts';

/**
 * The rewrite was prepared on an older tip: some of the objects that it removes are gone. The caller prepares again.
 */
export class Overtaken extends Error {
  readonly missing: readonly Id[];
  constructor(missing: readonly Id[]) {
    super(`objects ${objectNames(missing)} are gone`);
    this.missing = missing;
  }
}
