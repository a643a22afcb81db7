/** A request that was let through to its route's handler. What few handlers ask for is made when they do. */
import { createHash, type Hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { LakeServices } from '../workers/pool.types.ts';
import type { Identified } from './access/access.ts';
import type { AuditTrail } from './access/audit.ts';
import { lakeOf } from './access/lake-view.ts';
import type { Principal } from './access/roles.ts';
import { readControlBody } from './bodies/body.ts';
import { fieldsOf } from './bodies/fields.ts';
import type { ResponseFormat } from './bodies/negotiate.ts';
import { paceOf } from './connections/pace.ts';
import type { Call, Route, Service } from './route.ts';

/** A request with its row and the service that answers it. */
interface Routed {
  readonly service: Service;
  readonly row: Route;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly response: ResponseFormat;
  readonly audit?: AuditTrail | undefined;
}

/** What a handler is given. */
export class RoutedCall implements Call {
  readonly service: Service;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly response: ResponseFormat;
  readonly who?: Principal;
  readonly audit?: AuditTrail;
  readonly visible: LakeServices;
  readonly sent?: Hash;
  private readonly row: Route;

  constructor({ service, row, request, reply, response, audit }: Routed, who: Identified | undefined) {
    const { lake } = service;
    this.service = service;
    this.request = request;
    this.reply = reply;
    this.response = response;
    if (who) this.who = who.principal;
    if (audit) this.audit = audit;
    this.visible = who || audit ? lakeOf(lake, who?.principal, audit && viewListener(audit)) : lake;
    if (request.headers['idempotency-key'] !== undefined) this.sent = createHash('sha256');
    this.row = row;
  }

  get params(): unknown {
    return this.request.params;
  }
  get query(): unknown {
    return this.request.query;
  }
  get contentType(): string | undefined {
    return this.request.headers['content-type'];
  }
  get id(): string {
    const { id } = this.request;
    return isAscii.test(id) ? id : Buffer.from(id, 'latin1').toString('utf8');
  }
  whenLeft(left: () => void): void {
    const { raw } = this.reply;
    if (raw.destroyed && !raw.writableFinished) return left();
    raw.on('close', () => {
      if (!raw.writableFinished) left();
    });
  }

  async body(): Promise<unknown> {
    const { config, controlBodies: held } = this.service;
    const { raw } = this.request;
    const pace = paceOf(raw, 'body', config);
    const limits = {
      bytesMax: config.bodyBytesMax,
      idleMsMax: config.bodyIdleMsMax,
      pace,
      held,
      sent: this.sent,
      textField: this.row.textField,
    };
    return fieldsOf(await readControlBody(raw, this.contentType, limits), this.row.body as TSchema);
  }
}
const viewListener = (audit: AuditTrail): Parameters<typeof lakeOf>[2] => ({
  changed: (change) => {
    audit.changed(change);
  },
  refused: (refusal) => {
    audit.refused(refusal);
  },
});
const isAscii = /^[\0-\x7f]*$/;
