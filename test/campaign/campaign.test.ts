/** The campaign, small: some seeds of each part. `npm run campaign` runs them large. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { errorTable, type LakeError } from '../../src/errors.ts';
import { program } from '../support/service/built.ts';
import { lacksCompiler, lacksStrace } from '../support/programs.ts';
import { randomOf, seedOf } from '../support/random.ts';
import { mayMount, mountSmallDisk } from '../support/small-disk.ts';
import { runPart } from './campaign.ts';
import { type Cut, readTrace, straceCommand, type Trace, writeImage } from './disk-trace.ts';
import { faultKinds, FaultVictim, type FaultTold, type Place } from './fault-victim.ts';
import { faultAfter } from './kills.ts';
import { largeBodies, loadLarge } from './large/large.ts';
import { parts, type PartName } from './parts.ts';
import { faultOfState, type LakeState, referenceOf, runVictim } from './run-victim.ts';
import { scriptOf, type Step } from './scripts.ts';

/** Of parts of which there are many some are run, others each day: SEED=0 to 4 are all of them. */
const day = seedOf(Math.floor(Date.now() / 86_400_000));
/** Seeds that npm test runs; other parts have tests of their own. */
const small: Partial<Record<PartName, readonly number[]>> = {
  kills: [3, 4],
  renditions: [7, 17],
  outages: [0],
  shortages: [2],
  power: [0],
  faults: [3],
  objects: [0],
  tables: [0, 1],
  logs: [0, 1],
  forged: [0],
  floods: [0],
  arguments: [41, 42],
  mixes: [0],
  clocks: [0, 1 + (day % 5)],
  buckets: [0, 4, 8],
  syslog: [1],
  times: [0],
  wordings: [0],
  statements: [day % 5],
  updates: [2],
  transfers: [2 * (day % 2)],
  versions: [2 * day, 2 * day + 1],
  names: [0, 1],
  copies: [0],
};
const lacking: Partial<Record<PartName, boolean>> = {
  power: lacksStrace(),
  outages: lacksStrace(),
  faults: lacksCompiler(),
  shortages: lacksCompiler(),
};

describe('nothing is lost, nothing is wrong, nothing hangs', { timeout: 300_000 }, () => {
  for (const part of Object.keys(small) as PartName[]) {
    test.skipIf(lacking[part] ?? false)(`${part}: seeds ${small[part]!.join(', ')}`, async () => {
      const { counts, failures } = await runPart(part, small[part]!);
      expect(failures).toEqual([]);
      expect(Math.max(...counts.values())).toBeGreaterThan(0);
    });
  }
  test('each part is loaded by its name', () => {
    expect(Object.keys(parts)).toEqual(expect.arrayContaining(Object.keys(small)));
  });
});

test('a transaction that is killed anywhere is whole or not there', { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-transaction-kills-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const script: readonly Step[] = [
    { do: 'create pool', pool: 'p' },
    { do: 'create pool', pool: 'q' },
    { do: 'load', pool: 'p', branch: 'main', key: 1, large: true },
    { do: 'transaction', pool: 'p', other: 'q', keys: [1], to: 2, large: true },
  ];
  const { states } = await referenceOf(join(folder, 'reference'), script);
  const points = ['turns: one granted:2', 'turns: all granted', 'turns: one let go:1', 'turns: one let go:2'];
  for (const [i, killAt] of points.entries()) {
    const lake = join(folder, String(i));
    const told = await runVictim(lake, script, { killAt });
    expect([killAt, told.status]).toEqual([killAt, 'SIGKILL']);
    expect([killAt, await faultAfter(lake, true, (found) => faultOfState(found, told.lines, script, states))]).toEqual([
      killAt,
      undefined,
    ]);
  }
});

describe('bodies that are large in one piece', { timeout: 300_000 }, () => {
  // One that is taken and one that is refused each day.
  const taken: readonly (readonly [name: string, size: number, status: number])[] = [
    ['json shapes', 0.05, 200],
    ['json triangle', 0.1, 200],
    ['zeek vector', 0.05, 200],
    ['csv long cells', 0.3, 200],
  ];
  const refused: readonly (readonly [name: string, size: number, status: number])[] = [
    ['json numbers', 0.3, 413],
    ['sup map', 0.3, 413],
  ];
  test.each([taken[day % taken.length]!, refused[day % refused.length]!])(
    '%s (%d of its size) is answered with %d, within the memory',
    async (name, size, status) => {
      const { status: answered, fault } = await loadLarge(name, { seed: 1, size, restMs: 0 });
      expect({ answered, fault }).toEqual({ answered: status, fault: undefined });
    },
  );
  // A third each day, since many of them are made by a Python of their own: SEED=0, 1 and 2 are all of them.
  const third = day % 3;
  test(`all of them have chunks of bytes: each third from ${third} on`, async () => {
    for (const [name, body] of Object.entries(largeBodies).filter((_, i) => i % 3 === third)) {
      let bytes = 0;
      for await (const chunk of (await body(randomOf(2), 0.001)).chunks()) bytes += chunk.length;
      expect(bytes, name).toBeGreaterThan(0);
    }
  });
});

