/**
 * Loads the bundled program with the code that the engine made of it when it was built (`.code` files beside it):
 * reading and compiling some 4 MB of text in each thread is most of a start otherwise. `dist/src/main.js` requires this
 * file on the main thread, and worker threads begin with it.
 *
 * - Kept code is used for the very text that it was made of; a text that was changed is compiled as usual.
 * - It is for an engine of one version with one set of options. Another engine reads the files as Node does, with
 *   Node's own cache of compiled code where it has one (`module.enableCompileCache`, Node 22). Where both are possible,
 *   a start with Node's cache takes 1.2 times the processor time that it takes with ours, and 1.55 times without any.
 * - What an ES module was compiled to is kept by neither: so the bundle is CommonJS.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { Script, constants } from 'node:vm';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';
import { nameSourceLines } from './stack-lines.ts';

const outside = nodeModule.createRequire(import.meta.url);
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
  const digest = digestOf(text);
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

const digestOf = (text: Buffer): Buffer => createHash('sha1').update(text).digest();
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
  if (isMainThread) writeFileSync(engineFile, engine);
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

/** Says which engine the kept code is for: the version of Node, and the engine's own tag, which covers its options. */
const engineFile = join(folder, 'engine.txt');
const engine = `${process.version} ${cachedDataVersionTag()}`;
const isForThisEngine = (): boolean => {
  try {
    return readFileSync(engineFile, 'latin1') === engine;
  } catch {
    return false;
  }
};
/** Node 20 has none. */
const useNodesCache = (): void => {
  if ('enableCompileCache' in nodeModule)
    (nodeModule.enableCompileCache as (folder: string) => unknown)(join(folder, 'compile-cache'));
};

nameSourceLines(folder);
const entry = isMainThread ? './program.cjs' : './entry.cjs';
if (isKeeping) keepWhenAsked();
if (isKeeping || isForThisEngine()) require(entry);
else {
  useNodesCache();
  outside(entry);
}
