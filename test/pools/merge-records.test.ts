/** Merges, reverts and picks by record, over HTTP: bags, identities, conflicts and how they are settled. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, type TestService } from '../support/service/server.ts';

const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
let service: TestService;
beforeAll(async () => {
  service = await startService();
}, 60_000);
afterAll(async () => {
  await service.close();
});

interface Answered {
  readonly status: number;
  readonly body: { readonly commit: string; readonly error: string; readonly [field: string]: unknown };
}
const ask = async (method: string, path: string, body?: unknown): Promise<Answered> => {
  const answer = await service.ask(method, path, {
    headers: json,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: answer.status, body: answer.body === '' ? {} : JSON.parse(answer.body) } as Answered;
};
const done = async (method: string, path: string, body?: unknown): Promise<string> => {
  const { status, body: answer } = await ask(method, path, body);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
  return answer.commit;
};

let pools = 0;
/** A pool of its own, with a branch `trial` at the first load. */
class Repo {
  readonly pool = `p${pools++}`;
  async begin(rows: string, identity?: readonly (readonly string[])[]): Promise<string> {
    await done('POST', '/pool', { name: this.pool, layout: { keys: [['id']] }, ...(identity && { identity }) });
    const commit = await this.load('main', rows);
    await this.branch('trial', commit);
    return commit;
  }
  branch(name: string, commit: string): Promise<string> {
    return done('POST', `/pool/${this.pool}`, { name, commit });
  }
  async load(branch: string, rows: string): Promise<string> {
    const answer = await service.ask('POST', `/pool/${this.pool}/branch/${branch}`, {
      headers: { 'content-type': 'application/x-sup', accept: 'application/json' },
      body: rows,
    });
    if (answer.status !== 200) throw new Error(answer.body);
    return (JSON.parse(answer.body) as { readonly commit: string }).commit;
  }
  delete(branch: string, where: string): Promise<string> {
    return done('POST', `/pool/${this.pool}/branch/${branch}/delete`, { where });
  }
  /** Takes a record out and another one in. */
  async change(branch: string, where: string, rows: string): Promise<void> {
    await this.delete(branch, where);
    await this.load(branch, rows);
  }
  async compact(branch: string): Promise<void> {
    const answer = await service.ask(
      'GET',
      `/query?query=${encodeURIComponent(`from ${this.pool}@${branch}:objects`)}`,
      {
        headers: json,
      },
    );
    const ids = (JSON.parse(answer.body) as readonly { readonly id: string }[]).map(({ id }) => id);
    await done('POST', `/pool/${this.pool}/branch/${branch}/compact`, { object_ids: ids });
  }
  async objects(branch: string): Promise<readonly string[]> {
    return (await service.query(`from ${this.pool}@${branch}:objects | values ksuid(id)`)).trim().split('\n');
  }
  path(branch: string): string {
    return `/pool/${this.pool}/branch/${branch}`;
  }
  merge(query = '', body?: unknown): Promise<Answered> {
    return ask('POST', `${this.path('main')}/merge/trial${query}`, body);
  }
  async rows(branch = 'main'): Promise<readonly string[]> {
    const text = (await service.query(`from ${this.pool}@${branch} | sort this`)).trim();
    return text === '' ? [] : text.split('\n').sort();
  }
}

