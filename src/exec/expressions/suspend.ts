/**
 * Evaluation that stops and starts again: how synchronous evaluators wait for subqueries, and how user functions
 * recurse deeper than the JavaScript stack.
 *
 * An evaluator that needs something that it cannot have now throws a `Suspended`. The driver gets it (awaits a
 * subquery; runs a call from a fresh stack), adds it to the results of the frame and runs the frame's evaluation again
 * from its start; the k-th demand of a frame takes the k-th result. Evaluation has no side effects, so the demands come
 * in the same order each time. A chain of calls costs twice its work at most.
 */
import { strict as assert } from 'node:assert';
import { checkStop, sameTask } from '../../vectors/stop.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { AsyncEvaluator, Evaluator } from './evaluator.ts';

/** Calls within calls, before a function answers with an error (reference/language/errors.md). */
export const callDepthMax = 10_000;

interface Frame {
  readonly evaluate: Evaluator;
  readonly batch: Vector;
  readonly depth: number;
  readonly results: Vector[];
  next: number;
}
type Demand =
  | { readonly kind: 'call'; readonly evaluate: Evaluator; readonly batch: Vector; readonly depth: number }
  | { readonly kind: 'wait'; readonly promise: Promise<Vector>; readonly keep?: (result: Vector) => void };

class Suspended {
  readonly demand: Demand;
  constructor(demand: Demand) {
    this.demand = demand;
  }
}

let frame: Frame | undefined;
/** Calls within calls in the frame in work. */
let level = 0;

/** Depth of calls at this moment. */
export const callDepth = (): number => (frame?.depth ?? 0) + level;

const remembered = (): Vector | undefined => {
  assert(frame, 'calls and subqueries are driven');
  return frame.results[frame.next++];
};

/** Evaluates a function's body, on this stack up to `levelsMax` calls deep. */
export const call = (evaluate: Evaluator, batch: Vector, levelsMax: number): Vector => {
  checkStop();
  if (level >= levelsMax) {
    const known = remembered();
    if (known) return known;
    throw new Suspended({ kind: 'call', evaluate, batch, depth: callDepth() });
  }
  level++;
  const result = evaluate(batch);
  level--;
  return result;
};

/** What `ask` answers; asked once, however often the evaluation starts again. */
export const wait = (ask: () => Vector | Promise<Vector>): Vector => {
  const known = remembered();
  if (known) return known;
  const answer = ask();
  if (answer instanceof Promise) throw new Suspended({ kind: 'wait', promise: answer });
  frame!.results.push(answer);
  return answer;
};
/** The same for an answer that the caller keeps by itself: it is no result of the frame. */
export const waitOnce = (ask: () => Vector | Promise<Vector>, keep: (result: Vector) => void): Vector => {
  const answer = ask();
  if (answer instanceof Promise) throw new Suspended({ kind: 'wait', promise: answer, keep });
  keep(answer);
  return answer;
};

/** Runs the frame; undefined if it was suspended, then `onDemand` has the demand. */
const runFrame = (f: Frame, onDemand: (demand: Demand) => void): Vector | undefined => {
  const outerFrame = frame;
  const outerLevel = level;
  frame = f;
  level = 0;
  f.next = 0;
  try {
    return f.evaluate(f.batch);
  } catch (thrown) {
    if (!(thrown instanceof Suspended)) throw thrown;
    onDemand(thrown.demand);
    return undefined;
  } finally {
    frame = outerFrame;
    level = outerLevel;
  }
};

/** Runs frames until the first is done or something must be awaited. */
const advance = (stack: Frame[]): Vector | Extract<Demand, { kind: 'wait' }> => {
  for (;;) {
    const top = stack[stack.length - 1];
    let demand: Demand | undefined;
    const result = runFrame(top, (d) => {
      demand = d;
    });
    if (result) {
      stack.pop();
      if (stack.length === 0) return result;
      stack[stack.length - 1].results.push(result);
    } else if (demand!.kind === 'call')
      stack.push({ evaluate: demand!.evaluate, batch: demand!.batch, depth: demand!.depth, results: [], next: 0 });
    else return demand! as Extract<Demand, { kind: 'wait' }>;
  }
};

/** An evaluator that drives another one; nothing in it may have to be awaited. */
export const driven =
  (evaluate: Evaluator, depth: number): Evaluator =>
  (batch) => {
    const result = advance([{ evaluate, batch, depth, results: [], next: 0 }]);
    assert('form' in result, 'a subquery in a synchronous expression');
    return result;
  };

/** An evaluator that drives another one and awaits its subqueries. */
export const drivenAsync =
  (evaluate: Evaluator, depth: number): AsyncEvaluator =>
  (batch) => {
    const stack: Frame[] = [{ evaluate, batch, depth, results: [], next: 0 }];
    const result = advance(stack);
    return 'form' in result ? result : settle(stack, result);
  };
const settle = async (stack: Frame[], first: Extract<Demand, { kind: 'wait' }>): Promise<Vector> => {
  let demand = first;
  const goOn = sameTask();
  for (;;) {
    const answer = await demand.promise;
    if (demand.keep) demand.keep(answer);
    else stack[stack.length - 1].results.push(answer);
    const result = goOn(() => advance(stack));
    if ('form' in result) return result;
    demand = result;
  }
};
