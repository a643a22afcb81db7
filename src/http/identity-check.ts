/**
 * Whether the records of a pool have identities of their own: looked at in the background when a pool gets an identity,
 * and when somebody asks and it is not known. What was found is of one commit of `main`, and is kept until the next
 * look; a restart forgets it.
 */
import assert from 'node:assert';
import { LakeError, messageOf } from '../errors.ts';
import type { Id, Identity, Pool } from '../lake/lake.types.ts';
import { zeroId } from '../lake/ksuid.ts';
import { parseSupValues } from '../vectors/sup/parse.ts';
import { quoteText } from '../vectors/type.ts';
import { type Data, type Value, itemsData } from '../vectors/value.ts';
import type { WorkerPool } from '../workers/pool.types.ts';

/** Fields of an identity, and names in the path of each. */
export const identityPathsMax = 16;
const pathNamesMax = 32;
/** Double keys that are told, and the length of one. */
const sampleMax = 100;
const keyCharsMax = 4096;

/** @throws identity-invalid, identity-long */
export const checkIdentity = (identity: Identity | undefined): void => {
  if (!identity) return;
  if (identity.length > identityPathsMax)
    throw new LakeError('identity-long', { what: 'fields', length: identity.length, limit: identityPathsMax });
  const seen = new Set<string>();
  for (const path of identity) {
    if (path.length > pathNamesMax)
      throw new LakeError('identity-long', { what: 'names in a path', length: path.length, limit: pathNamesMax });
    const text = JSON.stringify(path);
    if (path.length === 0 || path.includes('') || seen.has(text))
      throw new LakeError('identity-invalid', { value: text });
    seen.add(text);
  }
};

/** How far a look is. `commit`: of `main`, all of whose records are looked at. */
export type IdentityCheck = { readonly commit: Id; readonly identity: Identity } & (
  | { readonly state: 'running' }
  | { readonly state: 'failed'; readonly error: string }
  /** `double`: identities that several records have, `records` of them together; the first of them in `sample`. */
  | { readonly state: 'done'; readonly double: number; readonly records: number; readonly sample: readonly Value[] }
);

/** The looks of a service. */
export class IdentityChecks {
  private readonly workers: Pick<WorkerPool, 'query'>;
  private readonly known = new WeakMap<Pool, IdentityCheck>();
  constructor(workers: Pick<WorkerPool, 'query'>) {
    this.workers = workers;
  }

  /** What is known of a pool that has an identity; begins a look where nothing is known of it. */
  of(pool: Pool): IdentityCheck | undefined {
    const { identity } = pool.config;
    if (!identity) return undefined;
    const known = this.known.get(pool);
    return known && JSON.stringify(known.identity) === JSON.stringify(identity) ? known : this.begin(pool);
  }
  /** Looks at what `main` has now; one look of a pool at a time, the newest counts. */
  begin(pool: Pool): IdentityCheck | undefined {
    const { identity } = pool.config;
    if (!identity) return undefined;
    const main = pool.branches().find(({ name }) => name === 'main');
    const begun: IdentityCheck = { commit: main?.commit ?? zeroId, identity, state: 'running' };
    this.known.set(pool, begun);
    void this.look(pool, begun).then(
      (found) => {
        if (this.known.get(pool) === begun) this.known.set(pool, found);
      },
      (fault: unknown) => {
        const error = messageOf(fault);
        if (this.known.get(pool) === begun) this.known.set(pool, { ...begun, state: 'failed', error });
      },
    );
    return begun;
  }

  private async look(pool: Pool, { commit, identity }: IdentityCheck): Promise<IdentityCheck> {
    const { chunks } = await this.workers.query({
      id: `identity of ${pool.config.id}`,
      text: doublesText(`0x${pool.config.id}@0x${commit}`, identity),
      format: 'sup',
      control: false,
    });
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(Buffer.from(chunk));
    let sums: readonly Data[] = [];
    const sample: Value[] = [];
    for (const { type, data } of parseSupValues(Buffer.concat(parts).toString('utf8'))) {
      assert(type.kind === 'record');
      if (type.fields[0].name === 'double') sums = itemsData(data);
      else sample.push({ type, data });
    }
    const [double, records] = sums.map((sum) => Number(sum ?? 0));
    return { commit, identity, state: 'done', double: double ?? 0, records: records ?? 0, sample };
  }
}

/**
 * Identities of several records, in the language: how many there are, and the first of them, without those that are
 * too long to be told.
 */
const doublesText = (source: string, identity: Identity): string => {
  const fieldOf = (path: readonly string[]): string => `this${path.map((name) => `[${quoteText(name)}]`).join('')}`;
  const fields = identity.map(fieldOf);
  // What may be null counts as what it is, as in upserts; what has a name keeps it.
  const value = (field: string): string => `(is_error(nameof(${field})) ? under(${field}) : ${field})`;
  const key = identity.map((path) => `${quoteText(path.join('.'))}:${value(fieldOf(path))}`).join(',');
  const has = fields.map((field) => `has(${field}) and ${field} is not null and not is_error(${field})`).join(' and ');
  return [
    `from ${source}`,
    `where ${has}`,
    `count:=count() by key:={${key}}`,
    'where count>1',
    `fork ( aggregate double:=count(), records:=sum(count) ) ( head ${sampleMax} | values {key,count} | where len(f"{key}")<=${keyCharsMax} )`,
  ].join(' | ');
};
