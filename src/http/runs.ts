/**
 * Queries and loads by their request ids: those that run, and for a while those that ended. What cancels them; how far
 * they are their charts say (workers/watches.ts).
 *
 * Invariants:
 * - Of an id the newest of each owner is known, and older ones that still run: a client may give several requests the
 *   same id.
 * - What ended is known for `keepMs` at most; no more than `endedMax`, nor more text of queries than `endedCharsMax`:
 *   the oldest go first.
 * - One that has ended does not change.
 */
import { LakeError } from '../errors.ts';
import { LoadWatch, QueryWatch, type RunCharts } from '../workers/watches.ts';

const endedMax = 4096;
const endedCharsMax = 8 << 20;
/** How often it is looked for what nobody may ask for any more. */
const sweepMs = 1000;

/** The charts that runs are on, and who is told of every message and snapshot of them (XState inspection). */
interface RunHost {
  readonly charts: RunCharts;
  readonly inspect: ((event: unknown) => void) | undefined;
}

/**
 * What a request tells of itself when it begins. `owner`: who sent it, where there is access control. `whenLeft`: calls
 * when they go away, at once if they are gone.
 */
interface Begun {
  readonly id: string;
  readonly owner: string | undefined;
  readonly whenLeft: (left: () => void) => void;
  /** Called with the reason when it is to end before its time; who asks for `signal` needs none. */
  readonly stopped?: (reason: LakeError) => void;
}

abstract class Run {
  readonly id: string;
  readonly owner: string | undefined;
  readonly startedMs = Date.now();
  readonly startedAt = performance.now();
  /** Of `performance.now()`; 0 while it runs. */
  endedAt = 0;
  /** One of the same id and owner that began before and runs on. */
  older: this | undefined;
  /** The newest of the same id of another owner: a list that begins with the id's first owner. */
  ofOther: this | undefined;
  /** Those that ended before and behind it, among those that are known for a while. */
  endedBefore: this | undefined;
  endedNext: this | undefined;
  /** It is among them. */
  isKept = false;
  /** Gone when it has ended, all three: they hold the request, and what ended is known for a while. */
  private whenLeft: Begun['whenLeft'] | undefined;
  private stopped: Begun['stopped'];
  private controller: AbortController | undefined;
  private abortReason: LakeError | undefined;
  private waiters: (() => void)[] | undefined;

  constructor({ id, owner, whenLeft, stopped }: Begun) {
    this.id = id;
    this.owner = owner;
    this.whenLeft = whenLeft;
    this.stopped = stopped;
  }

  /** Fires when it is to end: its client left, it was cancelled, its time is over. */
  get signal(): AbortSignal {
    if (this.controller) return this.controller.signal;
    const controller = (this.controller = new AbortController());
    this.whenLeft?.(() => {
      if (this.endedAt === 0) controller.abort();
    });
    if (this.abortReason) controller.abort(this.abortReason);
    return controller.signal;
  }
  get elapsedMs(): number {
    return (this.endedAt || performance.now()) - this.startedAt;
  }
  /** Why it was told to end. */
  get reason(): LakeError | undefined {
    return this.abortReason;
  }
  protected stop(reason: LakeError): void {
    this.abortReason ??= reason;
    this.controller?.abort(reason);
    this.stopped?.(reason);
  }

  /** Resolves once it has ended. */
  whenEnded(): Promise<void> {
    return this.endedAt > 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          (this.waiters ??= []).push(resolve);
        });
  }
  protected finish(): boolean {
    if (this.endedAt > 0) return false;
    this.endedAt = performance.now();
    for (const tell of this.waiters ?? []) tell();
    this.waiters = undefined;
    this.whenLeft = undefined;
    this.stopped = undefined;
    this.controller = undefined;
    return true;
  }
}

/** A query that begins: `text` is what was asked. */
interface QueryBegun extends Begun {
  readonly text: string;
}
/** How far a query is: a state of its chart, without the one around those in which it works. */
type QueryState = 'waiting' | 'compiling' | 'running' | 'streaming' | 'done' | 'failed' | 'cancelled' | 'expired';
/** A query, from the moment that its text is known until it was answered, and a while longer. */
export class QueryRun extends Run {
  readonly text: string;
  readonly watch: QueryWatch;
  private readonly left: (run: QueryRun) => void;
  private readonly timer: NodeJS.Timeout | undefined;
  private firstFailure: unknown;

