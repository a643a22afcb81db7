/**
 * The memory of the tasks of one thread: what their evaluation makes is charged before it is allocated, and compared with what the thread has in use.
 *
 * Charges alone would have to know when everything is freed; the bytes in use alone are known too late for one large allocation. So
 * - a single allocation beyond the limit is refused at once, without a look at the thread;
 * - after so many bytes or steps the bytes in use are looked at, and if they are too many, again after a collection: what is left then is really held.
 *
 * Invariants:
 * - A charge costs an addition as long as no look is due; kernels charge once a batch, builders once each time they double.
 * - What the thread held before its first task began is no task's: it is found out by a collection, and no task is refused for it.
 * - Of several tasks of a thread the one that made most is refused first; far beyond the limit, whichever charges.
 */
import { LakeError } from '../errors.ts';

/** The thread as an account sees it. */
export interface ThreadUse {
  /** Bytes in use, garbage included: of the heap and of buffers. */
  readonly bytes: () => number;
  /** Frees what is garbage. */
  readonly collect: () => void;
  /** Bytes that are not the tasks' own, such as caches. */
  readonly kept?: () => number;
  /** Whether the process has more in use than it may: then each thread keeps to its share. */
  readonly isTight?: () => boolean;
}

/** A task may hold so much however small its budget is: batches and what readers look at are of that size. */
export const taskBytesMin = 16 << 20;
/** What a thread needs at least for its program, and for work beside what its tasks hold. */
const besidesBytes = 48 << 20;
/** Bytes charged, and steps taken, between two looks at the thread. */
const lookBytes = 8 << 20, lookSteps = 256;
/** So near to the limit the collector would run all the time. */
const marginBytes = 8 << 20;
/** Beyond the limit by so much, as a share of it, no task is spared. */
const spareShare = 0.5;
/** What a thread has of its budget while the process uses too much. */
const tightShare = 0.5;
/** Bytes after which a collection that freed too little for others is tried again. */
const againBytes = 32 << 20;

/** What kind of tasks they are. `what`: what makes most of it, in errors; `patient`: the first of them does not wait for what others have left to be collected. */
interface TaskKind { readonly code: 'query-memory' | 'load-memory'; readonly what: string; readonly patient?: boolean }
const queries: TaskKind = { code: 'query-memory', what: 'evaluation' };
/** Loads: their memory is bounded by what they sort, and so is this, but for a value that is large by itself. */
export const loads: TaskKind = { code: 'load-memory', what: 'a value', patient: true };

/** The tasks of one thread. `max`: bytes that one of them may hold. */
export class ThreadMemory {
  readonly max: number;
  readonly kind: TaskKind;
  private readonly use: ThreadUse;
  private readonly accounts = new Set<MemoryAccount>();
  private looksAgainAt = 0;
  /** Bytes that `relieve` left. */
  private relievedAt = 0;
  /** What the thread holds without a task, as far as is known, caches aside. */
  private besides = besidesBytes;
  constructor(max: number, use: ThreadUse, kind = queries) {
    this.max = Math.max(max, taskBytesMin);
    this.use = use;
    this.kind = kind;
  }

  /** An account for a task that begins; it is closed when the task has ended. */
  open(): MemoryAccount {
    if (!this.kind.patient && this.accounts.size === 0 && this.use.bytes() > this.limit(tightShare)) this.collectBesides();
    const account = new MemoryAccount(this);
    this.accounts.add(account);
    return account;
  }
  close(account: MemoryAccount): void { this.accounts.delete(account); }
  /** What its tasks may hold at the moment. */
  get reserved(): number { return this.accounts.size > 0 ? this.max : 0; }

  /** Whether the thread has room for so many more bytes of this task. */
  hasRoom(account: MemoryAccount, bytes: number): boolean {
    const { use } = this;
    let now = use.bytes() + bytes;
    if (now <= this.limit(tightShare)) return true;
    const isLargest = this.isLargest(account);
    if (!isLargest && now <= this.looksAgainAt) return true;
    const limit = this.limit(this.kind.patient ? 1 : this.shareNow());
    if (now <= this.limit(this.shareNow())) return true;
    use.collect();
    now = use.bytes() + bytes;
    this.looksAgainAt = 0;
    if (now <= limit - marginBytes) return true;
    if (isLargest || now > limit * (1 + spareShare)) return false;
    this.looksAgainAt = now + againBytes;
    return true;
  }

  /** Garbage goes if there is too much of it; what is held is left alone, and not looked through again until there is more. */
  relieve(): void {
    const now = this.use.bytes();
    if (now <= this.limit(tightShare) || now <= this.relievedAt + againBytes || now <= this.limit(this.shareNow())) return;
    this.use.collect();
    this.relievedAt = this.use.bytes();
  }

  /** For a thread that has no task: what the last ones left goes. */
  rest(): void { if (this.use.bytes() > this.limit(0)) this.collectBesides(); }

  private collectBesides(): void {
    this.use.collect();
    this.besides = Math.max(besidesBytes, this.use.bytes() - (this.use.kept?.() ?? 0));
  }
  /** What a thread has of its budget at the moment. */
  private shareNow(): number { return this.use.isTight?.() === true ? tightShare : 1; }
  private limit(share: number): number { return this.max * share + this.besides + (this.use.kept?.() ?? 0); }
  private isLargest(account: MemoryAccount): boolean {
    for (const other of this.accounts) if (other.made > account.made) return false;
    return true;
  }
}

/** What one task has made. */
export class MemoryAccount {
  /** Bytes charged since the task began, most of them garbage by now. */
  made = 0;
  private readonly thread: ThreadMemory;
  private unseenBytes = 0;
  private unseenSteps = 0;
  constructor(thread: ThreadMemory) { this.thread = thread; }

  /** Charges bytes that are about to be allocated in one piece. @throws query-memory, load-memory */
  charge(bytes: number, what: string): void {
    this.made += bytes;
    if (bytes > this.thread.max) this.refuse(what);
    if ((this.unseenBytes += bytes) > lookBytes) this.look(bytes, what);
  }
  /** Steps of a loop, each of which may have made a little. @throws query-memory, load-memory */
  step(steps: number): void { if ((this.unseenSteps += steps) >= lookSteps) this.look(0, this.thread.kind.what); }

  /** Between two pieces of work that charge nothing: garbage goes if there is too much of it. */
  pause(): void { this.thread.relieve(); }

  private look(bytes: number, what: string): void {
    this.unseenBytes = this.unseenSteps = 0;
    if (!this.thread.hasRoom(this, bytes)) this.refuse(what);
  }
  private refuse(what: string): never { throw new LakeError(this.thread.kind.code, { operator: what, limit: this.thread.max }); }
}
