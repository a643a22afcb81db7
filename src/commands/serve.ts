/** `lake serve`: opens the lake, starts the workers and the HTTP server, and closes them in turn when a signal comes. */
import { mkdirSync } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import pino from 'pino';
import { parseServe } from '../config.ts';
import { startServer } from '../http/server.ts';
import { openLake } from '../lake/lake.ts';
import { openObjects } from '../lake/objects.ts';
import { version } from '../version.ts';
import { startWorkerPool } from '../workers/pool.ts';
import type { CommandIo } from './io.ts';

/** Runs until SIGTERM or SIGINT; resolves to the exit status. */
export const serveCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const config = parseServe(argv, process.env);
  if ('help' in config) {
    await io.write(Buffer.from(config.help));
    return 0;
  }
  const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: false }));
  const directory = resolvePath(io.cwd, config.lakeDirectory);
  mkdirSync(directory, { recursive: true });
  const owner = `${config.listen.host}:${config.listen.port}`;
  const lake = await openLake({ directory, objects: openObjects(directory), queueJobsMax: config.queueJobsMax, owner });
  const workers = startWorkerPool({
    lakeDirectory: directory, threads: config.workerCount, queryStatusMs: config.queryStatusMs, tasksMax: config.tasksMax, expandedBytesMax: config.expandedBytesMax,
    loadMemoryBytesMax: Math.floor(config.memoryBytesMax / 4), queryMemoryBytesMax: Math.floor(config.memoryBytesMax / 2),
  }, lake);
  const server = await startServer({ config, version, lake, workers, log }).catch(async (problem: unknown) => {
    await workers.close();
    await lake.close();
    throw problem;
  });
  await io.write(Buffer.from(welcome(server.address, directory)));
  const signal = await new Promise<string>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve(name));
  });
  log.info({ signal }, 'closing');
  await server.close();
  await workers.close();
  await lake.close();
  return 0;
};

const welcome = (address: string, directory: string): string => `The lake in ${directory} is served on ${address}

Try: curl ${address}/pool -H 'Accept: application/json' -d '{name:"events"}'
`;
