/** Vectors of which it is known that equal rows stand together. */
import type { DictionaryVector } from './vector.ts';

const ends = new WeakMap<object, Uint32Array>();
/** Notes the places behind the last row of each run; all rows of a run have the same code. */
export const markRuns = (v: DictionaryVector, runEnds: Uint32Array): DictionaryVector => {
  ends.set(v, runEnds);
  return v;
};
/** The places behind the last row of each run, if they are known. */
export const runsOf = (v: DictionaryVector): Uint32Array | undefined => ends.get(v);
