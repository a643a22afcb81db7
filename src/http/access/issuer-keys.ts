/**
 * The signing keys that an issuer publishes, at a URL or in a file.
 *
 * - Keys are used for `ttlMs` after they were asked for, and not a moment longer: then they are fetched again, and a
 *   request waits for that. Half-way they are fetched beside it, so that no request of a busy service has to wait.
 * - A token whose key is not there, or is another one by now, has them fetched again, at most every `againMs`.
 * - What was verified belongs to the keys that verified it, and is forgotten with them.
 * - Where the keys come from is the service's option alone. They are fetched as `from` fetches URLs: the address is
 *   pinned, redirects are checked.
 */
import { readFile } from 'node:fs/promises';
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { messageOf } from '../../errors.ts';
import { openUrl } from '../../workers/from/http.ts';
import { parseHttpRule } from '../../workers/from/policy.ts';
import type { Principal } from './roles.ts';

/** The issuer's keys could not be had: nobody's fault but ours or the issuer's. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/** Keys as they were published at one time, and the tokens that they have verified, by digest. */
export interface KeySet {
  readonly text: string;
  readonly find: JWTVerifyGetKey;
  readonly verified: Map<string, Principal>;
}

/** Where keys come from and how long they are used. `elapsedMs`: a clock that never goes back. */
interface IssuerKeysOptions {
  readonly from: string;
  readonly ttlMs: number;
  readonly elapsedMs: () => number;
  /** Told when there are other keys than before. */
  readonly changed?: () => void;
}

/** Between two fetches that tokens cause, and after a fetch that failed. */
export const againMs = 5_000;
const retryMs = 1_000;
const answerBytesMax = 1 << 20;
const fetchMsMax = 5_000;

export class IssuerKeys {
  private readonly options: IssuerKeysOptions;
  private readonly load: () => Promise<string>;
  private set: KeySet | undefined;
  /** When the fetch that gave the set began, and the last one. */
  private setAt = -Infinity;
  private beganAt = -Infinity;
  private failure: { readonly fault: KeysUnavailable; readonly at: number } | undefined;
  private fetching: Promise<void> | undefined;

  constructor(options: IssuerKeysOptions) {
    this.options = options;
    const { from } = options;
    this.load = /^https?:\/\//i.test(from) ? remote(from) : () => readFile(from, 'utf8');
  }

  /** Keys that are no older than they may be. @throws KeysUnavailable */
  async current(): Promise<KeySet> {
    const { ttlMs, elapsedMs } = this.options;
    const askedAt = elapsedMs();
    while (!this.set || askedAt - this.setAt >= ttlMs) {
      const fetching = this.fetch();
      const isLate = this.fetching !== undefined && this.beganAt < askedAt;
      await fetching.catch((fault: unknown) => {
        // One that began before this request says nothing of now.
        if (!isLate) throw fault;
      });
    }
    if (askedAt - this.setAt >= ttlMs / 2) this.fetch().catch(() => undefined);
    return this.set;
  }

  /** Other keys than these, if there are any and it is not too soon to ask. @throws KeysUnavailable */
  async other(than: KeySet): Promise<KeySet | undefined> {
    const askedAt = this.options.elapsedMs();
    if (this.set === than) await this.fetching?.catch(() => undefined);
    if (this.set === than && askedAt - this.beganAt >= againMs) await this.fetch();
    return this.set === than ? undefined : this.set;
  }

  private fetch(): Promise<void> {
    if (this.failure && this.options.elapsedMs() - this.failure.at < retryMs) return Promise.reject(this.failure.fault);
    return (this.fetching ??= this.replace().finally(() => {
      this.fetching = undefined;
    }));
  }

  private async replace(): Promise<void> {
    const beganAt = (this.beganAt = this.options.elapsedMs());
    try {
      const text = await this.load();
      const before = this.set;
      if (text !== before?.text)
        this.set = { text, find: createLocalJWKSet(JSON.parse(text) as JSONWebKeySet), verified: new Map() };
      this.setAt = beganAt;
      this.failure = undefined;
      if (before && this.set !== before) this.options.changed?.();
    } catch (cause) {
      const fault = new KeysUnavailable(messageOf(cause), { cause });
      this.failure = { fault, at: beganAt };
      throw fault;
    }
  }
}

const remote = (address: string): (() => Promise<string>) => {
  const rule = parseHttpRule(address.replace(/[?#].*$/s, ''));
  const policy = { rules: rule ? [rule] : [], bytesMax: answerBytesMax, waitMsMax: fetchMsMax };
  return async () => {
    const answer = await openUrl({ url: address }, { policy });
    const pieces: Uint8Array[] = [];
    for await (const piece of answer.bytes) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  };
};
