/** The id that every answer has in `X-Request-Id`: the client's own, or a new one. */
import type { IncomingHttpHeaders } from 'node:http';
import { newIdText } from '../lake/ksuid.ts';

/** The id of a request; 27 characters of base 62 where the client gives none. */
export const requestIdOf = ({ 'x-request-id': given }: IncomingHttpHeaders): string =>
  (Array.isArray(given) ? given[0] : given) || newIdText();
