/** Records what many clients do to the built service, and replays it. */
import { spawnSync } from 'node:child_process';
import { replayMachines, type ReplayReport } from '../../../src/recording/replay.ts';
import { readRecording } from '../../../src/recording/reader.ts';
import { program, startBuiltService } from '../service/built.ts';
import { type MixedReport, runMixedOperations } from '../service/mixed-operations.ts';

interface CampaignOptions {
  readonly recording: string;
  readonly operations: number;
  readonly clients: number;
  readonly seed: number;
  readonly flags?: readonly string[];
  readonly lake?: string;
}

export const recordMixedOperations = async ({
  recording,
  operations,
  clients,
  seed,
  flags = ['-record.bodies'],
  lake,
}: CampaignOptions): Promise<MixedReport> => {
  const service = await startBuiltService({
    flags: ['-record', recording, ...flags],
    ...(lake !== undefined && { lake }),
  });
  try {
    return await runMixedOperations({ address: service.address, operations, clients, seed });
  } finally {
    await service.stop();
  }
};

export const replayTimes = async (recording: string, runs: number): Promise<readonly ReplayReport[]> => {
  const reports: ReplayReport[] = [];
  for (let run = 0; run < runs; run++) reports.push(await replayMachines(readRecording(recording)));
  return reports;
};

/** `lake replay` as people type it. */
export const replayOnLake = (
  recording: string,
  directory: string,
): { readonly status: number | null; readonly printed: string } => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'replay', recording, '-lake', directory], {
    encoding: 'utf8',
  });
  return { status, printed: stdout + stderr };
};
