/**
 * `npm run mutations`: prints for every deleted transition and every negated guard the scenario that notices it; exit
 * status 1 when one is not noticed.
 */
import { mutantText, runMutants } from '../support/machine-mutants.ts';

const mutants = runMutants();
const missed = mutants.filter((m) => m.noticed === undefined);
for (const mutant of mutants) console.log(mutantText(mutant));
console.log(`${mutants.length - missed.length} of ${mutants.length} changes of the machines are noticed by a scenario`);
process.exitCode = missed.length === 0 ? 0 : 1;
