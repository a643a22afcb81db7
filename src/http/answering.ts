/**
 * Which service answers a request: the server's own, or one of another lake that was lent the server for a while. All
 * are answered by the same code with the same objects, which is what that is for (commands/warm-service.ts).
 *
 * - A lent server has a port of its own on this machine, of the system's choice, since compiled code is for sockets of
 *   one kind. It asks nobody for a key: so a connection first says a secret that is drawn for this loan and never
 *   leaves the process. It is then handed to the server as if it had come to its own port; without the secret it is cut
 *   off, unread.
 * - Nothing of them is counted or told by the server's own service.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server as HttpServer } from 'node:http';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import type { Service } from './route.ts';

/** How often it is looked whether its requests have ended. */
const closeLookMs = 5;
/** At a lent server's port, strangers among them. */
const connectionsMax = 64;
const secretBytes = 32;
const secretMsMax = 1000;

/** Another service's use of the server: who says `secret` first is answered at `port`. */
interface Loan {
  readonly port: number;
  readonly secret: Uint8Array;
  close(): Promise<void>;
}

/** Tells by a request's connection which service answers it. */
export class Answering {
  readonly own: Service;
  readonly #server: HttpServer;
  readonly #services = new WeakMap<Socket, Service>();

  constructor(server: HttpServer, own: Service) {
    this.own = own;
    this.#server = server;
    server.prependListener('connection', (socket: Socket) => {
      // Asked for here as at a lent server's door: a socket keeps the answer, and compiled code is for sockets of one
      // form.
      void socket.remotePort;
      if (!this.#services.has(socket)) this.#services.set(socket, own);
    });
  }

  /** Requests without a connection, as tests make them, are the server's own. */
  of(request: IncomingMessage): Service {
    return this.#services.get(request.socket) ?? this.own;
  }
  isOwn(socket: Socket): boolean {
    return this.#services.get(socket) === this.own;
  }

  /** Answers for this service too, until the loan is closed. */
  async lend(service: Service): Promise<Loan> {
    const sockets = new Set<Socket>();
    const secret = randomBytes(secretBytes);
    const door = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      sockets.add(socket);
      socket.once('close', () => {
        sockets.delete(socket);
      });
      hearSecret(socket, secret, () => {
        this.#services.set(socket, service);
        this.#server.emit('connection', socket);
      });
    });
    door.maxConnections = connectionsMax;
    door.listen(0, '127.0.0.1');
    await once(door, 'listening');
    return {
      port: (door.address() as AddressInfo).port,
      secret,
      close: async () => {
        door.close();
        while (service.requests.underWay > 0)
          await new Promise((resolve) => {
            setTimeout(resolve, closeLookMs);
          });
        for (const socket of sockets) socket.destroy();
      },
    };
  }
}

/** Calls once a connection has said the secret; what follows it is left unread. Others are cut off. */
const hearSecret = (socket: Socket, secret: Uint8Array, heard: () => void): void => {
  const cut = (): void => {
    socket.destroy();
  };
  const late = setTimeout(cut, secretMsMax).unref();
  const look = (): void => {
    const said = socket.read(secret.length) as Uint8Array | null;
    if (!said) return;
    clearTimeout(late);
    socket.off('readable', look).off('end', cut).off('error', cut);
    if (said.length === secret.length && timingSafeEqual(said, secret)) heard();
    else cut();
  };
  socket
    .on('readable', look)
    .on('end', cut)
    .on('error', cut)
    .once('close', () => {
      clearTimeout(late);
    });
};
