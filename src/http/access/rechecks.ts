/** Who is to look again, now and then, whether those connected still may be. */
export class Rechecks {
  private readonly everyMs: number;
  private readonly listeners = new Set<() => void>();
  private timer: NodeJS.Timeout | undefined;
  constructor(everyMs: number) {
    this.everyMs = everyMs;
  }

  /** Returns the call that ends it. */
  add(listener: () => void): () => void {
    this.listeners.add(listener);
    this.timer ??= setInterval(() => {
      this.tell();
    }, this.everyMs).unref();
    return () => {
      if (!this.listeners.delete(listener) || this.listeners.size > 0) return;
      clearInterval(this.timer);
      this.timer = undefined;
    };
  }
  tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
