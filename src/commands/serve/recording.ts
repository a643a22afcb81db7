/** The recording that `lake serve -record` asks for. */
import { resolve as resolvePath } from 'node:path';
import { messageOf } from '../../errors.ts';
import type { ServeConfig } from '../../config/serve.ts';
import type { MachineWatch } from '../../recording/watch.ts';
import { version } from '../../version.ts';
import { Recorder } from '../recorder.ts';

/** Options that have a say in what happens, which the recording names; others may hold secrets. */
const told = [
  'workerCount',
  'memoryBytesMax',
  'queueJobsMax',
  'tasksMax',
  'expandedBytesMax',
  'queryStatusMs',
  'subscribersMax',
  'subscriberEventsMax',
] as const satisfies readonly (keyof ServeConfig)[];

/** Begins what `-record` asks for, if anything. */
export const beginRecording = async (
  config: ServeConfig,
  {
    cwd,
    watch,
    report,
  }: { readonly cwd: string; readonly watch: MachineWatch; readonly report: (fault: unknown) => void },
): Promise<Recorder | undefined> => {
  const { file, ...limits } = config.record;
  if (file === '') return undefined;
  const options = Object.fromEntries(told.map((name) => [name, config[name]]));
  return Recorder.open({ path: resolvePath(cwd, file), ...limits, watch, version, options, report }).catch(
    (cause: unknown) => {
      throw new Error(`-record ${messageOf(cause)}`, { cause });
    },
  );
};
