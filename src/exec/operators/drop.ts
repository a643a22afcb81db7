/**
 * drop: fields taken away. A record that loses its last field is dropped; what has none of the fields passes as it is.
 */
import type { FieldPath } from '../../query/plan/plan.ts';
import type { RecordVector, Vector } from '../../vectors/vector.ts';
import { type Step, eachBatch } from '../operator.ts';
import { kinds } from './rows/kinds.ts';
import { withoutErrors } from './rows/quiet.ts';
import { dropPath, elseWhole, shapesOf, together } from './rows/records.ts';

export const drop = (paths: readonly FieldPath[]): Step =>
  eachBatch(function* push(given) {
    const batch = withoutErrors(given, kinds.quiet, kinds.missing);
    const groups: { readonly rows?: Uint32Array; readonly values: Vector }[] = [];
    for (const { whole, record, rows } of shapesOf(batch, false)) {
      const touched = new Uint8Array(whole.length);
      const less = record && dropAll(record, paths, touched);
      if (less && less.fields.length === 0) continue;
      groups.push({ ...(rows && { rows }), values: less ? elseWhole(less, touched, whole) : whole });
    }
    if (groups.length > 0) yield together(batch.length, groups);
  });

const dropAll = (r: RecordVector, paths: readonly FieldPath[], touched: Uint8Array): RecordVector | undefined => {
  let out: RecordVector | undefined;
  for (const path of paths) out = dropPath(out ?? r, path, touched) ?? out;
  return out;
};
