/**
 * What several commands take of their options: limits of formats and recursion, from where indexes count, and what
 * `from` may read.
 */
import type { ParsedOptions } from './options.ts';

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
export const recursionLimits = (values: ParsedOptions['values']): RecursionConfig =>
  Object.freeze({ rounds: values['recursion.rounds.max'] as number, rows: values['recursion.rows.max'] as number });
/** From where indexes count, among the options of any command that has it; undefined: as the language has it. */
export const indexBaseOf = (values: ParsedOptions['values']): 0 | 1 | undefined =>
  values['index.base'] === 'auto' ? undefined : values['index.base'] === '1' ? 1 : 0;
/** The limits of formats among the options of `lake serve` or `lake query`. */
export const formatLimits = (values: ParsedOptions['values']): FormatLimitsConfig =>
  Object.freeze({
    valueBytesMax: values['value.max'] as number,
    bsupFrameBytesMax: (values['bsup.frame.max'] ?? values['bsup.readmax']) as number,
    csupObjectBytesMax: values['csup.object.max'] as number,
    arrowBodyBytesMax: values['arrows.body.max'] as number,
    parquetFileBytesMax: values['parquet.file.max'] as number,
  });
/** What `from` may read besides pools, as given: folders, hosts and URLs are not looked at yet. */
export interface FromConfig {
  readonly files: readonly string[];
  readonly http: readonly string[];
  readonly httpBytesMax: number;
  readonly httpMsMax: number;
}
/** The `-from` options of a table that has them. */
export const fromConfig = (values: ParsedOptions['values']): FromConfig =>
  Object.freeze({
    files: Object.freeze([...(values['from.files'] as readonly string[])]),
    http: Object.freeze([...(values['from.http'] as readonly string[])]),
    httpBytesMax: values['from.http.max'] as number,
    httpMsMax: values['from.http.time'] as number,
  });
