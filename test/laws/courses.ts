/**
 * What the laws of comparisons and merges have in common: a lake with its workers, and a pool of it that takes its
 * course by random loads, branches and compactions.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LakeError } from '../../src/errors.ts';
import { openLake } from '../../src/lake/lake.ts';
import type { Id, Lake, Pool } from '../../src/lake/lake.types.ts';
import { startWorkerPool } from '../../src/workers/pool.ts';
import type { WorkerPool } from '../../src/workers/pool.types.ts';
import type { Random } from '../support/random.ts';
import { testParts } from '../support/store/test-parts.ts';
import { answerOf } from '../unit/workers/support.ts';

export interface LawLake {
  readonly lake: Lake;
  readonly workers: WorkerPool;
  /** Workers with so little memory for a query. */
  readonly poor: (memoryBytesMax: number) => WorkerPool;
  readonly close: () => Promise<void>;
}
export const openLawLake = async (name: string): Promise<LawLake> => {
  const directory = mkdtempSync(join(tmpdir(), `lake-${name}-`));
  const { objects, store, address } = await testParts(directory);
  const far = address && { store: address, objects };
  const lake = await openLake({ directory, objects, ...(store && { store }) });
  const started: WorkerPool[] = [];
  const start = (memory: { readonly queryMemoryBytesMax?: number; readonly spillDirectory?: string }): WorkerPool => {
    const workers = startWorkerPool({ lakeDirectory: directory, ...far, threads: 1, ...memory }, lake);
    started.push(workers);
    return workers;
  };
  return {
    lake,
    workers: start({}),
    poor: (queryMemoryBytesMax) => start({ queryMemoryBytesMax, spillDirectory: join(directory, 'poor') }),
    close: async () => {
      for (const workers of started) await workers.close();
      await lake.close();
      rmSync(directory, { recursive: true });
    },
  };
};

/** The rows of an answer, a line each. */
export const linesOf = async (workers: WorkerPool, text: string): Promise<readonly string[]> =>
  (await answerOf(workers, text)).split('\n').filter((line) => line !== '');

export type Bag = ReadonlyMap<string, number>;
export const bagOf = (lines: Iterable<string>): Map<string, number> => {
  const bag = new Map<string, number>();
  for (const line of lines) bag.set(line, (bag.get(line) ?? 0) + 1);
  return bag;
};
/** Lines that say what is in a bag. */
export const plain = (bag: Bag): readonly string[] => [...bag].map(([line, n]) => `${line} x${n}`).sort();

/** What a pool refuses is no step. @throws what else goes wrong */
export const refusedOnly = (error: unknown): void => {
  if (!(error instanceof LakeError) || error.code === 'internal') throw error;
};

/** A pool, the branches that it has got and the commits that were made. */
export class Course {
  readonly pool: Pool;
  readonly branches = ['main'];
  /** As queries name them. */
  readonly commits: string[] = [];
  protected readonly random: Random;
  private readonly on: Pick<LawLake, 'lake' | 'workers'>;
  constructor(on: Pick<LawLake, 'lake' | 'workers'>, name: string, random: Random) {
    this.on = on;
    this.pool = on.lake.pool(name);
    this.random = random;
  }

  get workers(): WorkerPool {
    return this.on.workers;
  }
  get name(): string {
    return this.pool.config.name;
  }
  lines(at: string): Promise<readonly string[]> {
    return linesOf(this.workers, `from ${this.name}@${at}`);
  }
  took({ commit }: { readonly commit: Id }): void {
    this.commits.push(`0x${commit}`);
  }

  async load(branch: string, rows: readonly string[]): Promise<void> {
    const body = (async function* chunks() {
      yield Buffer.from(rows.join('\n'));
    })();
    const outcome = await this.workers.load({ pool: this.pool.config, body, format: 'sup' });
    this.took(await outcome.settled(this.pool.load(branch, outcome.objects)));
  }
  /** A new branch where another one is. */
  async fork(of: string): Promise<string> {
    const name = `b${this.branches.length}`;
    await this.pool.createBranch(name, this.pool.branch(of).commit);
    this.branches.push(name);
    return name;
  }
  /** Each object with a chance of `part`, if they are two at least. */
  async compact(branch: string, part = 0.5): Promise<void> {
    const { rows } = await this.on.lake.metaPage({ pool: this.name, commit: branch, meta: 'objects' });
    const some = rows.flatMap((row) =>
      row.kind === 'object' && this.random.below(1000) < part * 1000 ? [row.object.id] : [],
    );
    if (some.length >= 2) this.took(await this.pool.compact(branch, some, this.workers.prepareCompact(some)));
  }
}
