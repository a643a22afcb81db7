/** The queries that run, by request id: what ends one before its time. A client may give several the same id; all are ended then. */
import { LakeError } from '../errors.ts';

/** One that runs. `signal` fires when it is to end: its client left, it was cancelled, its time is over. */
export interface RunningQuery { readonly signal: AbortSignal; readonly ended: () => void }

export class RunningQueries {
  readonly #byId = new Map<string, Set<AbortController>>();
  readonly #msMax: number;
  /** `msMax`: the longest that a query may run; 0: no limit. */
  constructor(msMax: number) { this.#msMax = msMax; }

  begin(id: string, client: AbortSignal): RunningQuery {
    const controller = new AbortController(), same = this.#byId.get(id);
    if (same) same.add(controller);
    else this.#byId.set(id, new Set([controller]));
    const left = (): void => { controller.abort(client.reason); };
    if (client.aborted) left();
    client.addEventListener('abort', left, { once: true });
    const timer = this.#msMax > 0 ? setTimeout(() => { controller.abort(new LakeError('query-time', { limit: this.#msMax / 1000 })); }, this.#msMax) : undefined;
    timer?.unref();
    return {
      signal: controller.signal,
      ended: () => {
        clearTimeout(timer);
        client.removeEventListener('abort', left);
        const all = this.#byId.get(id);
        all?.delete(controller);
        if (all?.size === 0) this.#byId.delete(id);
      },
    };
  }

  /** Ends those of an id; whether there were any. */
  cancel(id: string): boolean {
    const all = this.#byId.get(id);
    for (const controller of all ?? []) controller.abort();
    return all !== undefined;
  }
}
