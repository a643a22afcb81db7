/** What bytes of a file are known by: the first 40 digits of their SHA-256. */
import { type Hash, createHash } from 'node:crypto';
import { zeroId } from '../../lake/ksuid.ts';

/** Takes bytes piece by piece; gives their digest once. */
export class Digest {
  private readonly hash: Hash = createHash('sha256');

  add(bytes: Uint8Array): void {
    this.hash.update(bytes);
  }
  end(): string {
    return this.hash.digest('hex').slice(0, zeroId.length);
  }
}

export const digestOf = (bytes: Uint8Array): string => {
  const digest = new Digest();
  digest.add(bytes);
  return digest.end();
};
