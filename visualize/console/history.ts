/**
 * The commits of one pool as far as they are loaded, with their lanes; kept up to date while branches move.
 *
 * Newer commits are read a page at a time, at most every `refreshMsMin` and never more often than a twentieth of what
 * reading takes; when more came than one page holds, the list begins again from the tips, so that a busy pool costs the
 * service a page now and then and nothing more.
 */
import { signal } from '@preact/signals';
import { type GraphCommit, LakeFailure, type PoolInfo } from '../../src/client/client.ts';
import { branches, tags } from './lake.ts';
import { Lanes, lineThrough } from './lanes.ts';
import { client } from './session.ts';
import { faultText } from './text.ts';

/** What is loaded, newest first, with a row of lanes for each commit. */
interface HistoryState {
  readonly commits: readonly GraphCommit[];
  readonly ids: ReadonlySet<string>;
  readonly lanes: Lanes;
  /** Where to go on from; empty: all is loaded. */
  readonly next: readonly string[];
}

const firstPage = 200;
const morePage = 1000;
const freshPage = 100;
const refreshMsMin = 1000;
const refreshShare = 20;

/** Follows one pool until `leave`. */
export class History {
  readonly state = signal<HistoryState | undefined>(undefined);
  /** The commit that each branch is drawn at, by its name: its tip, or while that has not come yet where it was last. */
  readonly tips = signal<ReadonlyMap<string, string>>(new Map());
  readonly fault = signal<string | undefined>(undefined);
  readonly busy = signal(false);
  private readonly pool: PoolInfo;
  private shownTips = '';
  private names: ReadonlySet<string> = new Set();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private refreshedAt = -Infinity;
  private lastMs = 0;
  private left = false;
  /** Older commits were asked for while something else was read. */
  private wanted = false;

  constructor(pool: PoolInfo) {
    this.pool = pool;
  }

  /** Reads the first page, or what has come since. */
  follow(): void {
    const loaded = this.state.peek();
    if (loaded) this.place(loaded.ids);
    const tips = this.heads();
    if (tips === this.shownTips || this.timer !== undefined || this.left) return;
    const pause = Math.max(refreshMsMin, this.lastMs * refreshShare);
    const wait = Math.max(0, this.refreshedAt + pause - performance.now());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.shownTips = this.heads();
      void this.refresh();
    }, wait);
  }
  /** Where the graph begins: branches and tags. */
  private heads(): string {
    return [...branches(this.pool), ...tags(this.pool)].map((each) => `${each.name} ${each.commit}`).join('\n');
  }
  leave(): void {
    this.left = true;
    clearTimeout(this.timer);
  }

  private async refresh(): Promise<void> {
    const known = this.state.peek();
    const began = performance.now();
    const names = new Set([...branches(this.pool), ...tags(this.pool)].map((each) => each.name));
    const lost = [...this.names].some((name) => !names.has(name));
    this.names = names;
    await this.ask(async () => {
      const page = await client.pool(this.pool.id).graph({ limit: known ? freshPage : firstPage });
      const ids = known?.ids ?? new Set();
      const meets =
        known !== undefined && (page.commits.some((c) => ids.has(c.id)) || page.next.some((id) => ids.has(id)));
      if (!meets) this.set(page.commits, page.next);
      // A branch or tag that went takes commits along: what none leads to any more is left out by beginning again.
      else if (lost) this.set(page.commits, page.next);
      else this.set([...page.commits.filter((c) => !ids.has(c.id)), ...known.commits], known.next);
    });
    this.refreshedAt = performance.now();
    this.lastMs = this.refreshedAt - began;
    // Tips that moved meanwhile.
    if (this.fault.peek() === undefined) this.follow();
  }
  /** Reads older commits. */
  async more(): Promise<void> {
    const known = this.state.peek();
    this.wanted = this.busy.peek();
    if (!known || known.next.length === 0 || this.wanted) return;
    await this.ask(async () => {
      const page = await client.pool(this.pool.id).graph({ limit: morePage, from: known.next });
      this.set([...known.commits, ...page.commits.filter((c) => !known.ids.has(c.id))], page.next);
    });
  }

  private set(commits: readonly GraphCommit[], next: readonly string[]): void {
    if (this.left) return;
    const ids = new Set(commits.map((c) => c.id));
    const tips = this.place(ids);
    const main = tips.get('main');
    const lanes = new Lanes(main === undefined ? undefined : lineThrough(commits, main));
    lanes.add(commits);
    this.state.value = { commits, ids, lanes, next };
  }
  /** Says where the branches stand, and returns it. */
  private place(ids: ReadonlySet<string>): ReadonlyMap<string, string> {
    const before = this.tips.peek();
    const tips = new Map<string, string>();
    for (const { name, commit } of branches(this.pool)) {
      const at = ids.has(commit) ? commit : before.get(name);
      if (at !== undefined && ids.has(at)) tips.set(name, at);
    }
    this.tips.value = tips;
    return tips;
  }
  private async ask(work: () => Promise<void>): Promise<void> {
    this.busy.value = true;
    try {
      await work();
      this.fault.value = undefined;
    } catch (error) {
      if (!(error instanceof LakeFailure && error.status === 404)) this.fault.value = faultText(error);
      // The next look at the branches tries again.
      this.shownTips = '';
    } finally {
      this.busy.value = false;
      if (this.wanted) void this.more();
    }
  }
}