  constructor(begun: QueryBegun, msMax: number, left: (run: QueryRun) => void, { charts, inspect }: RunHost) {
    super(begun);
    this.text = begun.text;
    this.watch = new QueryWatch({ id: begun.id }, inspect, charts.query);
    this.left = left;
    this.timer =
      msMax > 0
        ? setTimeout(() => {
            this.stop(new LakeError('query-time', { limit: msMax / 1000 }));
          }, msMax)
        : undefined;
    this.timer?.unref();
  }

  cancel(): void {
    this.stop(new LakeError('query-cancelled'));
  }
  /** It ended by an error that the answer tells of. */
  failed(error: unknown): void {
    this.firstFailure ??= error;
  }
  /** Its answer is over. */
  ended(): void {
    clearTimeout(this.timer);
    if (this.endedAt > 0) return;
    this.watch.answered(this.failure);
    this.finish();
    this.left(this);
  }

  get failure(): unknown {
    return this.firstFailure ?? this.watch.failure;
  }
  get state(): QueryState {
    return this.watch.chart.state.replace('working.', '') as QueryState;
  }
  /** Why it ended, as its status tells; empty: nothing went wrong. */
  get errorText(): string {
    return this.watch.chart.context.error;
  }
}

/** `bytesTotal`: length of the body, where the client told it. */
interface LoadBegun extends Begun {
  readonly poolId: string;
  readonly pool: string;
  readonly branch: string;
  readonly bytesTotal: number | undefined;
}
/** How far a load is: the outermost state of its chart. */
type LoadState =
  | 'waiting'
  | 'receiving'
  | 'sorting'
  | 'writing'
  | 'committing'
  | 'committed'
  | 'rejected'
  | 'cancelled';
/** A load, until its commit was made or refused, and a while longer. */
export class LoadRun extends Run {
  readonly pool: string;
  readonly branch: string;
  readonly bytesTotal: number | undefined;
  readonly watch: LoadWatch;
  /** Tells what waits for a small body that nobody will need it. */
  unblock: ((reason: LakeError) => void) | undefined;
  private readonly left: (run: LoadRun) => void;
  private firstFailure: unknown;

  constructor(begun: LoadBegun, left: (run: LoadRun) => void, { charts, inspect }: RunHost) {
    super(begun);
    this.watch = new LoadWatch({ poolId: begun.poolId }, inspect, charts.load);
    this.pool = begun.pool;
    this.branch = begun.branch;
    this.bytesTotal = begun.bytesTotal;
    this.left = left;
  }

  cancel(): void {
    this.stop(new LakeError('load-cancelled', { reason: 'by request' }));
    this.unblock?.(this.reason!);
  }
  /** Makes the commit, unless the load was cancelled before; from here on it cannot be. */
  commit<T>(make: () => Promise<T>): Promise<T> {
    if (this.reason) return Promise.reject(this.reason);
    this.watch.commitAsked();
    return make();
  }
  committed(commit: string): void {
    this.watch.committed(commit);
    if (this.finish()) this.left(this);
  }
  rejected(error: unknown): void {
    this.firstFailure = error;
    this.watch.failed(error);
    this.watch.ended();
    if (this.finish()) this.left(this);
  }

  /** Its objects were written; it was its commit that failed. */
  get isCommitFailure(): boolean {
    return this.watch.commitAskedAt > 0 && this.firstFailure !== undefined;
  }
  /** It cannot be cancelled any more. */
  get isCommitting(): boolean {
    return this.watch.chart.state === 'committing.asked';
  }
  get commitId(): string | undefined {
    return this.watch.chart.context.commit ?? undefined;
  }
  get failure(): unknown {
    return this.firstFailure;
  }
  get state(): LoadState {
    return this.watch.chart.state.replace(/\..*/, '') as LoadState;
  }
}

