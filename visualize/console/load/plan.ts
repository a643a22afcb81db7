/**
 * A load as the reader plans it, and as it goes: the files, where to and how, one file after the other, a commit each.
 */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { BranchInfo, PoolInfo } from '../../../src/client/client.ts';
import { branches, pools, refresh } from '../lake.ts';
import { tell } from '../parts.tsx';
import { keysOf, layoutOf, type Order } from '../pool/dialogs.tsx';
import { client, may } from '../session.ts';
import { counted, faultText, visible } from '../text.ts';
import { lastUsedFirst, use } from '../used.ts';
import { type FileFacts, likelyKey, lookInto } from './file-text.ts';
import { isCsv, type Item, loadFile, loadLine, type LoadOptions } from './item.ts';

/** What a plan begins with: where the files go, if that is settled, and the first of them. */
export interface PlanStart {
  readonly pool?: PoolInfo;
  readonly branch?: string;
  readonly files: readonly File[];
}
/** Who and why, for the commits. */
type PlanNote = Pick<LoadOptions, 'author' | 'message'>;

/** One load. What is derived is read again each time, so that who reads it while drawing is drawn again. */
export class LoadPlan {
  /** Whether it began with a pool, which then stays. */
  readonly isSettled: boolean;
  /** Of the new pool. */
  readonly name: Signal<string>;
  /** Of the new pool. */
  readonly order = signal<Order>(undefined);
  readonly branch: Signal<string>;
  /** Empty: by the files' names, else the service finds it out. */
  readonly format = signal('');
  /** How CSV is read: parameters of a load by name; without one, as the service does by itself. */
  readonly csv = signal<Readonly<Record<string, string>>>({});
  /** Texts with bytes that are not UTF-8 are refused; else they are kept. */
  readonly refusesBytes = signal(false);
  /** What becomes of records that cannot be read: `skip`, `wrap`; empty: they refuse their file. */
  readonly errors = signal('');
  /** A JSON array is one record; else each of its elements is. */
  readonly asOne = signal(false);
  /** Of the first file, as the service tells them: of files that are no text. */
  readonly seenFields = signal<readonly string[]>([]);
  private readonly itemsSignal: Signal<readonly Item[]>;
  private readonly targetSignal: Signal<string>;
  private readonly typedKey = signal<string | undefined>(undefined);
  private readonly busySignal = signal(false);
  private readonly startedSignal = signal(false);
  private running: (() => void) | undefined;

  constructor({ pool, branch, files }: PlanStart) {
    const [first] = this.writable;
    this.isSettled = pool !== undefined;
    this.name = signal(files[0] ? poolNameOf(files[0].name) : '');
    this.branch = signal(branch ?? 'main');
    this.itemsSignal = signal(files.map(itemOf));
    this.targetSignal = signal(pool?.id ?? (first && !this.mayMake ? first.id : ''));
  }

  get items(): ReadonlySignal<readonly Item[]> {
    return this.itemsSignal;
  }
  /** Whether files are on their way. */
  get busy(): boolean {
    return this.busySignal.value;
  }
  get started(): boolean {
    return this.startedSignal.value;
  }
  /** Whether all files are loaded. */
  get done(): boolean {
    const items = this.itemsSignal.value;
    return this.started && !this.busy && items.length > 0 && items.every(({ state }) => state === 'done');
  }
  /** Whether it can be started, or what is left of it. */
  get ready(): boolean {
    const isPlaced = this.isNew
      ? this.name.value !== '' && !this.isTaken && keysOf(this.key).length > 0
      : this.pool !== undefined;
    return (
      isPlaced &&
      !this.busy &&
      this.unknown === undefined &&
      this.itemsSignal.value.some(({ state }) => state === 'waiting' || state === 'failed' || state === 'cancelled')
    );
  }

  /** Pools that the reader may load into, the last used first. */
  get writable(): readonly PoolInfo[] {
    return lastUsedFirst(pools.value.filter((pool) => may('writer', pool)));
  }
  get mayMake(): boolean {
    return may('writer');
  }
  /** Id of the pool that is loaded into; empty: one that is made for the files. */
  get target(): string {
    return this.targetSignal.value;
  }
  get isNew(): boolean {
    return this.target === '';
  }
  /** Undefined: it has to be made, or somebody deleted it. */
  get pool(): PoolInfo | undefined {
    return pools.value.find(({ id }) => id === this.target);
  }
  get branches(): readonly BranchInfo[] {
    return this.pool ? branches(this.pool) : [];
  }
  /** Whether the new pool's name is that of another. */
  get isTaken(): boolean {
    return this.isNew && pools.value.some(({ name }) => name === this.name.value);
  }
  /** Of the new pool: as it was typed, else the likely one. */
  get key(): string {
    return this.typedKey.value ?? likelyKey(this.fields);
  }
  set key(text: string) {
    this.typedKey.value = text;
  }
  /** Of the first file, as far as they are known. */
  get fields(): readonly string[] {
    const { facts } = this.itemsSignal.value[0] ?? {};
    return facts === undefined || facts.fields.length > 0 ? (facts?.fields ?? []) : this.seenFields.value;
  }

