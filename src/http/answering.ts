/**
 * Which service answers a request: the server's own, or one of another lake that was lent the server for a while. All are answered by the same code with the same objects, which is what
 * that is for (commands/warm-service.ts).
 *
 * - A lent server has a port of its own on this machine, of the system's choice. Its connections are handed to the server as if they had come to its own: those that were announced, for
 *   it asks nobody for a key.
 * - Nothing of them is counted or told by the server's own service.
 */
import { once } from 'node:events';
import type { IncomingMessage, Server as HttpServer } from 'node:http';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import type { Service } from './route.ts';

/** How often it is looked whether its requests have ended. */
const closeLookMs = 5;
/** At a lent server's port, strangers among them. */
const connectionsMax = 64;

/** Tells by a request's connection which service answers it. */
export class Answering {
  readonly own: Service;
  readonly #server: HttpServer;
  readonly #services = new WeakMap<Socket, Service>();

  constructor(server: HttpServer, own: Service) {
    this.own = own;
    this.#server = server;
    server.prependListener('connection', (socket: Socket) => {
      // Asked for here as at a lent server's door: a socket keeps the answer, and compiled code is for sockets of one form.
      void socket.remotePort;
      if (!this.#services.has(socket)) this.#services.set(socket, own);
    });
  }

  /** Requests without a connection, as tests make them, are the server's own. */
  of(request: IncomingMessage): Service { return this.#services.get(request.socket) ?? this.own; }
  isOwn(socket: Socket): boolean { return this.#services.get(socket) === this.own; }

  /** Gives the port at which this service answers those whose own port it is told, and what ends it. */
  async lend(service: Service): Promise<{ readonly port: number; admit(port: number): void; close(): Promise<void> }> {
    const sockets = new Set<Socket>(), strangers = new Map<number, Socket>(), announced = new Set<number>();
    const take = (socket: Socket): void => {
      this.#services.set(socket, service);
      this.#server.emit('connection', socket);
    };
    const door = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      sockets.add(socket);
      socket.once('close', () => { sockets.delete(socket); });
      if (announced.delete(socket.remotePort!)) take(socket);
      else strangers.set(socket.remotePort!, socket);
    });
    door.maxConnections = connectionsMax;
    door.listen(0, '127.0.0.1');
    await once(door, 'listening');
    return {
      port: (door.address() as AddressInfo).port,
      admit: (port) => {
        const socket = strangers.get(port);
        if (socket) take(socket);
        else announced.add(port);
      },
      close: async () => {
        door.close();
        while (service.requests.underWay > 0) await new Promise((resolve) => { setTimeout(resolve, closeLookMs); });
        for (const socket of sockets) socket.destroy();
      },
    };
  }
}
