/** A request that was let through to its route's handler. What few handlers ask for is made when they do. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { LakeServices } from '../workers/pool.types.ts';
import type { Identified } from './access/access.ts';
import { auditEntry } from './access/audit.ts';
import { lakeOf } from './access/lake-view.ts';
import type { Principal } from './access/roles.ts';
import { readControlBody } from './body.ts';
import { fieldsOf } from './body-fields.ts';
import type { ResponseFormat } from './negotiate.ts';
import type { Call, Route, Service } from './route.ts';

/** A request with its row and the service that answers it. */
interface Routed {
  readonly service: Service;
  readonly row: Route;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly response: ResponseFormat;
}

/** What a handler is given. */
export class RoutedCall implements Call {
  readonly service: Service;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly response: ResponseFormat;
  readonly who?: Principal;
  readonly visible: LakeServices;
  readonly #row: Route;

  constructor({ service, row, request, reply, response }: Routed, who: Identified | undefined) {
    const { lake, audit } = service;
    this.service = service;
    this.request = request;
    this.reply = reply;
    this.response = response;
    if (who) this.who = who.principal;
    this.visible = who || audit ? lakeOf(lake, who?.principal, audit && ((change) => audit(auditEntry(request, reply, who?.principal, change)))) : lake;
    this.#row = row;
  }

  get params(): unknown { return this.request.params; }
  get query(): unknown { return this.request.query; }
  get contentType(): string | undefined { return this.request.headers['content-type']; }
  get id(): string {
    const { id } = this.request;
    return isAscii.test(id) ? id : Buffer.from(id, 'latin1').toString('utf8');
  }
  whenLeft(left: () => void): void {
    const { raw } = this.reply;
    if (raw.destroyed && !raw.writableFinished) return left();
    raw.on('close', () => { if (!raw.writableFinished) left(); });
  }

  async body(): Promise<unknown> {
    const { config } = this.service;
    return fieldsOf(await readControlBody(this.request.raw, this.contentType, { bytesMax: config.bodyBytesMax, idleMsMax: config.bodyIdleMsMax }), this.#row.body as TSchema);
  }
}
const isAscii = /^[\0-\x7f]*$/;