/** Who asks for runs of an id. `seesAll`: those of others too, where there are none of their own. */
export interface Asker {
  readonly name: string | undefined;
  readonly seesAll: boolean;
}

/** Runs that ended, oldest first; one can go from anywhere. */
class EndedRuns<R extends Run> {
  size = 0;
  private first: R | undefined;
  private last: R | undefined;

  get oldest(): R | undefined {
    return this.first;
  }
  add(run: R): void {
    run.isKept = true;
    run.endedBefore = this.last;
    if (this.last) this.last.endedNext = run;
    else this.first = run;
    this.last = run;
    this.size++;
  }
  /** Whether it was there. */
  delete(run: R): boolean {
    if (!run.isKept) return false;
    const { endedBefore: before, endedNext: next } = run;
    if (before) before.endedNext = next;
    else this.first = next;
    if (next) next.endedBefore = before;
    else this.last = before;
    run.endedBefore = run.endedNext = undefined;
    run.isKept = false;
    this.size--;
    return true;
  }
}

class KnownRuns<R extends Run> {
  /** The newest of each id, of its first owner; those of others behind it: what others call theirs hides nothing. */
  private readonly newest = new Map<string, R>();
  private readonly ended = new EndedRuns<R>();
  private readonly keepMs: number;
  private readonly charsOf: (run: R) => number;
  /** Told of each that nobody can ask for any more. */
  private readonly forgotten: (run: R) => void;
  private readonly sweeping: NodeJS.Timeout;
  private endedChars = 0;

  constructor(keepMs: number, charsOf: (run: R) => number, forgotten: (run: R) => void) {
    this.keepMs = keepMs;
    this.charsOf = charsOf;
    this.forgotten = forgotten;
    this.sweeping = setInterval(() => {
      this.sweep();
    }, sweepMs);
    this.sweeping.unref();
  }

  add(run: R): R {
    const before = this.newestAs(run);
    this.put(run, before);
    if (!before) return run;
    if (before.endedAt > 0) this.forget(before);
    run.older = before.endedAt > 0 ? before.older : before;
    return run;
  }

  /** It has ended: known for a while, unless a newer one of its owner has its id. */
  left(run: R): void {
    let newer = this.newestAs(run);
    if (newer !== run) {
      while (newer && newer.older !== run) newer = newer.older;
      if (newer) newer.older = run.older;
      this.forgotten(run);
      return;
    }
    this.ended.add(run);
    this.endedChars += this.charsOf(run);
    if (this.ended.size > endedMax || this.endedChars > endedCharsMax) this.sweep();
  }

  /** The newest of an id that is the asker's own, else the newest that they may know of. */
  find(id: string, { name, seesAll }: Asker): R | undefined {
    const own = this.known(this.newestOf(id, name));
    if (own || !seesAll) return own;
    let found: R | undefined;
    for (const newest of this.ofId(id)) {
      const run = this.known(newest);
      if (run && (!found || run.startedAt > found.startedAt)) found = run;
    }
    return found;
  }
  /** All that run. */
  *all(): Generator<R> {
    for (const id of this.newest.keys()) for (const newest of this.ofId(id)) yield* runningOf(newest);
  }
  /** All of an id that run: the asker's own, else those that they may know of. */
  runningOf(id: string, { name, seesAll }: Asker): readonly R[] {
    const own = [...runningOf(this.newestOf(id, name))];
    return own.length > 0 || !seesAll ? own : [...this.ofId(id)].flatMap((newest) => [...runningOf(newest)]);
  }

  close(): void {
    clearInterval(this.sweeping);
  }

