/**
 * The client package against the real service: what is written comes back as it was, faults have their place, events
 * come back after a lost connection.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { tableOf } from '../../src/client/arrow.ts';
import {
  Address,
  type Branch,
  connect,
  Duration,
  ErrorValue,
  type Lake,
  type LakeEvent,
  LakeFailure,
  type LakeRecord,
  type LakeValue,
  Network,
  type Query,
  Symbolic,
  Time,
  typeText,
  TypeValue,
} from '../../src/client/client.ts';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
let lake: Lake;
beforeAll(async () => {
  service = await startService();
  lake = connect(service.url);
});
afterAll(() => service.close());

let pools = 0;
const newBranch = async (): Promise<{ readonly name: string; readonly main: Branch }> => {
  const name = `client${++pools}`;
  const pool = await lake.createPool(name, { keys: [['k']] });
  return { name, main: pool.branch('main') };
};

/** Values of SUP text, as they come back from the lake. */
const stored = async (text: string): Promise<Query<LakeValue>> => {
  const { name, main } = await newBranch();
  await main.load(text, { format: 'sup' });
  return lake.query(`from ${name}`);
};

describe('values', () => {
  test('each type of the data model has its JavaScript value', async () => {
    const text = `{i8:1::int8,u32:7::uint32,i64:-9223372036854775808,u64:18446744073709551615::uint64,f:1.5,f16:0.5::float16,inf:+Inf,b:true,s:"ä\\n",n:null,
      t:2024-01-02T03:04:05.123456789Z,d:-1d2h3.5s,by:0x00ff,ip:::1,net:10.0.0.0/8,ty:<{a:int64}>,en:"red"::enum(blue,red),
      a:[1,"x",null],se:|[1,2]|,m:|{"k":[1]}|,e:error({message:"bad"}),na:80::(port=uint16),e0:{}}`;
    expect(await (await stored(text)).first()).toEqual({
      i8: 1,
      u32: 7,
      i64: -(2n ** 63n),
      u64: 2n ** 64n - 1n,
      f: 1.5,
      f16: 0.5,
      inf: Infinity,
      b: true,
      s: 'ä\n',
      n: null,
      t: new Time(1704164645123456789n),
      d: new Duration(-93603500000000n),
      by: new Uint8Array([0, 255]),
      ip: new Address('::1'),
      net: new Network('10.0.0.0/8'),
      ty: new TypeValue({
        kind: 'record',
        fields: [{ name: 'a', type: { kind: 'primitive', name: 'int64' }, optional: false }],
      }),
      en: new Symbolic('red'),
      a: [1n, 'x', null],
      se: new Set([1n, 2n]),
      m: new Map([['k', [1n]]]),
      e: new ErrorValue({ message: 'bad' }),
      na: 80,
      e0: {},
    });
  });

  test('an optional field without a value is absent, wherever it stands', async () => {
    expect(await (await stored('{a?:_::int64,b:"y",c?:2} {a?:1,b:"x",c?:_::int64}')).all()).toEqual([
      { b: 'y', c: 2n },
      { a: 1n, b: 'x' },
    ]);
  });

  test('a field named __proto__ is an ordinary field', async () => {
    const row = (await lake.query<LakeRecord>('values {"__proto__":1,"constructor":2}').first())!;
    expect(Object.entries(row)).toEqual([
      ['__proto__', 1n],
      ['constructor', 2n],
    ]);
    expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
  });

  test('types come with the values, by definition and by reference', async () => {
    const texts: string[] = [];
    for await (const { type } of (
      await stored('{b:1,a:"x"} {b:2,a:"y"} 80::(port=uint16) [1,"a"] {"a b"?:1} "red"::enum(blue,red) |{1:<int64>}|')
    ).typed())
      texts.push(typeText(type));
    expect(texts.sort()).toEqual([
      '[(int64|string)]',
      'enum(blue,red)',
      'port=(uint16)',
      '{"a b"?:int64}',
      '{b:int64,a:string}',
      '{b:int64,a:string}',
      '|{int64:type}|',
    ]);
  });

  test('times and durations print as the service prints them', async () => {
    const texts = await lake
      .query<Time>(
        'values 1970-01-01T00:00:00Z, 1969-12-31T23:59:59.5Z, 2262-04-11T23:47:16.854775807Z, 1677-09-21T00:12:43.145224193Z',
      )
      .all();
    expect(texts.map(String)).toEqual([
      '1970-01-01T00:00:00Z',
      '1969-12-31T23:59:59.5Z',
      '2262-04-11T23:47:16.854775807Z',
      '1677-09-21T00:12:43.145224193Z',
    ]);
    expect(texts[1]!.toDate()).toEqual(new Date(-500));
    expect(Duration.parse('1y2d3h4m5.006s')).toEqual(Duration.parse(String(Duration.parse('1y2d3h4m5.006s'))));
    expect(() => Time.parse('yesterday')).toThrow('not an RFC 3339 time: yesterday');
    expect(() => Duration.parse('5 minutes')).toThrow('not a duration: 5 minutes');
  });

  test('values inserted come back equal', async () => {
    const { name, main } = await newBranch();
    const rows = [
      { k: 1, whole: 5, part: 0.5, none: null, big: 2n ** 63n, text: 'a"\u0001\\', nan: NaN, minus: -0 },
      {
        k: 2,
        at: new Date(1.7e12),
        span: Duration.ofMilliseconds(1.5),
        bytes: new Uint8Array([1]),
        address: new Address('1.2.3.4'),
        list: [1, [2]],
        holes: Object.assign([], { 1: 'x' }),
        set: new Set([1]),
        map: new Map([[new Address('::1'), 'v']]),
      },
      { k: 3, 'odd name': { '1': true, __x: undefined }, error: new ErrorValue('no') },
    ];
    await main.insert(rows);
    expect(await lake.query(`from ${name}`).all()).toEqual([
      { k: 1n, whole: 5n, part: 0.5, none: null, big: 2n ** 63n, text: 'a"\u0001\\', nan: NaN, minus: -0 },
      {
        k: 2n,
        at: Time.of(new Date(1.7e12)),
        span: new Duration(1_500_000n),
        bytes: new Uint8Array([1]),
        address: new Address('1.2.3.4'),
        list: [1n, [2n]],
        holes: [null, 'x'],
        set: new Set([1n]),
        map: new Map([[new Address('::1'), 'v']]),
      },
      { k: 3n, 'odd name': { '1': true }, error: new ErrorValue('no') },
    ]);
    await expect(main.insert([{ k: 1, run: () => 1 }])).rejects.toThrow('a function has no type in the lake');
    // What keeps its value elsewhere is no empty record.
    for (const value of [
      Promise.resolve(1),
      new Error('x'),
      /x/,
      new ArrayBuffer(2),
      new Float64Array(1),
      new URL('a:b'),
    ])
      await expect(main.insert([{ k: 1, value }])).rejects.toThrow('has no type in the lake');
    const round: unknown[] = [];
    round.push(round);
    await expect(main.insert(round)).rejects.toThrow('holds itself');
    for (const value of [new Date(8.64e15), new Date(-8.64e15), new Time(2n ** 63n)])
      await expect(main.insert([{ k: 1, value }])).rejects.toThrow('a time before 1677-09-21 or after 2262-04-11');
    await expect(main.insert([{ k: 1, value: new Date(NaN) }])).rejects.toThrow('an invalid Date is no time');
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
    await main.insert([{ k: 1, value: nested(999) }]);
    for (const levels of [1000, 5000])
      await expect(main.insert([{ k: 1, value: nested(levels) }])).rejects.toThrow('deeper than 1000 levels');
  });
});

