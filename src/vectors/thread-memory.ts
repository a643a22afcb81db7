/**
 * The memory of the tasks of one thread: what their evaluation makes is charged before it is allocated, and compared
 * with what the thread has in use.
 *
 * Charges alone would have to know when everything is freed; the bytes in use alone are known too late for one large
 * allocation. So
 * - a single allocation beyond the limit is refused at once, without a look at the thread;
 * - after so many bytes or steps the bytes in use are looked at, and if they are too many, again after a collection:
 *   what is left then is really held.
 *
 * Invariants:
 * - A charge costs an addition as long as no look is due; kernels charge once a batch, builders once each time they
 *   double.
 * - What the thread holds when a task begins that is alone is not that task's: it is found out by a collection, and no
 *   task is refused for it.
 * - Of several tasks of a thread the one that made most is refused first; far beyond the limit, whichever charges, but
 *   for one that made next to nothing.
 * - Where several queries hold more than a part of the limit together, the oldest goes on, and those that made much
 *   wait between two turns: each gets what it needs, one after the other. Nobody waits for a task that waits for its
 *   client or that helps another thread's, nor for long in which no task has ended.
 * - A task that is refused while others hold what it lacks is told to come again, not that it is too large: alone it
 *   might have had room.
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
  /** Whether the process has as much in use as it may, about: then each thread keeps to its share. */
  readonly isTight?: () => boolean;
  /** Whether it is near to that: then garbage goes sooner, and operators spill sooner; nobody is refused for it. */
  readonly isNear?: () => boolean;
  /** Whether the thread has tasks of another kind, which have a memory of their own beside this one. */
  readonly hasOthers?: () => boolean;
  /** Of tasks that made much, only those of the thread that has this go on then. */
  readonly claim?: { readonly claim: () => boolean; readonly release: () => void };
}

/** A task may hold so much however small its budget is: batches and what readers look at are of that size. */
export const taskBytesMin = 16 << 20;
/** What a thread needs at least for its program, and for work beside what its tasks hold. */
const besidesBytes = 48 << 20;
/** Bytes charged, and steps taken, between two looks at the thread. */
const lookBytes = 8 << 20;
const lookSteps = 256;
/** So near to the limit the collector would run all the time. */
const marginBytes = 8 << 20;
/** Beyond the limit by so much, as a share of it, no task is spared; by less where the process uses too much. */
const spareShare = 0.5;
const tightSpareShare = 0.2;
/** What a thread has of its budget while the process uses too much. */
const tightShare = 0.5;
/** Beyond this share of what a thread has at the moment, operators that can spill do so. */
const shortShare = 0.75;
/** A task that made less than this share of the limit holds no more by itself than what there is for it. */
const ownShare = 0.5;
/** Bytes after which a collection that freed too little for others is tried again. */
const againBytes = 32 << 20;
/** The most of them, where collections do not take the process away from its bound. */
const againBytesMax = 4 * againBytes;

/**
 * From so much on that the thread holds, as a share of its limit, tasks wait for the oldest one; not for longer than
 * this, nor those that made less.
 */
const waitingShare = 0.25;
const waitMsMax = 60_000;
const waitMadeMin = 1 << 20;
const waitHeavyMin = 16 << 20;
/** Steps of a task that made little by them: some hundred turns, or some thousand rows one by one. */
const littleStepsMax = 1 << 14;
/**
 * Where so many have begun, or so many wait, others begin one by one, so far apart: each of them holds its first rows,
 * and what takes little is done before the next one begins. Behind those that have begun none waits longer than
 * `beginMsMax` for that.
 */
const begunMax = 16;
const queueMin = 4;
const apartMs = 100;
const beginMsMax = 1000;
/** How often those that wait look again, whatever they are told. */
const waitLookMs = 50;

/**
 * What kind of tasks they are. `what`: what makes most of it, in errors; `patient`: the first of them does not wait for
 * what others have left to be collected.
 */
interface TaskKind {
  readonly code: 'query-memory' | 'load-memory';
  readonly busyCode: 'query-memory-busy' | 'load-memory-busy';
  readonly what: string;
  readonly patient?: boolean;
}
const queries: TaskKind = { code: 'query-memory', busyCode: 'query-memory-busy', what: 'evaluation' };
/** Loads: their memory is bounded by what they sort, and so is this, but for a value that is large by itself. */
export const loads: TaskKind = {
  code: 'load-memory',
  busyCode: 'load-memory-busy',
  what: 'a value',
  patient: true,
};

