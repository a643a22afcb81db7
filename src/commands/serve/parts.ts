/**
 * The parts of a service in the order in which they were started. They end in reverse: each before what it stands on.
 */

type End = () => Promise<void> | void;

/** What has been started and is to be ended. */
export class Parts {
  private readonly ends: End[] = [];

  /** Says how a part that was just started ends; what it gives takes the part out, for who hands it on. */
  add(end: End): () => void {
    // A function of its own, so that one end may stand for two parts.
    const own: End = () => end();
    this.ends.push(own);
    return () => {
      const at = this.ends.indexOf(own);
      if (at >= 0) this.ends.splice(at, 1);
    };
  }

  /** Ends all, also those behind one that fails. @throws the first fault of an end */
  async close(): Promise<void> {
    const faults: unknown[] = [];
    for (let end = this.ends.pop(); end; end = this.ends.pop())
      try {
        await end();
      } catch (fault) {
        faults.push(fault);
      }
    if (faults.length > 0) throw faults[0];
  }
}
