/**
 * Makes packs (packs.ts) in the background: when commits leave many small objects behind, their rows are put together
 * by a worker and kept as packs, a transaction each. Nobody waits for it; a stop in between loses nothing but work.
 */
import { setImmediate as nextTurn, setTimeout as later } from 'node:timers/promises';
import { codeOf, LakeError } from '../../errors.ts';
import type { Id, ObjectMeta, PackOptions } from '../lake.types.ts';
import type { ObjectEntry } from './list.ts';
import { type Pack, encodePack } from './packs.ts';
import type { PoolFace } from '../pool/pool.ts';
import { idBuffer } from '../ksuid.ts';
import { pairKey } from '../tables/rows.ts';
import { inlineBytesMax } from './format.ts';
import { objectMeta } from '../commits/snapshot.ts';

/** Objects and bytes of a pack. With so many its body is small enough to be inline, as a rule. */
const packObjectsMax = 1024;
const packRowsMax = 4096;
const packBytesMax = 1 << 20;
/** Bytes that a pack is to have: somewhat less than fit, since rows differ. */
const packBytesAimed = inlineBytesMax * (7 / 8);
/** So many of the objects that are waited for are worth a pack where more do not fit. */
const smallestPart = 1 / 4;
/** Larger objects are no trouble to a scan. */
const objectBytesMax = 8 << 10;
/**
 * A checkpoint is made when so large a part of the list has changed: all of them together are a small multiple of the
 * last.
 */
const checkpointPart = 8;
/** Bodies that are read before others get their turn of the event loop. */
const bodiesPerTurn = 256;
/** Between two packs others get their turn; a branch that is written to is left alone for as long. */
const pauseMs = 200;

/** What the packer needs of the lake. */
interface PackerHost {
  readonly options: PackOptions;
  readonly report: (fault: unknown) => void;
  /** No pack is begun any more. */
  readonly closing: () => boolean;
  /** Removes the file of what got too large for a pack. */
  readonly deleteFile: (id: Id) => Promise<void>;
}

/** Packs the small objects of branches that it is told of (`note`), one branch after the other. */
export class Packer {
  private readonly host: PackerHost;
  private readonly waiting = new Map<PoolFace, Set<string>>();
  /** Small objects that were added to a branch since it was looked at; what is counted goes with its pool. */
  private readonly added = new WeakMap<PoolFace, Map<string, number>>();
  /** Bytes of objects that fit into a pack, by what those before came to. */
  private readonly fitting = new WeakMap<PoolFace, number>();
  private running: Promise<void> | undefined;

  constructor(host: PackerHost) {
    this.host = host;
  }

  /** A branch got so many small objects. */
  note(face: PoolFace, branch: string, objects: number): void {
    const { objectsMin } = this.host.options;
    const counts = this.added.get(face) ?? new Map<string, number>();
    const added = (counts.get(branch) ?? 0) + objects;
    this.added.set(face, counts.set(branch, added));
    dropGone(counts, face);
    if (added < objectsMin || this.host.closing()) return;
    const branches = this.waiting.get(face) ?? new Set();
    this.waiting.set(face, branches.add(branch));
    this.running ??= this.run()
      .catch((fault: unknown) => {
        // Workers close before the lake does.
        if (!this.host.closing() && codeOf(fault) !== 'workers-closed') this.host.report(fault);
      })
      .finally(() => {
        this.running = undefined;
      });
  }
  /** Resolves when nothing is left to do. */
  async settled(): Promise<void> {
    while (this.running) await this.running;
  }

  private async run(): Promise<void> {
    for (
      let next = this.waiting.entries().next().value;
      next && !this.host.closing();
      next = this.waiting.entries().next().value
    ) {
      await later(pauseMs, undefined, { ref: false });
      const [face, branches] = next;
      this.waiting.delete(face);
      for (const branch of branches) {
        this.added.get(face)?.delete(branch);
        await this.packBranch(face, branch);
      }
    }
  }

  /** Packs what a branch's tip has of small objects. */
  async packBranch(face: PoolFace, branch: string): Promise<void> {
    const { store } = face;
    const tip = store.branches().get(branch)?.commit;
    if (tip === undefined || store.deleted) return;
    const { snapshot, list } = await face.open(tip);
    try {
      for (const run of this.runsOf(face, store.packs.loose(list, isSmall))) {
        if (this.host.closing() || store.deleted) return;
        await this.pack(face, run);
        await later(1);
      }
      // Many small commits take long to go through when their branch is opened again.
      store.stores.snapshots.keep(store.poolId, tip, checkpointPart);
    } finally {
      snapshot.release();
    }
  }