/** The tasks of one thread. `max`: bytes that one of them may hold. */
export class ThreadMemory {
  readonly max: number;
  readonly kind: TaskKind;
  private readonly use: ThreadUse;
  /** The oldest first. */
  private readonly accounts = new Set<MemoryAccount>();
  private readonly waiting = new Set<() => void>();
  private looksAgainAt = 0;
  /** When a task began last. */
  begunAt = 0;
  /** Bytes that `relieve` left, and how many more make it look again. */
  private relievedAt = 0;
  private relievedAgain = againBytes;
  /** What the thread holds without a task, as far as is known, caches aside. */
  private besides = besidesBytes;
  constructor(max: number, use: ThreadUse, kind = queries) {
    this.max = Math.max(max, taskBytesMin);
    this.use = use;
    this.kind = kind;
  }

  /** An account for a task that begins; it is closed when the task has ended. */
  open(task: TaskTurns = {}): MemoryAccount {
    // Far from the process's bound the engine collects what the last task left, beside the next one.
    const share = this.kind.patient || this.use.isNear?.() !== true ? 1 : tightShare;
    if (this.accounts.size === 0 && this.use.bytes() > this.limit(share)) this.measureRest();
    const account = new MemoryAccount(this, task);
    this.accounts.add(account);
    return account;
  }
  close(account: MemoryAccount): void {
    this.accounts.delete(account);
    this.use.claim?.release();
    if (this.waiting.size === 0) return;
    // What it held is garbage now.
    if (account.made >= waitHeavyMin) this.use.collect();
    for (const other of this.accounts) other.waitedMs = Math.min(other.waitedMs, beginMsMax);
    for (const wake of [...this.waiting]) wake();
  }
  /** Whether it has tasks. */
  get isBusy(): boolean {
    return this.accounts.size > 0;
  }
  /**
   * What its tasks may hold at the moment beside those of another kind, which has so much: while the process uses too
   * much the two together have half of what the larger one has.
   */
  reservedBeside(otherMax: number): number {
    if (!this.isBusy) return 0;
    return this.use.isTight?.() === true ? Math.max(0, this.max - otherMax) * tightShare : this.max;
  }

  /** Whether the thread has room for so many more bytes of this task. */
  hasRoom(account: MemoryAccount, bytes: number): boolean {
    const { use } = this;
    let now = use.bytes() + bytes;
    if (now <= this.limit(tightShare)) return true;
    if (account.isLittle && this.hasHeavy(account)) return true;
    const isLargest = this.isLargest(account);
    if (!isLargest && now <= this.looksAgainAt) return true;
    const share = this.shareNow(account);
    const limit = this.limit(this.kind.patient ? 1 : share);
    if (now <= this.limit(share)) return true;
    use.collect();
    now = use.bytes() + bytes;
    this.looksAgainAt = 0;
    if (now <= limit - marginBytes) return true;
    const isTight = use.isTight?.() === true;
    if (isLargest || now > limit * (1 + (isTight ? tightSpareShare : spareShare))) return false;
    this.looksAgainAt = now + (isTight ? marginBytes : againBytes);
    return true;
  }

  /**
   * Whether a task lacks no more than what others may hold, so that it might have room without them. What readers have
   * decoded is charged to nobody: beside others a task that made little itself is not the one that holds it.
   */
  isCrowded(account: MemoryAccount, bytes: number): boolean {
    if (this.use.hasOthers?.() === true) return true;
    if (this.accounts.size > 1 && account.made + bytes <= this.max * ownShare) return true;
    const lacking = this.use.bytes() + bytes - this.limit(1);
    let made = 0;
    for (const other of this.accounts) if (other !== account) made += other.made;
    return (
      made > Math.max(0, lacking) ||
      (lacking <= 0 && this.use.isTight?.() === true && this.use.claim?.claim() === false)
    );
  }

  /** Whether a task has less than all of the budget to itself. */
  get isShared(): boolean {
    return this.accounts.size > 1 || this.use.isTight?.() === true;
  }

  /**
   * Whether the thread holds so much, garbage aside, that operators which can spill should, whatever they know to hold
   * themselves.
   */
  isShort(account: MemoryAccount): boolean {
    if (account.isLeaving) return true;
    const share = this.shareKept(account) * shortShare;
    this.relieve(share);
    const now = this.use.bytes();
    if (now <= this.limit(share)) return false;
    if (now <= this.relievedAt + againBytes) return true;
    // What is garbage is none of what operators hold, and a collection costs far less than what is spilled in vain.
    this.use.collect();
    this.relievedAt = this.use.bytes();
    return this.relievedAt > this.limit(share);
  }

