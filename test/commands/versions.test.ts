/** `lake log`, `diff`, `branch`, `tag`, `merge`, `revert`, `pick`, `reset` and `transaction`, each against a running service. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { loadCommand } from '../../src/commands/load/load.ts';
import { transactionCommand } from '../../src/commands/transaction.ts';
import { type VersionCommand, versionCommand } from '../../src/commands/versions.ts';
import { type Pool, connect } from '../../src/client/client.ts';
import { startBuiltService } from '../support/service/built.ts';
import { startPrefixProxy } from '../support/service/prefix-proxy.ts';

let service: Awaited<ReturnType<typeof startBuiltService>>;
let pool: Pool;
beforeAll(async () => {
  service = await startBuiltService();
  pool = await connect(service.address).createPool('p');
}, 60_000);
afterAll(async () => {
  await service.end();
  rmSync(dirname(service.lake), { recursive: true, force: true });
});

async function* nothing(): AsyncGenerator<Uint8Array> {}
/** All that was printed. */
let printed = '';
let isTerminal = false;
/** What a command prints. */
const run = async (name: VersionCommand, ...argv: readonly string[]): Promise<string> => {
  const out: Uint8Array[] = [];
  await versionCommand(name, ['-lake', service.address, '-use', 'p', ...argv], {
    cwd: '.',
    stdin: nothing(),
    stdoutIsTerminal: isTerminal,
    write: (chunk) => {
      out.push(chunk.slice());
      printed += Buffer.from(chunk).toString();
      return Promise.resolve();
    },
    complain: () => undefined,
  });
  return Buffer.concat(out).toString();
};

test('each command does what its name says', async () => {
  const main = pool.branch('main');
  const { commit: a } = await main.load('{ts:1,x:"a"}', { author: 'Zoë', message: 'one\n\nand more' });
  expect(await run('log')).toMatch(
    new RegExp(`^commit ${a} \\(main\\)\nAuthor: Zoë\nDate: {3}\\S+Z\n\n {4}one\n\n {4}and more\n\n$`),
  );
  expect(await run('branch', 'kid')).toBe(`${a} kid\n`);
  expect(await run('tag', 'v1', 'kid')).toBe(`${a} v1\n`);
  expect(await run('tag')).toBe(`${a} v1\n`);
  const { commit: b } = await pool.branch('kid').load('{ts:2,x:"b\\n"}');
  expect(await run('branch')).toBe(`${a} main\n${b} kid\n`);
  expect(await run('diff', 'v1', 'kid')).toBe('+ {ts:2,x:"b\\n"}\n');
  expect(await run('diff', 'kid', a)).toBe('- {ts:2,x:"b\\n"}\n');
  expect(await run('diff', 'main', 'kid', '-summary')).toMatch(/^added 1\nremoved 0\n/);
  expect(await run('merge', 'kid', '-dryrun')).toBe('1 records added, 0 removed\n');
  const merged = (await run('merge', 'kid', '-user', 'me', '-message', 'both')).trim();
  expect(merged).toBe(await main.tip());
  expect(await run('log', '-n', '1')).toMatch(
    new RegExp(`^commit ${merged} \\(main\\)\nAuthor: me\nDate: .*\n\n {4}both\n\n$`),
  );
  expect(await run('revert', merged, '-dryrun')).toBe('0 records added, 1 removed\n');
  const reverted = (await run('revert', merged)).trim();
  expect(reverted).toBe(await main.tip());
  await expect(run('reset', 'v1', '-if', a)).rejects.toThrow('If-Match does not match');
  expect(await run('reset', 'v1', '-if', reverted)).toBe(`${a} main\n`);
  expect(await run('pick', b, '-dryrun')).toBe('1 records added, 0 removed\n');
  const picked = (await run('pick', b, '-user', 'me', '-message', 'only b')).trim();
  expect(picked).toBe(await main.tip());
  expect(await run('diff', 'v1', 'main')).toBe('+ {ts:2,x:"b\\n"}\n');
  const { commit: c } = await pool.branch('kid').load('{ts:3,x:"c"}');
  expect(await run('reset', 'v1')).toBe(`${a} main\n`);
  expect(await run('pick', `v1..${c}`).catch(String)).toContain('v1..');
  expect(await run('pick', `${a}..${c}`, '-dryrun')).toBe('2 records added, 0 removed\n');
  await run('pick', `${a}..${c}`);
  expect(await run('diff', 'main', 'kid')).toBe('');
  expect(await run('reset', 'v1')).toBe(`${a} main\n`);
  expect(await run('branch', '-d', 'kid')).toBe('');
  expect(await run('tag', 'v1', '-d')).toBe('');
  await expect(run('branch', '-d', '..')).rejects.toThrow('"..": not found: nothing in a lake has this name');
  expect(await run('branch')).toBe(`${a} main\n`);
  expect(await run('merge', '-h')).toMatch(/^usage: lake merge \[OPTION \.\.\.\] BRANCH\n/);
});

