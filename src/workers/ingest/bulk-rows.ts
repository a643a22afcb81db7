/**
 * What a bulk request wants of a pool whose identity is one field, as rows: the item's place in the body, what is to be
 * done, the id if it has one, and the document.
 */
import { type Builder, shapeOf } from '../../vectors/builder.ts';
import { types } from '../../vectors/type.ts';
import type { PoolLayout } from '../messages.ts';
import type { DecodeContext } from './ingest.types.ts';

/** What pools have that a body names. `field`: that of the identity; `absent`: nobody has the pool. */
export type Known = { readonly field?: string } | { readonly absent: true } | { readonly error: unknown };
/** Asks for it. Never rejects. */
export const knownOf = async (context: DecodeContext, pool: string): Promise<Known> => {
  try {
    const field = await context.identity(pool);
    if (field === undefined) return { absent: true };
    return field === null ? {} : { field };
  } catch (error) {
    return { error };
  }
};

const fields = { item: 'item', operation: 'operation', id: 'id', document: 'document' } as const;
/** Paths of the columns of such rows. */
export const operationColumns = {
  item: [fields.item],
  operation: [fields.operation],
  id: [fields.id],
  document: [fields.document],
} as const;
const shape = shapeOf(Object.values(fields).map((name) => ({ name })));

/** One of them. `write`: writes its document. */
export interface OperationRow {
  readonly item: number;
  readonly operation: number;
  readonly id: string | undefined;
  readonly write: (builder: Builder) => void;
}
/** Appends a row. */
export const writeOperation = (builder: Builder, { item, operation, id, write }: OperationRow): void => {
  const record = builder.record(shape);
  const [items, operations, ids, documents] = record.fields;
  items!.number(types.int64, item);
  operations!.number(types.int64, operation);
  if (id === undefined) ids!.null();
  else ids!.text(id);
  write(documents!);
  record.end();
};

/** How such rows are kept on their way: in the order of the items. */
export const operationLayout = ({ threshold }: PoolLayout): PoolLayout => ({
  keys: [operationColumns.item],
  order: 'asc',
  threshold,
});

/** What an update may say. */
const updateFields: ReadonlySet<string> = new Set(['doc', 'doc_as_upsert', 'upsert', 'detect_noop', '_source']);
/** Why an update with these fields is not done. */
export const faultOfUpdate = (names: readonly string[]): string | undefined => {
  const other = names.find((name) => !updateFields.has(name));
  if (other !== undefined) return `update: ${other} is not supported, only doc, doc_as_upsert, upsert, detect_noop`;
  return names.includes('doc') ? undefined : 'update: doc is missing';
};
