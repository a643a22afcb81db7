/** Scripts that tests run in processes of their own: killed, starved, or ended by what they read. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testEngineFlags } from './engine-flags.ts';

/**
 * Arguments of Node that run the script at `url`, which stands in `scripts` of worker-bundle.ts: the file that the run
 * of the tests made of it, with the engine's options of tests, or, where no tests run, the source.
 */
export const scriptArguments = (url: URL): readonly string[] => {
  const folder = process.env['LAKE_TEST_SCRIPTS'];
  if (folder === undefined) return ['--import', 'tsx', fileURLToPath(url)];
  const file = join(folder, `${basename(url.pathname, '.ts')}.mjs`);
  if (!existsSync(file)) throw new Error(`${url.pathname} is none of the scripts in test/support/worker-bundle.ts`);
  return [...testEngineFlags, file];
};
