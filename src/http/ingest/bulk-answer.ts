/**
 * What became of the items of a bulk request, one by one in their order: bytes, since most items are told of in the same
 * words.
 */
import { type BulkResult, bulkOperations, bulkResults } from '../../workers/ingest/bulk-results.ts';
import { fromWire } from '../../workers/messages.ts';
import { type ElasticError, elasticError } from './elastic.ts';
import type { PathFilter } from './filter-path.ts';
import type { PoolTaken, Taken } from './take.ts';

/** What is said of an item behind its pool and its id. */
interface Outcome {
  readonly isFault: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
}
const done = (fields: Outcome['fields']): Outcome => ({ isFault: false, fields });
const fault = (status: number, error: ElasticError): Outcome => ({ isFault: true, fields: { status, error } });

const _shards = { total: 1, successful: 1, failed: 0 };
const written = done({ _version: 1, result: 'created', _shards, status: 201 });
/** What is said of results by id that are no faults. */
const doneById: Readonly<Partial<Record<BulkResult, Outcome>>> = {
  created: written,
  updated: done({ result: 'updated', _shards, status: 200 }),
  noop: done({ result: 'noop', _shards, status: 200 }),
  deleted: done({ result: 'deleted', _shards, status: 200 }),
  // Elasticsearch does not count it among the errors.
  not_found: done({ result: 'not_found', _shards, status: 404 }),
};
/** What is said of the others. */
const faultsById: Readonly<Partial<Record<BulkResult, ElasticError & { readonly status: number }>>> = {
  missing: { status: 404, type: 'document_missing_exception', reason: 'document missing' },
  exists: {
    status: 409,
    type: 'version_conflict_engine_exception',
    reason: 'version conflict, document already exists',
  },
  'other-id': {
    status: 400,
    type: 'document_parsing_exception',
    reason: "the field of the pool's identity is not this _id, as a string",
  },
  'no-object': { status: 400, type: 'document_parsing_exception', reason: 'doc and upsert of an update are objects' },
};

/** The answer to a bulk request; `filter`: what of it is wanted. */
export const bulkAnswer = ({ told, pools }: Taken<'bulk'>, tookMs: number, filter?: PathFilter): Buffer => {
  const { operations, ids, names, failures } = told;
  const outcomes = names.map((name) => poolOutcome(pools.get(name)));
  const byId = outcomesById(ids, pools);
  const out = new Items(names, operations.length, filter);
  let errors = false;
  operations.forEach((operation, item) => {
    const pool = told.pools[item];
    const failure = failures.get(item);
    const outcome = failure ? failed(fromWire(failure)) : (byId.get(item) ?? outcomes[pool]);
    errors ||= outcome.isFault;
    out.add({ pool, operation, outcome, id: ids.get(item) });
  });
  const items = out.bytes();
  const head = { errors, took: Math.round(tookMs) };
  const text = JSON.stringify(filter ? (filter.of(head) ?? {}) : head).slice(0, -1);
  if (items.length === 0) return Buffer.from(`${text}}\n`);
  return Buffer.concat([Buffer.from(`${text}${text === '{' ? '' : ','}"items":[`), items, Buffer.from(']}\n')]);
};
/** What became of items that went by an id, by their places. */
const outcomesById = (
  ids: ReadonlyMap<number, string>,
  pools: ReadonlyMap<string, PoolTaken>,
): ReadonlyMap<number, Outcome> => {
  const outcomes = new Map<number, Outcome>();
  for (const taken of pools.values()) {
    if ('error' in taken || !taken.results) continue;
    const { items, results } = taken.results;
    items.forEach((item, k) => {
      const result = bulkResults[results[k]];
      const { status, type, reason } = faultsById[result] ?? { status: 0, type: '', reason: '' };
      outcomes.set(item, doneById[result] ?? fault(status, { type, reason: `[${ids.get(item) ?? ''}]: ${reason}` }));
    });
  }
  return outcomes;
};
/** Of a pool none of whose documents could be read nothing is asked. */
const poolOutcome = (taken: PoolTaken | undefined): Outcome =>
  taken && 'error' in taken ? failed(taken.error) : written;
