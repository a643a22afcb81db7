/** What changes the lake: rows become one commit of a pool's branch, whose id is the result; views come and go. */
import assert from 'node:assert';
import { LakeError } from '../../errors.ts';
import type { PlanOp, ViewChange } from '../../query/plan/plan.ts';
import { nullValue, recordValue, stringValue } from '../../vectors/value.ts';
import { types } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import { vectorOf } from '../../vectors/builder.ts';
import { Emission, type Step, type Stream, drive, wait } from '../operator.ts';
import type { ExecutionContext } from '../context.ts';

export const load = (op: Extract<PlanOp, { kind: 'load' }>, { host, signal }: ExecutionContext): Step =>
  function* run(input) {
    const emissions: Emission[] = [];
    const { author, message, meta } = op;
    const loading = host.load(op.target, rowsOf(input, signal, emissions), { author, message, meta });
    const id = yield* wait(op.isInsert ? loading.catch(nothingOf) : loading);
    yield* emissions;
    yield vectorOf([id ? { type: types.bytes, data: id } : nullValue]);
  };
/** An INSERT of no rows is no fault, as an UPDATE of none is none. */
const nothingOf = (fault: unknown): undefined => {
  if (!(fault instanceof LakeError) || fault.code !== 'load-empty') throw fault;
  return undefined;
};

/** update and delete: the commit, null where no row was changed. */
export const changeRows = (op: Extract<PlanOp, { kind: 'changeRows' }>, { host }: ExecutionContext): Step =>
  function* run() {
    assert(host.changeRows, 'rows are changed in lakes');
    const id = yield* wait(host.changeRows(op));
    yield vectorOf([id ? { type: types.bytes, data: id } : nullValue]);
  };

/** create, alter and drop view: one row says what became of it. */
export const changeView = (change: ViewChange, { host }: ExecutionContext): Step =>
  function* run() {
    assert(host.changeView, 'views are of lakes');
    const { change: made, name = change.name, version } = yield* wait(host.changeView(change));
    yield vectorOf([
      recordValue([
        { name: 'view', value: stringValue(name) },
        { name: 'change', value: stringValue(made) },
        { name: 'version', value: version ? { type: types.bytes, data: version } : nullValue },
      ]),
    ]);
  };

/** The batches of the stream; those for other channels are kept for later. */
async function* rowsOf(input: Stream, signal: AbortSignal, emissions: Emission[]): AsyncGenerator<Vector> {
  for await (const item of drive(input, signal)) {
    if (item instanceof Emission) emissions.push(item);
    else yield item;
  }
}