  /** The newest of an id, one for each owner. */
  private *ofId(id: string): Generator<R> {
    for (let run = this.newest.get(id); run; run = run.ofOther) yield run;
  }
  private newestOf(id: string, owner: string | undefined): R | undefined {
    let run = this.newest.get(id);
    while (run && run.owner !== owner) run = run.ofOther;
    return run;
  }
  private newestAs({ id, owner }: R): R | undefined {
    return this.newestOf(id, owner);
  }
  /** Puts it where `before` is, or behind the other owners; undefined in place of it: `before` goes. */
  private put(run: R | undefined, before: R | undefined): void {
    const { id } = (run ?? before)!;
    const next = before?.ofOther;
    if (run) run.ofOther = next;
    const first = this.newest.get(id);
    let prior: R | undefined;
    for (let at = first; at && at !== before; at = at.ofOther) prior = at;
    if (before) before.ofOther = undefined;
    const now = run ?? next;
    if (prior) prior.ofOther = now;
    else if (now) this.newest.set(id, now);
    else this.newest.delete(id);
  }
  private known(newest: R | undefined): R | undefined {
    let run = newest;
    while (run && this.isOver(run)) run = run.older;
    return run;
  }
  private isOver(run: R): boolean {
    return run.endedAt > 0 && performance.now() - run.endedAt > this.keepMs;
  }
  private sweep(): void {
    for (let run = this.ended.oldest; run; run = this.ended.oldest) {
      if (this.ended.size <= endedMax && this.endedChars <= endedCharsMax && !this.isOver(run)) return;
      this.forget(run);
      if (this.newestAs(run) === run) this.put(run.older, run);
    }
  }
  private forget(run: R): void {
    if (this.ended.delete(run)) this.endedChars -= this.charsOf(run);
    this.forgotten(run);
  }
}

/** Those that run, of the same id and owner. */
function* runningOf<R extends Run>(newest: R | undefined): Generator<R> {
  for (let run = newest; run; run = run.older) if (run.endedAt === 0) yield run;
}

/** Told of each query and load that has ended. */
interface EndListener {
  readonly query: (run: QueryRun) => void;
  readonly load: (run: LoadRun) => void;
}

const counted = <S extends string>(runs: Iterable<{ readonly state: S }>): ReadonlyMap<S, number> => {
  const counts = new Map<S, number>();
  for (const { state } of runs) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
};

/** All of them. `msMax`: the longest that a query may run; 0: no limit. */
export class Runs {
  private readonly queries: KnownRuns<QueryRun>;
  private readonly loads: KnownRuns<LoadRun>;
  private readonly queryMsMax: number;
  private readonly host: RunHost;
  private listener: EndListener | undefined;
  private readonly queryLeft = (run: QueryRun): void => {
    this.queries.left(run);
    this.listener?.query(run);
  };
  private readonly loadLeft = (run: LoadRun): void => {
    this.loads.left(run);
    this.listener?.load(run);
  };

  constructor({ queryMsMax, keepMs, ...host }: RunHost & { readonly queryMsMax: number; readonly keepMs: number }) {
    this.queryMsMax = queryMsMax;
    this.host = host;
    this.queries = new KnownRuns(
      keepMs,
      ({ text }) => text.length,
      ({ watch }) => {
        watch.expire();
      },
    );
    // A load's chart ends by itself.
    this.loads = new KnownRuns(
      keepMs,
      () => 0,
      () => undefined,
    );
  }

  beginQuery(begun: QueryBegun): QueryRun {
    return this.queries.add(new QueryRun(begun, this.queryMsMax, this.queryLeft, this.host));
  }
  beginLoad(begun: LoadBegun): LoadRun {
    return this.loads.add(new LoadRun(begun, this.loadLeft, this.host));
  }

  query(id: string, asker: Asker): QueryRun | undefined {
    return this.queries.find(id, asker);
  }
  load(id: string, asker: Asker): LoadRun | undefined {
    return this.loads.find(id, asker);
  }
  /** Ends the queries of an id; whether there were any. */
  cancelQueries(id: string, asker: Asker): boolean {
    const all = this.queries.runningOf(id, asker);
    for (const run of all) run.cancel();
    return all.length > 0;
  }
  /** How many are in which state. */
  states(): { readonly queries: ReadonlyMap<QueryState, number>; readonly loads: ReadonlyMap<LoadState, number> } {
    return { queries: counted(this.queries.all()), loads: counted(this.loads.all()) };
  }
  /** Told of each that has ended. */
  hear(listener: EndListener): void {
    this.listener = listener;
  }

  close(): void {
    this.queries.close();
    this.loads.close();
  }
}