describe('as bags', () => {
  test('two branches that rewrote the same object merge; the second time there is nothing to do', async () => {
    const repo = new Repo();
    await repo.begin('{id:1,v:1} {id:2,v:1} {id:3,v:1} {id:4,v:1}');
    await repo.delete('main', 'id==1');
    await repo.change('trial', 'id==2', '{id:2,v:2} {id:9,v:9}');
    expect((await repo.merge()).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:2,v:2}', '{id:3,v:1}', '{id:4,v:1}', '{id:9,v:9}']);
    expect((await repo.merge()).body.error).toContain('difference is empty');
    await repo.delete('trial', 'id==9');
    expect((await repo.merge()).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:2,v:2}', '{id:3,v:1}', '{id:4,v:1}']);
  });

  test('a compaction on either side is no conflict', async () => {
    const repo = new Repo();
    await repo.begin('{id:1} {id:2}');
    await repo.load('trial', '{id:3}');
    await repo.load('main', '{id:4}');
    await repo.delete('trial', 'id==1');
    await repo.compact('main');
    expect((await repo.merge('?dryrun=T')).body).toMatchObject({
      records_added: 1,
      records_removed: 1,
      error: null,
      record_conflicts: { count: 0, conflicts: [] },
    });
    expect((await repo.merge()).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:2}', '{id:3}', '{id:4}']);
  });

  test.each(['before', 'after', 'never'])(
    'what was picked from the other side comes once, compacted %s',
    async (when) => {
      const repo = new Repo();
      await repo.begin('{id:1} {id:2} {id:3}');
      await repo.load('main', '{id:4}');
      await repo.delete('trial', 'id==2');
      if (when === 'before') await repo.compact('main');
      const commit = await repo.load('trial', '{id:6} {id:7}');
      await repo.load('main', '{id:6}');
      await done('POST', `${repo.path('main')}/pick/${commit}`);
      if (when === 'after') await repo.compact('main');
      expect((await repo.merge()).status).toBe(200);
      expect(await repo.rows()).toEqual(['{id:1}', '{id:3}', '{id:4}', '{id:6}', '{id:6}', '{id:7}']);
    },
  );

  test('so do those that have no identity, beside records that have one', async () => {
    const repo = new Repo();
    await repo.begin('{id:1,v:1} {id:2,v:1} {v:0}', [['id']]);
    const loaded = await repo.load('trial', '{v:7} {id:7,v:7}');
    await done('POST', `${repo.path('main')}/pick/${loaded}`);
    await done('POST', `${repo.path('main')}/update`, { where: 'id==1', put: 'a:=1' });
    await done('POST', `${repo.path('trial')}/update`, { where: 'id==1', put: 'b:=2' });
    expect((await repo.merge('?fields=T')).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:1,v:1,a:1,b:2}', '{id:2,v:1}', '{id:7,v:7}', '{v:0}', '{v:7}']);
  });

  test('copies: additions are summed, of removals the larger counts', async () => {
    const repo = new Repo();
    await repo.begin('{id:1} {id:1} {id:1} {id:2} {id:5}');
    await repo.delete('main', 'id==1');
    await repo.load('main', '{id:1} {id:7}');
    await repo.delete('trial', 'id==1');
    await repo.load('trial', '{id:1} {id:1} {id:7}');
    expect((await repo.merge()).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:1}', '{id:2}', '{id:5}', '{id:7}', '{id:7}']);
  });
});

const byId = [['id']] as const;