  /** Small objects that are in no pack, in the order of the list: a pack's worth each. Few are left for later. */
  private *runsOf(face: PoolFace, loose: Iterable<ObjectEntry>): Generator<readonly ObjectEntry[]> {
    const { objectsMin } = this.host.options;
    let run: ObjectEntry[] = [];
    let rows = 0;
    let bytes = 0;
    for (const entry of loose) {
      const after = bytes + entry.size;
      const isFit = run.length >= objectsMin * smallestPart && after > (this.fitting.get(face) ?? packBytesMax);
      if (isFit || run.length === packObjectsMax || rows + entry.count > packRowsMax || after > packBytesMax) {
        if (isFit || run.length >= objectsMin) yield run;
        run = [];
        rows = bytes = 0;
      }
      run.push(entry);
      rows += entry.count;
      bytes += entry.size;
    }
    if (run.length >= objectsMin) yield run;
  }

  /** `isWhole`: it is no part of one that did not fit. */
  private async pack(face: PoolFace, run: readonly ObjectEntry[], isWhole = true): Promise<void> {
    const { store } = face;
    const members = run.map((e) => e.id);
    const objects: ObjectMeta[] = [];
    for (const [i, entry] of run.entries()) {
      objects.push(objectMeta(entry, store.stores.tables));
      if (i % bodiesPerTurn === bodiesPerTurn - 1) await nextTurn();
    }
    const { adds } = await this.host.options.prepare(objects, store.config);
    const packed = sum(adds, ({ size }) => size);
    if (isWhole) this.noteSize(face, { objects: sum(run, ({ size }) => size), packed });
    const [made] = adds;
    if (adds.length !== 1 || !made?.inline) {
      // Too much for one inline body: parts may fit.
      for (const { id, inline } of adds) if (!inline) await this.host.deleteFile(id);
      const parts = Math.max(2, Math.ceil(packed / packBytesAimed));
      const length = Math.ceil(run.length / parts);
      if (length < 2 || length < this.host.options.objectsMin * smallestPart) {
        // More of them may compress better than these.
        this.fitting.delete(face);
        return;
      }
      for (let start = 0; start < run.length; start += length)
        await this.pack(face, run.slice(start, start + length), false);
      return;
    }
    const pack: Pack = { entry: entryOf(made, run[0]), members };
    const { tables } = store.stores;
    try {
      await tables.write(
        [{ table: 'packs', key: pairKey(store.poolId, made.id), payload: encodePack(pack, made.inline) }],
        () => {
          store.checkPool();
          // Vacuumed meanwhile: what went must not stay in a pack.
          for (const id of members) if (!tables.has('bodies', idBuffer(id))) throw new Gone();
        },
      );
    } catch (error) {
      if (error instanceof Gone || (error instanceof LakeError && error.code === 'pool-not-found')) return;
      throw error;
    }
    store.packs.add(pack);
  }
  /** The next pack is to be as large as fits, at once: to find out by trying takes the same work twice or more. */
  private noteSize(face: PoolFace, { objects, packed }: { readonly objects: number; readonly packed: number }): void {
    const fits = Math.min(packBytesMax, objects * (packBytesAimed / packed));
    const before = this.fitting.get(face) ?? packBytesMax;
    // Of fewer objects it says how much they take by themselves, not what more of them would.
    if (packed >= packBytesAimed || fits > before || objects > before / 2) this.fitting.set(face, fits);
  }
}

const sum = <T>(all: readonly T[], bytesOf: (one: T) => number): number =>
  all.reduce((bytes, one) => bytes + bytesOf(one), 0);

const isSmall = ({ inTable, vector, size }: ObjectEntry): boolean => inTable && !vector && size <= objectBytesMax;

class Gone extends Error {}

/** Forgets branches that were deleted, when most of what is counted may be theirs. */
const dropGone = (counts: Map<string, number>, { store }: PoolFace): void => {
  const branches = store.branches();
  if (counts.size <= 2 * branches.size + 16) return;
  for (const name of counts.keys()) if (!branches.has(name)) counts.delete(name);
};

const entryOf = ({ id, count, size, min, max }: ObjectMeta, { sequence }: ObjectEntry): ObjectEntry => ({
  id,
  count,
  size,
  min,
  max,
  sequence,
  inTable: true,
  vector: false,
});
