/** The digests that the library of signatures asks for, by the engine's own. */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';

export class Sha256 {
  private readonly hash: Hash | Hmac;
  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    this.hash = key === undefined ? createHash('sha256') : createHmac('sha256', keyBytes(key));
  }
  update(bytes: Uint8Array): void {
    this.hash.update(bytes);
  }
  async digest(): Promise<Uint8Array> {
    return new Uint8Array(this.hash.digest());
  }
  reset(): never {
    throw new Error('a digest is made once');
  }
}
const keyBytes = (key: string | ArrayBuffer | ArrayBufferView): string | Uint8Array => {
  if (typeof key === 'string') return key;
  return ArrayBuffer.isView(key) ? new Uint8Array(key.buffer, key.byteOffset, key.byteLength) : new Uint8Array(key);
};
