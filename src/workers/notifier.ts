/** Work that waits for what other threads tell: one waiter, any number of tellers. */
export class Notifier {
  private count = 0;
  private waiting: (() => void) | undefined;

  /** How often something was told so far. */
  get told(): number {
    return this.count;
  }

  /** Ends a wait, if there is one. */
  tell(): void {
    this.count++;
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.();
  }

  /** Until something is told. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting = resolve;
    });
  }

  /** Until something is told; throws when the signal does. */
  async waitUnless(signal: AbortSignal): Promise<void> {
    const tell = (): void => {
      this.tell();
    };
    signal.throwIfAborted();
    signal.addEventListener('abort', tell, { once: true });
    await this.wait();
    signal.removeEventListener('abort', tell);
    signal.throwIfAborted();
  }
}
