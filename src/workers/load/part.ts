/**
 * Both ends of the help that a load gets from another thread: blocks of its body go there, batches and the bytes come
 * back.
 */
import type { MessagePort } from 'node:worker_threads';
import { LakeError, messageOf } from '../../errors.ts';
import type { BlockHelper, BlockParser, ParsedBlock } from '../../formats/blocks.ts';
import type { BlockSetup, ReadOptions } from '../../formats/format.types.ts';
import { blockParser } from '../../formats/formats.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import { MergePart, type ToMerge } from './merge-part.ts';
import type { Task } from '../task.ts';

/** The setup comes first and once, then blocks. */
type ToPart = { readonly setup: BlockSetup } | { readonly bytes: Uint8Array<ArrayBuffer>; readonly length: number };
interface FromPart {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly parsed?: ParsedBlock;
  /** What is no fault of the bytes. */
  readonly failed?: string;
}

/**
 * Blocks that are on their way to the other thread or in work there: one to read, others to go on with while this
 * thread sorts.
 */
const awayMax = 5;

/** Gets help from another thread; undefined if there is none. */
export const loadHelper = async (task: Task, setup: BlockSetup): Promise<BlockHelper | undefined> => {
  const port = await task.call({ kind: 'helper', of: 'load' });
  if (!port) return undefined;
  const helper = new PartHelper(port, setup);
  // What the other thread still has is not waited for when the load was given up.
  const giveUp = (): void => {
    helper.died();
    helper.close();
  };
  if (task.signal.aborted) giveUp();
  else task.signal.addEventListener('abort', giveUp, { once: true });
  return helper;
};

interface Waiting {
  readonly resolve: (answer: { readonly bytes: Uint8Array; readonly parsed: ParsedBlock | undefined }) => void;
  readonly reject: (problem: unknown) => void;
}

class PartHelper implements BlockHelper {
  private readonly port: MessagePort;
  private readonly waiting: Waiting[] = [];
  private dead = false;

  constructor(port: MessagePort, setup: BlockSetup) {
    this.port = port;
    port.on('message', (message: FromPart) => {
      this.take(message);
    });
    port.on('close', () => {
      this.died();
    });
    this.post({ setup });
  }

  get free(): number {
    return this.dead ? 0 : awayMax - this.waiting.length;
  }

  parse(
    bytes: Uint8Array,
    length: number,
  ): Promise<{ readonly bytes: Uint8Array; readonly parsed: ParsedBlock | undefined }> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      const own = bytes as Uint8Array<ArrayBuffer>;
      this.post({ bytes: own, length }, [own.buffer]);
    });
  }
  close(): void {
    this.dead = true;
    this.port.close();
  }

  private post(message: ToPart, transfer: ArrayBuffer[] = []): void {
    this.port.postMessage(message, transfer);
  }
  private take({ bytes, parsed, failed }: FromPart): void {
    const waiting = this.waiting.shift();
    if (failed !== undefined) waiting?.reject(new Error(failed));
    else waiting?.resolve({ bytes, parsed });
  }
  died(): void {
    this.dead = true;
    for (const { reject } of this.waiting.splice(0))
      reject(new LakeError('worker-died', { reason: 'it helped with a load' }));
  }
}

/** Reads blocks, or merges runs, for a load of another thread until that closes the port. */
export const runLoadPart = (
  task: Task,
  port: MessagePort,
  options: ReadOptions,
  objects: ObjectStore,
): Promise<undefined> =>
  new Promise((resolve) => {
    let parser: BlockParser | undefined;
    const merging = new MergePart(task, port, objects);
    const answer = (message: FromPart, transfer: ArrayBuffer[]): void => {
      port.postMessage(message, transfer);
    };
    port.on('message', (message: ToPart | ToMerge) => {
      if ('merge' in message || 'stop' in message) return merging.take(message);
      if ('setup' in message) {
        parser = blockParser(message.setup, options);
        return;
      }
      const { bytes, length } = message;
      try {
        const parsed = parser?.(bytes, length);
        if (!parsed) return answer({ bytes }, [bytes.buffer]);
        answer({ bytes, parsed }, [bytes.buffer, parsed.batches.buffer]);
      } catch (problem) {
        answer({ bytes, failed: messageOf(problem) }, [bytes.buffer]);
      }
    });
    port.on('close', () => {
      resolve(undefined);
    });
    task.signal.addEventListener(
      'abort',
      () => {
        port.close();
      },
      { once: true },
    );
  });
