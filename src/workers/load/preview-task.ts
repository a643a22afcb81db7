/** What a load of a body would come to: its beginning is read within the limits of loads, and nothing is written. */
import { preview } from '../../formats/preview.ts';
import { working } from '../../vectors/stop.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { TaskRequest } from '../messages.ts';
import type { LoadPreview } from '../pool.types.ts';
import type { Task } from '../task.ts';
import type { LoadTools } from './task.ts';
import { eachWithTimes } from './times.ts';
import { Warnings } from './warnings.ts';

/** Looks into a body. @throws LakeError as its load would */
export const runPreview = async (
  task: Task,
  { said, form = {}, contentCodings, isCut }: Extract<TaskRequest, { kind: 'preview' }>,
  { spill, budget, readLimits }: Omit<LoadTools, 'objects'>,
): Promise<LoadPreview> => {
  const share = budget.begin();
  const warnings = new Warnings();
  const faulty = new FaultyCount();
  try {
    const seen = await preview(task.body, said, {
      ...readLimits,
      ...form,
      isCut,
      memory: share.memory,
      alone: () => share.turn(task.signal),
      turn: (work) => working(task.signal, work),
      scratch: () => spill.scratchBytes(),
      warn: warnings.add,
      faulty: faulty.add,
      ...(contentCodings && { contentCodings }),
      through: (batches) => turning(eachWithTimes(batches, form.time), task),
    });
    return { ...seen, warnings: [...warnings.texts(), ...faulty.texts()] };
  } finally {
    share.end();
  }
};

async function* turning(batches: AsyncIterable<Vector>, task: Task): AsyncGenerator<Vector> {
  for await (const batch of batches) {
    yield batch;
    await task.breathe();
  }
}

/** Records that cannot be read, where they do not end the load. */
class FaultyCount {
  private count = 0;
  private first = '';

  readonly add = ({ error }: { readonly error: string }): void => {
    if (this.count++ === 0) this.first = error;
  };
  texts(): readonly string[] {
    if (this.count === 0) return [];
    const what = this.count === 1 ? '1 record' : `${this.count} records`;
    return [`${what} cannot be read; the first: ${this.first}`];
  }
}
