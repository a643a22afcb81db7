/**
 * Who asks the catalogue, and which tables they see: those of pools that they may read, and of these those that their
 * token is for. Without access control everybody sees all.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServeConfig } from '../../config/serve.ts';
import { LakeError } from '../../errors.ts';
import type { IcebergCatalogue, IcebergTable } from '../../iceberg/catalogue.types.ts';
import { parseId } from '../../lake/ksuid.ts';
import type { AuditTrail } from '../access/audit.ts';
import { mayOnPool, type Principal } from '../access/roles.ts';
import { type Clock, systemClock } from '../access/tokens.ts';
import { checkOrigin } from '../connections/origin.ts';
import type { Service } from '../route.ts';
import { KnownCredentials } from './credentials.ts';
import { isSealed, Seals } from './seals.ts';

/** How tables are served. */
export interface IcebergOptions {
  /** The lake's own, see seals.ts. */
  readonly secret: Uint8Array;
  readonly clock?: Clock;
}
/** Tables, and what is given out for them. */
export interface IcebergService {
  readonly catalogue: IcebergCatalogue;
  readonly seals: Seals;
  readonly credentials: KnownCredentials;
  /** Milliseconds for which tokens and credentials are good. */
  readonly tokenMs: number;
  readonly clock: Clock;
  /** Where clients reach the service, whatever their requests say by the time that they are here; empty: as they say. */
  readonly publicUrl: string;
}
export const icebergService = (
  catalogue: IcebergCatalogue,
  { icebergTokenMs, icebergUrl }: Pick<ServeConfig, 'icebergTokenMs' | 'icebergUrl'>,
  { secret, clock = systemClock }: IcebergOptions,
): IcebergService => {
  const seals = new Seals(secret);
  const credentials = new KnownCredentials(seals);
  return { catalogue, seals, credentials, tokenMs: icebergTokenMs, clock, publicUrl: icebergUrl };
};

/** A request to the bucket. `pool`: the table that it may read; undefined: all. */
export interface FileCall {
  readonly service: Service;
  readonly iceberg: IcebergService;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly query: ReadonlyMap<string, readonly string[]>;
  readonly pool: string | undefined;
  readonly audit: AuditTrail | undefined;
}

/** Somebody; without access control nobody in particular. */
export interface Caller {
  readonly principal?: Principal;
  /** The key or token of the service. */
  readonly token?: string;
  /** Ids of the pools that their token is for; absent: all that they may read. */
  readonly tables?: readonly string[];
}

/** Who sends a request to the catalogue. @throws auth-missing, auth-invalid, auth-keys-unavailable, origin-foreign */
export const callerOf = async (
  service: Pick<Service, 'access' | 'originRules'>,
  iceberg: IcebergService,
  { headers }: Pick<FastifyRequest, 'headers'>,
  audit: AuditTrail | undefined,
): Promise<Caller> => {
  const { access, originRules } = service;
  if (!access) return {};
  const sealed = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (sealed === undefined || !isSealed(sealed)) {
    const { principal, token, byCookie } = await access.identify(headers);
    if (audit) audit.who = principal;
    if (byCookie) checkOrigin(originRules, headers, 'cookie');
    return { principal, token };
  }
  const said = iceberg.seals.open('catalogue', sealed);
  // One that was given out without access control stands for nobody.
  if (said?.token === undefined || said.expiresMs <= iceberg.clock.wallMs()) throw new LakeError('auth-invalid');
  const { principal, token } = await access.identify({ authorization: `Bearer ${said.token}` });
  if (audit) audit.who = principal;
  return { principal, token, ...(said.tables && { tables: said.tables }) };
};

/** Whether they see a table. */
export const sees = ({ principal, tables }: Caller, { pool, name }: IcebergTable): boolean =>
  (tables?.includes(pool) ?? true) && (!principal || mayOnPool(principal, 'reader', { id: poolId(pool), name }));
/** The tables that they see, by name. */
export const tablesOf = (caller: Caller, { catalogue }: IcebergService): readonly IcebergTable[] => {
  const all = catalogue.tables();
  return caller.principal || caller.tables ? all.filter((table) => sees(caller, table)) : all;
};

/** The id of a pool as grants and logs write it. */
export const poolId = (text: string): string => parseId(text) ?? text;
