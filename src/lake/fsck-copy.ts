/** Holds the copy of the commit log against the tables: every row that it has must be there, unless its pool is gone or its object was vacuumed. */
import { base62, idOfBytes } from './ksuid.ts';
import type { Id } from './lake.types.ts';
import { type LogRecord } from './log-copy-format.ts';
import { type CopyRead, readCopy } from './log-copy-reader.ts';
import { type Counters, countersKey, decodeBranch, decodeCounters, decodePool, isRow } from './rows.ts';
import type { TableName, Tables } from './tables.ts';

/** What the comparison found, a line each. `faults`: damage of the copy; `tableFaults`: what the copy has and the tables lack or have otherwise; `notes`: what is no fault. */
interface CopyComparison { readonly copy?: CopyRead; readonly faults: readonly string[]; readonly tableFaults: readonly string[]; readonly notes: readonly string[] }

/** `stopped`: the last service was closed in order, so that nothing may be missing. */
export const compareWithCopy = (folder: string, tables: Tables | undefined, stopped: boolean): CopyComparison => {
  const rows = new CopiedRows(tables);
  const copy = readCopy(folder, (record) => rows.take(record));
  if (!copy) return { faults: [], tableFaults: [], notes: ['there is no copy of the commit log yet: the next start writes it'] };
  const faults = [...copy.faults], notes: string[] = [], what = 'copy of the commit log';
  if (!copy.complete) notes.push(`${what}: it is not complete yet: the next start writes it anew`);
  else if (stopped && !copy.closed) faults.push(`${what}: its end is missing${copy.tailBytes > 0 ? `, its last ${copy.tailBytes} bytes are no record` : ''}`);
  else if (copy.tailBytes > 0) notes.push(`${what}: ${copy.tailBytes} bytes at its end are half a record, as a stop in the middle of writing leaves them`);
  const now = tables && countersOf(tables), tableFaults: string[] = [];
  if (now && copy.complete) {
    if (now.event < copy.counters.event || now.sequence < copy.counters.sequence) tableFaults.push(`the tables end at event ${now.event}, the copy of the commit log at event ${copy.counters.event}: they are older`);
    else if (now.event > copy.counters.event) (stopped ? faults : notes).push(`${what}: it ends at event ${copy.counters.event}, the tables at event ${now.event}`);
    // A copy that lacks records may lack the one by which something went: then it says nothing against the tables.
    else if (faults.length === 0) tableFaults.push(...rows.tipFaults(), ...rows.missing());
  }
  return { copy, faults, tableFaults, notes };
};

const countersOf = (tables: Tables): Counters | undefined => {
  try {
    return decodeCounters(tables.get('about', countersKey));
  } catch {
    return undefined;
  }
};

const missingMax = 1000;

class CopiedRows {
  private readonly tables: Tables | undefined;
  private readonly pools = new Map<Id, string>();
  /** Tips by key of the branch. */
  private readonly tips = new Map<string, { readonly name: string; readonly pool: Id; readonly commit: Id }>();
  private readonly absent: { readonly table: TableName; readonly pool: Id; readonly id: Id }[] = [];

  constructor(tables: Tables | undefined) { this.tables = tables; }

  take({ kind, changes }: LogRecord): void {
    if (kind === 'roster') {
      this.pools.clear();
      this.tips.clear();
    }
    for (const { table, key, payload } of changes) {
      // What is malformed in the tables as well is their fault.
      if (payload && !isRow(table, key, payload)) continue;
      const pool = idOfBytes(key.subarray(0, 20));
      if (table === 'pools') {
        if (payload) this.pools.set(pool, decodePool(pool, Buffer.from(payload)).name);
        else this.pools.delete(pool);
      } else if (table === 'branches') {
        const name = idOfBytes(key);
        if (payload) this.tips.set(name, { ...decodeBranch(name, Buffer.from(payload)), pool });
        else this.tips.delete(name);
      } else if (table === 'commits' || table === 'objects') this.look(table, key, pool);
    }
  }
  private look(table: 'commits' | 'objects', key: Uint8Array, pool: Id): void {
    if (!this.tables || this.absent.length >= missingMax || this.tables.has(table, key)) return;
    this.absent.push({ table, pool, id: idOfBytes(key.subarray(20)) });
  }

  missing(): readonly string[] {
    return this.absent.filter(({ pool }) => this.pools.has(pool))
      .map(({ table, pool, id }) => `pool "${this.pools.get(pool)}", ${table === 'commits' ? 'commit' : 'object'} ${base62(id)}: the copy of the commit log has it, the tables do not`);
  }
  /** When both end at the same event they agree on every pool and tip. */
  tipFaults(): readonly string[] {
    const faults: string[] = [];
    for (const [id, name] of this.pools) if (!this.tables!.has('pools', Buffer.from(id, 'hex'))) faults.push(`pool "${name}": the copy of the commit log has it, the tables do not`);
    for (const [key, tip] of this.tips) {
      if (!this.pools.has(tip.pool)) continue;
      let found: Id | undefined;
      try {
        const payload = this.tables!.get('branches', Buffer.from(key, 'hex'));
        found = payload && decodeBranch(key, payload).commit;
      } catch {
        continue;
      }
      if (found !== tip.commit) faults.push(`pool "${this.pools.get(tip.pool)}", branch "${tip.name}": it is ${found === undefined ? 'missing' : `at commit ${base62(found)}`}, in the copy of the commit log at ${base62(tip.commit)}`);
    }
    return faults;
  }
}
