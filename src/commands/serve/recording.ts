/** The recording that `lake serve -record` asks for. */
import { resolve as resolvePath } from 'node:path';
import type { ServeConfig } from '../../config/serve.ts';
import type { MachineWatch } from '../../recording/watch.ts';
import { version } from '../../version.ts';
import { Recorder } from '../recorder.ts';

/** Begins what `-record` asks for, if anything. */
export const beginRecording = async (
  config: ServeConfig,
  {
    cwd,
    watch,
    report,
  }: { readonly cwd: string; readonly watch: MachineWatch; readonly report: (fault: unknown) => void },
): Promise<Recorder | undefined> => {
  const {
    record: { file, ...limits },
    workerCount,
    memoryBytesMax,
    queueJobsMax,
    tasksMax,
    expandedBytesMax,
    queryStatusMs,
    subscribersMax,
    subscriberEventsMax,
  } = config;
  // Those that have a say in what happens; others may hold secrets.
  const options = {
    workerCount,
    memoryBytesMax,
    queueJobsMax,
    tasksMax,
    expandedBytesMax,
    queryStatusMs,
    subscribersMax,
    subscriberEventsMax,
  };
  return file === ''
    ? undefined
    : Recorder.open({ path: resolvePath(cwd, file), ...limits, watch, version, options, report });
};