test('of a pool with an identity diff tells the fields that changed', async () => {
  await pool.setIdentity([['x']]);
  try {
    const main = pool.branch('main');
    const base = await main.tip();
    await main.load('{ts:77,x:"id",y:{"a b":1,c:1}}');
    await pool.createBranch('other', await main.tip());
    await main.update('x=="id"', 'y:={"a b":2,c:1}, z:=1');
    expect(await run('diff', 'other', 'main')).toBe(
      '~ {ts:77,x:"id",y:{"a b":1,c:1}} -> {ts:77,x:"id",y:{"a b":2,c:1},z:1} [["y","a b"],["z"]]\n',
    );
    expect(await run('diff', '-summary', 'other', 'main')).toBe('added 0\nremoved 0\nchanged 1\n  y."a b" 1\n  z 1\n');
    await main.reset(base);
    await pool.branch('other').delete();
  } finally {
    await pool.setIdentity([]);
  }
});

describe('records in conflict', () => {
  /** Three of them, whose keys are of other types, beside one that both sides changed apart. */
  const conflicting = async (name: string) => {
    const own = await connect(service.address).createPool(name, { keys: [['ts']] });
    await own.setIdentity([['id']]);
    const main = own.branch('main');
    await main.load('{ts:1,id:1,a:0,b:0} {ts:1,id:1.,a:0} {ts:1,id:"x",a:0} {ts:1,id:4,a:0,b:0}');
    const kid = await own.createBranch('kid', await main.tip());
    await main.update('id!=4', 'a:=1');
    await kid.update('id!=4', 'a:=2');
    await main.update('id==4', 'a:=1');
    await kid.update('id==4', 'b:=2');
    return { own, main };
  };
  const rows = async (own: Pool): Promise<string> => {
    const lake = connect(service.address);
    const found = lake.query<string>(`from ${JSON.stringify(own.pool)} | values f"{is(id,<float64>)} {id} {a}"`);
    const texts: string[] = [];
    for await (const text of found) texts.push(text);
    return texts.sort().join(', ');
  };

  test('are listed and settled by the command: single ones, then fields, then a side', async () => {
    const { own, main } = await conflicting('settled-by-command');
    const of = (...argv: readonly string[]): Promise<string> =>
      run(argv[0] as VersionCommand, ...argv.slice(1), '-use', own.pool);
    await expect(of('merge', 'kid')).rejects.toThrow('records in conflict');
    printed = '';
    await expect(of('merge', 'kid', '-dryrun', '-fields')).rejects.toThrow('records in conflict');
    expect(printed.split('\n').sort()).toEqual([
      '',
      '! {key:{id:"x"},base:{ts:1,id:"x",a:0},ours:{ts:1,id:"x",a:1},theirs:{ts:1,id:"x",a:2}}',
      '! {key:{id:1.},base:{ts:1,id:1.,a:0},ours:{ts:1,id:1.,a:1},theirs:{ts:1,id:1.,a:2}}',
      '! {key:{id:1},base:{ts:1,id:1,a:0,b:0},ours:{ts:1,id:1,a:1,b:0},theirs:{ts:1,id:1,a:2,b:0}}',
    ]);
    expect(await of('merge', 'kid', '-dryrun', '-fields', '-resolve', 'ours')).toMatch(/records added/);
    await expect(of('merge', 'kid', '-resolve', 'mine')).rejects.toThrow('bad value for -resolve: "mine"');
    await expect(of('merge', 'kid', '-settle', '{key:{id:9},take:"ours"}')).rejects.toThrow('is not in conflict');
    const settle = ['-settle', '{key:{id:1.},take:"theirs"}', '-settle', '{key:{id:"x"},value:{ts:1,id:"x",a:7}}'];
    const merged = (await of('merge', 'kid', '-fields', '-resolve', 'ours', ...settle)).trim();
    expect(merged).toBe(await main.tip());
    expect(await rows(own)).toBe('false 1 1, false 4 1, false x 7, true 1 2');
  });

  test('are settled by the client', async () => {
    const { own, main } = await conflicting('settled-by-client');
    const { recordConflicts } = await main.previewMerge('kid', { fields: true });
    expect(recordConflicts?.count).toBe(3);
    const settle = [
      { key: { id: 1 }, take: 'theirs' },
      { key: { id: 'x' }, value: null },
    ] as const;
    expect((await main.previewMerge('kid', { fields: true, settle })).recordConflicts?.count).toBe(1);
    expect((await main.previewMerge('kid', { fields: true, settle, resolve: 'ours' })).error).toBeUndefined();
    await main.merge('kid', { fields: true, settle, resolve: 'ours' });
    expect(await rows(own)).toBe('false 1 2, false 4 1, true 1 1');
  });
});

