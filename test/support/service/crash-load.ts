/**
 * Load on a service that will be killed, and what must be there afterwards. The book of what was acknowledged is kept
 * here, in the process that survives.
 *
 * - A commit's rows follow from its number alone. Commits are small (one object in the tables) or large (an object
 *   file).
 * - A commit or delete whose answer never came may be there, whole, or not; once it was seen after a start it is
 *   settled: it must stay as it was seen.
 */
import { type Client, jsonType } from './client.ts';
import type { Random } from '../random.ts';

export interface Row {
  readonly k: number;
  readonly n: number;
  readonly i: number;
  readonly text: string;
}
type State = 'there' | 'perhaps' | 'gone' | 'perhaps gone';
interface Entry {
  readonly n: number;
  readonly rows: number;
  state: State;
  commit?: string;
}

/** Rows of a commit that become an object file: some 100 KB that do not compress. */
const largeRows = 450;

export class CrashBook {
  readonly entries = new Map<number, Entry>();
  private readonly random: Random;
  private next = 0;
  private readonly texts: readonly string[];
  acknowledged = 0;
  unanswered = 0;

  constructor(random: Random) {
    this.random = random;
    this.texts = Array.from({ length: 997 }, () => random.hex(300));
  }

  /** Row `i` of commit `n`. Keys are spread, so that objects overlap. */
  row(n: number, i: number): Row {
    return { k: (n * 7919 + i * 104_729) % 1_000_003, n, i, text: this.texts[(n * 31 + i * 7) % this.texts.length]! };
  }
  rows(entry: Entry): readonly Row[] {
    return Array.from({ length: entry.rows }, (_, i) => this.row(entry.n, i));
  }

  begin(large: boolean): Entry {
    const entry: Entry = { n: this.next++, rows: large ? largeRows : 1 + this.random.below(3), state: 'perhaps' };
    this.entries.set(entry.n, entry);
    return entry;
  }
  /** A small commit that is there and may be deleted. */
  victim(): Entry | undefined {
    const there = [...this.entries.values()].filter((e) => e.state === 'there' && e.rows < largeRows);
    return there.length > 0 ? this.random.pick(there) : undefined;
  }

  /**
   * Checks what a start brought back (rows by commit number), settles what was open. Throws for anything lost, torn or
   * doubled.
   */
  settle(found: ReadonlyMap<number, number>): void {
    for (const n of found.keys()) if (!this.entries.has(n)) throw new Error(`rows of a commit ${n} that nobody sent`);
    for (const entry of this.entries.values()) {
      const { n, rows, state } = entry;
      const count = found.get(n) ?? 0;
      if (count !== 0 && count !== rows) throw new Error(`commit ${n} (${state}) is torn: ${count} of ${rows} rows`);
      if (state === 'there' && count === 0) throw new Error(`commit ${n} was acknowledged and is lost`);
      if (state === 'gone' && count !== 0) throw new Error(`commit ${n} was deleted and is back`);
      entry.state = count === 0 ? 'gone' : 'there';
    }
  }
}

/**
 * Clients that commit until the service is gone. `answered` is called on every acknowledgement, `sent` when a large
 * body is on its way.
 */
export const crashLoad = async (
  client: Client,
  book: CrashBook,
  clients: { readonly small: number; readonly large: number },
  on: { readonly answered: () => void; readonly sent: () => void },
): Promise<void> => {
  let over = false;
  const answer = async (method: string, path: string, body: string, headers = {}): Promise<string | undefined> => {
    try {
      const got = await client.ask(method, path, { body, headers });
      if (!got.whole) throw new Error('cut off');
      if (got.status !== 200) throw new Error(`${method} ${path}: ${got.status} ${got.body}`, { cause: 'refused' });
      book.acknowledged++;
      on.answered();
      return (JSON.parse(got.body) as { commit: string }).commit;
    } catch (error) {
      if (error instanceof Error && error.cause === 'refused') throw error;
      over = true;
      book.unanswered++;
      return undefined;
    }
  };
  const load = async (large: boolean): Promise<void> => {
    const entry = book.begin(large);
    const answering = answer(
      'POST',
      '/pool/p/branch/main',
      book
        .rows(entry)
        .map((row) => JSON.stringify(row))
        .join('\n'),
      jsonType,
    );
    if (large) on.sent();
    const commit = await answering;
    if (commit === undefined) return;
    entry.state = 'there';
    entry.commit = commit;
  };
  const writer = async (large: boolean): Promise<void> => {
    while (!over) await load(large);
  };
  const deleter = async (): Promise<void> => {
    while (!over) {
      const entry = book.victim();
      if (!entry) await load(false);
      else {
        entry.state = 'perhaps gone';
        const commit = await answer(
          'POST',
          '/pool/p/branch/main/delete',
          JSON.stringify({ where: `n==${entry.n}` }),
          jsonType,
        );
        if (commit !== undefined) entry.state = 'gone';
      }
    }
  };
  await Promise.all([
    ...Array.from({ length: clients.small }, () => writer(false)),
    ...Array.from({ length: clients.large }, () => writer(true)),
    deleter(),
  ]);
};
