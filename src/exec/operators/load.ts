/** load: all rows become one commit of a pool branch; the commit's id is the result. */
import type { PlanOp } from '../../query/plan/plan.ts';
import { types } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import { vectorOf } from '../../vectors/builder.ts';
import { Emission, type Step, type Stream, drive, wait } from '../operator.ts';
import type { ExecutionContext } from '../source.ts';

export const load = (op: Extract<PlanOp, { kind: 'load' }>, { host, signal }: ExecutionContext): Step =>
  function* run(input) {
    const emissions: Emission[] = [];
    const id = yield* wait(
      host.load(op.target, rowsOf(input, signal, emissions), { author: op.author, message: op.message, meta: op.meta }),
    );
    yield* emissions;
    yield vectorOf([{ type: types.bytes, data: id }]);
  };

/** The batches of the stream; those for other channels are kept for later. */
async function* rowsOf(input: Stream, signal: AbortSignal, emissions: Emission[]): AsyncGenerator<Vector> {
  for await (const item of drive(input, signal)) {
    if (item instanceof Emission) emissions.push(item);
    else yield item;
  }
}
