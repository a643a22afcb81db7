/**
 * What CSUP needs of BSUP, in which its metadata and its odd columns are written; a format does not import another, so
 * the table of formats gives it.
 */
import type { Type } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { Reader, WriteOptions, Writer } from '../format.types.ts';

export interface BsupParts {
  readonly read: Reader;
  readonly createWriter: (options: WriteOptions) => Writer;
  /** Reads tagged bodies of one type, so many at a time. */
  readonly bodies: (type: Type, bytes: Uint8Array, nestingMax: number) => { next(count: number): Vector };
  /** The tagged bodies of all rows, one behind the other. */
  readonly bodiesOf: (v: Vector) => Uint8Array;
}
