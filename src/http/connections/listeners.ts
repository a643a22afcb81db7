/**
 * The addresses that the service listens at (option -l): hosts and ports, with TLS where there is a certificate, sockets
 * in the file system, and sockets that the program was started with (systemd).
 *
 * - The HTTP server listens nowhere itself. Each listener hands its connections to it (event `connection`, which Node
 *   documents for this), so that limits, times, answers and the end are those of one server, whatever the address.
 * - Over TLS a client may choose HTTP/2: its connections are sessions (http2.ts).
 * - A certificate whose files change is read again; one that is no good is reported, and the one before stays.
 * - A socket in the file system that nobody listens at any more, left by a killed service, is taken over.
 */
import { once } from 'node:events';
import { chmodSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import {
  createSecureContext,
  createServer as createTlsServer,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls';
import { messageOf, codeOf } from '../../errors.ts';
import { type ListenAddress, listenText } from '../../config/listen.ts';
import type { ServeConfig } from '../../config/serve.ts';
import { http2Protocol, type Sessions } from './http2.ts';

/** What listeners are made by. */
export type ListenersConfig = Pick<ServeConfig, 'listen' | 'tls' | 'headerMsMax'>;

/** The open listeners of a server. */
export interface Listeners {
  /** `http://host:port`, `https://host:port` or `unix:PATH` of each, in the order of the options. */
  readonly names: readonly string[];
  /** Of the first one, as `net.Server` tells it. */
  readonly address: AddressInfo | string;
  /** Listens no more; resolves when the last connection has ended. */
  readonly close: () => Promise<void>;
  /** Cuts all connections off, whatever is spoken on them, those whose handshake or goodbye is not over among them. */
  readonly cut: () => void;
}

/** How often the certificate's files are looked at. */
const checkMs = 2_000;

/**
 * Begins to listen at all addresses, or at none: `report` is told of a changed certificate that is no good. @throws
 * Error, one line, for an address that cannot be had and for a certificate that is none
 */
export const openListeners = async (
  { listen, tls, headerMsMax }: ListenersConfig,
  { http, sessions }: { readonly http: HttpServer; readonly sessions: Pick<Sessions, 'take'> },
  report: (fault: unknown) => void,
): Promise<Listeners> => {
  const take = (socket: Socket): void => {
    http.emit('connection', socket);
  };
  const takeSecure = (socket: TLSSocket): void => {
    if (socket.alpnProtocol === http2Protocol) sessions.take(socket);
    else take(socket);
  };
  const certificate = tls && new Certificate(tls, headerMsMax, report);
  const open: { readonly server: Server; readonly name: string }[] = [];
  const connections = new Set<Socket>();
  const note = (socket: Socket): void => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  };
  const close = async (): Promise<void> => {
    certificate?.close();
    await Promise.all(
      open.map(async ({ server }) => {
        const closed = once(server, 'close');
        server.close();
        await closed;
      }),
    );
  };
  try {
    for (const address of listen) {
      const isSecure = certificate !== undefined && address.kind !== 'unix';
      const bind = async (one: ListenAddress): Promise<Server> => {
        const server = isSecure ? certificate.server(takeSecure) : plainServer(take);
        server.on('connection', note);
        await bound(server, one).catch((error: unknown) => {
          throw listenFault(error as NodeJS.ErrnoException, address);
        });
        open.push({ server, name: nameOf(one, server, isSecure) });
        return server;
      };
      if (address.kind !== 'tcp' || address.host !== 'localhost') {
        await bind(address);
        continue;
      }
      // Both addresses of that name, on one port.
      const first = await bind({ ...address, host: '127.0.0.1' });
      const { port } = first.address() as AddressInfo;
      await bind({ ...address, host: '::1', port }).catch((error: unknown) => {
        if (!lacksIpv6.has(codeOf(error) ?? '')) throw error;
      });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    names: open.map(({ name }) => name),
    address: open[0].server.address()!,
    close,
    cut: () => {
      for (const socket of connections) socket.destroy();
    },
  };
};

/** What a machine without IPv6 says of its addresses. */
const lacksIpv6: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/** As the HTTP server would open its own: the answer of a request may come after the end of what a client sends. */
const plainServer = (take: (socket: Socket) => void): Server =>
  createServer({ allowHalfOpen: true, noDelay: true }, take);

/** A certificate with its key, and the servers that show it. */
class Certificate {
  private readonly files: NonNullable<ServeConfig['tls']>;
  private readonly handshakeMs: number;
  private readonly servers: TlsServer[] = [];
  private readonly looking: NodeJS.Timeout;
  private pair: Pair;
  private seen: string;

  constructor(files: NonNullable<ServeConfig['tls']>, handshakeMs: number, report: (fault: unknown) => void) {
    this.files = files;
    this.handshakeMs = handshakeMs;
    this.seen = this.stamp();
    this.pair = this.read();
    this.looking = setInterval(() => {
      const seen = this.stamp();
      if (seen === this.seen) return;
      this.seen = seen;
      try {
        const pair = this.read();
        for (const server of this.servers) server.setSecureContext(pair);
        this.pair = pair;
      } catch (fault) {
        report(fault);
      }
    }, checkMs).unref();
  }

  server(take: (socket: TLSSocket) => void): TlsServer {
    const options = {
      ...this.pair,
      ALPNProtocols: [http2Protocol, 'http/1.1'],
      handshakeTimeout: this.handshakeMs,
      noDelay: true,
    };
    const server = createTlsServer(options, take);
    // What is no TLS, or a client that trusts another authority: its own affair.
    server.on('tlsClientError', (_, socket) => socket.destroy());
    this.servers.push(server);
    return server;
  }
  close(): void {
    clearInterval(this.looking);
  }

  private read(): Pair {
    const read = (option: string, file: string): Buffer => refused(`-${option}`, () => readFileSync(file));
    const pair = { cert: read('tls.cert', this.files.certificate), key: read('tls.key', this.files.key) };
    refused('-tls.cert and -tls.key', () => createSecureContext(pair));
    return pair;
  }
  private stamp(): string {
    return `${fileStamp(this.files.certificate)}, ${fileStamp(this.files.key)}`;
  }
}
/** Another one for a file that was changed or replaced; empty for one that cannot be looked at. */
export const fileStamp = (path: string): string => {
  try {
    const { ino, mtimeMs, size } = statSync(path);
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    return '';
  }
};
interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
}
const refused = <T>(what: string, make: () => T): T => {
  try {
    return make();
  } catch (cause) {
    throw new Error(`${what}: ${messageOf(cause)}`, { cause });
  }
};

const bound = async (server: Server, address: ListenAddress): Promise<void> => {
  if (address.kind === 'unix') await removeDead(address.path);
  const listening = once(server, 'listening');
  if (address.kind === 'tcp') server.listen({ host: address.host, port: address.port });
  else if (address.kind === 'unix') server.listen({ path: address.path });
  else server.listen({ fd: address.descriptor });
  await listening;
  if (address.kind !== 'unix') return;
  try {
    chmodSync(address.path, address.mode);
  } catch (error) {
    // What listens keeps the process alive.
    server.close();
    throw error;
  }
};

/** Removes the socket of a service that was killed. Another's that still listens is left, and so is any other file. */
const removeDead = async (path: string): Promise<void> => {
  if (!statSync(path, { throwIfNoEntry: false })?.isSocket()) return;
  const socket = connect(path);
  try {
    await once(socket, 'connect');
  } catch (error) {
    if (codeOf(error) === 'ECONNREFUSED') unlinkSync(path);
  } finally {
    socket.destroy();
  }
};

const nameOf = (address: ListenAddress, server: Server, isSecure: boolean): string => {
  const at = server.address()!;
  if (address.kind === 'unix' || typeof at === 'string') return `unix:${at as string}`;
  return `${isSecure ? 'https' : 'http'}://${at.family === 'IPv6' ? `[${at.address}]` : at.address}:${at.port}`;
};

/** The fault of an address that cannot be listened at, as one line for people. */
const listenFault = (error: NodeJS.ErrnoException, address: ListenAddress): Error => {
  const why = listenFaults[error.code ?? ''];
  return why === undefined
    ? error
    : Object.assign(new Error(`cannot listen at ${listenText(address)}: ${why} (option -l)`, { cause: error }), {
        code: error.code,
      });
};
const listenFaults: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the address is in use, perhaps by another service',
  EADDRNOTAVAIL: 'this machine has no such address',
  // Of sockets in the file system Node says so too where the folder is missing.
  EACCES: 'no permission (ports below 1024 take rights of their own), or no such folder',
  ENOTFOUND: 'the host is not known',
  EINVAL: 'it is no socket that can be listened at, or its path is too long',
};
