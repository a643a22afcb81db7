/**
 * The connections of a server, and which of them go when there are too many or when they hold too much.
 *
 * Invariants:
 * - At the limit a newcomer takes the place of the connection that has been without a request for longest (those whose
 *   headers drip, or whose answer was sent, among them), else of the slowest client that is too slow. Requests of
 *   others are never cut.
 * - Bytes of answers that nobody reads are bounded: beyond it those go whose client has taken nothing for longest.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { onConnection, writtenTo } from './http2.ts';
import { paceAt, slowest } from './pace.ts';

/** A connection without a request is left alone for so long: its first one may be on the way. */
const newMs = 1_000;
/** A client that has taken nothing for so long does not read. */
const unreadMs = 1_000;
/** How often the bytes are counted. */
const lookMs = 250;
/** Of all answers together that wait in memory for their clients. */
const unreadBytesMax = 64 << 20;

/** A connection: since when it has no request under way, and what its client has taken of what was written. */
interface State {
  requests: number;
  freeSince: number;
  taken: number;
  takenAt: number;
}
/** Why a connection was cut. */
type CutReason = 'full' | 'unread';

/** The connections of one server. */
export class Connections {
  private readonly states = new Map<Socket, State>();
  private readonly connectionsMax: number;
  private readonly unreadBytesMax: number;
  private readonly looking: NodeJS.Timeout;
  readonly cuts: Record<CutReason, number> = { full: 0, unread: 0 };

  constructor(
    server: Server,
    { connectionsMax, unreadMax = unreadBytesMax }: { readonly connectionsMax: number; readonly unreadMax?: number },
  ) {
    this.connectionsMax = connectionsMax;
    this.unreadBytesMax = unreadMax;
    onConnection(server, (socket) => {
      this.add(socket);
    });
    this.looking = setInterval(() => {
      this.look();
    }, lookMs).unref();
  }

  /** A request came, or its answer is over. */
  began(socket: Socket): void {
    const state = this.states.get(socket);
    if (state) state.requests++;
  }
  ended(socket: Socket): void {
    const state = this.states.get(socket);
    if (state && --state.requests === 0) state.freeSince = performance.now();
  }
  close(): void {
    clearInterval(this.looking);
  }

  private add(socket: Socket): void {
    // A request for another protocol comes a second time, as a plain one.
    if (this.states.has(socket)) return;
    if (this.states.size >= this.connectionsMax && !this.makeRoom()) {
      this.cuts.full++;
      socket.destroy();
      return;
    }
    const now = performance.now();
    this.states.set(socket, { requests: 0, freeSince: now, taken: 0, takenAt: now });
    socket.once('close', () => {
      this.states.delete(socket);
    });
  }

  private makeRoom(): boolean {
    const before = performance.now() - newMs;
    let found: Socket | undefined;
    let since = before;
    for (const [socket, { requests, freeSince }] of this.states) {
      if (requests > 0 || freeSince > since) continue;
      found = socket;
      since = freeSince;
    }
    found ??= slowest(this.states.keys(), paceAt);
    if (found) this.cut(found, 'full');
    return found !== undefined;
  }
  private cut(socket: Socket, reason: CutReason): void {
    this.cuts[reason]++;
    // Its end is told later.
    this.states.delete(socket);
    socket.destroy();
  }

  private look(): void {
    const now = performance.now();
    const unread: { readonly socket: Socket; readonly state: State; readonly bytes: number }[] = [];
    let sum = 0;
    for (const [socket, state] of this.states) {
      const { unread: bytes, taken } = writtenTo(socket);
      if (bytes === 0 || taken > state.taken) state.takenAt = now;
      state.taken = taken;
      if (bytes === 0) continue;
      sum += bytes;
      unread.push({ socket, state, bytes });
    }
    if (sum <= this.unreadBytesMax) return;
    for (const { socket, state, bytes } of unread.sort((a, b) => a.state.takenAt - b.state.takenAt)) {
      if (sum <= this.unreadBytesMax || now - state.takenAt < unreadMs) return;
      this.cut(socket, 'unread');
      sum -= bytes;
    }
  }
}
