/**
 * Lakes that earlier builds wrote (test/cases/upgrade; make.mjs there makes them) open with the service of today: what
 * they answered then they answer now, and they can be written on. A lake of a format that is newer than ours is
 * refused.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import { Environment } from '../src/lake/tables/environment.ts';
import { zeroId } from '../src/lake/ksuid.ts';
import { openLake } from '../src/lake/lake.ts';
import { changesLength, writeChanges } from '../src/lake/log/changes.ts';
import { openObjects } from '../src/lake/objects/objects.ts';
import { branchKey, encodeBranch, encodeName, encodePool, nameKey } from '../src/lake/tables/rows.ts';
import { type Change, journalKey } from '../src/lake/tables/table-rows.ts';
import { openIndex, Tables, tableNames } from '../src/lake/tables/tables.ts';
import { formatVersion, icebergVersion, tagsVersion, viewsVersion } from '../src/lake/tables/versions.ts';
import { startBuiltService } from './support/service/built.ts';
import { clientOf } from './support/service/client.ts';
import { openIn } from './unit/lake/support.ts';
import { checkLake, runProgram } from './support/service/lake-command.ts';

interface Kept {
  readonly first: string;
  readonly deletion: string;
  readonly before: string;
  readonly events: string;
  readonly answers: readonly { readonly query: string; readonly answer: string }[];
}

const folder = fileURLToPath(new URL('cases/upgrade/', import.meta.url));
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.tar.gz'))
  .map((file) => file.replace('.tar.gz', ''));
const opened: string[] = [];
afterAll(() => {
  for (const each of opened) rmSync(each, { recursive: true, force: true });
});
/** A copy of its own of a lake that is kept. */
const unpacked = (name: string): string => {
  const directory = mkdtempSync(join(tmpdir(), 'lake-upgrade-'));
  opened.push(directory);
  execFileSync('tar', ['-xzf', join(folder, `${name}.tar.gz`), '-C', directory]);
  return join(directory, 'lake');
};

test('there is a lake to open, and none is large', () => {
  expect(names).toContain('10c3400');
  for (const name of names) expect(statSync(join(folder, `${name}.tar.gz`)).size).toBeLessThan(300_000);
});

describe.each(names)('the lake of %s', { timeout: 120_000 }, (name) => {
  const kept = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Kept;
  test('answers what it answered, takes writes, and is sound afterwards', { timeout: 120_000 }, async () => {
    const lake = unpacked(name);
    let service = await startBuiltService({ lake });
    let client = clientOf(service.address);
    const ask = async (text: string): Promise<string> =>
      (
        await client.ask('POST', '/query', {
          headers: { 'content-type': 'application/json', accept: 'application/x-sup' },
          body: JSON.stringify({ query: text }),
        })
      ).body;
    try {
      for (const { query, answer } of kept.answers) expect([query, await ask(query)]).toEqual([query, answer]);
      const feed = await client.events({ lastEventId: 1 });
      const told = kept.events
        .split('\n\n')
        .filter((block) => block !== '')
        .map((block) => Number(/^id: (\d+)$/m.exec(block)![1]));
      expect((await feed.until(told.length)).map(({ id }) => id)).toEqual(told);
      feed.close();

      // It goes on where it was: appends, time travel, a revert of an old commit, a merge of an old branch, a delete in
      // old objects, compaction by packing.
      const count = async (of: string): Promise<number> => (await client.query<number>(`from ${of} | count()`))[0]!;
      const people = await count('people');
      const rows = await count('rows');
      await client.load('people', [{ id: 1000, name: 'new' }]);
      const loaded = await client.tip('people');
      expect(await count('people')).toBe(people + 1);
      expect(await count(`people@${kept.before}`)).toBe(people - 20);
      await client.json('POST', `/pool/people/branch/main/revert/${loaded}`);
      expect(await count('people')).toBe(people);
      await client.load('people', [{ id: 2000, name: 'on the old branch' }], 'trial');
      await client.json('POST', '/pool/people/branch/main/merge/trial');
      expect(await client.query('from people | id==2000 | cut name')).toEqual([{ name: 'on the old branch' }]);
      await client.json('POST', '/pool/rows/branch/main/delete', { where: 'kind=="put"' });
      expect(await count('rows')).toBe(rows - 4000);
      expect(await client.query('from rows | kind=="put" | count()')).toEqual([0]);
      await client.load('types', '{"k":"again","a":[{"b":1}]}');
      expect(await client.query('from types | where k=="again" | cut a')).toEqual([{ a: [{ b: 1 }] }]);
      const before = await Promise.all(['people', 'rows', 'types', 'small'].map((of) => ask(`from ${of} | sort this`)));

      client.close();
      expect(await service.end()).toBe(0);
      service = await startBuiltService({ lake });
      client = clientOf(service.address);
      expect(
        await Promise.all(['people', 'rows', 'types', 'small'].map((of) => ask(`from ${of} | sort this`))),
      ).toEqual(before);
    } finally {
      client.close();
      await service.end();
    }
    expect(await checkLake(lake)).toMatchObject({ status: 0, complaint: '' });
  });
  test('is sound for fsck before anything was written', async () => {
    expect(await checkLake(unpacked(name))).toMatchObject({ status: 0, complaint: '' });
  });
});

