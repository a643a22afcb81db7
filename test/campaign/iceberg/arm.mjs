// Tells fault-shim.c, which was loaded before, what to do (faults.ts), in the process alone and not in its threads.
import { openSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

if (isMainThread)
  try {
    openSync(process.env.LAKE_FAULTS);
  } catch {
    // There is no such file: the shim has heard of it.
  }
