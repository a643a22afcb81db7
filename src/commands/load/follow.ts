/**
 * `lake load -follow`: loads what is in files and what comes to them, each byte once, over restarts of the command and
 * of the service.
 *
 * - A file that was renamed is read on. One that was truncated is read from its beginning, and what it had before from
 *   the copy that was made of it, if there is one beside it or among the files.
 * - A copy of a file that is followed is left alone for as long as that goes on.
 */
import { statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { resolve as resolvePath } from 'node:path';
import { shownService } from './address.ts';
import { ConfigError } from '../../config/options.ts';
import type { LoadOptions } from '../../config/tables.ts';
import type { CommandIo } from '../io.ts';
import { FollowState } from './follow-state.ts';
import { FollowedFiles } from './followed-files.ts';
import { filesMatching, filesUnder, isGlob } from './inputs.ts';
import type { Target } from './service.ts';
import { Ended } from './shipment.ts';

/** How often files are looked at when nothing comes. */
const lookMs = 200;
/** Each is open while it is followed. */
const filesMax = 1000;
/** How long an end waits for an answer that is under way. */
const endMsMax = 10_000;

/** Follows until a signal ends it; exit status 0 then. @throws ConfigError, and what the service refuses for good */
export const follow = async (
  target: Target,
  given: readonly string[],
  { values }: LoadOptions,
  io: CommandIo,
): Promise<number> => {
  const foreign = given.find((name) => name === '-' || /^https?:\/\//i.test(name));
  if (foreign !== undefined) throw new ConfigError(`lake load: -follow takes files, folders and globs, not ${foreign}`);
  const header = values['csv.header'];
  if (values['csv.skip'] !== '' || !['', '0', '1'].includes(header))
    throw new ConfigError('lake load: -follow takes CSV whose first line has the names, or none (-csv.header 0)');
  const folder = resolvePath(io.cwd, values['state']);
  const state = await FollowState.open(folder, `${target.pool}@${target.branch} at ${shownService(target.service)}`);
  const stop = stopOnSignals();
  const files = new FollowedFiles({
    target,
    state,
    io,
    limits: {
      bytes: values['batch.bytes'],
      lineBytes: values['batch.line'],
      waitMs: values['batch.wait'],
      parallel: values['parallel'],
    },
    hasHeader: header !== '0',
    ...stop,
  });
  try {
    while (!stop.ending.aborted) {
      const paths = [...new Set(given.flatMap((name) => pathsOf(name, io.cwd)))];
      if (paths.length > filesMax) throw new Error(`${paths.length} files to follow, at most ${filesMax}`);
      await files.look(paths);
      if (await files.load()) continue;
      state.write();
      await pause(lookMs, undefined, { signal: stop.ending }).catch(() => undefined);
    }
    return 0;
  } catch (problem) {
    if (problem instanceof Ended) return 0;
    throw problem;
  } finally {
    stop.done();
    await files.close();
    state.write();
    await state.close();
  }
};

/** The files that a name means now. */
const pathsOf = (name: string, cwd: string): readonly string[] => {
  const stat = statSync(resolvePath(cwd, name), { throwIfNoEntry: false });
  if (stat?.isDirectory()) return filesUnder(name, cwd);
  if (stat?.isFile()) return [name];
  return isGlob(name) ? filesMatching(name, cwd) : [];
};

/** `ending`: nothing new is begun; `giveUp`: what is under way is left. A second signal ends the process at once. */
const stopOnSignals = (): {
  readonly ending: AbortSignal;
  readonly giveUp: AbortSignal;
  readonly done: () => void;
} => {
  const ending = new AbortController();
  const giveUp = new AbortController();
  const stop = (): void => {
    ending.abort();
    setTimeout(() => {
      giveUp.abort();
    }, endMsMax).unref();
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, stop);
  return {
    ending: ending.signal,
    giveUp: giveUp.signal,
    done: () => {
      for (const signal of signals) process.removeListener(signal, stop);
    },
  };
};
