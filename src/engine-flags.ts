/**
 * Options of the JavaScript engine that all threads run with. They are set while it runs, before anything that they
 * bear upon.
 */

/**
 * The engine adds the memory of typed arrays to a thread's heap, which is small beside them, and left to itself
 * collects all of it after every 30 MB of columns: a third of the time of a query that makes many, though nearly all of
 * them die young. So one and a half times what a collection left may come before the next.
 */
const heapGrowth = '--heap-growing-percent=150';

/**
 * Compiled code goes when no object is left of some form that it is for; between two queries that is the case for most.
 * The engine remembers forms for two collections, which come within a second of work: for so many it costs little
 * memory.
 */
const keepForms = '--retain-maps-for-n-gc=100';

/**
 * What a function was compiled to goes when some collections have passed without a call of it: after a few large
 * queries the next small commit took ten times as long. It is a few megabytes.
 */
const keepCode = '--no-flush-bytecode';

/**
 * Worker threads collect at moments of their own choice; lmdb turns fast calls on. Here too, since code that the build
 * kept is for the very same options.
 */
const others = ['--expose-gc', '--turbo-fast-api-calls'];

/** V8 12 and later (Node 22) count calls, before that it counts the work of a function. */
const countsCalls = Number(process.versions.v8.split('.', 1)[0]) >= 12;
/**
 * What is called in the warm-up is compiled after a twentieth of the usual work, and soon after its calls have shown
 * all forms of objects that there are: else the first clients' calls would have much of it compiled beside them, at
 * some milliseconds each. `usual` is what the engine has by default; later on early code would only be made again and
 * again.
 */
export const compiling: { readonly [when in 'early' | 'usual']: readonly string[] } = {
  early: [
    ...(countsCalls
      ? ['--invocation-count-for-maglev=20', '--invocation-count-for-turbofan=150']
      : ['--interrupt-budget=3000']),
    '--minimum-invocations-after-ic-update=50',
  ],
  usual: [
    ...(countsCalls
      ? ['--invocation-count-for-maglev=400', '--invocation-count-for-turbofan=3000']
      : ['--interrupt-budget=67584']),
    '--minimum-invocations-after-ic-update=500',
  ],
};

/** The options, in the engine's own spelling. */
export const engineFlags: readonly string[] = [heapGrowth, keepForms, keepCode, ...others];