describe('pools, branches and commits', () => {
  test('a pool is made, listed, renamed, deleted', async () => {
    const pool = await lake.createPool('odd name', { order: 'desc', keys: [['a', 'b']] });
    expect((await lake.pools()).find(({ name }) => name === 'odd name')?.layout).toEqual({
      order: 'desc',
      keys: [['a', 'b']],
    });
    await pool.rename('plain');
    expect((await lake.pool('plain').branches()).map(({ name }) => name)).toEqual(['main']);
    await pool.delete();
    await expect(lake.pool('plain').branch('main').tip()).rejects.toMatchObject({
      status: 404,
      kind: 'item does not exist',
      message: 'plain: pool not found',
    });
  });

  test('names that no address can hold are not found', async () => {
    for (const name of ['', '.', '..'])
      for (const ask of [
        () => lake.pool(name).delete(),
        () => lake.pool(name).branch('main').tip(),
        () => lake.pool('p').branch(name).delete(),
        () => lake.pool('p').branch('main').merge(name),
      ])
        await expect(ask()).rejects.toMatchObject({
          message: `"${name}": not found: nothing in a lake has this name`,
          status: 404,
        });
  });

  test('a load may come as text, bytes, a Blob, a stream or piece by piece, compressed or not', async () => {
    const { name, main } = await newBranch();
    async function* pieces(): AsyncGenerator<string> {
      yield '{"k":4';
      yield '';
      yield ',"v":"d"}\n{"k":5}';
    }
    await main.load('{"k":1}');
    await main.load(new TextEncoder().encode('k,v\n2,b\n'), { format: 'csv' });
    await main.load(new Blob(['{k:3}']), { format: 'sup' });
    await main.load(pieces(), { format: 'json' });
    await main.load(new Blob(['{"k":6}']).stream());
    await main.load(gzipSync('{"k":7}'), { format: 'json', encoding: 'gzip' });
    await main.load('k;v\n8;x\n', { format: 'csv', delimiter: ';' });
    expect(await lake.query(`from ${name} | collect(k)`).first()).toEqual([1n, 2, 3n, 4n, 5n, 6n, 7n, 8]);
  });

  test('a load that bends tells what it left out', async () => {
    const main = (await lake.createPool('bending', { keys: [['k']] })).branch('main');
    const rejected = (await lake.createPool('bending.rejected')).branch('main');
    const { commit, ...told } = await main.load('{"k":1}\noops\n{"k":2}', {
      format: 'json',
      errors: 'skip',
      rejected: 'bending.rejected',
    });
    expect(told).toEqual({
      records: 2,
      faulty: 1,
      faults: [
        {
          line: 2,
          column: 1,
          error: "invalid character 'o' looking for beginning of value (line 2, column 1, byte 8)",
          raw: 'oops',
          bytes: 4,
        },
      ],
      rejected: await rejected.tip(),
    });
    expect(await main.load('k\n3\n', { format: 'csv' })).toEqual({ commit: await main.tip() });
    expect(commit).toMatch(/^0x/);
  });
  test('a commit carries its author, message and meta in any script', async () => {
    const { main } = await newBranch();
    const { commit } = await main.insert([{ k: 1 }], {
      author: 'Jürgen',
      message: 'first 日本\n"load"',
      meta: '{ticket:7}',
    });
    expect(await main.tip()).toBe(commit);
    const [newest] = await main.log();
    expect(newest).toMatchObject({ author: 'Jürgen', message: 'first 日本\n"load"', meta: { ticket: 7n } });
  });

  test('branch, merge, delete, revert and vacuum', async () => {
    const { name, main } = await newBranch();
    const pool = lake.pool(name);
    const first = await main.insert([{ k: 1 }, { k: 2 }]);
    const child = await pool.createBranch('child', first.commit);
    await child.insert([{ k: 3 }]);
    await child.deleteWhere('k==1');
    expect(await pool.diff<{ k: bigint }>('child').all()).toEqual([
      { change: 'removed', key: { k: 1n }, before: { k: 1n }, after: null },
      { change: 'added', key: { k: 3n }, before: null, after: { k: 3n } },
    ]);
    expect(await pool.diff('child', { base: first.commit }).all()).toHaveLength(2);
    expect(await pool.diffSummary('child', 'main')).toEqual({ added: 1, removed: 1 });
    await main.merge('child');
    const keys = (): Promise<unknown> => lake.query(`from ${name} | collect(k)`).first();
    expect(await keys()).toEqual([2n, 3n]);
    const { commit } = await main.deleteWhere('k==2');
    expect(await keys()).toEqual([3n]);
    await main.revert(commit);
    expect(await keys()).toEqual([2n, 3n]);
    await child.delete();
    expect((await pool.branches()).map((branch) => branch.name)).toEqual(['main']);
    const listed = await pool.vacuum('main', { dryRun: true });
    expect(await pool.vacuum('main')).toEqual(listed);
  });

  test('tag, reset, and a look at what was', async () => {
    const { name, main } = await newBranch();
    const pool = lake.pool(name);
    const first = await main.insert([{ k: 1 }]);
    const second = await main.insert([{ k: 2 }]);
    const tag = await pool.createTag('v/1 ü', first.commit);
    expect(tag).toMatchObject({ name: 'v/1 ü', commit: first.commit });
    expect(await pool.tags()).toEqual([tag]);
    await expect(pool.branch('v/1 ü').insert([{ k: 9 }])).rejects.toMatchObject({ status: 409 });
    await expect(main.reset(first.commit, { ifMatch: first.commit })).rejects.toMatchObject({ status: 412 });
    expect(await main.reset(first.commit, { ifMatch: second.commit })).toEqual({ commit: first.commit });
    expect(await main.tip()).toBe(first.commit);
    expect(await pool.branch('v/1 ü').tip()).toBe(first.commit);
    expect((await pool.sums('v/1 ü')).records).toBe(1);
    await main.merge('v/1 ü').catch((error: unknown) => expect(error).toMatchObject({ status: 409 }));
    await expect(pool.deleteTag('v/1 ü', { ifMatch: second.commit })).rejects.toMatchObject({ status: 412 });
    await pool.deleteTag('v/1 ü');
    expect(await pool.tags()).toEqual([]);
  });

  test('views are made, changed, renamed and dropped', async () => {
    const name = 'seen/1 "ü"';
    const view = await lake.createView(name, 'select 1, [7,8][1]', { columns: ['a', 'b'], indexBase: 0 });
    expect(view).toMatchObject({ name, query: 'select 1, [7,8][1]', columns: ['a', 'b'], version: view.id });
    expect(await lake.views()).toEqual([view]);
    expect(await lake.query(`from ${JSON.stringify(name)}`).all()).toEqual([{ a: 1n, b: 8n }]);
    await expect(lake.createView(name, 'values 1')).rejects.toMatchObject({ status: 409 });
    await expect(lake.putView(name, 'values 1 +')).rejects.toMatchObject({ status: 400 });
    const next = await lake.putView(name, 'values 2', { ifMatch: view.version });
    expect(next).toMatchObject({ id: view.id, columns: null });
    await expect(lake.putView(name, 'values 3', { ifMatch: view.version })).rejects.toMatchObject({ status: 412 });
    expect(await lake.view(view.id, view.version)).toEqual(view);
    const renamed = await lake.renameView(name, 'seen', { ifMatch: next.version });
    expect(await lake.view('seen')).toEqual(renamed);
    expect(await lake.view('seen', view.version)).toEqual({ ...view, name: 'seen' });
    await expect(lake.dropView('seen', { ifMatch: next.version })).rejects.toMatchObject({ status: 412 });
    await lake.dropView('seen');
    expect(await lake.views()).toEqual([]);
  });
});

