/**
 * Engines read a table in a loop while a crowd changes its pool: whatever they get is what some commit of the branch
 * holds, exactly.
 *
 * What a commit holds follows from the log alone: a record's id says of which batch it is, and a commit's message which
 * batch it brings or takes away.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as thinking } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, type Lake, LakeFailure } from '../../src/client/client.ts';
import type { Random } from '../support/random.ts';
import type { Mapping } from '../../src/iceberg/kinds.ts';
import { base62 } from '../../src/lake/ksuid.ts';

/** The table that is read, and the branch. */
const poolName = 'crowd';
const branchName = 'main';
/** Ids of a batch are from here to before here and its number of records. */
const idsOf = (batch: number): number => batch * 1000;
const recordsMax = 40;
/** Objects that a commit of compaction takes. */
const compactedMax = 64;
/** How long one thinks before the next change, at most: the machine is to have time for reads too. */
const thinkMsMax = 2000;

/** `spark` needs its folder, `ICEBERG_SPARK`. */
export type CrowdEngine = 'pyiceberg' | 'duckdb' | 'polars' | 'spark';
/** Those that read tables with and without columns of variants. */
export const crowdEngines: Readonly<Record<Mapping, readonly CrowdEngine[]>> = {
  typed: ['pyiceberg', 'duckdb', 'polars'],
  variant: ['duckdb'],
};

interface Batch {
  readonly number: number;
  readonly records: number;
}
interface Read {
  readonly engine: string;
  readonly commit?: string | null;
  readonly count?: number;
  readonly sum?: number;
  /** Of the numbers in the field of several kinds, where the engine was asked for it. */
  readonly mixed?: number;
  readonly fault?: string;
  readonly ms: number;
}
export interface CrowdOptions {
  readonly address: string;
  readonly clients: number;
  readonly random: Random;
  readonly seed: number;
  /** How fields of several kinds are mapped; engines that read such tables, by their names in crowd.py. */
  readonly mapping?: Mapping;
  readonly engines?: readonly CrowdEngine[];
  /** The folder of the engines. */
  readonly python: string;
  /** Asked after each read, with how many there were of each engine. */
  readonly isOver: (reads: Readonly<Record<string, number>>) => boolean;
}
export interface CrowdResult {
  readonly reads: Readonly<Record<string, number>>;
  readonly changes: Readonly<Record<string, number>>;
  /** Milliseconds that the median read of each engine took. */
  readonly medians: Readonly<Record<string, number>>;
  /** Reads of what a vacuum had taken by then. */
  readonly gone: number;
  /** What was read that no commit holds, and reads that failed. */
  readonly wrong: readonly string[];
  readonly commits: number;
}

/** Changes and reads until it is over, and compares. */
export const crowdRun = async (options: CrowdOptions): Promise<CrowdResult> => {
  const lake = connect(options.address);
  await lake.createPool(poolName, { keys: [['id']] });
  await fetch(`${options.address}/pool/${poolName}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ iceberg: 'eager', iceberg_mapping: options.mapping ?? 'typed' }),
  });
  const crowd = new Crowd(lake, options.random);
  await crowd.load();
  const ended = new AbortController();
  const changing = Array.from({ length: options.clients }, () => crowd.changeUntil(ended.signal));
  const reads = await readUntil(options).finally(() => {
    ended.abort();
  });
  await Promise.all(changing);
  const held = await crowd.held();
  return {
    reads: countsOf(reads.map(({ engine }) => engine)),
    medians: mediansOf(reads),
    gone: reads.filter(({ fault }) => fault !== undefined && isGone(fault)).length,
    changes: crowd.changes,
    wrong: wrongOf(reads, held),
    commits: held.size,
  };
};
const countsOf = (names: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};

const mediansOf = (reads: readonly Read[]): Record<string, number> =>
  Object.fromEntries(
    [...new Set(reads.map(({ engine }) => engine))].map((engine) => {
      const own = reads.filter((read) => read.engine === engine).map(({ ms }) => ms);
      return [engine, own.sort((a, b) => a - b)[own.length >> 1]!];
    }),
  );

/** The engines, in one process of their own, as long as it is not over. */
const readUntil = async ({
  address,
  python,
  seed,
  isOver,
  mapping = 'typed',
  engines = crowdEngines[mapping],
}: CrowdOptions): Promise<readonly Read[]> => {
  const script = fileURLToPath(new URL('crowd.py', import.meta.url));
  const folders = [python, ...(engines.includes('spark') ? [process.env['ICEBERG_SPARK']] : [])];
  const child = spawn('python3', [script, `${address}/iceberg`, poolName, String(seed), mapping, ...engines], {
    env: { ...process.env, PYTHONPATH: folders.join(':'), PYTHONWARNINGS: 'ignore' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  const reads: Read[] = [];
  const counts: Record<string, number> = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const read = JSON.parse(line) as Read;
    reads.push(read);
    counts[read.engine] = (counts[read.engine] ?? 0) + 1;
    if (isOver(counts)) child.stdin.end();
  }
  if (reads.length === 0) throw new Error(`nothing was read: ${complaints}`);
  return reads;
};

/** What a commit holds: `count sum mixed`. */
type Held = ReadonlyMap<string, string>;
const wrongOf = (reads: readonly Read[], held: Held): readonly string[] => {
  const all = [...held.values()];
  return reads.flatMap(({ engine, commit, count, sum, mixed, fault }) => {
    // It was named by who had loaded the table before a vacuum.
    if (fault !== undefined) return isGone(fault) ? [] : [`${engine} failed: ${fault}`];
    const got = `${count} ${sum} ${mixed ?? ''}`;
    const isRight = (wanted: string): boolean => (mixed === undefined ? wanted.startsWith(got) : wanted === got);
    if (commit === undefined || commit === null) return all.some(isRight) ? [] : [`${engine} read ${got}: no commit's`];
    const wanted = held.get(commit);
    return wanted !== undefined && isRight(wanted) ? [] : [`${engine} read ${got} of ${commit}, which holds ${wanted}`];
  });
};
/** As DuckDB and Spark say it. */
const isGone = (fault: string): boolean => /(Could not|Cannot) find snapshot with id/i.test(fault);

