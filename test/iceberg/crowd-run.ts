/**
 * `npm run engines:crowd [-- SECONDS [CLIENTS [MAPPING]]]`: engines read while 64 clients change what they read
 * (crowd.ts); Spark too, where `ICEBERG_SPARK` says where it is.
 */
import { startBuiltService } from '../support/service/built.ts';
import { randomOf, seedOf } from '../support/random.ts';
import { crowdEngines, crowdRun } from './crowd.ts';

const [secondsText = '120', clientsText = '64', mappingText] = process.argv.slice(2);
const [seconds, clients] = [Number(secondsText), Number(clientsText)];
const mapping = mappingText === 'variant' ? mappingText : 'typed';
const seed = seedOf(Date.now() % 1_000_000);
const python = process.env['ICEBERG_PYTHON'];
if (python === undefined) throw new Error('ICEBERG_PYTHON is not set: the folder of the engines (.ci/run)');
console.log(`seed ${seed}: ${clients} clients, ${seconds} s, mapping ${mapping}`);
const service = await startBuiltService({ flags: ['-iceberg.grace', '1m'] });
const until = Date.now() + seconds * 1000;
try {
  const { wrong, ...figures } = await crowdRun({
    address: service.address,
    clients,
    seed,
    random: randomOf(seed),
    mapping,
    engines: [...crowdEngines[mapping], ...(process.env['ICEBERG_SPARK'] === undefined ? [] : (['spark'] as const))],
    python,
    isOver: () => Date.now() >= until,
  });
  console.log(JSON.stringify(figures, undefined, 2));
  for (const line of wrong) console.log(line);
  console.log(wrong.length === 0 ? 'every read is what a commit holds' : `${wrong.length} reads are wrong`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
} finally {
  console.log(service.printed().slice(0, 2000));
  await service.stop();
}