  /** Whether a file begins like a JSON array and is read as one. */
  get hasArray(): boolean {
    return (
      this.itemsSignal.value.some(({ facts }) => facts?.isArray) &&
      (this.format.value === '' || this.format.value === 'json')
    );
  }
  /** Whether files are read as CSV. */
  get hasCsv(): boolean {
    return (
      this.format.value === 'csv' || this.itemsSignal.value.some(({ file }) => isCsv(this.format.value, file.name))
    );
  }

  /** The first file that nobody has looked into. */
  get unknown(): File | undefined {
    return this.itemsSignal.value.find(({ facts }) => facts === undefined)?.file;
  }
  /** Finds out what a file seems to hold. */
  async look(file: File): Promise<void> {
    const facts = await lookInto(file).catch((): FileFacts => ({ gzip: false, isArray: false, fields: [] }));
    this.itemsSignal.value = this.itemsSignal.value.map((item) => (item.file === file ? { ...item, facts } : item));
  }
  /** The first file names the new pool, unless that has a name. */
  add(files: readonly File[]): void {
    this.itemsSignal.value = [...this.itemsSignal.value, ...files.map(itemOf)];
    if (this.name.value === '' && files[0]) this.name.value = poolNameOf(files[0].name);
  }
  leaveOut(index: number): void {
    this.itemsSignal.value = this.itemsSignal.value.filter((_, at) => at !== index);
  }
  /** Says how CSV is read; an empty text says nothing. */
  sayCsv(name: string, text: string): void {
    const { [name]: _, ...others } = this.csv.value;
    this.csv.value = text === '' ? others : { ...others, [name]: text };
  }
  /** Chooses the pool by its id, and its main branch. */
  choose(target: string): void {
    this.targetSignal.value = target;
    this.branch.value = 'main';
  }

  /** Loads the files that are not loaded yet; what goes wrong is told. */
  async submit(note: PlanNote): Promise<void> {
    const options = this.options(note);
    this.busySignal.value = true;
    this.startedSignal.value = true;
    try {
      const into = await this.place();
      use(into.pool);
      const items = this.itemsSignal;
      for (let index = 0; index < items.value.length; index++) {
        const item = items.value[index]!;
        if (item.state !== 'done')
          await loadFile(item, into, options, {
            update: (change) => {
              this.update(index, change);
            },
            running: (cancel) => {
              this.running = cancel;
            },
          });
      }
      void refresh();
      if (items.value.every(({ state }) => state === 'done'))
        tell(`Loaded ${counted(items.value.length, 'file')} into ${visible(into.pool.name, 60)}.`);
    } catch (error) {
      tell(faultText(error), true);
    } finally {
      this.busySignal.value = false;
    }
  }
  /** Cancels the file that is on its way. */
  cancel(): void {
    this.running?.();
  }
  /** The load of the first file as a line for a shell. */
  line({ headers, ...note }: PlanNote & { readonly headers: Readonly<Record<string, string>> }): string {
    return loadLine(
      this.itemsSignal.value[0],
      { pool: this.pool, branch: this.branch.value, name: this.name.value, key: this.key, order: this.order.value },
      { ...this.options(note), headers },
    );
  }

  /** How the files are read. */
  get reading(): Omit<LoadOptions, keyof PlanNote> {
    return {
      format: this.format.value,
      csv: this.hasCsv ? this.csv.value : {},
      refusesBytes: this.refusesBytes.value,
      errors: this.errors.value,
      asElements: this.hasArray && !this.asOne.value,
    };
  }
  private options({ author, message }: PlanNote): LoadOptions {
    return { ...this.reading, author, message };
  }
  /** Where the files go; a new pool is made first. */
  private async place(): Promise<{ readonly pool: PoolInfo; readonly branch: string }> {
    if (!this.isNew) return { pool: this.pool!, branch: this.branch.value };
    const name = this.name.value;
    await client.createPool(name, layoutOf(keysOf(this.key), this.order.value));
    await refresh();
    const pool = pools.value.find((p) => p.name === name) ?? (await client.pools()).find((p) => p.name === name)!;
    this.choose(pool.id);
    return { pool, branch: 'main' };
  }
  private update(index: number, change: Partial<Item>): void {
    this.itemsSignal.value = this.itemsSignal.value.map((item, i) => (i === index ? { ...item, ...change } : item));
  }
}

const itemOf = (file: File): Item => ({ file, facts: undefined, state: 'waiting' });
/** A name for the pool of a file. */
const poolNameOf = (file: string): string => visible(file.replace(/\.gz$/i, '').replace(/\.[A-Za-z0-9]{1,8}$/, ''), 60);