  /** Whether the task should wait for another one, which needs the thread's room first. */
  isBehind(account: MemoryAccount): boolean {
    const { use } = this;
    if (this.accounts.size === 1 || this.ahead() === account)
      return (
        account.made >= waitHeavyMin &&
        use.bytes() > this.limit(waitingShare) &&
        use.isTight?.() === true &&
        use.claim?.claim() === false
      );
    if (account.waitedMs < beginMsMax && this.begun() >= begunMax && this.isEarly(account)) return true;
    if ((account.made < waitMadeMin && !this.isEarly(account)) || use.bytes() <= this.limit(waitingShare)) return false;
    // Where others wait already, it has been found out that what is there is held.
    if (this.waiting.size === 0) this.relieve(waitingShare);
    return use.bytes() > this.limit(waitingShare);
  }
  /** Whether a task has to wait before it begins, where many wait: for those that came before it, then for its turn. */
  private isEarly(account: MemoryAccount): boolean {
    if (account.hasBegun || (this.waiting.size < queueMin && this.begun() < begunMax)) return false;
    for (const other of this.accounts) {
      if (other === account) break;
      if (other.isWaiting && !other.hasBegun) return true;
    }
    return performance.now() < this.begunAt + apartMs;
  }
  /** Whether a task should spill before it waits: what it holds meanwhile, nobody else can have. */
  wantsSpilled(account: MemoryAccount): boolean {
    return account.made >= waitHeavyMin && this.use.isNear?.() === true;
  }
  /** Resolves when a task has ended, or after a while. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, waitLookMs);
      this.waiting.add(wake);
    });
  }
  /** How many tasks are at work. */
  private begun(): number {
    let count = 0;
    for (const account of this.accounts) if (account.hasBegun && account.task.isIdle?.() !== true) count++;
    return count;
  }
  /** The oldest task that goes on. */
  private ahead(): MemoryAccount | undefined {
    for (const account of this.accounts)
      if (account.task.isPart !== true && account.task.isIdle?.() !== true) return account;
    return undefined;
  }

  /**
   * Garbage goes if there is too much of it; what is held is left alone, and not looked through again until there is
   * more.
   */
  relieve(share = this.shareKept()): void {
    const now = this.use.bytes();
    const isNear = this.use.isNear?.() === true;
    if (!isNear) this.relievedAgain = againBytes;
    // Near the process's bound it is not for this thread alone to say how much garbage is too much.
    if (now <= this.limit(isNear ? 0 : share) || now <= this.relievedAt + this.relievedAgain) return;
    this.use.collect();
    this.relievedAt = this.use.bytes();
    // Where that does not take the process away from its bound, what is freed is what the next rows use again:
    // a collection for each 32 MiB made a group by of 20,000 keys take 28 ms there in place of 16.
    if (isNear) this.relievedAgain = Math.min(this.relievedAgain * 2, againBytesMax);
  }

  /** For a thread that has no task: what the last ones left goes. */
  rest(): void {
    if (this.use.bytes() <= this.limit(0)) return;
    this.measureRest();
  }
  private measureRest(): void {
    this.use.collect();
    this.besides = Math.max(besidesBytes, this.use.bytes() - (this.use.kept?.() ?? 0));
  }
  /**
   * What a thread has of its budget at the moment, with what those that wait may hold of it: all of it for the task
   * that all others wait for.
   */
  private shareNow(account?: MemoryAccount): number {
    const { use } = this;
    const hasAll =
      use.isTight?.() !== true || (account !== undefined && this.ahead() === account && use.claim?.claim() === true);
    return (hasAll ? 1 : tightShare) + (this.waiting.size > 0 ? waitingShare : 0);
  }
  /** What it fills before garbage goes and operators spill. */
  private shareKept(account?: MemoryAccount): number {
    const share = this.shareNow(account);
    return this.use.isNear?.() === true ? Math.min(share, tightShare) : share;
  }
  private limit(share: number): number {
    return this.max * share + this.besides + (this.use.kept?.() ?? 0);
  }
  /** Whether another task made much, waiting or not. */
  private hasHeavy(account: MemoryAccount): boolean {
    for (const other of this.accounts) if (other !== account && other.made >= waitHeavyMin) return true;
    return false;
  }
  private isLargest(account: MemoryAccount): boolean {
    for (const other of this.accounts) if (other.made > account.made && !other.isWaiting) return false;
    return true;
  }
}

