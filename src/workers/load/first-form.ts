/** Whether a load was one array: who sends that mostly means its elements. */
import type { Vector } from '../../vectors/vector.ts';

/** Looks at the first value of a load as it goes by. */
export class FirstForm {
  private isArray: boolean | undefined;

  *all(batches: Iterable<Vector>): Generator<Vector> {
    for (const batch of batches) {
      this.note(batch);
      yield batch;
    }
  }
  async *each(batches: AsyncIterable<Vector>): AsyncGenerator<Vector> {
    for await (const batch of batches) {
      if (batch.length === 0) continue;
      this.note(batch);
      yield batch;
    }
  }
  note(batch: Vector): void {
    if (batch.length > 0) this.isArray ??= batch.form === 'list' && batch.type.kind === 'array';
  }

  /** Of a load of so many values. */
  isOneArray(records: number): boolean {
    return records === 1 && this.isArray === true;
  }
}
