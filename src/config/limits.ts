/**
 * What several commands take of their options: limits of formats and recursion, from where indexes count, and what
 * `from` may read.
 */
import type { FormatValues, FromValues, IndexBaseValues, RecursionValues } from './tables.ts';

/** What readers of inputs take at most: bytes, and for loads counts of types and columns. */
export interface FormatLimitsConfig {
  readonly valueBytesMax: number;
  readonly bsupFrameBytesMax: number;
  readonly csupObjectBytesMax: number;
  readonly arrowBodyBytesMax: number;
  readonly parquetFileBytesMax: number;
  /** Absent, as `columnsMax`: no load. */
  readonly typesMax?: number;
  readonly ingestBodyBytesMax?: number;
  readonly columnsMax?: number;
}
/** How far WITH RECURSIVE may go: rounds, and rows of all rounds together. */
export interface RecursionConfig {
  readonly rounds: number;
  readonly rows: number;
}
/** The limits of WITH RECURSIVE among the options of `lake serve` or `lake query`. */
export const recursionLimits = (values: RecursionValues): RecursionConfig =>
  Object.freeze({ rounds: values['recursion.rounds.max'], rows: values['recursion.rows.max'] });
/** From where indexes count, among the options of any command that has it; undefined: as the language has it. */
export const indexBaseOf = (values: IndexBaseValues): 0 | 1 | undefined =>
  values['index.base'] === 'auto' ? undefined : values['index.base'] === '1' ? 1 : 0;
/** The limit of BSUP frames, which each command names otherwise. */
type BsupFrameValues = { readonly 'bsup.frame.max': number } | { readonly 'bsup.readmax': number };
/** The limits of formats among the options of `lake serve` or `lake query`. */
export const formatLimits = (values: FormatValues & BsupFrameValues): FormatLimitsConfig =>
  Object.freeze({
    valueBytesMax: values['value.max'],
    bsupFrameBytesMax: 'bsup.frame.max' in values ? values['bsup.frame.max'] : values['bsup.readmax'],
    csupObjectBytesMax: values['csup.object.max'],
    arrowBodyBytesMax: values['arrows.body.max'],
    parquetFileBytesMax: values['parquet.file.max'],
  });
/** What `from` may read besides pools, as given: folders, hosts and URLs are not looked at yet. */
export interface FromConfig {
  readonly files: readonly string[];
  readonly http: readonly string[];
  readonly httpBytesMax: number;
  readonly httpMsMax: number;
}
/** The `-from` options of a table that has them. */
export const fromConfig = (values: FromValues): FromConfig =>
  Object.freeze({
    files: Object.freeze([...values['from.files']]),
    http: Object.freeze([...values['from.http']]),
    httpBytesMax: values['from.http.max'],
    httpMsMax: values['from.http.time'],
  });
