/**
 * Options of the JavaScript engine that all threads run with. The launcher sets them before it loads anything else
 * (main.ts), and none is changed after that: compiled code is kept for an engine with these very options.
 *
 * Each stands beside what it gains, measured with and without it in one run.
 */

/**
 * The engine adds the memory of typed arrays to a thread's heap, which is small beside them, and left to itself
 * collects all of it after every 30 MB of columns: a third of the time of a query that makes many, though nearly all of
 * them die young. So one and a half times what a collection left may come before the next.
 * Without, eight of ClickBench's groupings of a million rows take 1.2 times the processor time.
 * With four times, groupings of 10,000,000 rows take 0.85 of the processor time, and a service that only takes commits
 * holds 70 MB more (400 in place of 330).
 */
const heapGrowth = '--heap-growing-percent=150';

/**
 * Compiled code goes when no object is left of some form that it is for; between two queries that is the case for most.
 * The engine remembers forms for two collections, which come within a second of work: for so many it costs little
 * memory. Without, 300 small commits after large loads and queries take 1.1 times the processor time, and 1.3 times as
 * long.
 */
const keepForms = '--retain-maps-for-n-gc=100';

/**
 * What a function was compiled to goes when some collections have passed without a call of it. It is a few megabytes;
 * without, 300 small commits and 60 short queries after large loads and queries take 1.3 times the processor time.
 */
const keepCode = '--no-flush-bytecode';

/**
 * What a function must have run, in bytes of its code, before it is looked at for compilation to the fastest code; the
 * engine's own number is half of that. A query calls some hundred functions once or twice for each block, and compiling
 * these took a quarter to a half of the processor time of its first runs, more than they ever give back; loops over
 * rows get there within some blocks all the same. Small functions are compiled at the first such look instead of the
 * third, large ones at nearly as many as ever: the way of a small commit is made of small functions. Without that, and with
 * twice the bytes, 64 clients that commit take 1.26 times the processor time in their first half minute, and queries
 * the same.
 *
 * Node 20 alone: engines since then count calls in their place and do not know the first, which they complain of.
 */
const compileLater = process.versions.node.startsWith('20.')
  ? ['--interrupt-budget=135168', '--ticks-before-optimization=1']
  : [];

/** Threads collect at moments of their own choice (workers/collector.ts). */
const exposeGc = '--expose-gc';

/** What lmdb turns on when it is loaded: here too, since code is kept for an engine with the very same options. */
const fastCalls = '--turbo-fast-api-calls';

/** The options, in the engine's own spelling. */
export const engineFlags: readonly string[] = [heapGrowth, keepForms, keepCode, ...compileLater, exposeGc, fastCalls];
