/** The files of data objects, with listeners that hear of each deletion: other threads have the same files open. */
import type { Id, ObjectFiles } from '../lake.types.ts';

export class ToldFiles implements ObjectFiles {
  private readonly files: ObjectFiles;
  private readonly listeners = new Set<(id: Id) => void>();
  constructor(files: ObjectFiles) {
    this.files = files;
  }

  async delete(id: Id): Promise<void> {
    await this.files.delete(id);
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