describe.skipIf(lacksStrace())('the traced disk', { timeout: 300_000 }, () => {
  const nothing: Cut = { keep: 'nothing' };
  const traced = async (script: readonly Step[]) => {
    const folder = mkdtempSync(join(tmpdir(), 'lake-traced-'));
    onTestFinished(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    const told = await runVictim(join(folder, 'lake'), script, { wrap: straceCommand(join(folder, 'trace')) });
    expect(told.status).toBe(0);
    const trace = readTrace(join(folder, 'trace'), join(folder, 'lake'));
    const { states } = await referenceOf(join(folder, 'reference'), script);
    const faultAt = async (of: Trace, end: number, cut: Cut = nothing): Promise<string | undefined> => {
      const image = join(folder, 'image');
      rmSync(image, { recursive: true, force: true });
      const lines = writeImage(of, end, cut, image);
      rmSync(join(image, 'running'), { force: true });
      return faultAfter(image, false, (found) => faultOfState(found, lines, script, states));
    };
    const said = trace.events.flatMap((event, i) =>
      event.kind === 'said' && event.line.startsWith('ack') ? [i + 1] : [],
    );
    expect(said.length).toBeGreaterThan(2);
    return { trace, faultAt, said };
  };

  test('no acknowledgement leaves before the flush: with all that was not synced gone, each is there; a disk that ignores syncs is found out', async () => {
    const { trace, faultAt, said } = await traced(scriptOf(1, 2));
    for (const end of said) expect(await faultAt(trace, end), `call ${end}`).toBeUndefined();
    const lying: Trace = {
      events: trace.events.map((event) =>
        event.kind === 'sync' ? { ...event, from: 0 } : event.kind === 'write' ? { ...event, synced: false } : event,
      ),
    };
    expect(await faultAt(lying, said.at(-1)!)).toMatch(/in place of|lost|neither a log nor tables/);
  });

  test('while the first tables are made the power may go at any call, with any sectors written: the lake is made again', async () => {
    const { trace, faultAt } = await traced([
      { do: 'create pool', pool: 'p' },
      { do: 'create pool', pool: 'q' },
      { do: 'create pool', pool: 'r' },
    ]);
    const random = randomOf(1);
    const made = trace.events.findIndex((event) => event.kind === 'link' && event.path === 'tables/data.mdb');
    for (let end = made; end < made + 12; end++) {
      for (let times = 0; times < 3; times++)
        expect(await faultAt(trace, end, { keep: 'some', sectorBytes: 512, random }), `call ${end}`).toBeUndefined();
    }
  });
  test("the lake's own name is durable in the folder above before anything is acknowledged", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lake-named-'));
    const lake = join(folder, 'new', 'lake');
    onTestFinished(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    expect(
      (await runVictim(lake, [{ do: 'create pool', pool: 'p' }], { wrap: straceCommand(join(folder, 'trace')) }))
        .status,
    ).toBe(0);
    const { events } = readTrace(join(folder, 'trace'), folder);
    const first = (kind: string, path: string): number =>
      events.findIndex((event) => event.kind === kind && 'path' in event && event.path === path);
    const said = events.findIndex((event) => event.kind === 'said' && event.line.startsWith('ack'));
    for (const [name, above] of [
      ['new', ''],
      ['new/lake', 'new'],
    ] as const) {
      expect(first('link', name)).toBeGreaterThanOrEqual(0);
      expect([first('sync folder', above) > first('link', name), first('sync folder', above) < said]).toEqual([
        true,
        true,
      ]);
    }
  });
  test('names are durable by the sync of their folder: without the syncs of any one of them what was acknowledged is lost', async () => {
    const { trace, faultAt, said } = await traced([
      { do: 'create pool', pool: 'p' },
      { do: 'load', pool: 'p', branch: 'main', key: 1, large: true },
      { do: 'load', pool: 'p', branch: 'main', key: 2, large: false },
    ]);
    expect(await faultAt(trace, said.at(-1)!)).toBeUndefined();
    const folders = [
      ...new Set(
        trace.events.flatMap((event) =>
          event.kind === 'sync folder' ? [event.path.replace(/^objects\/.+/, 'objects/XX')] : [],
        ),
      ),
    ].sort();
    expect(folders).toEqual(['', 'log', 'objects', 'objects/XX', 'tables']);
    // Tables that are lost are made again.
    for (const folder of folders.filter((name) => name !== 'tables')) {
      const isOf = (path: string): boolean => (folder === 'objects/XX' ? /^objects\/./.test(path) : path === folder);
      const without: Trace = {
        events: trace.events.map((event) =>
          event.kind === 'sync folder' && isOf(event.path) ? { kind: 'said', line: '' } : event,
        ),
      };
      expect(await faultAt(without, said.at(-1)!), `without the syncs of ${folder || 'the lake'}`).toBeDefined();
    }
  });
});

describe('a disk that fails', { timeout: 300_000 }, () => {
  const loads = (count: number, large = -1): readonly Step[] => [
    { do: 'create pool', pool: 'p' },
    ...Array.from(
      { length: count },
      (_, i): Step => ({ do: 'load', pool: 'p', branch: 'main', key: i + 1, large: i === large }),
    ),
  ];
  /** Runs a script while calls of a kind on one of the lake's files fail. */
  const failing = async (
    script: readonly Step[],
    path: string,
    inject: string,
  ): Promise<{ readonly lines: readonly string[]; readonly status: number | string; readonly lake: string }> => {
    const folder = mkdtempSync(join(tmpdir(), 'lake-failing-'));
    const lake = join(folder, 'lake');
    onTestFinished(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    const { lines, status } = await runVictim(lake, script, {
      mode: 'states',
      wrap: [
        'strace',
        '-f',
        '-o',
        '/dev/null',
        '-P',
        join(lake, path),
        '-e',
        `trace=${inject.split(':')[0]}`,
        '-e',
        `inject=${inject}`,
      ],
    });
    return { lines, status, lake };
  };
  const ends = (lines: readonly string[]): readonly string[] =>
    lines.flatMap((line) => {
      const found = /^(ack|refused) \d+ ?(\S*)/.exec(line);
      return found ? [found[2] || 'done'] : [];
    });
  const last = (lines: readonly string[]): string =>
    lines.findLast((line) => line.startsWith('state '))!.replace(/^state \d+ /, '');

  test.skipIf(lacksStrace())('without room in the log a load is a 507, and the next one goes on', async () => {
    const { lines, status } = await failing(loads(60), 'log/00000001', 'pwrite64:error=ENOSPC:when=3');
    const found = ends(lines);
    expect([...new Set(found)].sort()).toEqual(['done', 'storage-full']);
    expect(found.lastIndexOf('done')).toBeGreaterThan(found.indexOf('storage-full'));
    // strace counts the calls of each thread by itself.
    expect(JSON.parse(last(lines))).toEqual({
      p: { main: Array.from({ length: 60 }, (_, i) => i + 1).filter((key) => found[key] === 'done') },
    });
    expect(status).toBe(0);
    expect(errorTable['storage-full'].status).toBe(507);
  });

  test.skipIf(lacksStrace())(
    'without room for a data object likewise; other faults of its file are told with its name',
    async () => {
      const id = createHash('sha1').update('3').digest('hex');
      const path = `objects/${id.slice(38)}/${id}`;
      for (const [inject, code] of [
        ['write:error=ENOSPC:when=1', 'storage-full'],
        ['fsync:error=EIO:when=1', 'object-unwritten'],
      ] as const) {
        const { lines } = await failing(loads(5, 2), path, inject);
        expect(ends(lines)).toEqual(['done', 'done', 'done', code, 'done', 'done']);
        expect(last(lines)).toBe('{"p":{"main":[1,2,4,5]}}');
      }
    },
  );

  test.skipIf(lacksStrace())(
    'after a write of the log failed writes are refused with the reason, reads go on, the next start has what was acknowledged',
    async () => {
      // The first write makes the segment itself.
      const { lines, lake } = await failing(loads(60), 'log/00000001', 'pwrite64:error=EIO:when=4+');
      const found = ends(lines);
      const first = found.indexOf('lake-failed');
      expect(first).toBeGreaterThan(1);
      expect(new Set(found.slice(0, first))).toEqual(new Set(['done']));
      expect(new Set(found.slice(first))).toEqual(new Set(['lake-failed']));
      const there = Array.from({ length: first - 1 }, (_, i) => i + 1);
      expect(JSON.parse(last(lines))).toEqual({ p: { main: there } });
      expect(await faultAfter(lake, true, faultBeside(there, first))).toBeUndefined();
    },
  );
  /** Of the one whose write failed nobody knows. */
  const faultBeside =
    (there: readonly number[], unknown: number) =>
    (state: LakeState): string | undefined => {
      const main = JSON.stringify(state['p']!['main']!);
      return main === JSON.stringify(there) || main === JSON.stringify([...there, unknown])
        ? undefined
        : JSON.stringify(state);
    };

  describe.skipIf(lacksCompiler())('call by call', () => {
    let folder: string;
    let victim: FaultVictim;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'lake-place-'));
      victim = new FaultVictim(folder);
    });
    afterAll(async () => {
      await victim.end();
      rmSync(folder, { recursive: true, force: true });
    });
    let runs = 0;
    /** In a process of its own, whose lake has failed or is not open any more. */
    const at = async (
      script: readonly Step[],
      place: Place | Pick<Place, 'of'>,
    ): Promise<FaultTold & { readonly lake: string }> => {
      const lake = join(folder, `lake-${++runs}`);
      const told = await victim.run(lake, script, place);
      await victim.end();
      return { ...told, lake };
    };
    /** Those on LMDB's file, from the last but one to the first: after the last one nothing would meet what it left. */
    const placesInTables = async (name: string, error: Place['error']): Promise<Place[]> => {
      const of = 'tables/data.mdb';
      const { counted } = await at(loads(40), { of });
      const count = counted![kind(name)]!;
      return Array.from({ length: count - 1 }, (_, i) => ({ kind: kind(name), n: count - 1 - i, error, of }));
    };
    const kind = (name: string): number => faultKinds.findIndex((one) => one.name === name);

    test('the tables are looked at before LMDB opens them: where its opening would end the process there is an error, and the next start goes on', async () => {
      for (const [place, struck, text] of [
        [{ kind: kind('write'), n: 3, error: 'EIO' }, 'write tables/data.mdb by node', /cannot be opened: .*EIO/],
        [{ kind: kind('write'), n: 3, error: 'ENOSPC' }, 'write tables/data.mdb by node', /disk is full: .*ENOSPC/],
        [{ kind: kind('write'), n: 4, error: 'ENOSPC' }, 'write tables/lock.mdb by node', /disk is full: .*ENOSPC/],
        [{ kind: kind('read'), n: 4, error: 'EIO' }, 'pread tables/data.mdb by node', /cannot be opened: .*EIO/],
        [{ kind: kind('open'), n: 11, error: 'EMFILE' }, 'open tables/data.mdb by node', /cannot be opened: .*EMFILE/],
      ] as const) {
        const told = await at(loads(1), place);
        expect({ struck: told.struck, status: told.status, complaint: told.complaint }).toEqual({
          struck,
          status: 1,
          complaint: expect.stringMatching(text) as unknown,
        });
        expect(await faultAfter(told.lake, true, () => undefined)).toBeUndefined();
      }
    });

    test('when the page that names the newest state could not be written the tables are opened anew: reads go on, writes are refused with the reason', async () => {
      // That page comes last in a transaction; without another page that fails, which may end LMDB's binding.
      let reopened = 0;
      for (const place of await placesInTables('write', 'EIO')) {
        if (reopened > 0) break;
        const { lines, lake, status } = await at(loads(40), place);
        const found = ends(lines);
        const first = found.indexOf('lake-failed');
        if (status !== 0 || first < 2) continue;
        reopened++;
        expect([new Set(found.slice(0, first)), new Set(found.slice(first))]).toEqual([
          new Set(['done']),
          new Set(['lake-failed']),
        ]);
        const there = { p: { main: Array.from({ length: first - 1 }, (_, i) => i + 1) } };
        expect(JSON.parse(last(lines))).toEqual(there);
        expect(
          await faultAfter(lake, true, (state) =>
            JSON.stringify(state) === JSON.stringify(there) ? undefined : JSON.stringify(state),
          ),
        ).toBeUndefined();
      }
      expect(reopened).toBe(1);
    });

    test('where LMDB has no room for a moment nothing is refused: the log has it, and LMDB gets it the next time', async () => {
      let met = 0;
      for (const place of await placesInTables('writev', 'ENOSPC')) {
        if (met > 0) break;
        const { lines, lake, status } = await at(loads(40), place);
        if (status !== 0 || !lines.some((line) => line.startsWith('fault disk is full'))) continue;
        met++;
        expect(new Set(ends(lines))).toEqual(new Set(['done']));
        expect(
          await faultAfter(lake, true, (state) =>
            state['p']!['main']!.length === 40 ? undefined : JSON.stringify(state),
          ),
        ).toBeUndefined();
      }
      expect(met).toBe(1);
    });

    test('after a sync of LMDB failed writes are refused, and what the log has is there: for reads, and after the next start', async () => {
      let met = 0;
      for (const place of await placesInTables('sync', 'EIO')) {
        if (met > 0) break;
        const { struck, lines, lake, status } = await at(loads(40), place);
        const found = ends(lines);
        const first = found.indexOf('lake-failed');
        if (!/^fdatasync tables\/data\.mdb by .*\.node$/.test(struck ?? '') || first < 2) continue;
        met++;
        expect([status, new Set(found.slice(0, first)), new Set(found.slice(first))]).toEqual([
          0,
          new Set(['done']),
          new Set(['lake-failed']),
        ]);
        const there = Array.from({ length: first - 1 }, (_, i) => i + 1);
        expect(JSON.parse(last(lines))).toEqual({ p: { main: there } });
        expect(await faultAfter(lake, true, faultBeside(there, first))).toBeUndefined();
      }
      expect(met).toBe(1);
    });

    test('an object whose folder cannot be synced is not acknowledged', async () => {
      const folderOf = `objects/${createHash('sha1').update('2').digest('hex').slice(38)}`;
      for (const of of ['objects', folderOf]) {
        const { counted } = await at(loads(2, 1), { of });
        const n = counted![kind('sync')]!;
        const { struck, lines, lake } = await at(loads(2, 1), { kind: kind('sync'), n, error: 'EIO', of });
        expect([struck, ends(lines)]).toEqual([`fsync ${of} by node`, ['done', 'done', 'object-unwritten']]);
        expect(
          await faultAfter(lake, true, (state) =>
            JSON.stringify(state) === '{"p":{"main":[1]}}' ? undefined : JSON.stringify(state),
          ),
        ).toBeUndefined();
      }
    });
  });

  test.skipIf(!mayMount())(
    'on a disk that is full loads are a 507 before LMDB meets it, what is there can be read, and with room they go on',
    async () => {
      const { folder, remove } = mountSmallDisk('4m');
      onTestFinished(remove);
      const { openBuiltLake, stateOf } = await import('./built-lake.ts');
      const lake = await openBuiltLake(join(folder, 'lake'), () => undefined);
      try {
        const pool = (await lake.createPool({ name: 'p', keys: [['k']] })).pool.name;
        const tell = async (name: string): Promise<string> =>
          lake.createPool({ name }).then(
            () => 'done',
            (error: LakeError) => `${error.code} ${error.message}`,
          );
        writeFileSync(join(folder, 'ballast'), Buffer.alloc(statfsSync(folder).bavail * 4096 - (600 << 10)));
        expect(await tell('q')).toMatch(/^storage-full disk is full: \d+ KiB are left$/);
        expect(lake.full()).toMatch(/^disk is full: \d+ KiB are left$/);
        expect(await stateOf(lake)).toEqual({ [pool]: { main: [] } });
        // What makes room is done all the same.
        await lake.deletePool(pool);
        expect(await stateOf(lake)).toEqual({});
        rmSync(join(folder, 'ballast'));
        expect([await tell('q'), lake.full()]).toEqual(['done', undefined]);
      } finally {
        await lake.close();
      }
    },
  );

  test('without descriptors those that are kept for the next read are given back', () => {
    const folder = mkdtempSync(join(tmpdir(), 'lake-few-'));
    onTestFinished(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    const script = `import { openSync, closeSync } from 'node:fs';
      const { openObjects } = await import(${JSON.stringify(pathToFileURL(join(dirname(program), 'lake/objects/objects.js')).href)});
      const files = openObjects(${JSON.stringify(folder)}), ids = ['a', 'b', 'c'].map((c) => c.repeat(40)), taken = [];
      for (const id of ids) await files.put(id, Buffer.from(id));
      const read = (id) => Buffer.from(files.readRange(id, 0, 40)).toString();
      read(ids[0]); read(ids[1]);
      try { for (;;) taken.push(openSync('/dev/null', 'r')); } catch (error) { console.log(error.code); }
      console.log(read(ids[2]) === ids[2], read(ids[0]) === ids[0]);
      files.close();`;
    expect(
      execFileSync('bash', ['-c', `ulimit -n 64; exec "${process.execPath}" --input-type=module`], {
        input: script,
        encoding: 'utf8',
      }),
    ).toBe('EMFILE\ntrue true\n');
  });
});