/** How a task takes turns with others of its thread. */
interface TaskTurns {
  /** It helps a query of another thread, which waits for it. */
  readonly isPart?: boolean;
  /** Whether it waits for something that may take long, such as a client. */
  readonly isIdle?: () => boolean;
}

/** What one task has made. */
export class MemoryAccount {
  /** Bytes charged since the task began, most of them garbage by now. */
  made = 0;
  readonly task: TaskTurns;
  private readonly thread: ThreadMemory;
  private unseenBytes = 0;
  private unseenSteps = 0;
  private seenSteps = 0;
  /** How long it has waited since a task has ended. */
  waitedMs = 0;
  hasBegun = false;
  isWaiting = false;
  /** It waits after this turn, and its operators spill what they can before. */
  isLeaving = false;
  private hasLeft = false;
  constructor(thread: ThreadMemory, task: TaskTurns) {
    this.thread = thread;
    this.task = task;
  }

  /** Between two turns: waits while others need the thread's memory first; undefined if it need not. */
  turn(signal: AbortSignal): Promise<void> | undefined {
    if (this.task.isPart !== true && this.waitedMs < waitMsMax && this.thread.isBehind(this)) {
      if (this.isLeaving || !this.leaves()) return this.wait(signal);
    } else this.isLeaving = this.hasLeft = false;
    this.begins();
    return undefined;
  }
  /** Whether it takes one more turn, in which its operators spill. */
  private leaves(): boolean {
    if (this.hasLeft || !this.thread.wantsSpilled(this)) return false;
    return (this.isLeaving = this.hasLeft = true);
  }
  private async wait(signal: AbortSignal): Promise<void> {
    this.isWaiting = true;
    this.isLeaving = false;
    do {
      const since = performance.now();
      await this.thread.changed();
      this.waitedMs += performance.now() - since;
      signal.throwIfAborted();
    } while (this.waitedMs < waitMsMax && this.thread.isBehind(this) && !this.leaves());
    this.isWaiting = false;
    this.begins();
  }
  private begins(): void {
    if (!this.hasBegun) this.thread.begunAt = performance.now();
    this.hasBegun = true;
  }

  /** Charges bytes that are about to be allocated in one piece. @throws query-memory, load-memory, or one of -busy */
  charge(bytes: number, what: string): void {
    this.made += bytes;
    if (bytes > this.thread.max) this.refuse(what, this.thread.kind.code);
    if ((this.unseenBytes += bytes) > lookBytes) this.look(bytes, what);
  }
  /** Charges bytes that are there already. @throws query-memory, load-memory, or one of -busy */
  hold(bytes: number): void {
    this.made += bytes;
    if ((this.unseenBytes += bytes) > lookBytes) this.look(0, this.thread.kind.what);
  }
  /** Steps of a loop, each of which may have made a little. @throws query-memory, load-memory, or one of -busy */
  step(steps: number): void {
    if ((this.unseenSteps += steps) >= lookSteps) this.look(0, this.thread.kind.what);
  }

  /** Whether it should do with less than its budget. */
  get isShared(): boolean {
    return this.thread.isShared;
  }

  /** Whether it can hold little, of what it charged and of what its steps made: refusing it would free nothing. */
  get isLittle(): boolean {
    return this.made < waitMadeMin && this.seenSteps < littleStepsMax;
  }

  /** Whether its thread has little left. */
  get isShort(): boolean {
    return this.thread.isShort(this);
  }

  /** Between two pieces of work that charge nothing: garbage goes if there is too much of it. */
  pause(): void {
    this.thread.relieve();
  }

  private look(bytes: number, what: string): void {
    this.seenSteps += this.unseenSteps;
    this.unseenBytes = this.unseenSteps = 0;
    if (this.thread.hasRoom(this, bytes)) return;
    const { code, busyCode } = this.thread.kind;
    this.refuse(what, this.thread.isCrowded(this, bytes) ? busyCode : code);
  }
  private refuse(what: string, code: TaskKind['code' | 'busyCode']): never {
    throw new LakeError(code, { operator: what, limit: this.thread.max });
  }
}
