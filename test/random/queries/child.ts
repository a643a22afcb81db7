/**
 * Runs random queries in a process of its own, since a query may hang it or end it. Says on file descriptor 3 what it
 * is at: `START index`, `FAULT index text`, `DONE ran partitioned`. Its parent knows by that what killed it.
 */
import { writeSync } from 'node:fs';
import { type QueryCase, faultOf, queryCase, shrunk, textOf } from './checks.ts';
import { sqlFaults } from './sql.ts';

export interface Work {
  readonly kind: 'pipes' | 'sql';
  readonly seed: number;
  readonly start: number;
  readonly end: number;
  readonly cpuMsMax: number;
}

const work = JSON.parse(process.argv[2]!) as Work;
const tell = (line: string): void => {
  writeSync(3, `${line}\n`);
};
const told = { ran: 0, partitioned: 0 };

const describe = (c: QueryCase, fault: string): string =>
  `${c.typed ? 'typed: ' : ''}${textOf(c)}\nrows: ${c.rows.join(' ')}\nother: ${c.other.join(' ')}\n${fault}`;

const pipes = async (): Promise<void> => {
  for (let index = work.start; index < work.end; index++) {
    tell(`START ${index}`);
    const c = queryCase(work.seed, index);
    const began = process.cpuUsage();
    const fault = await faultOf(c, told).catch(
      (problem: unknown) => `internal: ${problem instanceof Error ? problem.stack : String(problem)}`,
    );
    const { user, system } = process.cpuUsage(began);
    const cpuMs = (user + system) / 1000;
    if (fault !== undefined) {
      const small = await shrunk(c, fault);
      tell(`FAULT ${index} ${JSON.stringify(describe(small, (await faultOf(small).catch(String)) ?? fault))}`);
    } else if (cpuMs > work.cpuMsMax) tell(`FAULT ${index} ${JSON.stringify(describe(c, `${Math.round(cpuMs)} ms`))}`);
  }
};
if (work.kind === 'pipes') await pipes();
else {
  tell(`START ${work.start}`);
  told.ran = await sqlFaults(work, {
    began: (index) => {
      tell(`START ${index}`);
    },
    fault: (index, text) => {
      tell(`FAULT ${index} ${JSON.stringify(text)}`);
    },
  });
}
tell(`DONE ${told.ran} ${told.partitioned}`);