describe('the ring of formats 2 and 3', { timeout: 120_000 }, () => {
  /** LMDB's own place in it, and the rows that it has. */
  const placeIn = async (
    lake: string,
  ): Promise<{ readonly number: number; readonly offset: number; readonly rows: number }> => {
    const tables = openIndex(join(lake, 'tables'));
    const row = tables.get('about', journalKey)!;
    const rows = tables.rows('pools').length;
    await tables.close();
    return { number: Number(row.readBigUInt64LE(0)), offset: row.readUInt32LE(8), rows };
  };
  /** A record that makes a pool. */
  const recordOf = (number: number, name: string): Buffer => {
    const id = Buffer.alloc(20, 0x33);
    const pool: Change[] = [
      {
        table: 'pools',
        key: id,
        payload: encodePool({
          tsNs: 1n,
          name,
          id: id.toString('hex'),
          layout: { order: 'asc', keys: [['ts']] },
          seekStride: 65_536,
          threshold: 1000,
        }),
      },
      { table: 'names', key: nameKey(name), payload: encodeName(name, id.toString('hex')) },
      {
        table: 'branches',
        key: branchKey(id.toString('hex'), 'main'),
        payload: encodeBranch({ tsNs: 1n, name: 'main', commit: '0'.repeat(40) }),
      },
    ];
    const bytes = Buffer.alloc(20 + changesLength(pool));
    bytes.write('LJRN');
    bytes.writeUInt32LE(bytes.length - 20, 4);
    bytes.writeBigUInt64LE(BigInt(number), 8);
    writeChanges(bytes, 20, pool);
    bytes.writeUInt32LE(crc32(bytes.subarray(20), crc32(bytes.subarray(4, 16))), 16);
    return bytes;
  };
  const poolsOf = async (lake: string): Promise<readonly string[]> => {
    const opened = await openLake({
      directory: lake,
      objects: openObjects(lake),
      report: (fault) => {
        throw fault;
      },
    });
    const pools = opened.pools().map(({ name }) => name);
    await opened.close();
    return pools;
  };
  const put = (lake: string, at: number, record: Buffer): void => {
    const path = join(lake, 'tables', 'journal');
    const ring = readFileSync(path);
    record.copy(ring, at);
    writeFileSync(path, ring);
  };

  test.each(['f5dad02', '2e4e35a'])(
    '%s: what stands behind its end after a stop in order is of no meaning, whatever it looks like; after a kill it is the newest transactions',
    async (name) => {
      const forged = unpacked(name);
      const { number, offset, rows } = await placeIn(forged);
      put(forged, offset, recordOf(number + 1, 'nobody made it'));
      // Twenty bytes in anybody's row that look like a record of a far later time.
      put(forged, offset + 4000, Buffer.from('4c4a524e00000000000000000001000058ac177a', 'hex'));
      expect((await poolsOf(forged)).length).toBe(rows);
      const killed = unpacked(name);
      put(killed, offset, recordOf(number + 1, 'the newest'));
      writeFileSync(join(killed, 'running'), 'process 1\n');
      expect((await poolsOf(killed)).filter((pool) => pool === 'the newest')).toEqual(['the newest']);
      expect(await checkLake(killed)).toMatchObject({ status: 0, complaint: '' });
    },
  );

  test.each([
    'base: half written',
    'base: written',
    'base: named',
    'upgrade: base written',
    'upgrade: log begun',
    'rebuild: made',
    'rebuild: old tables gone',
  ])('a kill at "%s" of taking a lake over leaves it whole', async (killAt) => {
    const lake = unpacked('2e4e35a');
    const pools = (await placeIn(lake)).rows;
    expect(await openIn(lake, { killAt })).toBe('SIGKILL');
    expect((await poolsOf(lake)).length).toBe(pools);
    expect(readdirSync(join(lake, 'log')).filter((file) => file.endsWith('.log'))).toEqual([]);
    expect(await checkLake(lake)).toMatchObject({ status: 0, complaint: '' });
  });
});