describe('by identity', () => {
  const begun = async (): Promise<Repo> => {
    const repo = new Repo();
    await repo.begin('{id:1,a:1,b:1} {id:2,a:1,b:1} {id:3,a:1,b:1} {id:4,a:1,b:1} {a:0,b:0} {a:0,b:0}', byId);
    return repo;
  };

  test('each side changes another record; what both did alike is done', async () => {
    const repo = await begun();
    await repo.change('main', 'id==1 or id==3', '{id:1,a:2,b:1} {id:3,a:3,b:3} {id:9,a:9}');
    await repo.change('trial', 'id==2 or id==3', '{id:2,a:1,b:2} {id:3,a:3,b:3} {id:9,a:9}');
    expect((await repo.merge()).status).toBe(200);
    expect(await repo.rows()).toEqual(
      [
        '{id:1,a:2,b:1}',
        '{id:2,a:1,b:2}',
        '{id:3,a:3,b:3}',
        '{id:4,a:1,b:1}',
        '{id:9,a:9}',
        '{a:0,b:0}',
        '{a:0,b:0}',
      ].sort(),
    );
    expect((await repo.merge()).body.error).toContain('difference is empty');
  });

  test('loads of one identity on both sides are a conflict, though no data object is', async () => {
    const repo = await begun();
    await repo.load('main', '{id:7,a:"ours"}');
    await repo.load('trial', '{id:7,a:"theirs"}');
    const refused = await repo.merge();
    expect(refused).toEqual({
      status: 409,
      body: {
        type: 'Error',
        kind: 'conflict with pending operation',
        error: 'error merging "trial" into "main": records in conflict, since both sides changed them: 1',
        conflicts: ['{key:{id:7},base:null,ours:{id:7,a:"ours"},theirs:{id:7,a:"theirs"}}'],
      },
    });
    expect((await repo.merge('?resolve=theirs')).status).toBe(200);
    expect(await repo.rows()).toContain('{id:7,a:"theirs"}');
    expect(await repo.rows()).not.toContain('{id:7,a:"ours"}');
  });

  test('an identity that may be null is that of the value', async () => {
    const repo = new Repo();
    const old = '{id:1::(int64|null),v:1} {id:2::(int64|null),v:1} {id:3::(int64|null),v:1}';
    await repo.begin(old, [['id']]);
    await repo.change('main', 'id==1', '{id:1::(int64|null),v:10}');
    await repo.change('trial', 'id==1', '{id:1,v:11}');
    await repo.change('trial', 'id==3', '{id:3,v:3}');
    const diff = await ask('GET', `/pool/${repo.pool}/revision/main/diff/trial?summary=T&format=json`);
    expect(diff.body).toMatchObject([{ added: 0, removed: 0, changed: 2 }]);
    const refused = await repo.merge('?fields=T');
    expect(refused.status).toBe(409);
    expect(refused.body.error).toContain('since both sides changed them: 1');
    await repo.change('main', 'id==1', '{id:1::(int64|null),v:1}');
    expect((await repo.merge('?fields=T')).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:1,v:11}', '{id:2::(int64|null),v:1}', '{id:3,v:3}']);
  });

  test('loads of other identities go as objects, as fast as ever', async () => {
    const repo = await begun();
    await repo.load('main', '{id:7}');
    await repo.load('trial', '{id:8}');
    const before = await repo.objects('trial');
    expect((await repo.merge()).status).toBe(200);
    expect(await repo.objects('main')).toEqual(expect.arrayContaining([...before]));
  });

  test('a dry run pages through conflicts, which a body settles one by one', async () => {
    const repo = await begun();
    await repo.change('main', 'id<=4', '{id:1,a:2,b:1} {id:2,a:2,b:1} {id:3,a:2,b:1}');
    await repo.change('trial', 'id<=4', '{id:1,a:3,b:1} {id:2,a:3,b:1} {id:3,a:1,b:3} {id:4,a:3,b:1}');
    const pages: unknown[] = [];
    for (const offset of [0, 2]) {
      const { body } = await repo.merge(`?dryrun=T&limit=2&offset=${offset}`);
      expect(body).toMatchObject({ records_added: 0, records_removed: 0, record_conflicts: { count: 4, offset } });
      expect(body.error).toContain('records in conflict');
      pages.push(...(body['record_conflicts'] as { readonly conflicts: readonly unknown[] }).conflicts);
    }
    expect(pages).toEqual([
      { key: { id: 1 }, base: { id: 1, a: 1, b: 1 }, ours: { id: 1, a: 2, b: 1 }, theirs: { id: 1, a: 3, b: 1 } },
      { key: { id: 2 }, base: { id: 2, a: 1, b: 1 }, ours: { id: 2, a: 2, b: 1 }, theirs: { id: 2, a: 3, b: 1 } },
      { key: { id: 3 }, base: { id: 3, a: 1, b: 1 }, ours: { id: 3, a: 2, b: 1 }, theirs: { id: 3, a: 1, b: 3 } },
      { key: { id: 4 }, base: { id: 4, a: 1, b: 1 }, ours: null, theirs: { id: 4, a: 3, b: 1 } },
    ]);
    expect((await repo.merge('?fields=T')).body).toMatchObject({ conflicts: expect.objectContaining({ length: 3 }) });
    const settle = [
      { key: { id: 1 }, take: 'theirs' },
      { key: { id: 2 }, value: { id: 2, a: 'by hand' } },
      { key: { id: 4 }, take: 'base' },
    ];
    expect((await repo.merge('?fields=T&dryrun=T', { settle })).body).toMatchObject({
      error: null,
      record_conflicts: { count: 0 },
    });
    expect((await repo.merge('?fields=T', { settle })).status).toBe(200);
    expect(await repo.rows()).toEqual(
      ['{id:1,a:3,b:1}', '{id:2,a:"by hand"}', '{id:3,a:2,b:3}', '{id:4,a:1,b:1}', '{a:0,b:0}', '{a:0,b:0}'].sort(),
    );
    expect((await repo.merge()).body.error).toContain('difference is empty');
  });

  test('what is settled as ours is a commit all the same: it is settled for good', async () => {
    const repo = await begun();
    await repo.change('main', 'id==1', '{id:1,a:2,b:1}');
    await repo.change('trial', 'id==1', '{id:1,a:3,b:1}');
    expect((await repo.merge('?resolve=ours')).status).toBe(200);
    expect(await repo.rows()).toContain('{id:1,a:2,b:1}');
    expect((await repo.merge()).body.error).toContain('difference is empty');
  });

  test('a value of null takes the record away; one that is not in conflict cannot be settled', async () => {
    const repo = await begun();
    await repo.change('main', 'id==1', '{id:1,a:2,b:1}');
    await repo.change('trial', 'id==1', '{id:1,a:3,b:1}');
    expect((await repo.merge('', { settle: [{ key: { id: 2 }, take: 'ours' }] })).body.error).toBe(
      'settle: {id:2} is not in conflict',
    );
    for (const [given, what] of [
      [{ take: 'ours' }, 'key'],
      [{ key: 1, take: 'ours' }, 'key'],
      [{ key: { id: 1 } }, 'take or value'],
      [{ key: { id: 1 }, take: 'ours', value: 1 }, 'take or value'],
      [{ key: { id: 1 }, take: 'mine' }, 'take'],
      [{ key: { id: 1, more: 1 }, take: 'ours' }, 'a key of its own'],
    ] as const) {
      const first = what === 'a key of its own' ? [{ key: { id: 1 }, take: 'ours' }] : [];
      const { status, body } = await repo.merge('', { settle: [...first, given] });
      expect([status, body.error]).toEqual([
        400,
        expect.stringContaining(
          `: ${what} is missing or wrong: expected {key, take} or {key, value}, take being ours, theirs or base`,
        ),
      ]);
    }
    const settled = await service.ask('POST', `${repo.path('main')}/merge/trial`, {
      headers: { 'content-type': 'application/x-sup', accept: 'application/json' },
      body: '{settle:[{key:{id:1},value:null}]}',
    });
    expect(settled.status).toBe(200);
    expect((await repo.rows()).filter((row) => row.includes('id:1,'))).toEqual([]);
  });

  test('several records of one identity are one thing', async () => {
    const repo = new Repo();
    await repo.begin('{id:1,v:1} {id:1,v:2} {id:2,v:1}', byId);
    await repo.change('main', 'id==1 and v==1', '{id:1,v:3}');
    await repo.change('trial', 'id==2', '{id:2,v:2}');
    expect((await repo.merge()).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:1,v:2}', '{id:1,v:3}', '{id:2,v:2}']);
    await repo.change('main', 'id==1 and v==3', '{id:1,v:4}');
    await repo.change('trial', 'id==1 and v==2', '{id:1,v:5}');
    expect((await repo.merge()).body).toMatchObject({ conflicts: [expect.stringContaining('key:{id:1}')] });
  });

  test.each([
    ['?resolve=mine', 'resolve mine is not known: ours or theirs'],
    ['?dryrun=T&limit=1001', 'invalid query param "limit": 1001: expected 1 to 1000'],
    ['?dryrun=T&limit=0', 'invalid query param "limit": 0: expected 1 to 1000'],
    ['?dryrun=T&offset=-1', 'invalid query param "offset": -1: expected a number'],
    ['?limit=10', 'offset and limit page the conflicts of a dry run: they need dryrun=T'],
  ])('%s is refused', async (query, error) => {
    const repo = await begun();
    expect(await repo.merge(query)).toMatchObject({ status: 400, body: { error } });
  });
});

