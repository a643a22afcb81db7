/**
 * Answers that come before the request's body has ended. A connection that is closed with bytes unread is reset, and a
 * client that still sends never sees the answer; so it is read on, and what comes is thrown away.
 *
 * Invariants:
 * - A short body is waited for, and the connection goes on; behind a longer one, or one of unknown length, the answer
 *   is the connection's last: it says so, the connection is half closed behind it, and no request that follows on it is
 *   looked at.
 * - Either way there is a bound of time, of silence and of bytes; beyond it the connection is cut.
 * - A client that waits for `100 Continue` gets it when the body is wanted, not before: else the answer is the final
 *   one.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { inOrder } from './order.ts';

/** A body of at most so many bytes is waited for. */
const keptBytesMax = 64 << 10;
/**
 * Bounds of what is thrown away. A client that sends at full speed, and reads when it is done, has sent it all within
 * them.
 */
const lingerBytesMax = 1 << 30;
const lingerMsMax = 30_000;
const silentMsMax = 5_000;

/** Connections whose last answer was sent. */
const ending = new WeakSet<Socket>();
/** The answer that a connection has at the moment, or had as its last one. */
const last = new WeakMap<object, ServerResponse>();
/** The answer behind which nothing may follow on this connection: it is under way, or was the last. */
export const lastAnswer = (socket: object): ServerResponse | undefined => last.get(socket);
/** Answers of clients that wait for `100 Continue`. */
const expecting = new WeakMap<IncomingMessage, ServerResponse>();

/** Lets a listener have a server's requests, from now on; what it gives ends that. */
export const listenTo = (server: Server, listener: RequestListener): (() => void) =>
  hearRequests(server, (request, response) => {
    if (ending.has(request.socket)) return;
    const { socket } = request;
    if (!response.socket) hearEnd(socket, response);
    last.set(socket, response);
    response.once('close', () => {
      if (response.shouldKeepAlive && last.get(socket) === response) last.delete(socket);
    });
    if (hasBody(request))
      response.prependOnceListener('finish', () => {
        answered(request);
      });
    inOrder(request, response, () => {
      if (!ending.has(socket)) listener(request, response);
    });
  });

/** Answers that wait for those before them on their connection: to pipelined requests. */
const queued = new WeakMap<Socket, Set<ServerResponse>>();
/**
 * Tells an answer that waits for its turn of the end of its connection. Node tells only the one whose turn it is; what
 * the others came of would run on for nobody, until its time is over.
 */
const hearEnd = (socket: Socket, response: ServerResponse): void => {
  const answers = queued.get(socket) ?? new Set();
  if (!queued.has(socket)) {
    queued.set(socket, answers);
    socket.once('close', () => {
      for (const answer of answers) {
        if (answer.socket || answer.destroyed) continue;
        answer.destroy();
        answer.emit('close');
      }
    });
  }
  answers.add(response);
  response.once('close', () => answers.delete(response));
};

/** All requests that a server parses, those that expect something among them. */
export const hearRequests = (server: Pick<EventEmitter, 'on' | 'off'>, onRequest: RequestListener): (() => void) => {
  const onExpect: RequestListener = (request, response) => {
    expecting.set(request, response);
    onRequest(request, response);
  };
  server.on('request', onRequest);
  server.on('checkContinue', onExpect);
  // Refused by who looks at heads (head.ts).
  server.on('checkExpectation', onRequest);
  return () => {
    server.off('request', onRequest);
    server.off('checkContinue', onExpect);
    server.off('checkExpectation', onRequest);
  };
};

/** To be called when a body is about to be read: a client that waits for it is told to send it. */
export const wantBody = (request: IncomingMessage): void => {
  const response = expecting.get(request);
  if (!response) return;
  expecting.delete(request);
  if (!response.headersSent && !response.destroyed) response.writeContinue();
};

/** Whether an answer that is sent now is the connection's last. */
export const isLastAnswer = (request: IncomingMessage): boolean =>
  request.httpVersionMajor === 1 &&
  !request.complete &&
  hasBody(request) &&
  !(Number(request.headers['content-length']) <= keptBytesMax);

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

/** Runs before the server ends the connection, where the answer was its last. */
const answered = (request: IncomingMessage): void => {
  const { socket } = request;
  if (request.readableEnded || request.destroyed || socket.destroyed) return;
  let bytes = 0;
  const cut = (): void => {
    socket.destroy();
  };
  const late = setTimeout(cut, lingerMsMax).unref();
  const silent = setTimeout(cut, silentMsMax).unref();
  const stop = (): void => {
    clearTimeout(late);
    clearTimeout(silent);
  };
  // The server's own way to end a connection would reset it.
  socket.destroySoon = () => {
    ending.add(socket);
    socket.end();
  };
  request.on('data', (chunk: Uint8Array) => {
    silent.refresh();
    bytes += chunk.length;
    if (bytes > lingerBytesMax) cut();
  });
  request.once('end', () => {
    stop();
    Reflect.deleteProperty(socket, 'destroySoon');
    if (ending.has(socket)) socket.destroySoon();
  });
  request.once('close', stop);
};
