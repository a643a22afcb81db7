/**
 * Files that hold the rows of many small objects: a table of 40,000 small commits would else be as many files to who
 * reads it.
 *
 * - Each object has a file of its own all the same: commits tell what they added and took away in these, and a commit
 *   that has but some of a merged file's objects names them one by one.
 * - Files merge in tiers, 32 at a time, in the order in which objects came: objects into a file, such files into one of
 *   1,024, and so on until it is large. So a commit of long ago, which has a part of the newest one, still has the lower
 *   tiers, and what a delete breaks up falls apart into those. A head is at most 31 files a tier and its large ones.
 * - Merged files are numbered as they become durable, and a number is never given twice. Metadata say up to which number
 *   they go (their *generation*), by the names of manifests: those of one generation never change.
 * - A merged file has each value in the column where the object's own file has it: objects are surveyed and fitted one
 *   by one, only the file is shared. Objects are in the pool's order in there.
 * - They are made in the background, once all objects of a branch have their files, and go as files of objects do: a
 *   grace after the first of their objects was vacuumed.
 */
import type { Id, ObjectMeta } from '../lake/lake.types.ts';

/** Files that are merged into one. */
export const mergedAtOnce = 32;
/** Bytes of objects that a merged file has at most; what has half of it is merged no more. */
const mergedBytesMax = 32 << 20;

/** What a merged file is made of: objects, and earlier merged files by number. */
export type MergedPart = Id | number;
/** A merged file. `objects`: all that it has the rows of. */
export interface Merged {
  readonly number: number;
  readonly objects: readonly Id[];
}
/** Files of a commit. */
export interface Cover {
  readonly merged: readonly Merged[];
  /** Those that no merged file is for. */
  readonly objects: readonly Id[];
}

/** The merged files of a table. */
export class MergedFiles {
  private readonly all = new Map<number, Merged>();
  /** The highest number that was given. */
  generation = 0;

  /** One that is durable; a number without parts is one whose file went. False if a part is not there. */
  add(number: number, parts: readonly MergedPart[] | undefined): boolean {
    this.generation = Math.max(this.generation, number);
    const objects: Id[] = [];
    for (const part of parts ?? []) {
      const inner = typeof part === 'number' ? this.all.get(part)?.objects : [part];
      if (!inner) return false;
      for (const id of inner) objects.push(id);
    }
    if (parts) this.all.set(number, { number, objects });
    return true;
  }
  objectsOf(number: number): readonly Id[] {
    return this.all.get(number)?.objects ?? [];
  }
  forget(number: number): void {
    this.all.delete(number);
  }

  /** Files for these objects, as large as they come, of a generation. `alone`: objects that must be by themselves. */
  cover(objects: ReadonlySet<Id>, alone: ReadonlySet<Id>, generation = this.generation): Cover {
    const covered = new Set<Id>();
    const merged: Merged[] = [];
    const fits = (id: Id): boolean => objects.has(id) && !covered.has(id) && !alone.has(id);
    for (const each of [...this.all.values()].sort(
      (a, b) => b.objects.length - a.objects.length || a.number - b.number,
    )) {
      if (each.number > generation || !each.objects.every(fits)) continue;
      merged.push(each);
      for (const id of each.objects) covered.add(id);
    }
    return { merged, objects: [...objects].filter((id) => !covered.has(id)) };
  }
}

/** What is to become a merged file. */
export interface MergePlan {
  readonly parts: readonly MergedPart[];
  /** In the pool's order. */
  readonly objects: readonly ObjectMeta[];
}
interface Node {
  readonly part: MergedPart;
  readonly objects: readonly Id[];
  readonly bytes: number;
  readonly tier: number;
}

/** What can be merged of a commit now; when that is done, there may be more. `metas`: its objects in the pool's order. */
export const mergePlans = (files: MergedFiles, metas: ReadonlyMap<Id, ObjectMeta>): readonly MergePlan[] => {
  const { merged, objects } = files.cover(new Set(metas.keys()), new Set());
  const nodeOf = (part: MergedPart, held: readonly Id[]): Node => ({
    part,
    objects: held,
    bytes: held.reduce((n, id) => n + (metas.get(id)?.size ?? 0), 0),
    tier: Math.floor(Math.log2(held.length) / Math.log2(mergedAtOnce)),
  });
  const tiers = new Map<number, Node[]>();
  const nodes = [...merged.map((each) => nodeOf(each.number, each.objects)), ...objects.map((id) => nodeOf(id, [id]))];
  // Ids are drawn one after the other: by them objects are in the order in which they came.
  for (const node of nodes.sort((a, b) => (firstOf(a) < firstOf(b) ? -1 : 1))) {
    if (node.bytes > mergedBytesMax / 2) continue;
    const tier = tiers.get(node.tier);
    if (tier) tier.push(node);
    else tiers.set(node.tier, [node]);
  }
  const order = new Map([...metas.keys()].map((id, place) => [id, place]));
  const placeOf = ({ id }: ObjectMeta): number => order.get(id) ?? 0;
  return [...tiers.values()].flatMap(runsOf).map((run) => ({
    parts: run.map(({ part }) => part),
    objects: run
      .flatMap((node) => node.objects)
      .flatMap((id) => metas.get(id) ?? [])
      .sort((a, b) => placeOf(a) - placeOf(b)),
  }));
};
const firstOf = ({ objects }: Node): Id => objects.reduce((a, b) => (b < a ? b : a));
/** Full runs of one tier; what is left waits for more. */
const runsOf = (nodes: readonly Node[]): readonly (readonly Node[])[] => {
  const runs: Node[][] = [];
  let run: Node[] = [];
  let bytes = 0;
  for (const node of nodes) {
    if (bytes + node.bytes > mergedBytesMax) {
      if (run.length > 1) runs.push(run);
      run = [];
      bytes = 0;
    }
    run.push(node);
    bytes += node.bytes;
    if (run.length < mergedAtOnce) continue;
    runs.push(run);
    run = [];
    bytes = 0;
  }
  return runs;
};
