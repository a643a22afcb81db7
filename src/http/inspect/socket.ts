/**
 * The WebSocket of the inspector's feed. A page of another origin gets no connection (a WebSocket has no CORS), nor
 * does one beyond the limit; pages that stop answering pings are cut off.
 */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import websocket from '@fastify/websocket';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { LakeError } from '../../errors.ts';
import type { MachineWatch } from '../../recording/watch.ts';
import type { Access } from '../access/access.ts';
import type { Inspection } from './feed.ts';
import { statelyFeed } from './stately.ts';
import { logId, loggedFault } from '../log-fault.ts';
import { sendError } from '../reply.ts';

/** Where the inspector's feed is. */
export const feedPath = '/inspect/feed';
const requestBytesMax = 4096;
const pingMs = 30_000;

/** What the feed shows, and to whom. */
interface InspectSocketOptions {
  readonly watch: MachineWatch;
  readonly inspection: Inspection;
  /** Connections at a time. */
  readonly watchersMax: number;
  readonly admission: InspectAdmission;
}
/** Who may watch. */
export interface InspectAdmission {
  /** Rejects for who may not. */
  readonly admit: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** Asked again while somebody watches, where there is access control. */
  readonly access?: Pick<Access, 'identify' | 'onRecheck'>;
}

/** Adds the route. Plain requests are told to upgrade. */
export const addInspectSocket = (
  app: FastifyInstance,
  { watch, inspection, watchersMax, admission }: InspectSocketOptions,
): void => {
  let open = 0;
  const upgrades = new EventEmitter();
  app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (isUpgrade(request) && (request.url ?? '').split('?')[0] === feedPath)
      upgrades.emit('upgrade', request, socket, head);
    else asPlainRequest(app.server, request, socket, head);
  });
  void app.register(async (scope) => {
    await scope.register(websocket, {
      options: { server: upgrades as Server, maxPayload: requestBytesMax, perMessageDeflate: false },
      preClose: closeSockets,
      errorHandler: endBroken,
    });
    scope.route({
      method: 'GET',
      url: feedPath,
      exposeHeadRoute: false,
      preValidation: async (request, reply) => {
        if (isUpgrade(request.raw)) endRefused(request, reply);
        await admission.admit(request, reply);
        if (!isUpgrade(request.raw)) throw new LakeError('feed-not-upgraded');
        if (open >= watchersMax) throw new LakeError('watchers-full', { limit: watchersMax });
      },
      handler: (_request, reply) => sendError(reply, new LakeError('feed-not-upgraded')),
      wsHandler: (socket, request) => {
        open++;
        socket.once('close', () => {
          open--;
        });
        const unlisten = admission.access && recheck(socket, request, admission.access);
        socket.once('close', () => {
          unlisten?.();
        });
        attach(socket, request, watch, inspection);
      },
    });
  });
};

/** Nobody reads requests from a connection that asked for a WebSocket: one that is refused ends with its answer. */
const endRefused = ({ raw }: FastifyRequest, reply: FastifyReply): void => {
  reply.header('connection', 'close').raw.once('finish', () => {
    raw.socket.destroySoon();
  });
};

/** The code of a connection that a policy ends. */
const policyCode = 1008;
/** Ends the connection of who may no longer watch. */
const recheck = (
  socket: WebSocket,
  { headers }: FastifyRequest,
  access: Pick<Access, 'identify' | 'onRecheck'>,
): (() => void) =>
  access.onRecheck(() => {
    access.identify(headers).catch(() => {
      socket.close(policyCode);
    });
  });

/**
 * A request that asks for another protocol (`Upgrade: h2c`, which some clients always send) is answered as if it had
 * not asked. Since somebody listens for upgrades, the framework did not get it: its head is put back before the bytes
 * that follow, without the header.
 */
const asPlainRequest = (server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void => {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
    const [name, value] = request.rawHeaders.slice(at, at + 2) as [string, string];
    if (/^(upgrade|http2-settings)$/i.test(name)) continue;
    lines.push(`${name}: ${/^connection$/i.test(name) ? withoutUpgrade(value) : value}`);
  }
  socket.removeAllListeners('error');
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
};
const withoutUpgrade = (value: string): string =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => !/^(upgrade|http2-settings)$/i.test(item))
    .join(', ') || 'keep-alive';

/** Ends a watcher's connection that broke; that it does not keep to the protocol is no fault of the service. */
const endBroken = (fault: Error, socket: WebSocket, request: FastifyRequest): void => {
  socket.terminate();
  const { code } = fault as NodeJS.ErrnoException;
  if (code !== undefined && /^(WS_ERR_|ECONN|EPIPE)/.test(code))
    request.log.debug({ id: logId(request) }, 'client went away');
  else request.log.error({ id: logId(request), fault: loggedFault(fault) }, 'request failed');
};

/** How long a page may take to say goodbye. */
const goodbyeMs = 200;
function closeSockets(this: FastifyInstance, done: () => void): void {
  const { clients } = this.websocketServer;
  for (const socket of clients) socket.close(1001);
  setTimeout(() => {
    for (const socket of clients) socket.terminate();
  }, goodbyeMs).unref();
  done();
}

const isUpgrade = ({ headers }: IncomingMessage): boolean => (headers.upgrade ?? '').toLowerCase() === 'websocket';

const attach = (socket: WebSocket, request: FastifyRequest, watch: MachineWatch, inspection: Inspection): void => {
  const wire = {
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    send: (text: string): void => {
      socket.send(text);
    },
  };
  const stately = (request.query as { readonly protocol?: unknown }).protocol === 'stately';
  const close = stately ? statelyFeed(watch, wire) : attachPage(socket, wire, inspection);
  let alive = true;
  socket.on('pong', () => {
    alive = true;
  });
  const ping = setInterval(() => {
    if (!alive) socket.terminate();
    alive = false;
    socket.ping();
  }, pingMs);
  ping.unref();
  socket.once('close', () => {
    clearInterval(ping);
    close();
  });
};

const attachPage = (
  socket: WebSocket,
  wire: Parameters<Inspection['watch']>[0],
  inspection: Inspection,
): (() => void) => {
  const watcher = inspection.watch(wire);
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) watcher.request(data.toString('utf8'));
  });
  return () => {
    watcher.close();
  };
};
