/** put: fields set or appended; all right sides see the value as it was. */
import type { FieldPath } from '../../query/plan/plan.ts';
import { type Vector, type RecordVector, flatten, take, ofForm } from '../../vectors/vector.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { type FloatRoom, inRoom } from '../expressions/float-room.ts';
import { wrapErrors } from '../expressions/rows.ts';
import { type Step, eachBatch, evaluate } from '../operator.ts';
import { byQuiet, withoutQuiet } from './rows/quiet.ts';
import { dropPath, presences, rowsOf, setPath, shapesOf, together } from './rows/records.ts';

/** `target := value`, compiled. */
export interface Assign {
  readonly target: FieldPath;
  readonly value: AsyncEvaluator;
}

/** The records with these fields set or appended; what is no record becomes an error. */
export const putValues = (batch: Vector, targets: readonly FieldPath[], values: readonly Vector[]): Vector =>
  together(
    batch.length,
    shapesOf(batch, false).map(({ whole, bare, record, rows }) => ({
      ...(rows && { rows }),
      values: record
        ? putPresent(
            record,
            targets,
            values.map((v) => rowsOf(v, rows)),
          )
        : bare.form === 'error'
          ? whole
          : wrapErrors('put: not a record', whole),
    })),
  );

/** `room`: where numbers may be worked out, as nobody behind keeps anything of a batch. */
export const put = (assignments: readonly Assign[], room?: FloatRoom): Step =>
  eachBatch(function* push(given) {
    const batch = withoutQuiet(given);
    const values: Vector[] = [];
    for (const a of assignments)
      values.push(yield* evaluate(room ? (rows) => inRoom(room, a.value, rows) : a.value, batch));
    yield putValues(
      batch,
      assignments.map((a) => a.target),
      values,
    );
    room?.release();
  });

/** Optional fields do not stay optional: a row has them or has not. */
const putPresent = (r: RecordVector, targets: readonly FieldPath[], values: readonly Vector[]): Vector =>
  together(
    r.length,
    presences(r).map(({ record, rows }) => ({
      ...(rows && { rows }),
      values: putAll(
        record,
        targets,
        values.map((v) => rowsOf(v, rows)),
      ),
    })),
  );
const putAll = (r: RecordVector, targets: readonly FieldPath[], values: readonly Vector[]): Vector =>
  together(
    r.length,
    byQuiet(values, r.length).map(({ rows, loud }) => {
      let out = rows ? ofForm(flatten(take(r, rows)), 'record') : r;
      targets.forEach((path, k) => {
        out = loud[k] ? setPath(out, path, rowsOf(values[k], rows)) : (dropPath(out, path) ?? out);
      });
      return { ...(rows && { rows }), values: out };
    }),
  );