describe('queries', () => {
  test('a compile error tells where in the text', async () => {
    const failure = (await lake
      .query('from :pools | cuont()')
      .all()
      .catch((error: unknown) => error)) as LakeFailure;
    expect(failure).toBeInstanceOf(LakeFailure);
    expect({
      status: failure.status,
      kind: failure.kind,
      place: 'from :pools | cuont()'.slice(failure.places[0]!.start),
    }).toEqual({ status: 400, kind: 'invalid operation', place: 'cuont()' });
  });

  test('places are offsets in the text as JavaScript has it, whatever stands before them', async () => {
    const text = 'from :pools | put a:="Zürich 東京 👩‍👩‍👧 \ufeff" | values cuont(), {ü:uper("é")}';
    const placesOf = async (asked: Promise<unknown>): Promise<readonly string[]> =>
      ((await asked.catch((error: unknown) => error)) as LakeFailure).places.map(({ start, end }) =>
        text.slice(start, end + 1),
      );
    expect([await placesOf(lake.compile(text)), await placesOf(lake.query(text).all())]).toEqual([
      ['cuont()', 'uper("é")'],
      ['cuont()', 'uper("é")'],
    ]);
  });

  test('a fault amid the rows is thrown after the rows before it', async () => {
    const { name, main } = await newBranch();
    await main.load(Array.from({ length: 20_000 }, (_, k) => `{"k":${k}}\n`).join(''));
    const query = lake.query<LakeRecord>(`from ${name} | fork (head 2) (put l:=collect_nothing(this))`);
    await expect(query.all()).rejects.toBeInstanceOf(LakeFailure);
  });

  test('leaving the loop, cancel and a signal end the query in the service', async () => {
    const { name, main } = await newBranch();
    await main.load(Array.from({ length: 50_000 }, (_, k) => `{"k":${k},"text":"${'x'.repeat(200)}"}\n`).join(''));
    let rows = 0;
    for await (const row of lake.query<LakeRecord>(`from ${name}`)) if (row['k'] !== undefined && ++rows === 3) break;
    expect(rows).toBe(3);
    const query = lake.query(`from ${name} | join (from ${name}) as {l,r} on 1==1 | count()`);
    setTimeout(() => query.cancel(), 50);
    await expect(query.all()).rejects.toThrow('abort');
    await expect(
      lake
        .query(`from ${name} | join (from ${name}) as {l,r} on 1==1 | count()`, { signal: AbortSignal.timeout(50) })
        .all(),
    ).rejects.toThrow(/abort|timeout/);
    await expect
      .poll(async () => /^lake_queries_running (\d+)/m.exec((await service.ask('GET', '/metrics')).body)?.[1] ?? '0')
      .toBe('0');
  });

  test('statistics and the request id come with a query', async () => {
    const { name, main } = await newBranch();
    await main.insert([{ k: 1 }, { k: 2 }]);
    const query = lake.query(`from ${name}`);
    await query.all();
    expect(query.requestId).toMatch(/./);
    expect(query.stats).toMatchObject({ recordsRead: 2, recordsMatched: 2 });
    const asked = lake.query(`select K, n from ${name}`);
    expect([await asked.all(), asked.warnings]).toEqual([
      [
        { K: 1n, n: null },
        { K: 2n, n: null },
      ],
      [`no row has a column "n" in ${name}: it is null in all; columns: k`],
    ]);
    expect(query.stats!.updatedAt.getTime()).toBeGreaterThanOrEqual(query.stats!.startedAt.getTime());
  });

  test('pool and branch of a query without a source are options', async () => {
    const { name, main } = await newBranch();
    await lake
      .pool(name)
      .createBranch('other', (await main.insert([{ k: 1 }])).commit)
      .then((branch) => branch.insert([{ k: 2 }]));
    expect(await lake.query('collect(k)', { pool: name, branch: 'other' }).first()).toEqual([1n, 2n]);
  });

  test('outputs with names tell which value is whose', async () => {
    const seen: string[] = [];
    for await (const { value, channel } of lake
      .query('values 1, 2 | switch case this==1 ( output one ) case this==2 ( output two )')
      .typed())
      seen.push(`${channel} ${String(value)}`);
    expect(seen.sort()).toEqual(['one 1', 'two 2']);
  });

  test('a table of apache-arrow has all rows, with nulls where they lack a field', async () => {
    const { name, main } = await newBranch();
    await main.insert([{ k: 1, s: 'a' }, { k: 2, at: new Time(1n) }, { k: 3 }]);
    const table = await tableOf(lake.query(`from ${name}`));
    expect(table.schema.fields.map((field) => field.name)).toEqual(['k', 's', 'at']);
    expect([...table.getChild('k')!, ...table.getChild('s')!]).toEqual([1n, 2n, 3n, 'a', null, null]);
    expect((await tableOf(lake.query(`from ${name} | where k > 9`))).numRows).toBe(0);
    await expect(tableOf(lake.query('from nowhere'))).rejects.toBeInstanceOf(LakeFailure);
  });

  test('Arrow and other formats come as bytes', async () => {
    const { name, main } = await newBranch();
    await main.insert([
      { k: 1, s: 'a' },
      { k: 2, s: 'b' },
    ]);
    const table = tableFromIPC(await new Response(await lake.query(`from ${name}`).arrow()).arrayBuffer());
    expect(table.toArray().map((row) => ({ ...row }))).toEqual([
      { k: 1n, s: 'a' },
      { k: 2n, s: 'b' },
    ]);
    expect(await lake.query(`from ${name}`).asText('csv')).toBe('k,s\n1,a\n2,b\n');
    expect(await lake.query(`from ${name}`).asText()).toBe('{k:1,s:"a"}\n{k:2,s:"b"}\n');
  });
});

