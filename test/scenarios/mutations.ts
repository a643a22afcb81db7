/**
 * `npm run mutations [MACHINE..]`: prints for every deleted transition and every negated guard the scenario that
 * notices it, and what is then seen otherwise of the service that runs the changed chart; exit status 1 when one is not
 * noticed.
 */
import { type MachineName, machineNames } from '../../machines/machines.ts';
import { liveMutants } from '../support/machines/live-mutants.ts';
import { mutantText, runMutants } from '../support/machines/mutants.ts';

const asked = process.argv.slice(2) as MachineName[];
const names = asked.length > 0 ? asked : machineNames;
const mutants = runMutants(names);
const missed = mutants.filter((m) => m.noticed === undefined);
for (const mutant of mutants) console.log(mutantText(mutant));
console.log(`${mutants.length - missed.length} of ${mutants.length} changes of the machines are noticed by a scenario`);

// What a changed chart breaks in its host is seen by what is not answered.
for (const fault of ['unhandledRejection', 'uncaughtException'] as const) process.on(fault, () => undefined);
const counts = { all: 0, noticed: 0, excused: 0 };
const live = async (): Promise<void> => {
  for await (const { change, noticed, excused } of liveMutants(names)) {
    counts.all++;
    if (noticed !== undefined) counts.noticed++;
    else if (excused !== undefined) counts.excused++;
    const mark = noticed !== undefined ? 'noticed' : excused !== undefined ? 'excused' : 'MISSED ';
    console.log(`service: ${mark} ${change} <- ${noticed ?? excused ?? 'nothing is seen otherwise'}`);
  }
};
await live().catch((fault: unknown) => {
  console.error(fault);
  process.exit(1);
});
const { all, noticed, excused } = counts;
console.log(`${noticed} of ${all} are seen in the service that runs them; ${excused} it never takes`);
process.exit(missed.length === 0 && noticed + excused === all ? 0 : 1);
