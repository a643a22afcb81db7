/**
 * The addresses before the lake is open: recovering one that was not closed can take a while, and whoever asks waits for it
 * instead of finding nobody.
 *
 * Invariants:
 * - Nothing is read of a request that waits. One that has waited for `startWaitMs`, or for which there is no place, gets
 *   a 503 that says to come again; health checks are answered at once.
 * - `take` hands the listening server on as it is: no connection is refused or cut in between.
 * - It keeps the process: a lake that is being opened may wait for nothing that does, such as the next try of a put.
 */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import type { ServeConfig } from '../../config/serve.ts';
import { LakeError } from '../../errors.ts';
import { hearEnds } from './client-ends.ts';
import { Sessions } from './http2.ts';
import { isLastAnswer, listenTo } from './linger.ts';
import { type ListenersConfig, openListeners } from './listeners.ts';
import { errorAnswer } from '../reply.ts';
import { requestIdOf } from '../request-id.ts';

/** The port while nobody but health checks is answered. */
export interface EarlyListener {
  /** Its addresses, as listeners.ts names them. */
  readonly names: readonly string[];
  /** Gives the server to who answers from here on. Its `listen` tells that it listens already. */
  take(listener: RequestListener): Server;
  /** Ends it where nobody took it. */
  close(): Promise<void>;
}

/** What the server is told of how it reads requests. */
type HttpConfig = Pick<ServeConfig, 'headerBytesMax' | 'headerMsMax' | 'connectionsMax'>;
/** Requests that wait at once, at most: each keeps its head and a buffer of its socket. */
const waitingMax = 1000;

/** A server that reads requests as all of ours do; `hand` gives them to a listener, until what it gives is called. */
const httpServer = ({
  headerBytesMax,
  headerMsMax,
  connectionsMax,
}: HttpConfig): {
  readonly server: Server;
  readonly sessions: Sessions;
  readonly hand: (listener: RequestListener) => () => void;
} => {
  const server = createServer({
    requireHostHeader: false,
    maxHeaderSize: headerBytesMax + 4096,
    connectionsCheckingInterval: Math.min(30_000, Math.ceil(headerMsMax / 4)),
  });
  // Who names no Host is told so as everybody is told of errors (head.ts): Node's own answer has no body.
  // Node drops the headers behind the first 1,000 without a word; their bytes are bounded.
  server.maxHeadersCount = 0;
  // A load may take as long as it takes, as long as it comes; headers have a time limit.
  server.requestTimeout = 0;
  server.headersTimeout = headerMsMax;
  server.keepAliveTimeout = keepAliveMs;
  hearEnds(server);
  const sessions = new Sessions(server, { headerBytesMax, idleMs: keepAliveMs, streamsMax: connectionsMax });
  const hand = (listener: RequestListener): (() => void) => {
    const unlisten = [listenTo(server, listener), sessions.listenTo(listener)];
    return () => {
      for (const end of unlisten) end();
    };
  };
  return { server, sessions, hand };
};

/** Begins to listen; `report` is told of changed certificates that are no good. @throws what openListeners throws */
export const listenEarly = async (
  config: Pick<ServeConfig, 'startWaitMs'> & ListenersConfig & HttpConfig,
  report: (fault: unknown) => void,
): Promise<EarlyListener> => {
  const waiting = new WaitingRequests(config.startWaitMs);
  const { server, sessions, hand } = httpServer(config);
  const unlisten = hand(waiting.listener);
  const listeners = await openListeners(config, { http: server, sessions }, report);
  // The server keeps track of its connections from here on.
  server.emit('listening');
  server.address = () => listeners.address;
  server.close = (done) => {
    // Ends connections without a request; it has no listener of its own.
    HttpServer.prototype.close.call(server);
    sessions.close();
    void listeners.close().then(() => done?.());
    return server;
  };
  server.closeAllConnections = () => {
    listeners.cut();
  };
  return {
    names: listeners.names,
    take: (listener) => {
      unlisten();
      hand(listener);
      server.listen = () => {
        process.nextTick(() => {
          server.emit('listening');
          waiting.release(listener);
        });
        return server;
      };
      return server;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
};

/** The framework's own default. */
const keepAliveMs = 72_000;

/** Requests that came before the lake was open. */
class WaitingRequests {
  private readonly waitMs: number;
  /** In the order in which they came. */
  private readonly waiting = new Set<{ readonly go: (listener: RequestListener) => void }>();
  constructor(waitMs: number) {
    this.waitMs = waitMs;
  }

  readonly listener: RequestListener = (request, response) => {
    if (isHealthCheck(request) || this.waitMs === 0 || this.waiting.size >= waitingMax)
      return answerEarly(request, response);
    const leave = (): void => {
      clearTimeout(timer);
      response.off('close', leave);
      this.waiting.delete(one);
    };
    const one = {
      go: (listener: RequestListener) => {
        leave();
        listener(request, response);
      },
    };
    const timer = setTimeout(() => one.go(answerEarly), this.waitMs);
    response.on('close', leave);
    this.waiting.add(one);
  };

  /** Hands all of them on. */
  release(listener: RequestListener): void {
    for (const one of [...this.waiting]) one.go(listener);
  }
}

const isHealthCheck = ({ url = '' }: IncomingMessage): boolean => {
  const path = url.split('?', 1)[0];
  return path === '/ready' || path === '/status';
};
const answerEarly = (request: IncomingMessage, response: ServerResponse): void => {
  const isHealth = isHealthCheck(request);
  const body = Buffer.from(isHealth ? 'recovering' : errorAnswer(new LakeError('service-recovering')).body);
  response.writeHead(503, {
    ...(isLastAnswer(request) && { connection: 'close' }),
    'x-request-id': requestIdOf(request.headers),
    'content-type': isHealth ? 'text/plain; charset=utf-8' : 'application/json',
    'content-length': body.length,
    'retry-after': '1',
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : body);
};
