/**
 * The faulty records of a load: they are counted, the first ones are told, and where a pool takes them they become rows
 * of it.
 *
 * Invariant: what is held of them is bounded, also where a body has nothing else: the first ones are cut, and rows are
 * sorted within a share of memory of their own.
 */
import { LakeError } from '../../errors.ts';
import { Batches } from '../../formats/batches.ts';
import type { FaultyRecord } from '../../formats/faults/faults.ts';
import { appendText } from '../../formats/text-cell.ts';
import type { ObjectMeta } from '../../lake/lake.types.ts';
import type { SortedObjects } from '../../lake/objects/cutter.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import { removeObjectFiles } from '../../lake/objects/removal.ts';
import { type LoadSorter, type LoadSortOptions, openSort } from '../../lake/load/sort.ts';
import { shapeOf } from '../../vectors/builder.ts';
import { types } from '../../vectors/type.ts';
import type { Rejects } from '../messages.ts';
import type { FaultsTold, LoadOutcome } from '../pool.types.ts';

/** So many are told, each with so many bytes and characters at most. */
const toldMax = 100;
const rawBytesMax = 4096;
const errorCharactersMax = 1000;
/** Rows that wait to be sorted, and a batch of those that wait for that. */
const sortBytesMax = 4 << 20;
const batchRows = 4096;
const nanosPerMs = 1_000_000n;

const rowShape = shapeOf(['ts', 'pool', 'branch', 'line', 'column', 'error', 'raw'].map((name) => ({ name })));

/**
 * What was sorted, with what there is to tell of faulty records. When it rejects, no file is left.
 * @throws load-empty, load-all-faulty where there is no record to be loaded
 */
export const keptFaults = async <T extends SortedObjects>(
  keeper: FaultKeeper | undefined,
  { files }: { readonly files: Pick<ObjectStore, 'delete'> },
  sort: () => Promise<T>,
): Promise<T & Pick<LoadOutcome, 'faults' | 'rejected'>> => {
  let sorted: T | undefined;
  try {
    sorted = await sort();
    checkAny(sorted, keeper);
    return keeper ? { ...sorted, faults: keeper.told, rejected: await keeper.finish() } : sorted;
  } catch (error) {
    await keeper?.abort();
    await removeObjectFiles(sorted?.objects ?? [], { files });
    throw error;
  }
};
/** @throws load-empty, load-all-faulty */
const checkAny = ({ records }: SortedObjects, keeper: FaultKeeper | undefined): void => {
  if (records > 0) return;
  const { count, first } = keeper?.told ?? { count: 0, first: [] };
  const [fault] = first;
  if (!fault) throw new LakeError('load-empty');
  throw new LakeError('load-all-faulty', { count, line: fault.line, error: fault.error });
};

/** Where rows go, as `sortIntoObjects` is told. */
type Sorting = Omit<LoadSortOptions, 'keys' | 'order' | 'threshold' | 'memoryBytesMax'>;

/** Keeps the faulty records of one load. */
export class FaultKeeper {
  private readonly rejects: Rejects | undefined;
  private readonly rows: Batches | undefined;
  private readonly sorter: LoadSorter | undefined;
  private readonly first: FaultsTold['first'][number][] = [];
  private count = 0;

  constructor(rejects: Rejects | undefined, sorting: () => Sorting) {
    this.rejects = rejects;
    if (!rejects) return;
    this.rows = new Batches(batchRows);
    this.sorter = openSort({ ...sorting(), ...rejects.layout, memoryBytesMax: sortBytesMax });
  }

  /** Takes one. */
  readonly take = ({ line, column, error, raw }: FaultyRecord): void => {
    this.count++;
    if (this.first.length < toldMax)
      this.first.push({
        line,
        column,
        error: error.slice(0, errorCharactersMax),
        raw: raw.slice(0, rawBytesMax),
        bytes: raw.length,
      });
    if (!this.rows) return;
    const { ms, pool, branch } = this.rejects!;
    const row = this.rows.begin().record(rowShape);
    const [ts, poolName, branchName, lineNumber, columnNumber, text, bytes] = row.fields;
    ts!.number(types.time, BigInt(ms) * nanosPerMs);
    poolName!.text(pool);
    branchName!.text(branch);
    lineNumber!.number(types.int64, line);
    columnNumber!.number(types.int64, column);
    text!.text(error);
    appendText(bytes!, raw, 0, raw.length);
    row.end();
    this.rows.end(raw.length + error.length);
  };

  /** Awaited between batches: rows that have gathered go on. */
  async flush(): Promise<void> {
    if (this.rows && !this.rows.isEmpty) await this.sorter!.add(this.rows.take());
  }

  get told(): FaultsTold {
    return { count: this.count, first: this.first };
  }
  /** The rows as objects; none where no pool takes them. */
  async finish(): Promise<readonly ObjectMeta[]> {
    if (!this.sorter || this.count === 0) return [];
    await this.flush();
    return (await this.sorter.finish()).objects;
  }
  async abort(): Promise<void> {
    await this.sorter?.abort();
  }
}
