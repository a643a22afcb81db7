/**
 * Part `shortages`: the n-th system call of a kind on the files of Iceberg tables fails (fault-shim.c) in a service that
 * makes them. Requests are answered, those that it harms with a reason; the service goes on, and its tables are right
 * when they are asked for again, and at the next start.
 *
 * A seed is a kind of call and its number.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { faultOfTable } from '../../support/iceberg/http.ts';
import { builtShim, errno, faultKinds } from '../fault-victim.ts';
import type { PartRun } from '../part.ts';
import { courseTables, faultAtStart, runCourse, serveTables } from './course.ts';

const armed = fileURLToPath(new URL('arm.mjs', import.meta.url));

export const shortages: PartRun = async ({ folder, seeds, count, failed }) => {
  const shim = builtShim(folder);
  for (const seed of seeds) {
    const kind = seed % faultKinds.length;
    const n = 1 + Math.floor(seed / faultKinds.length);
    const { name, errors } = faultKinds[kind]!;
    const error = errors[n % errors.length]!;
    const lake = join(folder, `lake-${seed}`);
    try {
      const { struck, fault } = await faultOfRun(lake, shim, `${kind} ${n} ${errno[error]}`);
      count(struck === undefined ? 'not reached' : 'faults');
      const found = fault ?? (await faultAtStart(lake, Object.values(courseTables)));
      if (found !== undefined) failed(seed, `${name} ${n} with ${error} (${struck ?? 'not reached'}): ${found}`);
    } catch (thrown) {
      failed(seed, `${name} ${n} with ${error}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    } finally {
      rmSync(lake, { recursive: true, force: true });
    }
  }
};

/** What is wrong with a table, or with what was answered about it. */
const looked = (address: string, pool: string): Promise<string | undefined> =>
  faultOfTable(address, pool).catch((fault: unknown) => (fault instanceof Error ? fault.message : String(fault)));

/** What harmed requests may be answered with: the disk has a fault, or has no room. */
const reasons = /object-(?:unwritten|unread|missing)|storage-full|E(?:IO|NOSPC|MFILE)|disk|no room/;

const faultOfRun = async (
  lake: string,
  shim: string,
  what: string,
): Promise<{ readonly struck: string | undefined; readonly fault: string | undefined }> => {
  const service = await serveTables(lake, [
    'env',
    `LAKE_FAULTS=/.lake-faults ${what} ${join(lake, 'iceberg')}`,
    `LD_PRELOAD=${shim}`,
    `NODE_OPTIONS=--import=${armed}`,
  ]);
  let fault: string | undefined;
  try {
    await runCourse(service.address, async (answer) => {
      const text = await answer.text();
      if (answer.status !== 200 && !(answer.status >= 500 && reasons.test(text)))
        fault ??= `${answer.url} was answered ${answer.status}: ${text}`;
    });
    for (const pool of Object.values(courseTables)) {
      // The fault may strike in this look; then the table is right when it is asked for again.
      const found = (await looked(service.address, pool)) && (await looked(service.address, pool));
      if (found !== undefined) fault ??= `${pool} in the same service: ${found}`;
    }
  } finally {
    const status = await service.end();
    if (status !== 0) fault ??= `it ended with ${status}: ${service.printed().slice(-2000)}`;
  }
  return { struck: /^struck (.*)$/m.exec(service.printed())?.[1], fault };
};
