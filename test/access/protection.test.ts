/** Protected branches tell administrators of the pool from who may only write, whichever way a change comes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bearer, lakeKey } from '../iceberg/support.ts';
import { startService } from '../support/service/server.ts';

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

test('so it is with what changes several records at once: MERGE INTO, bulk requests, each verb of a transaction', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-protection-'));
  const keys = {
    admin: await lakeKey(directory, 'add', '-role', 'admin', 'admin'),
    writer: await lakeKey(directory, 'add', '-role', 'writer:p', 'writer'),
    owner: await lakeKey(directory, 'add', '-role', 'admin:p', 'owner'),
    reader: await lakeKey(directory, 'add', '-role', 'reader:p', 'reader'),
  };
  const service = await startService(['-auth.keys', '-workers', '1'], directory);
  type Who = keyof typeof keys;
  const ask = async (who: Who, method: string, path: string, body = '', headers = {}): Promise<string> => {
    const json = { accept: 'application/json', 'content-type': 'application/json' };
    const told = await service.ask(method, path, {
      headers: { ...json, ...bearer(keys[who]), ...headers },
      ...(body !== '' && { body }),
    });
    return `${told.status} ${told.body}`;
  };
  try {
    await ask('admin', 'POST', '/pool', '{"name":"p","identity":[["id"]],"layout":{"keys":[["id"]]}}');
    await ask('admin', 'POST', '/pool/p/branch/main', '{"id":"a","n":1}');
    const branch = JSON.parse((await ask('admin', 'GET', '/pool/p/branch/main')).slice(4)) as { commit: string };
    await ask('admin', 'POST', '/pool/p', `{"name":"kid","commit":"${branch.commit}"}`);
    await ask('admin', 'POST', '/pool/p/branch/kid', '{"id":"k"}');
    const commit = (fields: object) => (): readonly [string, string] => [
      '/transaction',
      JSON.stringify({ commits: [{ pool: 'p', ...fields }] }),
    ];
    const staged =
      (fields: object, more = '') =>
      async (): Promise<readonly [string, string]> => {
        const told = await ask('admin', 'POST', `/pool/p/branch/main?stage=T${more}`, `{"id":"s"}`);
        return commit({ load: [(JSON.parse(told.slice(4)) as { id: string }).id], ...fields })();
      };
    const merged = "MERGE INTO p USING (VALUES ('a', 2)) v(id, n) ON p.id = v.id WHEN MATCHED THEN UPDATE SET n = v.n";
    const changes = {
      'merge into': [() => ['/query', JSON.stringify({ query: merged })], ['load', 'delete']],
      'bulk by id': [() => ['/p/_bulk', '{"index":{"_id":"a"}}\n{"n":3}\n'], ['load', 'delete']],
      'staged load': [staged({}), ['load']],
      'staged upsert': [staged({}, '&upsert=T'), ['load', 'delete']],
      'load and delete': [staged({ delete: { where: 'id=="a"' } }), ['load', 'delete']],
      'load and update': [staged({ update: { where: 'id=="a"', put: 'n:=1' } }), ['load', 'delete']],
      update: [commit({ update: { where: 'id=="a"', put: 'n:=n+1' } }), ['delete']],
      delete: [commit({ delete: { where: 'id=="nosuch" or id=="a"' } }), ['delete']],
      merge: [commit({ merge: 'kid' }), ['merge']],
    } as const satisfies Record<string, readonly [() => unknown, readonly string[]]>;
    const tip = (): Promise<string> => ask('admin', 'GET', '/pool/p/branch/main');
    for (const [name, [requestOf, verbs]] of Object.entries(changes))
      for (const verb of ['load', 'delete', 'merge', 'reset']) {
        await ask('admin', 'PUT', '/pool/p/branch/main/protection', '{}');
        await ask('admin', 'PUT', '/pool/p/branch/main/protection', JSON.stringify({ [verb]: 'admin' }));
        const before = await tip();
        const [path, body] = (await requestOf()) as readonly [string, string];
        const isHeld = (verbs as readonly string[]).includes(verb);
        const own = path.endsWith('_bulk') ? { 'content-type': 'application/x-ndjson' } : {};
        if (isHeld) {
          const told = await ask('writer', 'POST', path, body, own);
          // A bulk request is answered item by item.
          const refused = (why: string): unknown =>
            expect.stringMatching(new RegExp(`^${path.endsWith('_bulk') ? '200 .*"status":403' : '403'}.*${why}`));
          expect([name, verb, told]).toEqual([name, verb, refused('is protected: it is for admin to')]);
          const read = await ask('reader', 'POST', path, body, own);
          expect([name, read]).toEqual([name, refused('requires role writer')]);
          expect(await tip()).toBe(before);
        } else if (verb === 'reset') {
          // Nothing of it is a reset: whoever may write may do it.
          expect([name, await ask('writer', 'POST', path, body, own)]).toEqual([name, expect.stringMatching(/^200 /)]);
          await ask('admin', 'PUT', '/pool/p/branch/main', `{"commit":"${branch.commit}"}`);
        }
      }
    await ask('admin', 'PUT', '/pool/p/branch/main/protection', '{"load":"admin","delete":"admin","merge":"admin"}');
    for (const [name, [requestOf]] of Object.entries(changes)) {
      const [path, body] = (await requestOf()) as readonly [string, string];
      const own = path.endsWith('_bulk') ? { 'content-type': 'application/x-ndjson' } : {};
      const told = await ask('owner', 'POST', path, body, own);
      expect([name, told]).toEqual([name, expect.not.stringContaining('protected')]);
    }
  } finally {
    await service.close();
    await rm(directory, { recursive: true });
  }
});
