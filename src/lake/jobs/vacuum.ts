/** Vacuums. */
import { removeObjects, vacuumable } from '../commits/vacuum.ts';
import type { OtherKind } from './job.ts';

/** Objects that only earlier commits hold go for good. */
export const vacuum: OtherKind<'vacuum'> = {
  at: (store, { revision }) => store.resolve(revision),
  work: async ({ store, files, report, payload }, job) => {
    const entries = await vacuumable(store, payload(job.id).candidates);
    if (!job.dryRun) await removeObjects(store, entries, files, report);
    return { objects: entries.map((e) => e.id) };
  },
};
