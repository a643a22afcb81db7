/**
 * Metadata are files, for engines that read them there; the name of each says what is in it.
 *
 * Invariant: a file is durable before a row names it, and one that a row names is never touched again. So each is made
 * once, however many engines ask for it at the same time.
 */
import { killPoint } from '../../lake/kill-points.ts';
import type { DerivedPool, Id } from '../../lake/lake.types.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import { digestOf } from './digest.ts';
import { metadataRow, readMetadata } from '../rows.ts';

/** The files of metadata of all tables. */
export class MetadataFiles {
  private readonly store: () => ObjectStore;
  private readonly making = new Map<Id, Promise<void>>();

  constructor(store: () => ObjectStore) {
    this.store = store;
  }

  /** Makes the file unless it is there; gives its digest, the first 40 digits, which name it. */
  async keep(pool: DerivedPool, json: string): Promise<Id> {
    const bytes = Buffer.from(json, 'utf8');
    const digest = digestOf(bytes);
    // Those of two tables never are the same: their ids are in there.
    let made = this.making.get(digest);
    if (!made) {
      if (readMetadata(pool, digest)) return digest;
      made = this.make(pool, digest, bytes).finally(() => this.making.delete(digest));
      this.making.set(digest, made);
    }
    await made;
    return digest;
  }

  private async make(pool: DerivedPool, digest: Id, bytes: Uint8Array): Promise<void> {
    const store = this.store();
    // A start may have ended between file and row.
    await store.delete(digest);
    await store.put(digest, bytes);
    killPoint('iceberg: metadata made');
    await pool.write([metadataRow(digest, { bytes: bytes.length, ms: Date.now() })]);
    killPoint('iceberg: metadata named');
  }
}
