/** What items of a bulk request ask for, and what becomes of those that go by an id. */
import type { ObjectMeta } from '../../lake/lake.types.ts';

/** What an item asks for; those that need an identity come last. */
export const bulkOperations = ['index', 'create', 'update', 'delete'] as const;
export type BulkOperation = (typeof bulkOperations)[number];

/**
 * `missing`: nothing to update; `exists`: nothing to create; `other-id`: the document has another id; `no-object`: the
 * document of an update is none.
 */
export const bulkResults = [
  'created',
  'updated',
  'noop',
  'deleted',
  'not_found',
  'missing',
  'exists',
  'other-id',
  'no-object',
] as const;
export type BulkResult = (typeof bulkResults)[number];

/** What became of items: places in `bulkResults`, by the items' places in the body. */
export interface BulkResults {
  readonly items: Uint32Array;
  readonly results: Uint8Array;
}

/** What a bulk request wants of a pool. */
export interface BulkOperations {
  readonly objects: readonly ObjectMeta[];
  readonly field: string;
  readonly time: string;
}