test('a service below a path, as behind a proxy, is asked there', async () => {
  const proxy = await startPrefixProxy(new URL(service.address));
  try {
    const before = await pool.branch('main').tip();
    const io = { cwd: '.', stdin: Readable.from([Buffer.from('{ts:9,x:"proxied"}')]), stdoutIsTerminal: false };
    const silent = { write: () => Promise.resolve(), complain: () => undefined };
    await loadCommand(['-lake', proxy.url, '-use', 'p', '-'], { ...io, ...silent });
    expect(await run('log', '-lake', proxy.url, '-n', '1')).toBe(await run('log', '-n', '1'));
    expect(await run('diff', '-lake', `${proxy.url}/`, before, 'main')).toBe('+ {ts:9,x:"proxied"}\n');
  } finally {
    proxy.close();
  }
});

test('what a command lacks is told', async () => {
  await expect(run('diff', 'main')).rejects.toThrow('lake diff takes two branches, tags or commits');
  await expect(run('tag', '-d')).rejects.toThrow('lake tag -d takes one name');
  await expect(run('log', '-use', '')).rejects.toThrow('lake log: -use POOL[@BRANCH] says of which pool');
  await expect(run('log', '-use', 'p@')).rejects.toThrow('bad value for -use: "p@" (POOL or POOL@BRANCH)');
  await expect(run('log', '-lake', 'ftp://host')).rejects.toThrow('bad value for -lake: "ftp://host" (address of a');
  await expect(run('merge', 'nope')).rejects.toThrow('"nope": branch not found');
  await expect(run('merge', 'main', '-dryrun')).rejects.toThrow('difference is empty');
  await expect(run('pick')).rejects.toThrow('lake pick takes a commit, or two as A..B');
  await expect(run('pick', 'nope', '-dryrun')).rejects.toThrow('nope');
  // Not with the text of a query that nobody wrote.
  await expect(run('log', 'nope')).rejects.toThrow(/^"nope": branch not found$/);
  await expect(run('diff', 'main', 'nope')).rejects.toThrow(/^"nope": branch not found$/);
  await expect(run('reset', 'nope')).rejects.toThrow('"nope": branch not found');
});

