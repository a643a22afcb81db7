/**
 * Who comes in: the checks before a handler, in one order for all routes.
 *
 * 1. Where a request comes from: the Host, and the origin of the page that sends it (403). What says nothing of the
 *   lake (pages, the manual, `/openapi.json`, `/auth/method`, the 404 and 405 of what no route has) is answered to all;
 *   pages of other origins cannot read it.
 * 2. Who sends it (401).
 * 3. What they may do (403), where a pool that they may not read and one that is not there are the same 404.
 *
 * All else - Accept, headers, parameters, the body - is looked at afterwards: what is wrong with it tells nothing then.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { checkNeed, type Identified, poolNamed } from './access/access.ts';
import type { AuditTrail } from './access/audit.ts';
import { checkHost, checkOrigin, type OriginRules, isFollowedLink } from './connections/origin.ts';
import type { Route, Service } from './route.ts';

/** Where a request comes from. @throws host-foreign, origin-foreign */
export const checkSource = (
  rules: OriginRules,
  row: Pick<Route, 'need' | 'writes' | 'open' | 'formatParameter'>,
  headers: IncomingHttpHeaders,
): void => {
  const isGuarded = row.need !== 'open' || row.writes === true;
  if (isGuarded || !row.open) checkHost(rules, headers.host);
  // A link that somebody follows shows an answer to them alone: the page that has it cannot read it.
  if (isGuarded && !(row.formatParameter && isFollowedLink(headers))) checkOrigin(rules, headers);
};

/**
 * Who sends a request, where there is access control and the row asks for somebody; they may do what the row does.
 * @throws auth-missing, auth-invalid, auth-keys-unavailable, origin-foreign, auth-role, pool-not-found
 */
export const callerOf = async (
  { access, lake, originRules: rules }: Service,
  row: Pick<Route, 'need'>,
  request: FastifyRequest,
  audit: AuditTrail | undefined,
): Promise<Identified | undefined> => {
  if (!access || row.need === 'open') return undefined;
  const { headers } = request;
  const who = await access.identify(headers);
  if (audit) audit.who = who.principal;
  if (who.byCookie) checkOrigin(rules, headers, 'cookie');
  const reference = (request.params as { readonly pool?: string } | undefined)?.pool;
  const pool = reference === undefined ? undefined : { reference, found: poolNamed(lake, reference) };
  checkNeed(
    row.need,
    who.principal,
    pool,
    audit &&
      ((refusal) => {
        audit.refused(refusal);
      }),
  );
  return who;
};
