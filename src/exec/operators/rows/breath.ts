/**
 * Turns of the event loop for operators that can be busy for long without giving anything: a cancel must get through.
 */
import { isTurnLong, nextTurn } from '../../../vectors/stop.ts';
import type { Side } from '../../operator.ts';

/** The turns of one operator, until `signal` is aborted. */
export class Breath {
  private readonly signal: AbortSignal;
  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  /** Lets others have a turn if the last one is some time ago. @throws what the signal was aborted with */
  *take(): Generator<Side, void> {
    if (!isTurnLong()) return;
    yield nextTurn();
    this.signal.throwIfAborted();
  }
}
