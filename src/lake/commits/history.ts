/**
 * Walks over the commits of a pool: a graph in which a commit has one parent, a merge two, and the zero commit is the
 * root of all.
 *
 * Invariant: a commit's height is above that of its parents, so that walking from the highest down meets every commit
 * before its ancestors, and every walk ends. Rows that say otherwise are damaged.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LakeError } from '../../errors.ts';
import { zeroId } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';
import { checkBelow, type StoredCommit } from '../tables/rows.ts';
import { rowMissing } from '../tables/table-rows.ts';

/** The commits of one pool by id; undefined for one that it does not have. Not asked for the zero commit. */
type CommitReader = (id: Id) => StoredCommit | undefined;
interface Node {
  readonly id: Id;
  readonly height: number;
  readonly parents: readonly Id[];
  readonly commit?: StoredCommit;
}

const commitsPerTurn = 512;

/**
 * A commit and its first parents. @throws commit-not-found when the commit itself is missing, table-corrupt when a
 * parent is, or is not below its child
 */
export function* firstParents(read: CommitReader, from: Id): IterableIterator<StoredCommit> {
  for (let at = from, child: StoredCommit | undefined; at !== zeroId; ) {
    const commit = read(at);
    if (!commit) throw child ? rowMissing('commits', at) : new LakeError('commit-not-found', { id: at });
    if (child) checkBelow(commit, child);
    yield commit;
    child = commit;
    at = commit.parent;
  }
}

const nodeOf = (read: CommitReader, id: Id, child?: Node): Node => {
  if (id === zeroId) return { id, height: 0, parents: [] };
  const commit = read(id);
  if (!commit) throw child ? rowMissing('commits', id) : new LakeError('commit-not-found', { id });
  if (child) checkBelow(commit, child);
  return {
    id,
    height: commit.height,
    parents: commit.secondParent ? [commit.parent, commit.secondParent] : [commit.parent],
    commit,
  };
};

const fromFirst = 1;
const fromSecond = 2;
const below = 4;

/**
 * The best common ancestors: those that are no ancestor of another common one. One, unless the two lines were merged
 * into each other crosswise. The zero commit is an ancestor of every commit. Newest (highest) first.
 */
export const commonAncestors = async (read: CommitReader, first: Id, second: Id): Promise<readonly Id[]> => {
  if (first === second) return [first];
  const marks = new Map<Id, number>();
  const queue = new HeightQueue();
  /** Nodes of the queue that are not yet known to lie below a common ancestor. */
  let open = 0;
  // Every descendant of a commit is higher: when it is popped, all marks have reached it.
  const mark = (id: Id, flags: number, child?: Node): void => {
    const known = marks.get(id);
    if (known === undefined) {
      queue.push(nodeOf(read, id, child));
      if (!(flags & below)) open++;
    } else if (!(known & below) && flags & below) open--;
    marks.set(id, (known ?? 0) | flags);
  };
  mark(first, fromFirst);
  mark(second, fromSecond);
  const best: Id[] = [];
  for (let seen = 1; open > 0; seen++) {
    const node = queue.pop()!;
    const flags = marks.get(node.id)!;
    if (!(flags & below)) open--;
    const common = (flags & (fromFirst | fromSecond)) === (fromFirst | fromSecond);
    if (common && !(flags & below)) best.push(node.id);
    // What lies below a common ancestor is common too, but not best.
    for (const parent of node.parents) mark(parent, common ? flags | below : flags, node);
    if (seen % commitsPerTurn === 0) await nextTurn();
  }
  return best;
};

/** The commit and all of its ancestors, once each, from the highest down. Gives the thread to others in between. */
export async function* ancestors(
  read: CommitReader,
  from: Id,
  options: { readonly heightMin?: number; readonly stopAt?: ReadonlySet<Id> } = {},
): AsyncIterableIterator<StoredCommit> {
  const seen = new Set<Id>([from]);
  const queue = new HeightQueue();
  queue.push(nodeOf(read, from));
  for (let n = 1; ; n++) {
    const node = queue.pop();
    if (!node) return;
    if (options.stopAt?.has(node.id) || node.height < (options.heightMin ?? 0)) continue;
    if (node.commit) yield node.commit;
    for (const parent of node.parents) {
      if (seen.has(parent)) continue;
      seen.add(parent);
      queue.push(nodeOf(read, parent, node));
    }
    if (n % commitsPerTurn === 0) await nextTurn();
  }
}

/** A heap with the highest node on top. */
class HeightQueue {
  private readonly heap: Node[] = [];

  push(node: Node): void {
    const { heap } = this;
    let at = heap.length;
    heap.push(node);
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (heap[up]!.height >= node.height) break;
      heap[at] = heap[up]!;
      at = up;
    }
    heap[at] = node;
  }

  pop(): Node | undefined {
    const { heap } = this;
    const top = heap[0];
    const last = heap.pop();
    if (!last || heap.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.height > heap[child]!.height) child++;
      if (heap[child]!.height <= last.height) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}
