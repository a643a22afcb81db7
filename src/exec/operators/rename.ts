/** rename: fields renamed in place, from left to right; a name that is taken makes the value an error. */
import type { FieldPath } from '../../query/plan/plan.ts';
import type { RecordVector, Vector } from '../../vectors/vector.ts';
import { overlay, wrapErrors } from '../expressions/rows.ts';
import { type Step, eachBatch } from '../operator.ts';
import { kinds } from './rows/kinds.ts';
import { withoutErrors } from './rows/quiet.ts';
import { elseWhole, mark, record, shapesOf, together } from './rows/records.ts';

/** `rename to := from`; the two paths differ in their last names alone. */
interface Renaming {
  readonly from: FieldPath;
  readonly to: FieldPath;
}

/** The operator as a step. Values without any of the fields pass as they are; quiet and missing ones are dropped. */
export const rename = (renamings: readonly Renaming[]): Step =>
  eachBatch(function* push(given) {
    const batch = withoutErrors(given, kinds.quiet, kinds.missing);
    yield together(
      batch.length,
      shapesOf(batch, false).map(({ whole, record: r, rows }) => ({
        ...(rows && { rows }),
        values: r ? renameAll(whole, r, renamings) : whole,
      })),
    );
  });

const renameAll = (whole: Vector, r: RecordVector, renamings: readonly Renaming[]): Vector => {
  let out: RecordVector | undefined;
  const clashes: { readonly mask: Uint8Array; readonly text: string }[] = [];
  const touched = new Uint8Array(r.length);
  for (const { from, to } of renamings) {
    const mask = new Uint8Array(r.length);
    const next = renamePath(out ?? r, from, to, { clashes: mask, touched });
    if (mask.includes(1)) clashes.push({ mask, text: `rename: duplicate field: "${to.at(-1)}"` });
    out = next ?? out;
  }
  let result: Vector = out ? elseWhole(out, touched, r) : r;
  // The first clash of a row counts.
  for (const { mask, text } of clashes.reverse()) result = overlay(result, mask, wrapErrors(text, whole));
  return result;
};

/** Rows whose new name is taken, and rows that have something to rename. */
interface Marks {
  readonly clashes: Uint8Array;
  readonly touched: Uint8Array;
}
/** The renamed record, or undefined if there is nothing to rename; marks rows. */
const renamePath = (r: RecordVector, from: FieldPath, to: FieldPath, marks: Marks): RecordVector | undefined => {
  const at = r.fields.findIndex((f) => f.name === from[0]);
  if (at < 0) return undefined;
  if (from.length === 1) {
    if (from[0] !== to[0] && r.fields.some((f) => f.name === to[0])) {
      marks.clashes.fill(1);
      return undefined;
    }
    marks.touched.fill(1);
    return record(
      r.fields.map((f, k) => (k === at ? { ...f, name: to[0] } : f)),
      r.length,
    );
  }
  const f = r.fields[at];
  let changed = false;
  const groups = shapesOf(f.values).map(({ whole, record: inner, rows }) => {
    const own: Marks = { clashes: new Uint8Array(whole.length), touched: new Uint8Array(whole.length) };
    const next = inner && whole.form === 'record' && renamePath(inner, from.slice(1), to.slice(1), own);
    mark(marks.clashes, own.clashes, rows);
    mark(marks.touched, own.touched, rows);
    if (next) changed = true;
    return { ...(rows && { rows }), values: next || whole };
  });
  return changed
    ? record(
        r.fields.map((g, k) => (k === at ? { ...g, values: together(r.length, groups) } : g)),
        r.length,
      )
    : undefined;
};
