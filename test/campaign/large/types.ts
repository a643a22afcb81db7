/** One-large-piece bodies for the part `large` of the campaign, and the modules that make them. */
import type { Random } from '../../support/random.ts';

/** A body that is large in one piece, or made to expand. */
export interface LargeBody {
  /** What it is like, with its sizes. */
  readonly what: string;
  /** Media type of the load. */
  readonly type: string;
  /** Its content coding, if it has one. */
  readonly coding?: string;
  /** Rows that it holds; undefined: not known. */
  readonly rows?: number;
  /** Chunks of the body, made while it is sent. */
  readonly chunks: () => Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}
/**
 * Bodies by name. `size` 1 is the campaign's: some tens of megabytes; tests ask for smaller ones. The random numbers
 * vary their sizes.
 */
export type LargeBodies = Readonly<Record<string, (random: Random, size: number) => LargeBody | Promise<LargeBody>>>;
