/** A request to the catalogue on its way through a handler, and what its handlers read of it. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LakeError } from '../../errors.ts';
import type { AuditTrail } from '../access/audit.ts';
import type { Service } from '../route.ts';
import type { Caller, IcebergService } from './callers.ts';
import type { Warehouse } from './names.ts';

/** A request that was let through. What its path does not name is empty. */
export interface CatalogueCall {
  readonly service: Service;
  readonly iceberg: IcebergService;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly audit: AuditTrail | undefined;
  readonly caller: Caller;
  readonly warehouse: Warehouse;
  readonly namespace: readonly string[];
  readonly table: string;
  readonly view: string;
  readonly query: ReadonlyMap<string, readonly string[]>;
}

/** The one value of a parameter; undefined: it is absent. @throws iceberg-parameter */
export const parameter = ({ query }: Pick<CatalogueCall, 'query'>, name: string): string | undefined => {
  const values = query.get(name);
  if (values === undefined) return undefined;
  if (values.length > 1) throw new LakeError('iceberg-parameter', { name, value: values.join(), wanted: 'one value' });
  return values[0];
};