describe('events', () => {
  test('a feed that lost its connection goes on without gap or double', async () => {
    const { name, main } = await newBranch();
    const stop = new AbortController();
    const seen: string[] = [];
    let reconnects = 0;
    let connections = 0;
    // Every second connection breaks after some bytes.
    const breaking: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!String(input).endsWith('/events') || ++connections > 4) return response;
      let left = 300;
      return new Response(
        response.body!.pipeThrough(
          new TransformStream<Uint8Array, Uint8Array>({
            transform: (chunk, controller) => {
              if (chunk.length < left) controller.enqueue(chunk);
              else controller.error(new Error('broken'));
              left -= chunk.length;
            },
          }),
        ),
        { status: response.status, headers: response.headers },
      );
    };
    const ready = connect(service.url, { fetch: breaking }).events({
      signal: stop.signal,
      onReconnect: () => {
        reconnects++;
      },
    });
    const reading = (async () => {
      for await (const event of ready) {
        if (event.kind === 'pool-commit') seen.push(event.commitId!);
        if (seen.length === 12) stop.abort();
      }
    })();
    await expect.poll(() => connections).toBe(1);
    const made: string[] = [];
    for (let k = 0; k < 12; k++) made.push((await main.insert([{ k }])).commit);
    await reading;
    expect({ seen, several: reconnects > 0 }).toEqual({ seen: made, several: true });
    expect(name).toBeTruthy();
  });

  test('a connection that is lost before its first event misses none, also where a proxy says meanwhile that nobody is there', async () => {
    const { main } = await newBranch();
    const stop = new AbortController();
    const cut = new AbortController();
    const statuses: number[] = [];
    let connected = (): void => undefined;
    const first = new Promise<void>((resolve) => {
      connected = resolve;
    });
    const away: typeof fetch = async (input, init) => {
      const answer =
        statuses.length === 1 || statuses.length === 2
          ? new Response('Bad Gateway', { status: 500 + 2 * statuses.length })
          : await fetch(input, statuses.length === 0 ? { ...init, signal: cut.signal } : init);
      statuses.push(answer.status);
      return answer;
    };
    const feed = connect(service.url, { fetch: away, retriesMax: 0 }).events({
      signal: stop.signal,
      onConnect: () => {
        connected();
      },
    });
    const next = feed.next();
    await first;
    cut.abort();
    const { commit } = await main.insert([{ k: 1n }]);
    expect([(await next).value?.commitId, statuses]).toEqual([commit, [200, 502, 504, 200]]);
    stop.abort();
  });

  test('the event of a merge names the branch that was merged into, other events have no parent', async () => {
    const { name, main } = await newBranch();
    const stop = new AbortController();
    const pool = lake.pool(name);
    let connected = (): void => undefined;
    const ready = new Promise<void>((resolve) => {
      connected = resolve;
    });
    const feed = lake.events({
      signal: stop.signal,
      onConnect: () => {
        connected();
      },
    });
    const next = feed.next();
    await ready;
    const { commit: first } = await main.insert([{ k: 1 }]);
    const kid = await pool.createBranch('kid', first);
    const { commit: second } = await kid.insert([{ k: 2 }]);
    const { commit: third } = await main.merge('kid');
    const seen = [(await next).value as LakeEvent];
    await pool.createTag('v1', first);
    await pool.deleteTag('v1');
    await main.reset(first);
    while (seen.length < 7) seen.push((await feed.next()).value as LakeEvent);
    stop.abort();
    const { poolId } = seen[0]!;
    const id = expect.any(String) as string;
    expect(seen).toEqual([
      { id, kind: 'pool-commit', poolId, branch: 'main', commitId: first },
      { id, kind: 'branch-update', poolId, branch: 'kid' },
      { id, kind: 'pool-commit', poolId, branch: 'kid', commitId: second },
      { id, kind: 'pool-commit', poolId, branch: 'main', commitId: third, parent: 'main', child: 'kid' },
      { id, kind: 'tag-new', poolId, tag: 'v1', commitId: first },
      { id, kind: 'tag-delete', poolId, tag: 'v1' },
      { id, kind: 'branch-reset', poolId, branch: 'main', commitId: first },
    ]);
  });

  test('an id that is no longer kept, or none, is refused', async () => {
    await expect(lake.events({ lastEventId: 'x' }).next()).rejects.toMatchObject({
      status: 400,
      message: 'invalid Last-Event-ID x',
    });
  });
});