/** Rows of the table of "Merges in lakeFS" (docs.lakefs.io/understand/how/merge): an object is a record here. */
describe('as lakeFS has it', () => {
  const value = (letter: string): string => (letter === 'X' ? '' : `{id:1,content:"${letter}"}`);
  test.each([
    ['A', 'A', 'A', 'A'],
    ['A', 'B', 'B', 'B'],
    ['A', 'B', 'C', 'conflict'],
    ['A', 'A', 'B', 'B'],
    ['A', 'B', 'A', 'B'],
    ['A', 'X', 'X', 'X'],
    ['A', 'B', 'X', 'conflict'],
    ['A', 'X', 'B', 'conflict'],
    ['A', 'A', 'X', 'X'],
    ['A', 'X', 'A', 'X'],
  ])('base %s, source %s, destination %s: %s', async (base, source, destination, result) => {
    const repo = new Repo();
    await repo.begin(`${value(base)} {id:0}`, byId);
    for (const [branch, letter] of [
      ['trial', source],
      ['main', destination],
    ] as const) {
      if (letter === base) continue;
      await repo.delete(branch, 'id==1');
      if (letter !== 'X') await repo.load(branch, value(letter));
    }
    const { status, body } = await repo.merge();
    const rows = (await repo.rows()).filter((row) => row !== '{id:0}');
    if (result === 'conflict') {
      expect([status, rows]).toEqual([409, destination === 'X' ? [] : [value(destination)]]);
      expect((await repo.merge('?resolve=theirs')).status).toBe(200);
      expect((await repo.rows()).filter((row) => row !== '{id:0}')).toEqual(source === 'X' ? [] : [value(source)]);
    } else {
      expect(status === 200 || body.error.includes('difference is empty')).toBe(true);
      expect(rows).toEqual(result === 'X' ? [] : [value(result)]);
    }
  });
});

