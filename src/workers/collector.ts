/**
 * The collector of this thread, called at chosen moments. By itself it lets buffers that nobody uses any more pile up
 * to some hundred megabytes for each thread, and in a thread that has nothing to do it never runs.
 */
import { getHeapStatistics } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * So many bytes of new buffers make it worth while for a task that puts rows aside: to look at young ones, and at all.
 */
const youngBytesMax = 16 << 20;
const freshBytesMax = 32 << 20;
/** Where a thread holds so much, and the process is near to its bound, each task is one of those. */
const largeBytes = 128 << 20;
/** The same of a thread with so many tasks: what each holds is little, and what all have left grows old meanwhile. */
const crowd = { tasksMin: 16, bytes: 32 << 20 };
/** In a thread without a task, which has the time. */
const idleBytesMax = 16 << 20;

type Collect = (options?: { readonly type: 'minor' }) => void;
/** The launcher asks the engine for it (engine-flags.ts). In a process without, the engine alone decides when. */
const gc = (runInNewContext('globalThis.gc') as Collect | undefined) ?? (() => undefined);
const bytesNow = (): number => getHeapStatistics().external_memory;

/** What this thread's heap holds, and its buffers outside of it, garbage included. */
export const heldBytes = (): { readonly heapBytes: number; readonly bufferBytes: number } => {
  const { used_heap_size: heapBytes, external_memory: bufferBytes } = getHeapStatistics();
  return { heapBytes, bufferBytes };
};
/** Bytes of this thread in use, garbage included. */
export const bytesInUse = (): number => {
  const { heapBytes, bufferBytes } = heldBytes();
  return heapBytes + bufferBytes;
};
/** Frees all that is garbage, at once: for work that goes on without a pause and may have no more room. */
export const collectAll = (): void => {
  gc();
  // Another thread gives the buffers back, some milliseconds later; they count until then, unless the next collection
  // begins, which waits for it.
  gc({ type: 'minor' });
  kept = keptOfAll = bytesNow();
  keptOfHeap = heapNow();
  shared = 0;
};

/**
 * Shared buffers that this thread made, or let go of: no thread's heap counts them, and each has its memory until the
 * last thread that knew it has collected.
 */
export const noteShared = (bytes: number): void => {
  shared += bytes;
};
/** Bytes of them since the last collection of all. */
let shared = 0;
const sharedBytesMax = 32 << 20;

/**
 * What the heap may grow by where the process is near to its bound: the collector by itself waits until it has more
 * than doubled.
 */
const heapBytesMax = 48 << 20;
const heapNow = (): number => getHeapStatistics().used_heap_size;
/** Bytes of the heap after the last collection of all. */
let keptOfHeap = Infinity;

/** Bytes of buffers after the collector's last run, and after the last one that looked at all. */
let kept = 0;
let keptOfAll = 0;

/**
 * For a task whose rows do not fit into memory, if much was made since the last time: of young buffers. It looks at all
 * of them near to the process's bound alone, for the compiled code that goes with such a look (see `collectLarge`) is
 * that of the very loops that go on behind it. With one after every 32 MB a grouping of 10,000,000 rows by two ids took
 * 1.7 times the processor time: 84 collections, and 2,200 functions compiled in place of 750.
 */
export const collectWorthwhile = (): void => {
  if (fresh() <= youngBytesMax) return;
  gc({ type: 'minor' });
  kept = bytesNow();
  if (isTight && kept - keptOfAll > freshBytesMax) collectAll();
};
/**
 * For any task, every now and then, where the process is near to its bound. Far from it the engine's own collections
 * do: they run beside the thread for the most part, while one that is asked for takes 20 to 30 ms, and all code that was
 * compiled for forms of which no object is there at that moment (299 functions in 58 of them, 2 in 66 of the engine's
 * own). Without this and the higher threshold of the allocator four of ClickBench's groupings of a million rows take
 * 1.2 times the processor time.
 */
export const collectLarge = (tasks = 1): void => {
  const heap = heapNow();
  keptOfHeap = Math.min(keptOfHeap, heap);
  if (!isTight) return;
  if (bytesNow() > (tasks < crowd.tasksMin ? largeBytes : crowd.bytes)) collectWorthwhile();
  else if (fresh() > youngBytesMax) collectYoung();
  if (heap - keptOfHeap > heapBytesMax || shared > sharedBytesMax) collectAll();
};
/** For a thread that has nothing else to do. */
export const collectIdle = (): void => {
  if (fresh() > 0 && bytesNow() - keptOfAll > idleBytesMax) collectAll();
};
/** For the same, every now and then: where the process is near to its bound nothing is left for later. */
export const collectTight = (): void => {
  if (!isTight) return;
  if (shared > sharedBytesMax) collectAll();
  else collectIdle();
};
/**
 * For a thread that had no task for some seconds: all goes where that is much, or the process is near to its bound, else
 * young objects alone. With all of it most of the compiled code goes, since without a task there is no object of most
 * of its forms: 2,000 commits of 64 clients after a pause of 17 s take 0.47 ms of processor time each, and 1.4 after a
 * collection.
 */
export const collectPause = (): void => {
  const heap = heapNow();
  keptOfHeap = Math.min(keptOfHeap, heap);
  const isMuch =
    heap - keptOfHeap > pauseHeapBytesMax || bytesNow() - keptOfAll > freshBytesMax || shared > sharedBytesMax;
  if (isTight || isMuch) collectAll();
  else collectYoung();
};
/** What the heap may have grown by; the engine's own collections keep garbage to one and a half times what is used. */
const pauseHeapBytesMax = 128 << 20;
/** For a thread that had no task for long: whatever is left of the last ones goes, however little. */
export const collectRest = (): void => {
  collectAll();
};

/**
 * Told every now and then how much of its memory the process takes: of much of it threads give back sooner what they do
 * not need.
 */
export const noteResident = (bytes: number, bytesMax: number): void => {
  isTight = bytes > bytesMax * tightShare;
};
const tightShare = 3 / 4;
let isTight = false;

/** For a task that reads columns: these are young and many, and the collector by itself does not see them as such. */
export const collectRead = (bytes: number): void => {
  if ((unlooked += bytes) < lookedBytes) return;
  unlooked = 0;
  if (isTight && fresh() > youngBytesMax) collectYoung();
};
const lookedBytes = 4 << 20;
let unlooked = 0;

/** For a thread that passes bytes on: the pieces of a socket are young, and it would keep 64 MB of them. */
export const collectPassed = (bytes: number): void => {
  if ((passed += bytes) < passedBytes) return;
  passed = 0;
  if (fresh() > passedBytes / 2) collectYoung();
};
const passedBytes = 16 << 20;
let passed = 0;

const fresh = (): number => {
  const bytes = bytesNow();
  kept = Math.min(kept, bytes);
  keptOfAll = Math.min(keptOfAll, bytes);
  return bytes - kept;
};

/** Looks at young objects alone. */
const collectYoung = (): void => {
  gc({ type: 'minor' });
  kept = bytesNow();
};
