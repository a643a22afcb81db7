/** The pool that a request of a shipper names beside its body. */
import { Type } from 'typebox';
import type { Call } from '../route.ts';

/** The query parameter that names it. */
export const poolQuery = Type.Object({
  pool: Type.Optional(Type.String({ description: 'the pool; also by the header X-Lake-Pool', examples: ['logs'] })),
});
/** The pool by its parameter, its header, or as the protocol has it. */
export const namedPool = (
  { query, request: { headers } }: Pick<Call<unknown, { readonly pool?: string }>, 'query' | 'request'>,
  fallback: string,
): string => {
  const header = headers['x-lake-pool'];
  // Headers are bytes; a name is UTF-8.
  return query.pool ?? (header === undefined ? fallback : Buffer.from(String(header), 'latin1').toString());
};
