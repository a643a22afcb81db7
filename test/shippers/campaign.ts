/**
 * `npm run shippers [-- RECORDS KILLS SECONDS NAME]`: 100,000 records of each program that is here (whose name has NAME in
 * it), five kills of the service, and no longer than so many seconds for what is to come after each. Ends
 * with status 1 where a program's records are not as sure as the manual says.
 */
import { ship } from './ship.ts';
import { shippers } from './shippers.ts';
import { faultOf } from './sureness.ts';

const [records = 100_000, kills = 5, seconds = 900] = process.argv.slice(2, 5).map(Number);
const wanted = process.argv[5] ?? '';
const here = shippers.filter(({ lacks, name }) => {
  if (!name.includes(wanted)) return false;
  const isAbsent = lacks();
  if (isAbsent) console.log(`left out: ${name}`);
  return !isAbsent;
});
const since = performance.now();
const shipped = await ship(here, {
  records,
  kills,
  waitMs: seconds * 1000,
  told: (text) => {
    console.log(`${((performance.now() - since) / 1000).toFixed(1)} s: ${text}`);
  },
});
for (const shipper of here) {
  const fault = faultOf(shipper, records, shipped.get(shipper.name)!);
  if (fault === undefined) continue;
  console.log(`${shipper.name}: ${fault}\n${shipped.get(shipper.name)!.said}`);
  process.exitCode = 1;
}
