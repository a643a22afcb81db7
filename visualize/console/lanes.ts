/**
 * Lanes of a commit graph, as `git log --graph` draws them: a row a commit, a lane a line of descent, the children
 * above their parents.
 *
 * - The first lane belongs to the chain of first parents from `trunk`; other lines take the leftmost free lane. Which
 *   commit that begins at is said by `lineThrough`.
 * - A line goes down its own lane to the row of its parent and bends there into the parent's lane, so that rows never
 *   change when more commits come below.
 * - A parent that stands above its child (the clock went back) gets no line.
 */
interface LaneCommit {
  readonly id: string;
  readonly parents: readonly string[];
}
/** The lanes of one commit's row, counted from 0 on the left. */
export interface LaneRow {
  /** The commit's own. */
  readonly lane: number;
  /** Lanes that go on straight through the row. */
  readonly through: readonly number[];
  /** Lanes that come from above and end in the commit. */
  readonly into: readonly number[];
  /** Lanes that leave the commit downwards. */
  readonly out: readonly number[];
}

/**
 * The newest commit whose line of first parents leads to `tip`: a branch that went on from there is the same line. `tip`
 * itself where none does. Of several branches the newest has it.
 */
export const lineThrough = (commits: readonly LaneCommit[], tip: string): string => {
  const line = new Set([tip]);
  let top = tip;
  // Parents stand below their children.
  for (const { id, parents } of commits.toReversed())
    if (parents[0] !== undefined && line.has(parents[0]) && id !== tip) {
      line.add(id);
      top = id;
    }
  return top;
};

/** The graph as far as commits were added. */
export class Lanes {
  readonly rows: LaneRow[] = [];
  /** Most lanes that a row so far has. */
  width = 1;
  /** The commit that each lane leads to; undefined: free. */
  private readonly leads: (string | undefined)[] = [];
  private readonly seen = new Set<string>();
  private trunk: string | undefined;
  /** The trunk's lane is kept free until its tip has come. */
  private trunkCame = false;

  constructor(trunk?: string) {
    this.trunk = trunk;
  }

  add(commits: readonly LaneCommit[]): void {
    for (const commit of commits) this.rows.push(this.row(commit));
  }

  private row({ id, parents }: LaneCommit): LaneRow {
    const leads = this.leads;
    this.seen.add(id);
    const into = leads.flatMap((to, lane) => (to === id ? [lane] : []));
    let lane = into[0];
    if (id === this.trunk && !this.trunkCame) {
      this.trunkCame = true;
      lane = 0;
    }
    lane ??= this.free();
    for (const each of into) leads[each] = undefined;
    const through = leads.flatMap((to, each) => (to === undefined ? [] : [each]));
    const out: number[] = [];
    const below = [...new Set(parents)].filter((parent) => !this.seen.has(parent));
    below.forEach((parent, i) => {
      // The first parent goes on in the commit's lane; another one joins a line that leads there, or begins its own.
      const there = i === 0 ? lane : leads.indexOf(parent);
      const to = there >= 0 ? there : this.free(lane);
      leads[to] = parent;
      out.push(to);
    });
    this.width = Math.max(this.width, lane + 1, ...out.map((each) => each + 1));
    return { lane, through, into, out };
  }
  /** The leftmost free lane; the trunk's is for the trunk alone. `taken`: one that is about to be used. */
  private free(taken = -1): number {
    for (let lane = this.trunk === undefined ? 0 : 1; ; lane++)
      if (lane !== taken && this.leads[lane] === undefined) return lane;
  }
}
