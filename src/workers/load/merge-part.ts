/** Both ends of a merge that a load shares out: parts of its runs go to another thread, which makes objects of them. */
import type { MessagePort } from 'node:worker_threads';
import { LakeError } from '../../errors.ts';
import { type MergeHelper, type MergeJob, mergeIntoObjects } from '../../lake/load/sort.ts';
import type { SortedObjects } from '../../lake/objects/cutter.ts';
import { type ObjectStore, openScratch } from '../../lake/objects/objects.ts';
import { type WireError, fromWire, toWire } from '../messages.ts';
import type { Task } from '../task.ts';

/** `folder`: where the runs are. */
export type ToMerge = { readonly merge: MergeJob; readonly folder: string } | { readonly stop: true };
type FromMerge = { readonly merged: SortedObjects } | { readonly failed: WireError };

/** Gets another thread; undefined if there is none. */
export const mergeHelper = async (task: Task, folder: string): Promise<MergeHelper | undefined> => {
  const port = await task.call({ kind: 'helper', of: 'load' });
  if (!port) return undefined;
  const post = (message: ToMerge): void => {
    port.postMessage(message);
  };
  return {
    merge: (merge) =>
      new Promise((resolve, reject) => {
        port.on('message', (message: FromMerge) => {
          if ('merged' in message) resolve(message.merged);
          else reject(fromWire(message.failed));
        });
        port.on('close', () => {
          reject(new LakeError('worker-died', { reason: 'it helped with a load' }));
        });
        post({ merge, folder });
      }),
    stop: () => {
      post({ stop: true });
    },
    close: () => {
      port.close();
    },
  };
};

/**
 * Merges for a load of another thread; it answers before the port closes, unless that was closed from the other side.
 */
export class MergePart {
  private readonly task: Task;
  private readonly port: MessagePort;
  private readonly objects: ObjectStore;
  private stopped = false;

  constructor(task: Task, port: MessagePort, objects: ObjectStore) {
    this.task = task;
    this.port = port;
    this.objects = objects;
    port.on('close', () => {
      this.stopped = true;
    });
  }

  take(message: ToMerge): void {
    if ('stop' in message) this.stopped = true;
    else void this.merge(message.merge, message.folder);
  }

  private async merge(job: MergeJob, folder: string): Promise<void> {
    const spill = openScratch(folder);
    const post = (message: FromMerge): void => {
      this.port.postMessage(message);
    };
    try {
      post({ merged: await mergeIntoObjects(job, { objects: this.objects, spill, breathe: () => this.breathe() }) });
    } catch (problem) {
      post({ failed: toWire(problem) });
    } finally {
      spill.close();
    }
  }
  private async breathe(): Promise<void> {
    await this.task.breathe();
    if (this.stopped) throw new Error('the load was given up');
  }
}
