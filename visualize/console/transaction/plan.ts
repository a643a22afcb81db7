/** Files on their way into several pools, as one transaction. */
import { type ReadonlySignal, signal, type Signal } from '@preact/signals';
import type { BranchInfo, PartOfTransaction, PoolInfo } from '../../../src/client/client.ts';
import { shellWord } from '../curl.ts';
import { branches, pools } from '../lake.ts';
import { arrayElements, lookInto } from '../load/file-text.ts';
import { formatOfName } from '../../../src/format-names.ts';
import { newId } from '../load/upload.ts';
import { base, client, may } from '../session.ts';
import { counted, faultText, visible } from '../text.ts';
import { lastUsedFirst, use } from '../used.ts';

/** A file and where it goes. `pool`: its id. */
interface Part {
  readonly file: File;
  readonly pool: string;
  readonly branch: string;
  readonly state: 'waiting' | 'reading' | 'read';
  readonly records?: number;
}
interface Note {
  readonly author?: string;
  readonly message?: string;
}

/** What the dialog gathers. */
export class TransactionPlan {
  private readonly partsSignal: Signal<readonly Part[]> = signal([]);
  private ending = new AbortController();

  get parts(): ReadonlySignal<readonly Part[]> {
    return this.partsSignal;
  }
  /** Pools that the reader may load into, the last used first. */
  get writable(): readonly PoolInfo[] {
    return lastUsedFirst(pools.value.filter((pool) => may('writer', pool)));
  }
  branchesOf({ pool }: Part): readonly BranchInfo[] {
    const found = this.pool(pool);
    return found ? branches(found) : [];
  }
  /** Whether all of them have a place. */
  get ready(): boolean {
    const all = this.partsSignal.value;
    return all.length > 0 && all.every((part) => this.branchesOf(part).some(({ name }) => name === part.branch));
  }

  /** A file goes into the pool that has its name, else into the one used last. */
  add(files: readonly File[]): void {
    const { writable } = this;
    const placed = files.map((file): Part => {
      const name = file.name.replace(/\.gz$/i, '').replace(/\.\w{1,8}$/, '');
      const pool = writable.find((one) => one.name === name) ?? writable[0];
      return { file, pool: pool?.id ?? '', branch: 'main', state: 'waiting' };
    });
    this.partsSignal.value = [...this.partsSignal.value, ...placed];
  }
  leaveOut(index: number): void {
    this.partsSignal.value = this.partsSignal.value.filter((_, at) => at !== index);
  }
  place(index: number, change: Pick<Part, 'branch'> & Partial<Pick<Part, 'pool'>>): void {
    this.update(index, change);
  }

  /** Reads all files, then commits them; says what was done. @throws what is wrong with one of them, by its name */
  async submit(note: Note): Promise<string> {
    this.ending = new AbortController();
    const { signal: wanted } = this.ending;
    const staged: string[] = [];
    const commits = new Map<string, PartOfTransaction & { readonly load: string[] }>();
    try {
      for (const [index, { pool, branch }] of this.partsSignal.value.entries()) {
        const key = `${pool} ${branch}`;
        const commit = commits.get(key) ?? { pool, branch, load: [] };
        commits.set(key, commit);
        const requestId = newId();
        staged.push(requestId);
        commit.load.push(await this.stage(index, requestId, wanted));
      }
      await client.transact([...commits.values()], { ...note, signal: wanted });
    } catch (error) {
      // What is in a commit already is not found any more.
      for (const requestId of staged) await client.cancelLoad(requestId).catch(() => undefined);
      this.partsSignal.value = this.partsSignal.value.map(({ file, pool, branch }) => ({
        file,
        pool,
        branch,
        state: 'waiting',
      }));
      throw error;
    }
    const into = new Set([...commits.values()].map(({ pool }) => pool));
    for (const id of into) use({ id });
    return `Loaded ${counted(staged.length, 'file')} into ${counted(into.size, 'pool')}, all or none.`;
  }
  private async stage(index: number, requestId: string, wanted: AbortSignal): Promise<string> {
    const { file, pool, branch } = this.partsSignal.value[index];
    this.update(index, { state: 'reading' });
    try {
      const { gzip, isArray } = await lookInto(file);
      const format = formatOfName(file.name) ?? (isArray ? 'json' : undefined);
      const isSplit = isArray && format === 'json';
      const { id, records } = await client
        .pool(pool)
        .branch(branch)
        .stage(isSplit ? await arrayElements(file) : file, {
          requestId,
          signal: wanted,
          ...(format && { format }),
          ...(gzip && !isSplit && { encoding: 'gzip' }),
        });
      this.update(index, { state: 'read', records });
      return id;
    } catch (error) {
      throw new Error(`${visible(file.name, 80)}: ${faultText(error)}`, { cause: error });
    }
  }
  /** Nobody waits for it any more. */
  cancel(): void {
    this.ending.abort();
  }

  /** The same by the command, for a shell. */
  line({ author, message }: Note): string {
    const commits = new Map<string, { readonly pool: string; readonly branch?: string; readonly files: string[] }>();
    for (const { file, pool, branch } of this.partsSignal.value) {
      const key = `${pool} ${branch}`;
      const commit = commits.get(key) ?? {
        pool: this.pool(pool)?.name ?? pool,
        ...(branch !== 'main' && { branch }),
        files: [],
      };
      commits.set(key, commit);
      commit.files.push(file.name);
    }
    const options = [
      ...(author === undefined ? [] : ['-user', author]),
      ...(message === undefined ? [] : ['-message', message]),
    ];
    const words = ['lake', 'transaction', '-lake', base, ...options, '-'].map(shellWord);
    return `echo ${shellWord(JSON.stringify({ commits: [...commits.values()] }))} | ${words.join(' ')}`;
  }

  private pool(id: string): PoolInfo | undefined {
    return pools.value.find((one) => one.id === id);
  }
  private update(index: number, change: Partial<Part>): void {
    this.partsSignal.value = this.partsSignal.value.map((part, at) => (at === index ? { ...part, ...change } : part));
  }
}
