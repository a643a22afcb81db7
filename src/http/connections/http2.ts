/**
 * HTTP/2 beside HTTP/1.1: sessions of clients that chose it in their TLS handshake. Their requests go the way of all
 * others.
 *
 * - A request looks to the service as one of HTTP/1.1 does (`asPlain`): the host is in `Host`, the socket is the
 *   connection, a body that was cut off is destroyed, not ended, and an answer that is cut off is reset with an error.
 * - What one connection may ask for is bounded (streams at a time, bytes of headers, memory), and so is the sum of all
 *   streams, as that of connections is: beyond it a stream is refused, which tells the client that nothing was done.
 *   Node ends sessions that reset streams in a row or send frames that are none.
 * - A session without a stream ends after the time of an idle connection.
 */
import type { RequestListener, Server as HttpServer } from 'node:http';
import {
  constants,
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { hearRequests } from './linger.ts';

/** How HTTP/2 is named in a TLS handshake. */
export const http2Protocol = 'h2';

/** Streams of one session at a time. */
const sessionStreamsMax = 100;
/** Bytes of a body that a client may send before somebody reads them. */
const windowBytes = 256 << 10;
/** Of one session: its streams, header tables and what waits to be sent, in megabytes. */
const sessionMegabytesMax = 64;
/** Header lines of a request; their bytes are bounded too. */
const headerLinesMax = 2_000;

/** What sessions are bounded by. */
interface SessionTerms {
  readonly headerBytesMax: number;
  /** After so long without a stream a session ends. */
  readonly idleMs: number;
  /** Of all sessions. */
  readonly streamsMax: number;
}

/** The event of a server for a connection that became a session: `connection` would read it as HTTP/1.1. */
const sessionEvent = 'connection of a session';
/** Hears of every connection of a server, whatever is spoken on it. */
export const onConnection = (server: HttpServer, hear: (socket: Socket) => void): void => {
  server.on('connection', hear);
  server.on(sessionEvent, hear);
};

/** The open streams of the connections that are sessions. */
const streamsOf = new WeakMap<Socket, Set<ServerHttp2Stream>>();
/** What was written to a connection and not taken by its client, and what was taken. */
export const writtenTo = (socket: Socket): { readonly unread: number; readonly taken: number } => {
  const streams = streamsOf.get(socket);
  if (!streams) return { unread: socket.writableLength, taken: socket.bytesWritten - socket.writableLength };
  let unread = 0;
  for (const { writableLength } of streams) unread += writableLength;
  return { unread, taken: socket.bytesWritten };
};

/** The sessions of a server. */
export class Sessions {
  private readonly http: HttpServer;
  private readonly server: Http2Server;
  private readonly terms: SessionTerms;
  private readonly sockets = new Map<ServerHttp2Session, Socket>();
  private streams = 0;

  constructor(http: HttpServer, terms: SessionTerms) {
    this.http = http;
    this.terms = terms;
    this.server = createServer({
      maxSessionMemory: sessionMegabytesMax,
      maxHeaderListPairs: headerLinesMax,
      settings: {
        maxConcurrentStreams: sessionStreamsMax,
        maxHeaderListSize: terms.headerBytesMax,
        initialWindowSize: windowBytes,
      },
    });
    // A client that breaks the protocol: its session ends.
    this.server.on('sessionError', () => undefined);
  }

  /** Lets a listener have the requests, from now on; what it gives ends that. */
  listenTo(listener: RequestListener): () => void {
    return hearRequests(this.server, (request, response) => {
      const { stream } = request as unknown as Http2ServerRequest;
      const socket = this.sockets.get(stream.session as ServerHttp2Session);
      // The client took it back at once.
      if (!socket || stream.destroyed) return;
      if (this.streams >= this.terms.streamsMax) {
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
        return;
      }
      this.began(stream, streamsOf.get(socket)!);
      asPlain(request as unknown as Http2ServerRequest, response as unknown as Http2ServerResponse, socket);
      listener(request, response);
    });
  }

  /** Takes a connection whose client chose HTTP/2. */
  take(socket: Socket): void {
    const streams = new Set<ServerHttp2Stream>();
    streamsOf.set(socket, streams);
    this.http.emit(sessionEvent, socket);
    // There was no place for it.
    if (socket.destroyed) return;
    this.server.once('session', (session: ServerHttp2Session) => {
      this.sockets.set(session, socket);
      session.once('close', () => {
        this.sockets.delete(session);
      });
      session.setTimeout(this.terms.idleMs, () => {
        if (streams.size === 0) session.close();
      });
    });
    this.server.emit('connection', socket);
  }
  /** Takes no more streams; sessions end with those they have. */
  close(): void {
    for (const session of this.sockets.keys()) session.close();
  }

  private began(stream: ServerHttp2Stream, streams: Set<ServerHttp2Stream>): void {
    streams.add(stream);
    this.streams++;
    stream.once('close', () => {
      streams.delete(stream);
      this.streams--;
    });
  }
}

/** Makes what Node gives for a stream behave as what it gives for a request of HTTP/1.1. */
const asPlain = (request: Http2ServerRequest, response: Http2ServerResponse, socket: Socket): void => {
  const { stream, headers } = request;
  // RFC 9113, 8.3.1; one that differs is refused (head.ts).
  headers.host ??= headers[':authority'];
  Object.defineProperty(request, 'socket', { value: socket });
  stream.once('aborted', () => {
    // Node ends a body that is cut off as if it were whole.
    request.destroy();
    // What the client's window did not take is never written, and Node waits for it before it closes the stream.
    setImmediate(() => {
      stream.destroy();
    });
  });
  Object.defineProperty(response, 'destroyed', { get: () => stream.destroyed });
  // Where the client leaves, Node ends the stream itself before it closes it.
  Object.defineProperty(response, 'writableFinished', { get: () => stream.writableFinished && !stream.aborted });
  // Without an error the client would take what it has for whole.
  response.destroy = () => {
    stream.destroy(new Error('answer cut off'));
    return response as never;
  };
  // The answer is there, and nobody reads the rest of the body: the client may stop (RFC 9113, 8.1), once it has been
  // sent the end. `finish` comes before that: a reset then would take its place.
  stream.once('finish', () => {
    if (request.complete || stream.endAfterHeaders) return;
    setImmediate(() => {
      if (!stream.destroyed && !request.complete) stream.close(constants.NGHTTP2_NO_ERROR);
    });
  });
};