describe('requests', () => {
  test('a client that is printed or serialized does not show its token', () => {
    const client = connect('http://127.0.0.1:1', { token: 'secret', headers: { Authorization: 'Bearer secret' } });
    const printed = inspect([client, client.pool('p'), client.query('1')], { depth: Infinity });
    expect([printed, JSON.stringify(client)].filter((text) => text.includes('secret'))).toEqual([]);
  });

  test('a token, asked for anew, and further headers go with each request', async () => {
    const sent: string[] = [];
    let turn = 0;
    const client = connect(`${service.url}/`, {
      token: () => `t${++turn}`,
      headers: { 'X-Team': 'a' },
      fetch: async (input, init) => {
        const headers = new Headers(init?.headers);
        sent.push(`${headers.get('authorization')} ${headers.get('x-team')}`);
        return fetch(input, init);
      },
    });
    await client.version();
    await client.version();
    expect(sent).toEqual(['Bearer t1 a', 'Bearer t2 a']);
  });

  test('a read is repeated after a lost connection and a 503, a write only with its key', async () => {
    let failures = 2;
    const flaky: typeof fetch = async (input, init) => {
      if (failures === 0) return fetch(input, init);
      failures--;
      if (failures === 1) throw new TypeError('connection lost');
      return new Response('{"type":"Error","kind":"overloaded","error":"busy"}', {
        status: 503,
        headers: { 'retry-after': '0' },
      });
    };
    const client = connect(service.url, { fetch: flaky });
    expect(await client.version()).toBe('v0.0.0-test');
    const { name } = await newBranch();
    const branch = client.pool(name).branch('main');
    failures = 2;
    await expect(branch.insert([{ k: 1 }])).rejects.toThrow('connection lost');
    failures = 2;
    await branch.insert([{ k: 1 }], { idempotencyKey: 'one' });
    expect(failures).toBe(0);
  });
});

