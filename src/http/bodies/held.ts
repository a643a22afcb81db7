/**
 * Bytes of request bodies that wait in the main thread's memory for the rest of their body.
 *
 * Invariants:
 * - All of them together are bounded, whatever the number of clients. The first bytes of each are free: what is short
 *   is never refused for what others hold.
 * - When there is no room the slowest client that is too slow is given up for who needs it.
 */
import { LakeError } from '../../errors.ts';
import { type Pace, slowest } from '../connections/pace.ts';

/** Of each body. */
const freeBytes = 4 << 10;

/** A body whose beginning is held; `give` ends its request. */
interface Holder {
  readonly pace: Pace;
  readonly give: (error: LakeError) => void;
}

/** What one body holds. */
export interface HeldBody {
  /** So many bytes more are held. Whether there is room for them. */
  add(bytes: number): boolean;
  /** Nothing of it is held any more. */
  release(): void;
}

/** The bytes that are held, of all bodies. */
export class HeldBodies {
  private readonly bytesMax: number;
  private readonly holders = new Map<Holder, number>();
  private bytesHeld = 0;
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Beyond the free ones. */
  get bytes(): number {
    return this.bytesHeld;
  }

  begin(pace: Pace, give: (error: LakeError) => void): HeldBody {
    const holder: Holder = { pace, give };
    let length = 0;
    return {
      add: (bytes) => {
        length += bytes;
        if (length <= freeBytes) return true;
        const more = Math.min(bytes, length - freeBytes);
        if (!this.makeRoom(more, holder)) return false;
        this.holders.set(holder, (this.holders.get(holder) ?? 0) + more);
        this.bytesHeld += more;
        return true;
      },
      release: () => {
        this.release(holder);
      },
    };
  }

  private makeRoom(bytes: number, asking: Holder): boolean {
    while (this.bytesHeld + bytes > this.bytesMax) {
      const slow = slowest(this.holders.keys(), (holder) => (holder === asking ? undefined : holder.pace));
      if (!slow) return false;
      const error = slow.pace.tooSlow();
      this.release(slow);
      slow.give(error);
    }
    return true;
  }
  private release(holder: Holder): void {
    this.bytesHeld -= this.holders.get(holder) ?? 0;
    this.holders.delete(holder);
  }
}

/** Of control bodies, and of the beginnings of loads. */
export const controlBytesMax = 32 << 20,
  beginningBytesMax = 16 << 20;

/** Why a control body is not read. */
export const noRoom = (): LakeError => new LakeError('bodies-full', { limit: controlBytesMax });
