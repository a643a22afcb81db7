/**
 * `lake replay`: runs recordings and scenarios again, against the machines alone, with `-lake` against the whole
 * service too, and tells what came out otherwise. Exit status 0 when everything came out the same, 1 when not.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import { ConfigError } from '../../config/options.ts';
import { parseReplay, type ReplayConfig } from '../../config/replay.ts';
import { type Findings, differenceText } from '../../recording/differences.ts';
import { replayMachines } from '../../recording/replay.ts';
import { readRecording } from '../../recording/reader.ts';
import { parseScenario, playScenario } from '../../recording/scenario.ts';
import { isScenarioName } from '../../recording/scenario-words.ts';
import { plural } from '../../lake/commits/messages.ts';
import { makeFolder } from '../../lake/lock.ts';
import type { CommandIo } from '../io.ts';
import { lakeFolder } from '../lake-folder.ts';
import { replayLake } from './lake.ts';
import { planReplay } from './plan.ts';
import { playLakeScenario } from './lake-scenario.ts';

/** Runs the command; gives its exit status. @throws ConfigError */
export const replayCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const config = parseReplay(argv);
  if ('help' in config) {
    await io.write(Buffer.from(config.help));
    return 0;
  }
  let same = true;
  for (const file of config.files) {
    const path = resolvePath(io.cwd, file);
    if (!existsSync(path)) throw new ConfigError(`no such file: ${file}`);
    const run = isScenarioName(file) ? scenario : recording;
    same = (await run({ file, path, config, io })) && same;
  }
  return same ? 0 : 1;
};

interface Run {
  readonly file: string;
  readonly path: string;
  readonly config: ReplayConfig;
  readonly io: CommandIo;
}

const recording = async ({ file, path, config, io }: Run): Promise<boolean> => {
  const machines = await replayMachines(readRecording(path));
  await tell(
    io,
    `${file}: ${plural(machines.messages, 'message')} of ${plural(machines.actors, 'actor')}, ${plural(machines.commits, 'commit')}, ${plural(machines.events, 'event')}, ${plural(machines.tips, 'tip')}`,
    machines,
  );
  if (config.lakeDirectory === '') return machines.differenceCount === 0;
  const directory = freshFolder(config.lakeDirectory, io.cwd);
  const plan = await planReplay(readRecording(path), file);
  const lake = await replayLake(plan, {
    recording: path,
    directory,
    memoryBytesMax: config.memoryBytesMax,
    indexBase: config.indexBase,
    report: (fault) => {
      io.complain(`${String(fault)}\n`);
    },
  });
  const rows = lake.tipsRead > 0 ? `, ${plural(lake.rows, 'row')} of ${plural(lake.tipsRead, 'tip')}` : '';
  await tell(
    io,
    `${config.lakeDirectory}: ${plural(lake.jobs, 'job')}, ${plural(lake.commits, 'commit')}, ${plural(lake.events, 'event')}, ${plural(lake.tips, 'tip')}${rows}`,
    lake,
  );
  return machines.differenceCount + lake.differenceCount === 0;
};

const scenario = async ({ file, path, config, io }: Run): Promise<boolean> => {
  const parsed = parseScenario(readFileSync(path, 'utf8'), file);
  if ('lake' in parsed) {
    if (config.lakeDirectory === '') throw new ConfigError(`${file} is a scenario of a whole lake: it needs -lake DIR`);
    const { steps, differences } = await playLakeScenario(parsed, freshFolder(config.lakeDirectory, io.cwd));
    await tell(io, `${file}: ${plural(steps, 'step')}`, {
      differences,
      differenceCount: differences.length,
      notes: [],
    });
    return differences.length === 0;
  }
  const { steps, differences } = playScenario(parsed);
  await tell(io, `${file}: ${plural(steps.length, 'step')}`, {
    differences,
    differenceCount: differences.length,
    notes: [],
  });
  return differences.length === 0;
};

const tell = async (io: CommandIo, what: string, { differences, differenceCount, notes }: Findings): Promise<void> => {
  const more = differenceCount - differences.length;
  await io.write(
    Buffer.from(
      [
        `${what}: ${differenceCount === 0 ? 'the same' : plural(differenceCount, 'difference')}`,
        ...notes.map((note) => `note: ${note}`),
        ...differences.map(differenceText),
        ...(more > 0 ? [`... and ${more} more`] : []),
        '',
      ].join('\n'),
    ),
  );
};

const freshFolder = (folder: string, cwd: string): string => {
  const directory = lakeFolder(cwd, folder);
  makeFolder(directory);
  if (readdirSync(directory).length > 0)
    throw new ConfigError(`-lake ${folder}: not empty; a replay begins with a fresh lake`);
  return directory;
};