const failed = (problem: unknown): Outcome => {
  const { status, error } = elasticError(problem);
  return fault(status, error);
};

interface Item {
  /** The place of its pool's name. */
  readonly pool: number;
  readonly operation: number;
  readonly outcome: Outcome;
  readonly id: string | undefined;
}
/** How items of an operation on a pool with an outcome are told of, each with a comma at its end. */
interface Words {
  /** What stands before and behind the id; absent: the id is not wanted. */
  readonly around: { readonly before: Buffer; readonly behind: Buffer } | undefined;
  /** All of one that has no id; empty: nothing is wanted. */
  readonly whole: Buffer;
}

/** Items one behind the other. Those that are told of in the same words are written at once. */
class Items {
  private readonly names: readonly string[];
  private readonly filters: readonly (PathFilter | undefined)[];
  /** By pool and operation. */
  private readonly known: readonly Map<Outcome, Words>[];
  private out: Buffer;
  private length = 0;
  /** Of the last items, which wait to be written. */
  private last: Words | undefined;
  private count = 0;

  constructor(names: readonly string[], items: number, filter: PathFilter | undefined) {
    this.names = names;
    const within = filter?.inside('items');
    this.filters = bulkOperations.map((operation) => within?.inside(operation));
    this.known = names.flatMap(() => bulkOperations.map(() => new Map<Outcome, Words>()));
    this.out = Buffer.allocUnsafe(items * itemBytes);
  }

  add(item: Item): void {
    const { id } = item;
    const words = this.wordsOf(item);
    if (id !== undefined && words.around) this.withId(words.around, JSON.stringify(id));
    else if (words === this.last) this.count++;
    else {
      this.write();
      this.last = words;
      this.count = 1;
    }
  }
  /** All of them, without a comma at the end. */
  bytes(): Buffer {
    this.write();
    return this.out.subarray(0, Math.max(0, this.length - 1));
  }

  private write(): void {
    const { last, count } = this;
    this.last = undefined;
    if (!last || last.whole.length === 0) return;
    const size = last.whole.length * count;
    this.reserve(size);
    this.out.fill(last.whole, this.length, this.length + size);
    this.length += size;
  }
  private withId({ before, behind }: Exclude<Words['around'], undefined>, id: string): void {
    this.write();
    this.reserve(before.length + id.length * utf8BytesMax + behind.length);
    this.length += before.copy(this.out, this.length);
    this.length += this.out.write(id, this.length);
    this.length += behind.copy(this.out, this.length);
  }
  private reserve(size: number): void {
    if (this.length + size <= this.out.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.out.length * 2, this.length + size));
    this.out.copy(grown, 0, 0, this.length);
    this.out = grown;
  }

  private wordsOf(item: Item): Words {
    // A fault is told of in its own words.
    if (item.outcome.isFault) return this.makeWords(item);
    const known = this.known[item.pool * bulkOperations.length + item.operation];
    let words = known.get(item.outcome);
    if (!words) known.set(item.outcome, (words = this.makeWords(item)));
    return words;
  }
  private makeWords({ pool, operation, outcome: { fields } }: Item): Words {
    const filter = this.filters[operation];
    const wanted = (part: object): string => {
      const kept = filter ? filter.of(part) : part;
      return kept === undefined ? '' : JSON.stringify(kept).slice(1, -1);
    };
    const index = wanted({ _index: this.names[pool] });
    const id = wanted({ _id: null });
    const others = wanted(fields);
    const words = [index, id, others].filter((text) => text !== '').join(',');
    const head = `{"${bulkOperations[operation]}":{`;
    return {
      around:
        id === ''
          ? undefined
          : {
              before: Buffer.from(`${head}${index === '' ? '' : `${index},`}"_id":`),
              behind: Buffer.from(`${others === '' ? '' : `,${others}`}}},`),
            },
      whole: Buffer.from(words === '' ? '' : `${head}${words}}},`),
    };
  }
}
/** Of most items, about. */
const itemBytes = 160;
/** Of a code unit. */
const utf8BytesMax = 3;
