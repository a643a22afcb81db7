/**
 * Loads the bundled program with the code that the engine made of it when it was built (`.code` files beside it):
 * reading and compiling some 4 MB of text in each thread is most of a start otherwise. `dist/src/main.js` requires this
 * file on the main thread, and worker threads begin with it.
 *
 * - Kept code is used for the very text that it was made of, by an engine of the same version with the same options;
 *   else the text is compiled as usual.
 * - Node 20 has no compile cache of its own (`module.enableCompileCache` is Node 22's), and none keeps what an ES
 *   module was compiled to: so the bundle is CommonJS.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Script, constants } from 'node:vm';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';
import { engineFlags } from '../engine-flags.ts';
import { nameSourceLines } from './stack-lines.ts';

const outside = createRequire(import.meta.url);
const folder = dirname(fileURLToPath(import.meta.url));
const thread = isMainThread ? 'main' : 'worker';
const isKeeping = process.env['LAKE_KEEP_CODE'] === '1';

interface Module {
  exports: unknown;
}
type Wrapped = (
  this: unknown,
  exports: unknown,
  require: (id: string) => unknown,
  module: Module,
  file: string,
  folder: string,
) => void;

const modules = new Map<string, Module>();
const scripts: { readonly script: Script; readonly file: string; readonly digest: Buffer }[] = [];

const load = (name: string): unknown => {
  const known = modules.get(name);
  if (known) return known.exports;
  const file = join(folder, name);
  const kept = `${file.slice(0, -'.cjs'.length)}.${thread}.code`;
  const module: Module = { exports: {} };
  modules.set(name, module);
  // The build leaves nothing but ASCII.
  const text = readFileSync(file);
  const digest = createHash('sha1').update(text).digest();
  const cachedData = isKeeping ? undefined : codeOf(kept, digest);
  const script = new Script(
    `(function (exports, require, module, __filename, __dirname) { ${text.toString('latin1')}\n})`,
    {
      filename: file,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      ...(cachedData && { cachedData }),
    },
  );
  if (isKeeping) scripts.push({ script, file: kept, digest });
  (script.runInThisContext() as Wrapped).call(module.exports, module.exports, require, module, file, folder);
  return module.exports;
};
const require = (id: string): unknown => (id.startsWith('./') ? load(id.slice('./'.length)) : outside(id));

const codeOf = (file: string, digest: Buffer): Buffer | undefined => {
  try {
    const bytes = readFileSync(file);
    return digest.equals(bytes.subarray(0, digest.length)) ? bytes.subarray(digest.length) : undefined;
  } catch {
    return undefined;
  }
};
/** Writes what is compiled by now: functions that did not run yet are not. */
const keepCode = (): void => {
  for (const { script, file, digest } of scripts)
    writeFileSync(file, Buffer.concat([digest, script.createCachedData()]));
};

/**
 * The build asks for it (keep-code.ts) by a message to the process, which the main thread passes on; each thread
 * answers when it is done.
 */
const keepWhenAsked = (): void => {
  const channel = new BroadcastChannel('lake-keep-code');
  channel.unref();
  channel.onmessage = (event) => {
    const { data } = event as { readonly data: unknown };
    if (isMainThread) process.send?.(data);
    else if (data === 'keep') {
      keepCode();
      channel.postMessage('kept');
    }
  };
  if (isMainThread) {
    process.once('message', () => {
      keepCode();
      channel.postMessage('keep');
      process.send?.('kept');
    });
    process.channel?.unref();
  }
};

// Kept code is for an engine with the same options.
if (isMainThread) for (const flag of engineFlags) setFlagsFromString(flag);
if (isKeeping) keepWhenAsked();
nameSourceLines(folder);
load(isMainThread ? 'program.cjs' : 'entry.cjs');
