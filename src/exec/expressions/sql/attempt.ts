/** Arithmetic within TRY. */
import { type ErrorCode, LakeError } from '../../../errors.ts';
import { Builder } from '../../../vectors/builder.ts';
import { checkStopAt } from '../../../vectors/stop.ts';
import { type Vector, take, valueAt } from '../../../vectors/vector.ts';
import { errors } from '../rows.ts';

/**
 * What is calculated of two operands; a row whose result has no place in its type is an error value, which TRY makes
 * null. Rows are looked at one by one only where there is such a row.
 */
export const attempted = (calculated: (a: Vector, b: Vector) => Vector, a: Vector, b: Vector): Vector => {
  try {
    return calculated(a, b);
  } catch (error) {
    if (!(error instanceof LakeError) || !faults.has(error.code)) throw error;
    if (a.length === 1) return errors(error.message, 1);
  }
  const out = new Builder();
  for (let i = 0; i < a.length; i++) {
    checkStopAt(i);
    const row = Uint32Array.of(i);
    out.append(valueAt(attempted(calculated, take(a, row), take(b, row)), 0));
  }
  return out.finish();
};
const faults: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'query-division',
  'query-interval-overflow',
  'query-overflow',
  'query-time-overflow',
]);
