/**
 * `npm run test:bucket [URL] [FILES]`: the tests of recorded cases and exchanges, endpoints, clients, laws and pages with
 * their lakes in a bucket (support/test-store.ts): of a small store in each process, or of the store at URL, which has a
 * bucket `lakes` and the user `key`, `secret`; with `versitygw` of one that is started for it.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startVersity } from '../support/versitygw.ts';

const files = [
  'test/conformance.test.ts',
  'test/exchanges.test.ts',
  'test/http-cases.test.ts',
  'test/transaction.test.ts',
  'test/merge-records.test.ts',
  'test/time-travel.test.ts',
  'test/upsert.test.ts',
  'test/identity.test.ts',
  'test/client',
  'test/clients',
  'test/laws',
  'test/browser',
];
const [where = '', ...chosen] = process.argv.slice(2).sort((a, b) => Number(isStore(b)) - Number(isStore(a)));
function isStore(word: string): boolean {
  return word === 'versitygw' || word.startsWith('http');
}
const versity = where === 'versitygw' ? await startVersity('lakes') : undefined;
const store = versity?.endpoint ?? (isStore(where) ? where : 'memory');
const named = isStore(where) || where === '' ? chosen : [where, ...chosen];
const child = spawn('npx', ['vitest', 'run', ...(named.length > 0 ? named : files)], {
  cwd: fileURLToPath(new URL('../../', import.meta.url)),
  stdio: 'inherit',
  env: { ...process.env, LAKE_TEST_STORE: store },
});
process.exitCode = await new Promise<number>((resolve) => child.once('exit', (status) => resolve(status ?? 1)));
await versity?.close();
