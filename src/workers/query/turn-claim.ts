/**
 * Which thread's tasks go on where the process has little memory left: one at a time. Threads that claim at the very
 * same moment may both go on for one turn, which does no harm.
 *
 * Invariant: a claim that was not renewed for a while is void, so nobody waits for a thread that is busy, idle or gone.
 */

/** Bytes of what all threads share of it. */
const claimBytes = 16;
/** A claim that was not renewed for so long is void. */
const claimMs = 1000;

/** Memory for `TurnClaim`, of all threads of a process. */
export const claimMemory = (): SharedArrayBuffer => new SharedArrayBuffer(claimBytes);

export class TurnClaim {
  /** The thread, from 1, and when it last claimed, in milliseconds since 1970. */
  private readonly shared: Float64Array;
  private readonly own: number;
  /** `thread`: from 0. */
  constructor(memory: SharedArrayBuffer, thread: number) {
    this.shared = new Float64Array(memory);
    this.own = thread + 1;
  }

  /** Whether the thread may go on, which others may not then. */
  claim(): boolean {
    const now = Date.now();
    const [holder, since] = this.shared as unknown as readonly [number, number];
    if (holder !== this.own && holder !== 0 && Math.abs(now - since) < claimMs) return false;
    this.shared[0] = this.own;
    this.shared[1] = now;
    return true;
  }
  /** Others may go on. */
  release(): void {
    if (this.shared[0] === this.own) this.shared[0] = 0;
  }
}
