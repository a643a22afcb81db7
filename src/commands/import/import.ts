/**
 * `lake import`: the pools of a SuperDB lake, from its folder into a lake that no service has open. Pools and commits
 * keep their ids, commits their authors, dates and messages: a commit answers as it did there.
 *
 * A pool is whole or not there: what an import that failed has made is removed.
 */
import { existsSync, statSync } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import { optionsText } from '../../config/help.ts';
import { ConfigError, parseOptions } from '../../config/options.ts';
import { importOptions } from '../../config/tables.ts';
import { openLake } from '../../lake/lake.ts';
import { openObjects } from '../../lake/objects/objects.ts';
import { startWorkerPool } from '../../workers/pool.ts';
import type { CommandIo } from '../io.ts';
import { lakeFolder } from '../lake-folder.ts';
import { GivenDraws } from './given-draws.ts';
import { PoolImport } from './pool-import.ts';
import { ForeignLake } from './superdb.ts';

/** Runs the command; exit status 1 if objects that a branch needs are missing. @throws ConfigError, Error, LakeError */
export const importCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const { values, rest, help } = parseOptions(importOptions, argv, process.env);
  if (help) {
    await io.write(Buffer.from(optionsText('import', importOptions)));
    return 0;
  }
  const [from, ...more] = rest;
  if (from === undefined || more.length > 0) throw new ConfigError('lake import: one folder, that of a SuperDB lake');
  const source = resolvePath(io.cwd, from);
  if (!existsSync(source) || !statSync(source).isDirectory()) throw new Error(`${from}: no such folder`);
  const foreign = await ForeignLake.open(source);
  const wanted = values['pool'];
  const all = await foreign.pools();
  const absent = wanted.find((name) => !all.some((pool) => pool.name === name));
  if (absent !== undefined) throw new Error(`${from}: has no pool ${absent}`);
  const pools = wanted.length === 0 ? all : all.filter(({ name }) => wanted.includes(name));
  const directory = lakeFolder(io.cwd, values['lake']);
  const draws = new GivenDraws();
  const lake = await openLake({ directory, objects: openObjects(directory), owner: 'lake import', draws });
  const workers = startWorkerPool({ lakeDirectory: directory, threads: 1 }, lake);
  try {
    const taken = pools.find(({ id, name }) => lake.pools().some((pool) => pool.id === id || pool.name === name));
    if (taken) throw new Error(`pool ${taken.name}: the lake has it already, by its name or id (option -pool)`);
    let status = 0;
    for (const pool of pools) {
      const { commits, vacuumed, lost } = await new PoolImport({ foreign, lake, workers, draws }, pool).run();
      await io.write(Buffer.from(`${pool.name}: ${commits} commits, ${vacuumed} vacuumed objects\n`));
      for (const { branch, objects } of lost) {
        status = 1;
        io.complain(
          `${pool.name}@${branch}: ${objects} of its objects are missing in ${from}: it has no rows of them\n`,
        );
      }
    }
    return status;
  } finally {
    await workers.close();
    await lake.close();
  }
};
