/**
 * Pipelined requests: those that a client sends on one connection of HTTP/1.1 without waiting for answers. Node hands
 * on each as soon as it is parsed.
 *
 * Invariants:
 * - Requests that only read run beside each other; any other begins when the answers before it have ended, and what
 *   follows it begins when its own has.
 * - While one waits nothing more is read from its connection, so that what waits is what came in one piece.
 * - What waits when its connection is gone never begins.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Pending {
  readonly isSafe: boolean;
  /** Begins the request; undefined once it has begun. */
  begin: (() => void) | undefined;
  /** The connection is not read while it waits. */
  waits: boolean;
}
const pending = new WeakMap<Socket, Pending[]>();
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** Begins a request when those before it on its connection allow it. */
export const inOrder = (request: IncomingMessage, response: ServerResponse, begin: () => void): void => {
  const { socket } = request;
  const requests = pending.get(socket) ?? [];
  if (requests.length === 0) pending.set(socket, requests);
  const own: Pending = { isSafe: safeMethods.has(request.method ?? ''), begin, waits: false };
  requests.push(own);
  response.once('close', () => {
    requests.splice(requests.indexOf(own), 1);
    beginNext(socket, requests);
  });
  beginNext(socket, requests);
  if (!own.begin) return;
  own.waits = true;
  socket.pause();
};

const beginNext = (socket: Socket, requests: readonly Pending[]): void => {
  if (socket.destroyed) return;
  let isAfterChange = false;
  for (const [i, one] of [...requests].entries()) {
    const { begin, isSafe } = one;
    if (isAfterChange || (!isSafe && i > 0)) return;
    isAfterChange = !isSafe;
    if (!begin) continue;
    one.begin = undefined;
    if (one.waits && i === requests.length - 1) socket.resume();
    begin();
  }
};