/** Of "Conflicts" in Dolt's documentation (docs.dolthub.com/concepts/dolt/git/conflicts); by cells with `fields=T`. */
describe('as Dolt has it', () => {
  const begun = async (isKeyed = true): Promise<Repo> => {
    const repo = new Repo();
    await repo.begin('{id:1,name:"ann",age:30} {id:2,name:"bob",age:40}', isKeyed ? byId : undefined);
    return repo;
  };
  test('the same row and column to different values is a conflict', async () => {
    const repo = await begun();
    await repo.change('main', 'id==1', '{id:1,name:"ann",age:31}');
    await repo.change('trial', 'id==1', '{id:1,name:"ann",age:32}');
    expect((await repo.merge('?fields=T')).status).toBe(409);
  });
  test('other columns of one row are put together', async () => {
    const repo = await begun();
    await repo.change('main', 'id==1', '{id:1,name:"anna",age:30}');
    await repo.change('trial', 'id==1', '{id:1,name:"ann",age:31}');
    expect((await repo.merge('?fields=T')).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:1,name:"anna",age:31}', '{id:2,name:"bob",age:40}']);
  });
  test('the same column to the same value is none', async () => {
    const repo = await begun();
    await repo.change('main', 'id==1', '{id:1,name:"ann",age:31}');
    await repo.change('trial', 'id==1', '{id:1,name:"ann",age:31} {id:3}');
    expect((await repo.merge('?fields=T')).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:1,name:"ann",age:31}', '{id:2,name:"bob",age:40}', '{id:3}']);
  });
  test('without a key: a row that one side deletes and the other adds once more is no conflict here, but one row', async () => {
    const repo = await begun(false);
    await repo.delete('main', 'id==1');
    await repo.delete('trial', 'id==2');
    await repo.load('trial', '{id:1,name:"ann",age:30}');
    expect(await repo.merge()).toMatchObject({ status: 200 });
    expect(await repo.rows()).toEqual(['{id:1,name:"ann",age:30}']);
  });
});

describe('reverts by record', () => {
  test('a commit whose objects were rewritten since is undone', async () => {
    const repo = new Repo();
    await repo.begin('{id:1} {id:2}');
    const loaded = await repo.load('main', '{id:3} {id:4}');
    await repo.delete('main', 'id==3');
    await repo.compact('main');
    expect((await ask('POST', `${repo.path('main')}/revert/${loaded}`)).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:1}', '{id:2}']);
    expect((await ask('POST', `${repo.path('main')}/revert/${loaded}`)).status).toBe(409);
  });

  test('a record that was changed since is in conflict', async () => {
    const repo = new Repo();
    await repo.begin('{id:1,v:1} {id:2,v:1}', byId);
    const gone = await repo.delete('main', 'id==1');
    await repo.load('main', '{id:1,v:3}');
    const path = `${repo.path('main')}/revert/${gone}`;
    expect(await ask('POST', path)).toMatchObject({
      status: 409,
      body: {
        error: expect.stringContaining('cannot be reverted: records in conflict, since they were changed again: 1'),
        conflicts: ['{key:{id:1},base:null,ours:{id:1,v:3},theirs:{id:1,v:1}}'],
      },
    });
    expect((await ask('POST', `${path}?resolve=theirs`)).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:1,v:1}', '{id:2,v:1}']);
  });
});