/** Those who change the pool. */
class Crowd {
  readonly changes: Record<string, number> = {};
  private readonly lake: Lake;
  private readonly random: Random;
  private readonly batches: Batch[] = [];
  private branches = 0;

  constructor(lake: Lake, random: Random) {
    this.lake = lake;
    this.random = random;
  }
  private newBatch(records = 1 + this.random.below(recordsMax)): {
    readonly batch: Batch;
    readonly rows: readonly object[];
  } {
    const batch = { number: this.batches.length + 1, records };
    this.batches.push(batch);
    const rows = Array.from({ length: batch.records }, (_, i) => ({
      id: idsOf(batch.number) + i,
      batch: batch.number,
      ...(i % 3 === 0 && { note: `n${i}` }),
      ...(i % 2 === 0 ? { mixed: idsOf(batch.number) + i } : i % 3 === 0 && { mixed: { text: `n${i}` } }),
    }));
    return { batch, rows };
  }

  async changeUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const kind = this.random.pick(kinds);
      try {
        await this[kind]();
        this.changes[kind] = (this.changes[kind] ?? 0) + 1;
      } catch (error) {
        // Somebody else was faster.
        if (!(error instanceof LakeFailure) || error.status >= 500) throw error;
      }
      await thinking(this.random.below(thinkMsMax));
    }
  }

  /** The first one has values of all kinds, so that the field's column is of one kind from then on. */
  async load(): Promise<void> {
    const { batch, rows } = this.newBatch(this.batches.length === 0 ? recordsMax : undefined);
    await this.main.insert(rows, { message: `+${batch.number}` });
  }
  async remove(): Promise<void> {
    const { number } = this.random.pick(this.batches);
    await this.main.deleteWhere(`batch == ${number}`, { message: `-${number}` });
  }
  async merge(): Promise<void> {
    const { batch, rows } = this.newBatch();
    const pool = this.lake.pool(poolName);
    const child = await pool.createBranch(`b${++this.branches}`, await this.main.tip());
    await child.insert(rows);
    await this.main.merge(child.name, { message: `+${batch.number}` });
    await child.delete();
  }
  async compact(): Promise<void> {
    const objects = await this.lake.query<{ readonly id: Uint8Array }>(`from ${poolName}@${branchName}:objects`).all();
    const start = this.random.below(objects.length);
    const ids = objects.slice(start, start + compactedMax).map(({ id }) => `0x${Buffer.from(id).toString('hex')}`);
    if (ids.length > 1) await this.main.compact(ids, { message: '=' });
  }
  async vacuum(): Promise<void> {
    await this.lake.pool(poolName).vacuum(branchName);
  }
  private get main(): ReturnType<ReturnType<Lake['pool']>['branch']> {
    return this.lake.pool(poolName).branch(branchName);
  }

  /** By commit, as Iceberg's summaries write it: what it holds as the log has it; the last one as the service counts. */
  async held(): Promise<Held> {
    const held = new Map<string, string>();
    const there = new Set<number>();
    for (const commit of (await this.main.log()).reverse()) {
      const { id, message } = commit as unknown as { readonly id: Uint8Array; readonly message: string };
      const number = Number(message.slice(1));
      if (message.startsWith('+')) there.add(number);
      if (message.startsWith('-')) there.delete(number);
      held.set(base62(Buffer.from(id).toString('hex')), this.textOf(there));
    }
    const query = `from ${poolName} | put m:=(kind(mixed)=='primitive' ? mixed::int64 : 0)
      | aggregate n:=count(), s:=sum(id), m:=sum(m)`;
    const [now] = await this.lake.query<{ readonly n: bigint; readonly s: bigint; readonly m: bigint }>(query).all();
    const text = `${now?.n ?? 0} ${now?.s ?? 0} ${now?.m ?? 0}`;
    if (text !== this.textOf(there)) throw new Error(`the service has ${text}, its log ${this.textOf(there)}`);
    return held;
  }
  private textOf(there: ReadonlySet<number>): string {
    let count = 0;
    let sum = 0;
    let mixed = 0;
    for (const number of there) {
      const { records } = this.batches[number - 1]!;
      const even = Math.ceil(records / 2);
      count += records;
      sum += records * idsOf(number) + (records * (records - 1)) / 2;
      mixed += even * idsOf(number) + even * (even - 1);
    }
    return `${count} ${sum} ${mixed}`;
  }
}
const kinds = ['load', 'load', 'load', 'remove', 'remove', 'merge', 'compact', 'vacuum'] as const;
