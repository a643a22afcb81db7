/**
 * Tables of apache-arrow (an optional peer dependency), an entry of its own so that the client itself imports nothing:
 *
 * ```ts
 * import { connect } from 'lake-data-service/client';
 * import { tableOf } from 'lake-data-service/client/arrow';
 * const table = await tableOf(connect('http://localhost:9867').query('select kind, status from events'));
 * ```
 */
import { type Table, tableFromIPC } from 'apache-arrow';
import type { Query } from './query.ts';

/**
 * The rows of a query as a table. Rows of several types are of one: fields that a row lacks are null. @throws
 * LakeFailure before the first row; what the stream ends in where a query fails amid its rows
 */
export const tableOf = async (query: Pick<Query, 'arrow'>): Promise<Table> =>
  tableFromIPC(new Uint8Array(await new Response(await query.arrow()).arrayBuffer()));
