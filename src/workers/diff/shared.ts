/**
 * Rows of both sides that come from one row (lake/objects/origins.ts): they are equal, and cancel each other out without
 * being read. Each row is in one pair at most.
 */
import type { ObjectMeta } from '../../lake/lake.types.ts';
import { inlineBytesMax } from '../../lake/objects/format.ts';
import { type OriginRun, withOwn } from '../../lake/objects/origins.ts';
import { openReader } from '../../lake/scan/input.ts';
import type { ScanSource } from '../../lake/scan/scan.types.ts';
import type { RowsWithout } from './side.ts';

/** Objects of a side whose origins are looked at, at most: of longer lists rows are compared by their values. */
const objectsMax = 1024;

interface Sides {
  readonly before: ScanSource;
  readonly after: ScanSource;
  readonly signal: AbortSignal;
  readonly read: (bytes: number) => void;
}
/** Rows [at, at + rows) of an object are rows [from, from + rows) of one source. */
interface Run {
  readonly object: string;
  readonly at: number;
  readonly from: number;
  readonly rows: number;
}
/** Runs by their source and object; those of an object rise. */
type Runs = Map<string, Map<string, Run[]>>;

/** The rows of each side that the other one has as well, by object. */
export const sharedRows = async (
  sides: Sides,
): Promise<{ readonly before: RowsWithout; readonly after: RowsWithout }> => {
  const [left, right] = [await filesOf(sides.before), await filesOf(sides.after)];
  const shared = { before: new Places(), after: new Places() };
  if (left.length > 0 && right.length > 0) {
    const before = await runsOf(sides.before, left, sides);
    const after = await runsOf(sides.after, right, sides);
    for (const [source, objects] of before) {
      const others = after.get(source);
      if (others) pair(objects, others, shared);
    }
  }
  return { before: shared.before.done(), after: shared.after.done() };
};

/** The objects that have files; none if they are very many. */
const filesOf = async ({ page }: ScanSource): Promise<readonly ObjectMeta[]> => {
  const files: ObjectMeta[] = [];
  for (let cursor: number | undefined; ; ) {
    const { objects, next } = await page({ limit: objectsMax, inline: false, ...(cursor !== undefined && { cursor }) });
    for (const object of objects) if (!object.inline && object.size >= inlineBytesMax) files.push(object);
    cursor = next;
    if (files.length > objectsMax) return [];
    if (cursor === undefined) return files;
  }
};

const runsOf = async (source: ScanSource, files: readonly ObjectMeta[], { signal, read }: Sides): Promise<Runs> => {
  const runs: Runs = new Map();
  for (const meta of files) {
    signal.throwIfAborted();
    const reader = await openReader(source, meta, read);
    const { id, count, bytesRead } = reader;
    const origins = await reader.origins();
    read(reader.bytesRead - bytesRead);
    for (const run of withOwn({ id, count, origins })) {
      let objects = runs.get(run.source);
      if (!objects) runs.set(run.source, (objects = new Map<string, Run[]>()));
      const own = objects.get(id);
      if (own) own.push(runOf(id, run));
      else objects.set(id, [runOf(id, run)]);
    }
  }
  return runs;
};
const runOf = (object: string, { at, from, rows }: OriginRun): Run => ({ object, at, from, rows });

/** Pairs the rows of one source, object by object; what is paired is not paired again. */
const pair = (
  before: ReadonlyMap<string, readonly Run[]>,
  after: ReadonlyMap<string, readonly Run[]>,
  shared: { readonly before: Places; readonly after: Places },
): void => {
  const others = [...after.values()];
  for (const runs of before.values()) {
    let left = runs;
    for (let k = 0; k < others.length && left.length > 0; k++) {
      const met = meet(left, others[k]!, shared);
      left = met.left;
      others[k] = met.others;
    }
  }
};
const meet = (
  a: readonly Run[],
  b: readonly Run[],
  shared: { readonly before: Places; readonly after: Places },
): { readonly left: readonly Run[]; readonly others: readonly Run[] } => {
  const left: Run[] = [];
  const others: Run[] = [];
  let [i, j] = [0, 0];
  let [x, y] = [a[0], b[0]];
  while (x && y) {
    const start = Math.max(x.from, y.from);
    const end = Math.min(endOf(x), endOf(y));
    if (start >= end) {
      if (x.from < y.from) {
        left.push(x);
        x = a[++i];
      } else {
        others.push(y);
        y = b[++j];
      }
      continue;
    }
    if (x.from < start) left.push(within(x, x.from, start));
    if (y.from < start) others.push(within(y, y.from, start));
    shared.before.add(x, start, end);
    shared.after.add(y, start, end);
    x = endOf(x) > end ? within(x, end, endOf(x)) : a[++i];
    y = endOf(y) > end ? within(y, end, endOf(y)) : b[++j];
  }
  if (x) left.push(x);
  if (y) others.push(y);
  return { left: left.concat(a.slice(i + 1)), others: others.concat(b.slice(j + 1)) };
};
const endOf = ({ from, rows }: Run): number => from + rows;
const within = ({ object, at, from }: Run, start: number, end: number): Run => ({
  object,
  at: at + start - from,
  from: start,
  rows: end - start,
});

/** Places of rows by object. */
class Places {
  private readonly runs = new Map<string, [start: number, end: number][]>();
  add({ object, at, from }: Run, start: number, end: number): void {
    const run: [number, number] = [at + start - from, at + end - from];
    const own = this.runs.get(object);
    if (own) own.push(run);
    else this.runs.set(object, [run]);
  }
  done(): RowsWithout {
    return new Map(
      [...this.runs].map(([object, runs]) => [object, Uint32Array.from(runs.sort(([a], [b]) => a - b).flat())]),
    );
  }
}
