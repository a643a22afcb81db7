/**
 * Part `outages`: the system calls of a service that makes the files of Iceberg tables are recorded, and the power goes
 * after each of them (disk-trace.ts). What rows of the tables name is there and whole, byte by byte, and is told of in
 * columns that are there.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { mergedOf, metadataOf, poolOf, readColumns, renditionsOf } from '../../../src/iceberg/rows.ts';
import type { Mapping } from '../../../src/iceberg/kinds.ts';
import { base62 } from '../../../src/lake/ksuid.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type { Id } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { randomOf } from '../../support/random.ts';
import { readTrace, straceCommand, type Trace, writeImage } from '../disk-trace.ts';
import type { PartRun } from '../part.ts';
import { courseTables, faultAtStart, runCourse, serveTables } from './course.ts';

/** Prefixes of the trace that a seed takes, evenly. */
const prefixes = 40;
/** From seed to seed they are so many further on. */
const further = 7;
/** How often it is looked whether a trace is whole, milliseconds. */
const lookMs = 50;
/** One of so many images is served as well. */
const servedPart = 80;

export const outages: PartRun = async ({ folder, seeds, count, failed }) => {
  const disk = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'lake-outages-'));
  const whole = join(disk, 'whole');
  let trace: Trace | undefined;
  try {
    for (const seed of seeds) {
      const random = randomOf(seed + 15_485);
      if (!trace) {
        trace = await traced(folder);
        writeImage(trace, trace.events.length, { keep: 'all' }, whole);
        count('system calls', trace.events.length);
      }
      const first = trace.events.findIndex((event) => event.kind === 'link' && event.path.startsWith('iceberg/'));
      if (first < 0) throw new Error('no file of a table was made');
      const stride = Math.ceil((trace.events.length - first) / prefixes);
      for (let end = first + 1 + ((seed * further) % stride); end <= trace.events.length; end += stride)
        for (const cut of [
          { keep: 'nothing' },
          { keep: 'some', sectorBytes: random.pick([512, 4096]), random },
        ] as const) {
          const image = join(disk, 'lake');
          rmSync(image, { recursive: true, force: true });
          writeImage(trace, end, cut, image);
          // The reader of suspect tables is a process of its own.
          rmSync(join(image, 'running'), { force: true });
          const isServed = random.below(servedPart) === 0;
          const fault = await faultOfImage(image, whole, isServed, count);
          count('images');
          if (fault !== undefined) failed(seed, `power cut after call ${end}, ${JSON.stringify(cut.keep)}: ${fault}`);
        }
    }
  } finally {
    rmSync(disk, { recursive: true, force: true });
  }
};

const traced = async (folder: string): Promise<Trace> => {
  const lake = join(folder, 'lake');
  const out = join(folder, 'trace');
  // The tracer is not what is started: signals go to the service.
  const [strace = '', ...options] = straceCommand(out);
  const service = await serveTables(lake, ['env', 'UV_THREADPOOL_SIZE=1', strace, '-D', ...options]);
  try {
    await runCourse(service.address, async (answer) => {
      if (answer.status !== 200) throw new Error(`${answer.url}: ${answer.status} ${await answer.text()}`);
    });
  } finally {
    await service.end();
  }
  // The tracer ends after it.
  while (!/\+\+\+\n$/.test(readFileSync(out, 'utf8'))) await pause(lookMs);
  return readTrace(out, lake);
};

const faultOfImage = async (
  image: string,
  whole: string,
  isServed: boolean,
  count: (what: string, n?: number) => void,
): Promise<string | undefined> => {
  try {
    const named = await namedFiles(image);
    for (const file of named.files) {
      const path = join('iceberg', file.slice(38), file);
      if (!existsSync(join(image, path))) return `${path} is named and not there`;
      if (!readFileSync(join(image, path)).equals(readFileSync(join(whole, path)))) return `${path} is not whole`;
    }
    count('files', named.files.size);
    if (!isServed) return undefined;
    count('served');
    return await faultAtStart(image, named.tables);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

/** What the rows of a lake's tables name; throws where one has a column that is not there. */
const namedFiles = async (
  image: string,
): Promise<{ readonly files: ReadonlySet<Id>; readonly tables: readonly string[] }> => {
  const faults: unknown[] = [];
  const report = (fault: unknown): void => {
    faults.push(fault);
  };
  const lake = await openLake({ directory: image, objects: openObjects(image), report });
  const files = new Set<Id>();
  const tables = lake.pools().map(({ name }) => name);
  try {
    for (const { id } of lake.pools())
      for (const mapping of Object.keys(courseTables) as Mapping[]) {
        const pool = poolOf(lake.derived(base62(id)), mapping);
        const columns = readColumns(pool).length;
        const named = [
          ...[...renditionsOf(pool)].map(({ rendition }) => rendition),
          ...[...mergedOf(pool)].flatMap(({ merged }) => merged ?? []),
        ];
        for (const { file, schema, columns: own } of named) {
          files.add(file);
          const most = Math.max(schema, ...own.map((column) => column.id));
          if (most > columns) throw new Error(`a file has column ${most} of ${columns}`);
        }
        for (const { digest } of metadataOf(pool)) files.add(digest);
      }
  } finally {
    await lake.close();
  }
  if (faults.length > 0) throw faults[0];
  return { files, tables };
};
