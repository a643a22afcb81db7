/** Protected branches tell administrators of the pool from who may only write, whichever way a change comes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bearer, lakeKey } from '../iceberg/support.ts';
import { startService } from '../support/server.ts';

test('a writer of the pool is refused, an administrator is not, and only the latter protects', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-protection-'));
  const keys = {
    admin: await lakeKey(directory, 'add', '-role', 'admin', 'admin'),
    writer: await lakeKey(directory, 'add', '-role', 'writer:p', 'writer'),
    owner: await lakeKey(directory, 'add', '-role', 'admin:p', 'owner'),
  };
  const service = await startService(['-auth.keys', '-workers', '1'], directory);
  try {
    const ask = async (who: keyof typeof keys, method: string, path: string, body = ''): Promise<number> =>
      (await service.ask(method, path, { headers: bearer(keys[who]), ...(body !== '' && { body }) })).status;
    expect(await ask('admin', 'POST', '/pool', '{name:"p",layout:{keys:[["a"]]}}')).toBe(200);
    expect(await ask('writer', 'POST', '/pool/p/branch/main', '{a:1}')).toBe(200);
    const protection = '/pool/p/branch/main/protection';
    const admins = '{load:"admin",delete:"admin",merge:"admin",reset:"admin"}';
    expect(await ask('writer', 'PUT', protection, admins)).toBe(403);
    expect(await ask('owner', 'PUT', protection, admins)).toBe(200);
    expect(await ask('writer', 'GET', protection)).toBe(200);
    const zero = '0x0000000000000000000000000000000000000000';
    expect(await ask('writer', 'POST', '/pool/p', `{name:"kid",commit:"${zero}"}`)).toBe(200);
    expect(await ask('writer', 'POST', '/pool/p/branch/kid', '{a:2}')).toBe(200);
    const changes = [
      ['POST', '/pool/p/branch/main', '{a:3}'],
      ['POST', '/query', '{query:"values {a:4} | load p"}'],
      ['POST', '/pool/p/branch/main/delete', '{where:"a==1"}'],
      ['POST', '/pool/p/branch/main/merge/kid', ''],
      ['PUT', '/pool/p/branch/main', `{commit:"${zero}"}`],
      ['DELETE', '/pool/p/branch/main', ''],
    ] as const;
    for (const [method, path, body] of changes)
      expect([path, await ask('writer', method, path, body)]).toEqual([path, 403]);
    const done = [];
    for (const [method, path, body] of changes) done.push(await ask('owner', method, path, body));
    expect(done).toEqual([200, 200, 200, 200, 200, 204]);
  } finally {
    await service.close();
    await rm(directory, { recursive: true });
  }
});
