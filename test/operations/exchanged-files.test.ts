/** Files of data objects that were exchanged, as a restore by hand may do it: the object is named, no other's rows come. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { program, startBuiltService } from '../support/service/built.ts';
import { randomOf } from '../support/random.ts';

const fsck = (...argv: readonly string[]): string => {
  try {
    return execFileSync(process.execPath, [program, 'fsck', ...argv], { encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const { status, stdout } = error as { readonly status: number; readonly stdout: string };
    return `${status}: ${stdout}`;
  }
};

test("an object's file that holds another object of the same length is damage, and a repair takes it out", async () => {
  const service = await startBuiltService();
  const { lake } = service;
  const ask = async (address: string, path: string, body: string): Promise<string> => {
    const headers = { accept: 'application/x-ndjson', 'content-type': 'application/json' };
    const answer = await fetch(address + path, { method: 'POST', body, headers });
    return answer.text();
  };
  const random = randomOf(3);
  const load = (from: number): Promise<string> =>
    ask(
      service.address,
      '/pool/p/branch/main',
      Array.from({ length: 800 }, (_, k) => JSON.stringify({ k: from + k, text: random.hex(300) })).join('\n'),
    );
  await ask(service.address, '/pool', '{"name":"p","layout":{"order":"asc","keys":[["k"]]}}');
  await load(0);
  await load(800);
  await service.end();
  const [first, second] = readdirSync(join(lake, 'objects'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const pathOf = (file: typeof first): string => join(file!.parentPath, file!.name);
  expect(statSync(pathOf(first)).size).toBe(statSync(pathOf(second)).size);
  copyFileSync(pathOf(first), pathOf(second));
  const fault = `object ${second!.name}: footer: these are the bytes of object ${first!.name}`;
  const query = '{"query":"from p | sum(k)"}';

  const again = await startBuiltService({ lake });
  expect(JSON.parse(await ask(again.address, '/query', query))).toMatchObject({ type: 'Error', error: fault });
  await again.end();
  expect(fsck('-lake', lake)).toMatch(new RegExp(`^1: [^]*${fault}[^]*\\ndamaged: 1 fault\\n$`));
  expect(fsck('-lake', lake, '-repair')).toContain('800');
  const repaired = await startBuiltService({ lake });
  expect(await ask(repaired.address, '/query', query)).toBe(`${(799 * 800) / 2}\n`);
  await repaired.stop();
  await service.stop();
}, 120_000);
