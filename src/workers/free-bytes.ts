/** Memory of array buffers, given back at once: a buffer that waits for the collector makes it run, and it looks through the whole heap each time. */
import { MessageChannel } from 'node:worker_threads';

const { port1: nowhere } = new MessageChannel();
nowhere.close();

/** Frees the buffer. Whatever views it has no bytes from then on: nobody may look at them any more. */
export const freeBuffer = (buffer: ArrayBuffer): void => { nowhere.postMessage(undefined, [buffer]); };
