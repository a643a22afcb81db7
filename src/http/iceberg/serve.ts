/**
 * The lake as an Iceberg catalogue: its routes beside those of the service's own table. They follow specifications of
 * others (Iceberg's REST catalogue, S3), in paths, parameters and errors, so they are none of its rows, and are not in
 * its document.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { LakeError } from '../../errors.ts';
import { checkSource } from '../admission.ts';
import { AuditTrail } from '../access/audit.ts';
import { logFailure } from '../log-fault.ts';
import type { Service } from '../route.ts';
import { callerOf, type IcebergService } from './callers.ts';
import { type Model, sendFault } from './faults.ts';
import { answerFiles } from './files.ts';
import { answerTo, catalogueRoutes, matchOperation, perform, routeOf } from './operations.ts';
import { catalogueRoot, filesRoot, ownerOf, parametersOf, splitTarget } from './targets.ts';

/** The route of a request target that is the catalogue's or its bucket's; undefined for all others. */
export const icebergRoute = (raw: string): string | undefined => {
  const owner = ownerOf(raw);
  if (owner === undefined || owner === 's3') return owner && filesRoot;
  const matched = matchOperation(splitTarget(raw));
  return matched ? routeOf(matched.operation) : catalogueRoot;
};

/** In whose words a failed request is answered; undefined: in the service's own. */
export const modelOf = (raw: string): Model | undefined => {
  const owner = ownerOf(raw);
  if (owner !== 'catalogue') return owner;
  return matchOperation(splitTarget(raw))?.operation.open ? 'oauth' : 'catalogue';
};

/** Adds the routes. `methods`: those that the router knows. */
export const addIceberg = (
  app: FastifyInstance,
  service: Service,
  iceberg: IcebergService,
  methods: readonly HTTPMethods[],
): void => {
  const add = (url: string, answer: (asked: Asked) => Promise<unknown>): void => {
    app.route({
      method: [...methods],
      url,
      exposeHeadRoute: false,
      handler: (request, reply) => admitted(service, request, reply, answer),
    });
  };
  for (const url of catalogueRoutes) add(url, (asked) => answerCatalogue(service, iceberg, asked));
  add(filesRoot, ({ request, reply, audit }) =>
    answerFiles(service, iceberg, { request, reply, audit, target: splitTarget(request.originalUrl) }),
  );
};

/** A request with where its refusals are noted. */
interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly audit: AuditTrail | undefined;
}

/** As other routes ask where a request comes from, before anything is read of it; errors are in the model's words. */
const admitted = async (
  service: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: (asked: Asked) => Promise<unknown>,
): Promise<unknown> => {
  const audit = service.audit && new AuditTrail(service.audit, service.lake, { writes: false }, request, reply);
  const answered = async (): Promise<unknown> => {
    if (service.closing()) throw new LakeError('service-closing');
    checkSource(service.originRules, { need: 'known' }, request.headers);
    return answer({ request, reply, audit });
  };
  try {
    return await (audit ? audit.follow(answered) : answered());
  } catch (error) {
    logFailure(service.log, request, reply, error);
    // What was to be said of a file is not said of an error.
    for (const name of ['etag', 'last-modified', 'accept-ranges', 'content-length'])
      if (reply.hasHeader(name)) reply.removeHeader(name);
    return sendFault(reply, error, modelOf(request.originalUrl) ?? 'catalogue');
  }
};

const answerCatalogue = async (service: Service, iceberg: IcebergService, asked: Asked): Promise<unknown> => {
  const { request, reply, audit } = asked;
  const target = splitTarget(request.originalUrl);
  const matched = matchOperation(target);
  if (!matched) throw new LakeError('iceberg-path-unknown', { path: target.path });
  if (request.method === 'OPTIONS')
    return reply
      .code(204)
      .header('allow', [...Object.keys(matched.operation.methods), 'OPTIONS'].join(', '))
      .send();
  const answer = answerTo(matched.operation, request, reply);
  const caller = matched.operation.open ? {} : await callerOf(service, iceberg, request, audit);
  const query = parametersOf(target.query);
  return perform(answer, matched, { service, iceberg, request, reply, audit, caller, query });
};
