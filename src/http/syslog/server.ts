/**
 * Syslog over TCP and UDP (option -syslog): bytes become messages (framing.ts), these wait for their commit
 * (batches.ts).
 *
 * - Nobody says who they are: what comes goes into the pool that the option names, and nothing else can be reached.
 * - The protocol has no answers. A connection is not read while too much waits; a datagram is dropped then, and counted.
 */
import { type RemoteInfo, type Socket as Datagrams, createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setImmediate as nextTurn, setTimeout as later } from 'node:timers/promises';
import { type AddressInfo, type Server, type Socket, createServer, isIPv6 } from 'node:net';
import type { SyslogConfig } from '../../config/serve.ts';
import { loggedFault } from '../log-fault.ts';
import type { Service } from '../route.ts';
import { SyslogBatches } from './batches.ts';
import { commitBatch } from './commit.ts';
import { type SyslogFigures, newFigures } from './figures.ts';
import { SyslogSplitter, withoutEnd } from './framing.ts';

/** Open connections; one more is closed at once, and counted. Each may hold a message. */
const connectionsMax = 1_000;
/** Bytes of messages that wait for their commit, from which on nothing is read. */
const waitingBytesMax = 16 << 20;
/** Of datagrams, in the system. */
const datagramBytes = 4 << 20;
/** At the end: a connection from which nothing came for so long has nothing more to say. */
const quietMs = 100;

/** What listens to syslog. */
export interface SyslogServer {
  readonly figures: SyslogFigures;
  readonly port: number;
  /** Reads what has come, commits it, and ends; within `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Begins to listen. @throws Error for an address that cannot be had */
export const startSyslog = async (service: Service, config: SyslogConfig): Promise<SyslogServer> => {
  const figures = newFigures();
  const report = (fault: unknown): void => {
    service.log.error({ fault: loggedFault(fault) }, 'syslog');
  };
  const connections = new Set<Connection>();
  const batches = new SyslogBatches({
    delayMs: config.delayMs,
    waitingBytesMax,
    figures,
    commit: (batch) => commitBatch(service, config, batch),
    report,
    drained: () => {
      for (const connection of connections) connection.resume();
    },
  });
  figures.waitingBytes = () => batches.waitingBytes;
  const take = (kind: 'tcp' | 'udp', message: Uint8Array, address: string): void => {
    figures.received[kind]++;
    batches.take(message, address);
  };
  /** When the last connection came. */
  let openedAt = -Infinity;
  const server = createServer((socket) => {
    openedAt = performance.now();
    const connection = new Connection(socket, config.messageBytesMax, {
      message: (bytes) => {
        take('tcp', bytes, connection.address);
      },
      dropped: (reason) => {
        figures.dropped[reason]++;
      },
      isFull: () => batches.isFull,
    });
    connections.add(connection);
    figures.connections++;
    socket.on('close', () => {
      connections.delete(connection);
      figures.connections--;
    });
  });
  server.maxConnections = connectionsMax;
  server.on('drop', () => {
    figures.refusedConnections++;
  });
  const port = await listening(server, config);
  const datagrams = await bound(config.host, port).catch((error: unknown) => {
    server.close();
    throw error;
  });
  datagrams.on('message', (bytes: Buffer, { address }: RemoteInfo) => {
    const message = withoutEnd(bytes);
    if (message.length === 0) return;
    if (message.length > config.messageBytesMax) figures.dropped.long++;
    else if (batches.isFull) figures.dropped.full++;
    else take('udp', message, address);
  });
  datagrams.on('error', report);
  return {
    figures,
    port,
    close: async (graceMs) => {
      const deadline = new Promise<void>((resolve) => {
        setTimeout(resolve, graceMs).unref();
      });
      const closed = once(server, 'close');
      // Connections that the system has made already are taken, too; they bring what was sent on them.
      const acceptUntil = performance.now() + graceMs / acceptPart;
      await untilQuiet(() => (performance.now() < acceptUntil ? openedAt : -Infinity));
      server.close();
      await Promise.race([Promise.all([...connections].map((connection) => connection.quiet())), deadline]);
      for (const connection of connections) connection.end();
      datagrams.close();
      await closed;
      await batches.close(deadline);
    },
  };
};

/** New connections are taken for such a part of the grace, if they do not end to come before. */
const acceptPart = 5;
/** Resolves when nothing was heard for a while, by when something was. */
const untilQuiet = async (heardAt: () => number): Promise<void> => {
  const from = performance.now();
  for (let left = quietMs; left > 0; left = Math.max(heardAt(), from) + quietMs - performance.now()) {
    await later(Math.min(left, quietMs));
    // What has come while this thread was busy is heard before this goes on.
    await nextTurn();
  }
};

/** One sender by TCP. */
class Connection {
  readonly address: string;
  private readonly socket: Socket;
  private readonly splitter: SyslogSplitter;
  /** When something came. */
  private heardAt = performance.now();
  private isFinished = false;
  constructor(
    socket: Socket,
    messageBytesMax: number,
    hearer: ConstructorParameters<typeof SyslogSplitter>[1] & { readonly isFull: () => boolean },
  ) {
    this.socket = socket;
    this.address = socket.remoteAddress ?? '';
    this.splitter = new SyslogSplitter(messageBytesMax, hearer);
    socket.on('data', (chunk) => {
      this.heardAt = performance.now();
      if (!hearer.isFull()) return this.splitter.push(chunk);
      // Of each connection one chunk may have come already: all of them are more than there is room for.
      socket.pause();
      socket.unshift(chunk);
    });
    socket.on('close', () => {
      this.finish();
    });
    // It is said by its end.
    socket.on('error', () => undefined);
  }

  resume(): void {
    this.socket.resume();
  }
  /** Resolves when it has ended, or nothing came for a while. */
  quiet(): Promise<void> {
    return untilQuiet(() => {
      if (this.socket.destroyed) return -Infinity;
      return this.socket.isPaused() ? performance.now() : this.heardAt;
    });
  }
  /** Ends what its sender has not ended: a line without its end is none. */
  end(): void {
    if (!this.isFinished) this.splitter.cut();
    this.isFinished = true;
    this.socket.destroy();
  }
  private finish(): void {
    if (this.isFinished) return;
    this.isFinished = true;
    this.splitter.end();
  }
}

const listening = async (server: Server, { host, port }: SyslogConfig): Promise<number> => {
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw new Error(`cannot listen at -syslog ${host}:${port} (tcp): ${(error as Error).message}`, { cause: error });
  });
  return (server.address() as AddressInfo).port;
};
const bound = async (host: string, port: number): Promise<Datagrams> => {
  const socket = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4', recvBufferSize: datagramBytes });
  socket.bind(port, host);
  await once(socket, 'listening').catch((error: unknown) => {
    throw new Error(`cannot listen at -syslog ${host}:${port} (udp): ${(error as Error).message}`, { cause: error });
  });
  return socket;
};
