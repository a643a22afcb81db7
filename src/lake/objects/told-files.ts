/** The files of data objects, with listeners that hear of each deletion: other threads have the same files open. */
import type { Id, ObjectFiles } from '../lake.types.ts';

/** Removes files later that are still needed: true for those. */
interface FileKeeper {
  objectGone(id: Id): boolean;
}

export class ToldFiles implements ObjectFiles {
  private readonly files: ObjectFiles;
  private readonly keeper: FileKeeper | undefined;
  private readonly listeners = new Set<(id: Id) => void>();
  constructor(files: ObjectFiles, keeper?: FileKeeper) {
    this.files = files;
    this.keeper = keeper;
  }

  async delete(id: Id): Promise<void> {
    if (this.keeper?.objectGone(id) !== true) await this.files.delete(id);
    this.tell(id);
  }
  /** A file went. */
  tell(id: Id): void {
    for (const listener of this.listeners) listener(id);
  }
  list(): AsyncIterable<Id> {
    return this.files.list();
  }
  /** Returns the call that ends it. A listener must not throw. */
  listen(listener: (id: Id) => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }
}