test('an answer knows of the event that is asked for, and tells of which it knows', async () => {
  const quick = await startService(['-after.wait', '50ms']);
  const writer = connect(quick.url);
  expect(writer.lastEvent).toBeUndefined();
  const pool = await writer.createPool('p', { keys: [['k']] });
  await pool.branch('main').insert([{ k: 1 }]);
  const event = writer.lastEvent!;
  expect(event).toBe(quick.lake.lastEventId());
  const reader = connect(quick.url, { after: () => writer.lastEvent });
  expect(await reader.query('from p').all()).toEqual([{ k: 1n }]);
  expect(reader.lastEvent).toBe(event);
  const late = { status: 504, message: expect.stringContaining(`the lake is at event ${event}`) as string };
  await expect(writer.query('values 1', { after: event + 1 }).all()).rejects.toMatchObject(late);
  const ahead = connect(quick.url, { after: event + 1, retriesMax: 0 });
  await expect(ahead.pool('p').branch('main').tip()).rejects.toMatchObject(late);
  // One of a query is in the place of that of the client.
  expect(await ahead.query('values 1', { after: event }).all()).toEqual([1n]);
  await expect(writer.promote()).rejects.toMatchObject({ status: 409 });
  await quick.close();
});

test('a transaction is all or nothing, with one event each', async () => {
  const one = await newBranch();
  const two = await newBranch();
  await one.main.insert([{ k: 1, v: 1 }]);
  const staged = await two.main.stage('{k:2}{k:3}', { format: 'sup' });
  expect(staged).toMatchObject({ records: 2, until: expect.stringMatching(/^\d{4}-.*Z$/) });
  const tip = await one.main.tip();
  const commits = (ifMatch: string) => [
    { pool: two.name, load: [staged.id] },
    { pool: one.name, branch: 'main', update: { where: 'k==1', put: 'v:=2' }, ifMatch },
  ];
  await expect(lake.transact(commits(`0x${'1'.repeat(40)}`))).rejects.toMatchObject({ status: 412 });
  const ends = new AbortController();
  const heard = (async () => {
    const found: LakeEvent[] = [];
    for await (const event of lake.events({ signal: ends.signal, lastEventId: '0' }))
      if (event.transactionId !== undefined && found.push(event) === 2) break;
    return found;
  })();
  const made = await lake.transact(commits(tip), { author: 'ann', message: 'both', idempotencyKey: 'pair' });
  expect(await lake.transact(commits(tip), { author: 'ann', message: 'both', idempotencyKey: 'pair' })).toEqual(made);
  expect(made.commits.map(({ commit }) => commit)).toEqual([made.transaction, made.transaction]);
  expect((await heard).map(({ transactionId, commitId }) => [transactionId, commitId])).toEqual([
    [made.transaction, made.transaction],
    [made.transaction, made.transaction],
  ]);
  ends.abort();
  expect(await lake.query(`from ${one.name}@${made.transaction} | values v`).all()).toEqual([2n]);
});

test('a deletion and a vacuum are refused when the branch has moved on from the commit that they name', async () => {
  const { name, main } = await newBranch();
  const pool = lake.pool(name);
  const first = (await main.insert([{ k: 1 }])).commit;
  await main.insert([{ k: 2 }], { ifMatch: first });
  const moved = expect.objectContaining({ status: 412 }) as Error;
  await expect(main.insert([{ k: 3 }], { ifMatch: first })).rejects.toEqual(moved);
  await expect(main.delete({ ifMatch: first })).rejects.toEqual(moved);
  await expect(pool.vacuum('main', { ifMatch: first })).rejects.toEqual(moved);
  expect(await pool.vacuum('main', { ifMatch: await main.tip(), dryRun: true })).toEqual([]);
  await main.delete({ ifMatch: await main.tip() });
  await expect(main.tip()).rejects.toEqual(expect.objectContaining({ status: 404 }));
});
