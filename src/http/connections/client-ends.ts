/**
 * What a server does where a client ends its side of a connection, or sends what is no request.
 *
 * - Behind a whole request whose answer has not begun, an end may be a half-closed connection (`shutdown(SHUT_WR)`, `nc
 *   -N`) or a client that left: TCP says which only to who writes, and only at the write that follows. So `100
 *   Continue` is written now and then, which every client skips (RFC 9110, 15.2.1): where one fails, the client left
 *   and its request is cancelled; who waits gets the answer.
 * - HTTP/1.0 has no interim answers: its requests are done to the end, whether somebody waits or not.
 * - Once an answer has begun, an end is a client that left.
 * - What does not parse is answered with a 400 (or 408, 431), the connection's last answer; behind a request that is
 *   being answered with none, since the client would take it for that one's.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { newIdText } from '../../lake/ksuid.ts';
import { lastAnswer } from './linger.ts';

/** When the second interim answer comes; each later one after twice the time, up to the bound. */
const probeMs = 20;
const probeMsMax = 1000;
/** How long a client has to read the answer to what does not parse. */
const unparsedMs = 1000;

/** Has a server tell half-closed connections from clients that left. */
export const hearEnds = (server: Server): void => {
  // Node's own way is to end the connection, answered or not. Missing in the types of @types/node 20.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  // A tunnel is for proxies.
  server.on('connect', (_request, socket) => {
    socket.end(plainAnswer('405 Method Not Allowed'));
  });
  server.on('connection', (socket: Socket) => {
    socket.once('end', () => {
      const answer = lastAnswer(socket);
      if (!answer?.req.complete || answer.writableEnded) return;
      if (answer.headersSent) socket.destroy();
      else if (answer.req.httpVersion === '1.1') probe(answer, probeMs);
    });
  });
};

const probe = (answer: ServerResponse, nextMs: number): void => {
  if (answer.headersSent || answer.destroyed) return;
  answer.writeContinue();
  setTimeout(probe, nextMs, answer, Math.min(2 * nextMs, probeMsMax)).unref();
};

/** A connection's last answer, to what never was a request of the framework's. */
const plainAnswer = (status: string, text = status): string =>
  `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nX-Request-Id: ${newIdText()}\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n${text}`;

const malformed = '400 Bad Request';
/** Answers what is no HTTP request, has headers beyond the limit, or ends in the middle of its body. */
export const answerUnparsed = (
  error: { readonly code?: string; readonly reason?: unknown },
  socket: Socket | Duplex,
): void => {
  const cut = (): void => {
    socket.destroy();
  };
  if (error.code === 'ECONNRESET' || !socket.writable) return cut();
  const answer = lastAnswer(socket);
  if (answer?.req.complete) {
    if (answer.writableFinished) cut();
    else answer.once('close', cut);
    return;
  }
  if (answer?.headersSent) return cut();
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : malformed;
  // The parser's own words, of what is wrong with a request line or a header: the bytes are not in them.
  const { reason } = error;
  const isTold = status === malformed && typeof reason === 'string' && reason !== '';
  const text = plainAnswer(status, isTold ? `${status}: ${reason}` : status);
  if (error.code === 'HPE_INVALID_EOF_STATE') {
    // Nothing comes any more: no reset can overtake the answer.
    socket.end(text, cut);
    return;
  }
  socket.end(text);
  // Closing with unread bytes resets the connection, and the client would never see the answer.
  socket.resume();
  setTimeout(cut, unparsedMs).unref();
};
