/**
 * How fast a client sends a body or takes an answer, by the time in which we waited for it: what the service itself
 * takes long for does not count.
 *
 * A client that is slow is left alone as long as nobody else needs what it holds: who has too little asks for the
 * slowest (`slowRate`) and ends it.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ServeConfig } from '../../config/serve.ts';
import { LakeError } from '../../errors.ts';

/** The rate is that of the last one or two such times of waiting. */
const windowMs = 5_000;
/** Waiting of which nothing is said yet. */
const graceMs = 5_000;

/** Which way the bytes go. */
type Direction = 'body' | 'answer';
const errors = { body: 'body-slow', answer: 'answer-slow' } as const;
interface Mark {
  readonly bytes: number;
  readonly waitedMs: number;
}

/** The pace of one client. `rateMin`: bytes a second; 0: any will do. */
export class Pace {
  private readonly direction: Direction;
  private readonly rateMin: number;
  private readonly now: () => number;
  private bytes = 0;
  private waitedMs = 0;
  private waitsSince: number | undefined;
  private older: Mark = { bytes: 0, waitedMs: 0 };
  private newer: Mark = this.older;

  constructor(direction: Direction, rateMin: number, now: () => number = () => performance.now()) {
    this.direction = direction;
    this.rateMin = rateMin;
    this.now = now;
  }

  /** From here on nothing goes on until the client does something. */
  waits(): void {
    this.waitsSince ??= this.now();
  }
  /** The client sent, or took, so many bytes. */
  went(bytes: number): void {
    this.look();
    this.waitsSince = undefined;
    this.bytes += bytes;
  }

  /**
   * Bytes a second lately, if they are fewer than they must be; undefined for who is fast enough, or not known for long
   * enough.
   */
  slowRate(): number | undefined {
    if (this.rateMin === 0 || this.waitsSince === undefined) return undefined;
    this.look();
    if (this.waitedMs < graceMs) return undefined;
    const rate = ((this.bytes - this.older.bytes) * 1000) / (this.waitedMs - this.older.waitedMs);
    return rate < this.rateMin ? rate : undefined;
  }
  /** What a client is told that was given up. */
  tooSlow(): LakeError {
    return new LakeError(errors[this.direction], { rate: Math.floor(this.slowRate() ?? 0), limit: this.rateMin });
  }

  private look(): void {
    if (this.waitsSince === undefined) return;
    const now = this.now();
    this.waitedMs += now - this.waitsSince;
    this.waitsSince = now;
    if (this.waitedMs - this.newer.waitedMs < windowMs) return;
    this.older = this.newer;
    this.newer = { bytes: this.bytes, waitedMs: this.waitedMs };
  }
}

/** Of the requests that are under way, or were, on a connection. */
const paces = new WeakMap<Socket, Pace>();
/** The pace of a request's client. */
export const paceOf = (
  { socket }: IncomingMessage,
  direction: Direction,
  { rateBytesMin }: Pick<ServeConfig, 'rateBytesMin'>,
): Pace => {
  const pace = new Pace(direction, rateBytesMin);
  paces.set(socket, pace);
  return pace;
};
/** The pace at which a connection's last request goes on. */
export const paceAt = (socket: Socket): Pace | undefined => paces.get(socket);

/** The slowest of those who are too slow. */
export const slowest = <T>(all: Iterable<T>, paceOf: (one: T) => Pick<Pace, 'slowRate'> | undefined): T | undefined => {
  let found: T | undefined;
  let least = Infinity;
  for (const one of all) {
    const rate = paceOf(one)?.slowRate();
    if (rate === undefined || rate >= least) continue;
    found = one;
    least = rate;
  }
  return found;
};
