/**
 * `npm run test:bucket [URL] [FILES]`: the tests of recorded cases and exchanges, endpoints, clients, laws and pages with
 * their lakes in a bucket (support/store/test-store.ts): of a small store in each process, or of the store at URL, which has a
 * bucket `lakes` and the user `key`, `secret`; with `versitygw` or `moto` of one that is started for it.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startMoto } from '../support/store/moto.ts';
import { startVersity } from '../support/store/versitygw.ts';

const files = [
  'test/conformance.test.ts',
  'test/exchanges.test.ts',
  'test/http-cases.test.ts',
  'test/pools/transaction.test.ts',
  'test/pools/merge-records.test.ts',
  'test/pools/time-travel.test.ts',
  'test/pools/upsert.test.ts',
  'test/pools/identity.test.ts',
  'test/unit/http/answer-formats.test.ts',
  'test/client',
  'test/clients',
  'test/laws',
  'test/browser',
];
/** In the region that the tests' lakes are signed for. */
const stores: Readonly<Record<string, () => Promise<{ endpoint: string; close: () => Promise<void> }>>> = {
  versitygw: () => startVersity('lakes', 'us-east-1'),
  moto: () => startMoto('lakes'),
};
const [where = '', ...chosen] = process.argv.slice(2).sort((a, b) => Number(isStore(b)) - Number(isStore(a)));
function isStore(word: string): boolean {
  return word in stores || word.startsWith('http');
}
const started = await stores[where]?.();
const store = started?.endpoint ?? (isStore(where) ? where : 'memory');
const named = isStore(where) || where === '' ? chosen : [where, ...chosen];
const child = spawn('npx', ['vitest', 'run', ...(named.length > 0 ? named : files)], {
  cwd: fileURLToPath(new URL('../../', import.meta.url)),
  stdio: 'inherit',
  env: { ...process.env, LAKE_TEST_STORE: store },
});
process.exitCode = await new Promise<number>((resolve) => child.once('exit', (status) => resolve(status ?? 1)));
await started?.close();