/** Runs `lake transaction` on a document, with files beside it. */
const transaction = async (
  document: unknown,
  {
    files = {},
    argv = [],
  }: { readonly files?: Readonly<Record<string, string>>; readonly argv?: readonly string[] } = {},
): Promise<{ readonly out: string; readonly complaints: string }> => {
  const cwd = join(dirname(service.lake), 'documents');
  mkdirSync(cwd, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  const text = typeof document === 'string' ? document : JSON.stringify(document);
  let [out, complaints] = ['', ''];
  await transactionCommand(['-lake', service.address, ...(argv.length > 0 ? argv : ['-'])], {
    cwd,
    stdin: Readable.from([Buffer.from(text)]),
    stdoutIsTerminal: false,
    write: (chunk) => {
      out += Buffer.from(chunk).toString();
      return Promise.resolve();
    },
    complain: (told) => {
      complaints += told;
    },
  });
  return { out, complaints };
};
const stagedLoads = async (): Promise<number> =>
  Number(/^lake_staged_loads (\d+)$/m.exec(await (await fetch(`${service.address}/metrics`)).text())![1]);

test('a transaction loads files, updates and merges in several pools', async () => {
  const lake = connect(service.address);
  const [orders, stock] = [
    await lake.createPool('orders', { keys: [['id']], identity: [['id']] }),
    await lake.createPool('stock', { keys: [['id']], identity: [['id']] }),
  ];
  const { commit: a } = await stock.branch('main').load('{id:7,left:3}{id:8,left:1}');
  await stock.createBranch('count', a);
  await stock.branch('count').update('id==8', 'left:=2');
  const document = [
    { pool: 'orders', files: ['new.csv', 'm*.json'] },
    {
      pool: 'stock',
      branch: 'count',
      update: { where: 'id==7', put: 'left:=left-1' },
      if_match: await stock.branch('count').tip(),
    },
    { pool: 'stock', merge: 'count' },
  ];
  const files = {
    'new.csv': 'id,what\n1,tea\n',
    'more.json': '{"id":2,"what":"cup"}\n',
    'doc.json': JSON.stringify(document),
  };
  const { out } = await transaction('', { files, argv: ['-user', 'Zoë', '-message', 'both', 'doc.json'] });
  const ids = out
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ')[0]!);
  expect(out).toBe(`${ids[0]} orders@main\n${ids[1]} stock@count\n${ids[2]} stock@main\n`);
  expect([
    await orders.branch('main').tip(),
    await stock.branch('count').tip(),
    await stock.branch('main').tip(),
  ]).toEqual(ids);
  expect(await lake.query('from orders | values f"{id} {what}"').all()).toEqual(['1 tea', '2 cup']);
  expect(await lake.query('from stock@count | values left').all()).toEqual([2n, 2n]);
  expect(await lake.query('from orders@main:log | has(parent) | head 1 | values f"{author}: {message}"').all()).toEqual(
    ['Zoë: both'],
  );
  const upsert = { pool: 'orders', files: ['gone.sup'], upsert: { delete: 'gone' } };
  await transaction({ commits: [upsert] }, { files: { 'gone.sup': '{id:1.,gone:true}{id:2,what:"jug"}' } });
  expect(await lake.query('from orders | values f"{id} {what}"').all()).toEqual(['2 jug']);
  expect(await stagedLoads()).toBe(0);
});

test('a transaction that comes to nothing drops what it staged', async () => {
  const rows = { 'a.sup': '{id:10}', 'bad.json': '{"id":' };
  const wrong = async (document: unknown, argv: readonly string[] = []): Promise<string> =>
    transaction(document, { files: rows, argv }).then(
      () => 'made',
      (fault: unknown) => (fault as Error).message,
    );
  const load = { pool: 'orders', files: ['a.sup'] };
  expect(await wrong([load, { pool: 'stock', files: 'bad.json' }])).toMatch(/^commits\[1\]: bad\.json: /);
  expect(await wrong([load, { pool: 'stock', merge: 'nope' }])).toBe('commits[1]: "nope": branch not found');
  expect(await wrong([load, { pool: 'nope', files: ['a.sup'] }])).toBe('commits[1]: a.sup: nope: pool not found');
  expect(await wrong([{ ...load, files: ['none.sup'] }])).toBe('none.sup: file does not exist');
  expect(await wrong([{ ...load, files: [7] }])).toBe('commits[0].files: expected names of files, got [7]');
  expect(await wrong([{ ...load, upsert: 'id' }])).toMatch(/^commits\[0\]\.upsert: expected true, false or /);
  expect(await wrong([{ ...load, branch: 1 }])).toBe('commits[0].branch: expected the name of a branch, got 1');
  expect(await wrong([{ ...load, format: 'x' }])).toMatch(/x/);
  expect(await wrong([{ pool: 'orders', upsert: true }])).toBe(
    'commits[0]: upsert and format are of files, and it has none',
  );
  expect(await wrong([{ ...load, files: '-' }])).toMatch(/standard input is the document/);
  expect(await wrong([null])).toBe('commits[0]: expected an object, got null');
  expect(await wrong({ pool: 'orders' })).toBe('expected {"commits": [...]} or a list of commits');
  expect(await wrong('{"commits"')).toMatch(/^standard input: /);
  expect(await wrong('', ['nope.json'])).toBe('nope.json: file does not exist');
  expect(await wrong('', ['-', '-'])).toBe('lake transaction takes a JSON file, or - for standard input');
  expect(await wrong([])).toBe('commits is empty: expected at least one commit');
  expect(await connect(service.address).query('from orders | id==10').all()).toEqual([]);
  expect(await stagedLoads()).toBe(0);
  expect((await transaction('', { argv: ['-h'] })).out).toMatch(/^usage: lake transaction \[OPTION \.\.\.\] FILE\n/);
});

test("what names, authors and messages hold does not move a terminal's cursor", async () => {
  const esc = '\x1b]0;x\x07\x9b1A';
  const { commit } = await pool.branch('main').load('{ts:0}', { author: `a${esc}`, message: `m${esc}` });
  await pool.createBranch(`b${esc}`, commit);
  const shown = '\\u001b]0;x\\u0007\\u009b1A';
  try {
    isTerminal = true;
    const log = await run('log');
    expect(log).toContain(`, b${shown})\nAuthor: a${shown}\n`);
    expect(log).toContain(`\n    m${shown}\n`);
    expect(await run('branch')).toContain(` b${shown}\n`);
    isTerminal = false;
    expect(await run('branch')).toContain(` b${esc}\n`);
  } finally {
    isTerminal = false;
    await pool.branch(`b${esc}`).delete();
    await pool.branch('main').deleteWhere('true');
  }
});