describe('picks', () => {
  test('a commit of another branch, by objects and by records; its revert leaves nothing of it', async () => {
    const repo = new Repo();
    const first = await repo.begin('{id:1} {id:2} {id:3}');
    const loaded = await repo.load('trial', '{id:4}');
    const deleted = await repo.delete('trial', 'id==1');
    const pick = (commit: string, query = ''): Promise<Answered> =>
      ask('POST', `${repo.path('main')}/pick/${commit}${query}`);
    expect((await pick(deleted, '?dryrun=T')).body).toMatchObject({ records: -1, error: null });
    expect((await pick(deleted)).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:2}', '{id:3}']);
    expect((await pick(deleted)).body.error).toBe('nothing to pick: the branch has it all');
    const { body } = await pick(loaded);
    expect(await repo.rows()).toEqual(['{id:2}', '{id:3}', '{id:4}']);
    expect((await ask('POST', `${repo.path('main')}/revert/${body.commit}`)).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:2}', '{id:3}']);
    await repo.compact('main').catch(() => undefined);
    expect((await pick(`${first}..${deleted}`)).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:2}', '{id:3}', '{id:4}']);
    const log = await service.query(`from ${repo.pool}:log | has(message) | values message`);
    expect(log).toContain('picked commit ');
    expect(log).toContain('picked commits ');
  });

  test('of an identity that several records have, what the commit did not touch is no conflict and does not come back', async () => {
    const repo = new Repo();
    await repo.begin('{id:12,v:"a"} {id:7,v:"b"}', byId);
    await repo.branch('other', await repo.load('main', '{id:12,v:"c"}'));
    await repo.delete('other', 'v=="c"');
    const gone = await repo.delete('main', 'id==7');
    const path = `${repo.path('other')}/revert/${gone}`;
    for (const query of ['', '?resolve=theirs', '?resolve=ours'])
      expect((await ask('POST', path + query)).body.error).toBe('revert commit is empty');
    expect(await repo.rows('other')).toEqual(['{id:12,v:"a"}', '{id:7,v:"b"}']);
    await repo.delete('other', 'v=="b"');
    expect((await ask('POST', path)).status).toBe(200);
    expect(await repo.rows('other')).toEqual(['{id:12,v:"a"}', '{id:7,v:"b"}']);
  });

  test('records that are there in other objects do not come twice', async () => {
    const repo = new Repo();
    await repo.begin('{id:1}');
    const loaded = await repo.load('trial', '{id:4}');
    await ask('POST', `${repo.path('main')}/pick/${loaded}`);
    await repo.compact('main');
    expect((await ask('POST', `${repo.path('main')}/pick/${loaded}`)).body.error).toBe(
      'nothing to pick: the branch has it all',
    );
    await repo.load('trial', '{id:5}');
    expect((await repo.merge()).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:1}', '{id:4}', '{id:5}']);
  });

  test('a record that the branch changed is in conflict', async () => {
    const repo = new Repo();
    await repo.begin('{id:1,v:1}', byId);
    await repo.delete('trial', 'id==1');
    const loaded = await repo.load('trial', '{id:1,v:2}');
    const path = `${repo.path('main')}/pick/${loaded}`;
    expect((await ask('POST', path)).body.error).toContain(
      'cannot be picked: records in conflict, since the branch changed them too: 1',
    );
    expect((await ask('POST', `${path}?resolve=theirs`)).status).toBe(200);
    expect(await repo.rows()).toEqual(['{id:1,v:2}']);
  });

  test.each([
    ['nope', 400, 'range nope: expected the id of a commit of the pool, or two as in A..B'],
    ['0x0000000000000000000000000000000000000000', 404, 'commit not found: 000000000000000000000000000'],
    ['0x178f59ec85db0a8c7d3d5ed926f7f4d11add9066', 404, 'commit not found: '],
  ])('%s is refused', async (text, status, error) => {
    const repo = new Repo();
    await repo.begin('{id:1}');
    const answer = await ask('POST', `${repo.path('main')}/pick/${text}`);
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(error)]);
  });
});

test('what needs vacuumed objects of an identity is a conflict, and its dry run says the same', async () => {
  const repo = new Repo();
  await repo.begin('{id:1}{id:2}', [['id']]);
  await done('DELETE', `/pool/${repo.pool}/branch/trial`);
  const deletion = await repo.delete('main', 'id==2');
  await repo.load('main', '{id:3}');
  await done('POST', `/pool/${repo.pool}/revision/main/vacuum`);
  const path = `/pool/${repo.pool}/branch/main/pick/${deletion}`;
  const error = expect.stringMatching(
    /^both sides changed something, and records have an identity; their records cannot be compared, since data objects of the common state before were vacuumed: \w+$/,
  ) as string;
  expect(await ask('POST', `${path}?dryrun=T`)).toMatchObject({ status: 200, body: { error } });
  expect(await ask('POST', path)).toMatchObject({ status: 409, body: { error } });
});
