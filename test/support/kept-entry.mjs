/**
 * Runs the file `entry.cjs` beside it, which is all of a worker thread. The first thread that has run for a while keeps
 * the code that the engine made of it by then, for an engine of this version with these options: compiling the text is
 * most of a thread's start. `worker-bundle.ts` copies this file into the folder of a run of the tests.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { Script, constants } from 'node:vm';

const keepAfterMs = 1000;
const file = fileURLToPath(new URL('entry.cjs', import.meta.url));
const kept = `${file}.${cachedDataVersionTag()}.code`;

const script = new Script(
  // The bundle is nothing but ASCII.
  `(function (exports, require, module, __filename, __dirname) { ${readFileSync(file, 'latin1')}\n})`,
  {
    filename: file,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(existsSync(kept) && { cachedData: readFileSync(kept) }),
  },
);
const module = { exports: {} };
script
  .runInThisContext()
  .call(module.exports, module.exports, createRequire(import.meta.url), module, file, dirname(file));

const keep = () => {
  if (existsSync(kept)) return;
  const making = `${kept}.${process.pid}.${Math.random()}`;
  try {
    writeFileSync(making, script.createCachedData());
    renameSync(making, kept);
  } catch {
    // The run is over, and its folder gone.
  }
};
if (!existsSync(kept)) setTimeout(keep, keepAfterMs).unref();
