/**
 * Who may do what. A grant is a role on the whole lake or on one pool; a higher role includes the lower ones.
 *
 * - reader: queries, events, figures. writer: also loads, deletes rows, makes, merges, reverts and resets branches, makes and deletes tags. admin: also
 *   renames and deletes pools and vacuums, none of which can be undone, and protects branches.
 * - A grant names its pool by id, which stays with the pool, or by name, which goes with the name.
 */
import type { TipTerms } from '../../lake/lake.types.ts';

/** The lowest first. */
export const roles = ['reader', 'writer', 'admin'] as const;
/** What somebody may do, on the lake or on one pool. */
export type Role = (typeof roles)[number];
/** Without `pool`: on all pools and the lake itself. */
export interface Grant {
  readonly role: Role;
  readonly pool?: string;
}
/** A pool as grants name it; `id` without `0x`. */
export interface PoolName {
  readonly id: string;
  readonly name: string;
}

/** Somebody who has shown who they are. `name` stands in logs and in `/auth/identity`. */
export interface Principal {
  readonly name: string;
  readonly grants: readonly Grant[];
  /** Milliseconds since 1970. */
  readonly expiresMs?: number;
}

/** Reads `writer` or `writer:POOL`; undefined if it is none. */
export const parseGrant = (text: string): Grant | undefined => {
  const colon = text.indexOf(':');
  const role = roles.find((each) => each === (colon < 0 ? text : text.slice(0, colon)));
  if (!role || colon === text.length - 1) return undefined;
  return colon < 0 ? { role } : { role, pool: text.slice(colon + 1) };
};
/** The text that `parseGrant` reads. */
export const grantText = ({ role, pool }: Grant): string => (pool === undefined ? role : `${role}:${pool}`);

const includes = (held: Role, wanted: Role): boolean => roles.indexOf(held) >= roles.indexOf(wanted);
const isOn = (grant: Grant, pool: PoolName): boolean =>
  grant.pool === undefined || grant.pool === pool.name || grant.pool.toLowerCase() === `0x${pool.id}`;

/** On the whole lake. */
export const mayOnLake = ({ grants }: Principal, role: Role): boolean =>
  grants.some((grant) => grant.pool === undefined && includes(grant.role, role));
/** On this pool, by a grant on the whole lake or on the pool itself. */
export const mayOnPool = ({ grants }: Principal, role: Role, pool: PoolName): boolean =>
  grants.some((grant) => isOn(grant, pool) && includes(grant.role, role));

/** As what somebody changes a pool. */
export const standing = (who: Principal | undefined, pool: PoolName): Pick<TipTerms, 'by'> =>
  who && !mayOnPool(who, 'admin', pool) ? { by: 'writer' } : {};