test('a lake of a newer format is refused, by name and number, and left as it is: by the service, after a kill too, by fsck and its repair', {
  timeout: 120_000,
}, async () => {
  const lake = unpacked('10c3400');
  const tables = new Tables({ environment: new Environment(join(lake, 'tables')) });
  const versions = [...tables.rows('about')].filter(({ payload }) => Buffer.from(payload).toString() === '1');
  expect([tableNames[0], versions.length]).toEqual(['about', 1]);
  await tables.write([{ table: 'about', key: versions[0]!.key, payload: Buffer.from(String(formatVersion + 1)) }]);
  await tables.close();
  const text = `lake ${join(lake, 'tables')} has format version ${formatVersion + 1}, this server reads up to ${formatVersion}`;
  const file = join(lake, 'tables/data.mdb');
  const bytes = readFileSync(file);
  const serve = ['serve', '-l', '127.0.0.1:0', '-log.level', 'silent'];
  for (const [i, command] of [serve, ['fsck'], ['fsck', '-repair'], serve].entries()) {
    // As if the one that wrote it had been killed.
    if (i === 3) writeFileSync(join(lake, 'running'), '');
    const { status, complaint, output } = await runProgram([command[0]!, '-lake', lake, ...command.slice(1)]);
    expect([command[0], status, (complaint + output).includes(text)]).toEqual([command[0], 1, true]);
    expect(readFileSync(file).equals(bytes)).toBe(true);
  }
});

test('a lake has a newer format from its first view or tag on: builds without them open all others', {
  timeout: 120_000,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'lake-upgrade-'));
  opened.push(directory);
  const open = () => openLake({ directory, objects: openObjects(directory) });
  const version = async (): Promise<number> => {
    const tables = openIndex(join(directory, 'tables'));
    try {
      return tables.version();
    } finally {
      await tables.close();
    }
  };
  let lake = await open();
  await lake.createPool({ name: 'p' });
  await lake.close();
  expect(await version()).toBe(viewsVersion - 1);
  lake = await open();
  const { view } = await lake.changeView({ action: 'create', existing: 'refuse', name: 'v', query: 'values 1' });
  // Before the view itself is durable: a kill right behind it leaves a lake that they refuse.
  expect(await version()).toBe(viewsVersion);
  await lake.close();
  // Tables that are made again say so too.
  rmSync(join(directory, 'tables'), { recursive: true });
  lake = await open();
  expect(lake.views()).toEqual([view]);
  await lake.changeView({ action: 'drop', name: 'v', ifExists: false });
  expect(await version()).toBe(viewsVersion);
  const tag = await lake.pool('p').createTag('v1', zeroId);
  expect(await version()).toBe(tagsVersion);
  await lake.close();
  rmSync(join(directory, 'tables'), { recursive: true });
  lake = await open();
  expect(lake.pool('p').tags()).toEqual([tag]);
  await lake.pool('p').deleteTag('v1');
  await lake.close();
  expect(await version()).toBe(tagsVersion);
  expect([tagsVersion, icebergVersion]).toEqual([formatVersion - 2, formatVersion - 1]);
});
