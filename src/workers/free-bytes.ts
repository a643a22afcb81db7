/**
 * Memory of array buffers, given back at once: a buffer that waits for the collector makes it run, and it looks through
 * the whole heap each time.
 */
import { MessageChannel } from 'node:worker_threads';

const { port1: nowhere } = new MessageChannel();
nowhere.close();

/** Frees the buffer. Whatever views it has no bytes from then on: nobody may look at them any more. */
export const freeBuffer = (buffer: ArrayBuffer): void => {
  nowhere.postMessage(undefined, [buffer]);
};

// Until the first buffer of a thread is given away the engine's code takes for granted that none ever is; then it
// throws away all code that looks into buffers. So this comes first.
freeBuffer(new ArrayBuffer(8));
