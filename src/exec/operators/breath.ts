/** Turns of the event loop for operators that can be busy for long without giving anything: a cancel must get through. */
import type { Side } from '../operator.ts';

const turnMsMax = 10;

export class Breath {
  private turn = performance.now();
  private readonly signal: AbortSignal;
  constructor(signal: AbortSignal) { this.signal = signal; }

  /** Lets others have a turn if the last one is some time ago. @throws what the signal was aborted with */
  *take(): Generator<Side, void> {
    if (performance.now() - this.turn <= turnMsMax) return;
    yield new Promise((resolve) => { setImmediate(resolve); });
    this.signal.throwIfAborted();
    this.turn = performance.now();
  }
}
