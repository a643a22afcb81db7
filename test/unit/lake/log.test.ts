/** The log and its index: what is durable, what a cut, a flip, a lost table or a lost segment make of it. */
import {
  copyFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LakeError } from '../../../src/errors.ts';
import { Checkpoints } from '../../../src/lake/tables/checkpoints.ts';
import { fsck } from '../../../src/lake/repair/fsck.ts';
import { allRows, writeBase } from '../../../src/lake/log/base.ts';
import { decodeHead, headBytes, type LogPlace, recordAt, recordHeadBytes } from '../../../src/lake/log/format.ts';
import {
  basePath,
  listBases,
  listSegments,
  logBegin,
  BaseRead,
  LogRead,
  segmentPath,
} from '../../../src/lake/log/reader.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { openTables } from '../../../src/lake/repair/recovery.ts';
import { tablesFolder } from '../../../src/lake/repair/replay.ts';
import { repair } from '../../../src/lake/repair/repair.ts';
import { type Change, type TableName, type Tables } from '../../../src/lake/tables/tables.ts';
import { randomOf, seedOf } from '../../support/random.ts';
import { failure, inlineObject, keysAt, newPool, openIn, openTestLake, temporaryDirectory } from './support.ts';

const key = (n: number): Buffer => Buffer.from([n >> 8, n & 0xff]);
const put = (n: number, text: string, table: TableName = 'objects'): Change => ({
  table,
  key: key(n),
  payload: Buffer.from(text),
});
const remove = (n: number, table: TableName = 'objects'): Change => ({ table, key: key(n) });
const open = async (
  directory: string,
  options: { readonly applyBytes?: number; readonly segmentBytes?: number } = {},
): Promise<Tables> => {
  const { tables } = await openTables({ directory, ...options });
  onTestFinished(async () => {
    await tables.close().catch(() => undefined);
  });
  return tables;
};
/** The rows as text. */
const rowsOf = (tables: Tables, table: TableName = 'objects'): Record<string, string> =>
  Object.fromEntries(tables.rows(table).map((row) => [row.key.readUInt16BE(), row.payload.toString()]));
/** The folder as a kill leaves it now. */
const killed = async (directory: string): Promise<string> => {
  const left = await temporaryDirectory();
  cpSync(directory, left, { recursive: true });
  return left;
};
const lastSegment = (directory: string): string =>
  segmentPath(directory, new LogRead(directory).finish().place!.segment);
const placeOf = (directory: string): LogPlace => new LogRead(directory).finish().place!;
const flip = (path: string, at: number): void => {
  const bytes = readFileSync(path);
  bytes[at]! ^= 0x10;
  writeFileSync(path, bytes);
};

describe('what was written and is not in LMDB yet', () => {
  test('is read like the rest: by key, as ranges from both ends, with limits, counted', async () => {
    const directory = await temporaryDirectory();
    const tables = await open(directory);
    await tables.write([put(1, 'a'), put(3, 'c'), put(5, 'e')]);
    await tables.close();
    const again = await open(directory);
    await again.write([put(2, 'b'), remove(3), put(5, 'E'), put(9, 'i')]);
    expect(rowsOf(again)).toEqual({ 1: 'a', 2: 'b', 5: 'E', 9: 'i' });
    expect([
      again.get('objects', key(3)),
      again.has('objects', key(3)),
      again.get('objects', key(5))!.toString(),
      again.has('objects', key(9)),
    ]).toEqual([undefined, false, 'E', true]);
    expect(again.keys('objects', { limit: 3 }).map((k) => k[1])).toEqual([1, 2, 5]);
    expect(again.rows('objects', { reverse: true, limit: 3 }).map((row) => row.key[1])).toEqual([9, 5, 2]);
    expect(again.keys('objects', { start: key(3) }).map((k) => k[1])).toEqual([5, 9]);
    expect(again.keys('objects', { prefix: Buffer.of(1) })).toEqual([]);
    expect(again.count('objects')).toBe(4);
  });

  test('is there after a kill, as often as one comes, and after a clean end', async () => {
    const directory = await temporaryDirectory();
    const tables = await open(directory);
    await tables.write([put(1, 'one'), put(2, 'two')]);
    await tables.write([remove(1), put(2, 'TWO')], undefined, { alone: true });
    const left = await killed(directory);
    const again = await open(left);
    expect(rowsOf(again)).toEqual({ 2: 'TWO' });
    await again.write([put(3, 'three')], undefined, { alone: true });
    expect(rowsOf(again)).toEqual({ 2: 'TWO', 3: 'three' });
    await again.close();
    await tables.close();
    expect(rowsOf(await open(directory))).toEqual({ 2: 'TWO' });
  });

  test('the first that comes in a turn of the event loop is written at once, the others go together', async () => {
    const directory = await temporaryDirectory();
    const tables = await open(directory);
    await tables.write([put(0, 'x')]);
    const came = async (count: number): Promise<number> => {
      const { number } = placeOf(directory);
      const writes = Array.from({ length: count }, (_, i) => tables.write([put(i, 'x')], undefined, { alone: true }));
      await Promise.all(writes);
      return placeOf(directory).number - number;
    };
    expect(await came(8)).toBe(2);
    await new Promise(setImmediate);
    expect([await came(1), await came(1)]).toEqual([1, 1]);
  });

  test('a check sees what is on its way, readers do not', async () => {
    const tables = await open(await temporaryDirectory());
    const first = tables.write([put(1, 'a')]);
    const seen: unknown[] = [];
    const second = tables.write([put(2, 'b')], () => {
      seen.push(tables.get('objects', key(1))!.toString(), tables.keys('objects').length);
    });
    seen.push(tables.has('objects', key(1)), tables.keys('objects').length);
    await Promise.all([first, second]);
    expect(seen).toEqual(['a', 1, false, 0]);
    await expect(
      tables.write([put(3, 'c')], () => {
        throw new LakeError('pool-exists', { pool: 'x' });
      }),
    ).rejects.toThrow('x: pool already exists');
    expect(rowsOf(tables)).toEqual({ 1: 'a', 2: 'b' });
  });

  test('random transactions, short and long, alone and at once, in short segments: tables, kills and restarts agree with a map, and so do tables that are made anew', {
    timeout: 180_000,
  }, async () => {
    const seed = seedOf(20_261_122);
    const random = randomOf(seed);
    const model = new Map<number, string>();
    const sizes = { applyBytes: 2048, segmentBytes: 4096 };
    console.log(`seed ${seed}`);
    let directory = await temporaryDirectory();
    let tables = await open(directory, sizes);
    const change = (): Change[] =>
      Array.from({ length: 1 + random.below(4) }, () => {
        const n = random.below(40);
        if (random.below(4) === 0) {
          model.delete(n);
          return remove(n);
        }
        const text = random.hex(random.below(30) === 0 ? 3000 : 1 + random.below(150));
        model.set(n, text);
        return put(n, text);
      });
    for (let round = 0; round < 250; round++) {
      if (random.below(3) === 0) await tables.write(change(), undefined, { alone: true });
      else await Promise.all(Array.from({ length: 1 + random.below(6) }, () => tables.write(change())));
      if (random.below(20) > 0) continue;
      const expected = Object.fromEntries([...model].sort((a, b) => a[0] - b[0]));
      expect(rowsOf(tables), `seed ${seed}, round ${round}`).toEqual(expected);
      const left = await killed(directory);
      if (random.below(2) === 0) await tables.close();
      else directory = left;
      if (random.below(3) === 0) rmSync(tablesFolder(directory), { recursive: true });
      tables = await open(directory, sizes);
      expect(rowsOf(tables), `seed ${seed}, round ${round}, restarted`).toEqual(expected);
    }
  });
});

describe('the end of the chain', () => {
  test('a record that is cut anywhere is none; what came before is there, and the next one takes its place', {
    timeout: 300_000,
  }, async () => {
    const directory = await temporaryDirectory();
    const tables = await open(directory, { applyBytes: Infinity });
    await tables.write([put(1, 'one')]);
    await tables.write([put(1, 'ONE'), put(2, 'two')]);
    const before = await killed(directory);
    const { at, end } = placeOf(before);
    const bytes = readFileSync(lastSegment(before));
    for (let cut = 0; cut <= end - at; cut += cut < recordHeadBytes ? 8 : 3) {
      const left = await killed(before);
      const torn = Buffer.from(bytes);
      torn.fill(0, at + cut, end);
      writeFileSync(segmentPath(left, 1), torn);
      rmSync(tablesFolder(left), { recursive: true });
      const again = await open(left);
      const isWhole = torn.equals(bytes);
      expect(rowsOf(again), `${cut} of ${end - at} bytes`).toEqual(isWhole ? { 1: 'ONE', 2: 'two' } : { 1: 'one' });
      await again.write([put(3, 'three')]);
      await again.close();
      rmSync(tablesFolder(left), { recursive: true });
      const later = await open(left);
      expect(rowsOf(later)).toEqual(isWhole ? { 1: 'ONE', 2: 'two', 3: 'three' } : { 1: 'one', 3: 'three' });
      await later.close();
    }
  });

  /** Some segments of records, closed in order. */
  const someLog = async (): Promise<string> => {
    const directory = await temporaryDirectory();
    const tables = await open(directory, { segmentBytes: 2048 });
    for (let n = 0; n < 60; n++)
      await tables.write([put(n, `value ${n}`.repeat(8))], undefined, { alone: n % 2 === 0 });
    await tables.close();
    expect(listSegments(directory).length).toBeGreaterThan(2);
    return directory;
  };

  test('each flipped byte of a record or a head is found: the start of tables that were lost is refused, with file and byte', {
    timeout: 300_000,
  }, async () => {
    const directory = await someLog();
    const { number, segment: last } = placeOf(directory);
    for (const segment of listSegments(directory).filter((n) => n <= last)) {
      const path = segmentPath(directory, segment);
      const sound = readFileSync(path);
      const ends = endOf(sound, directory);
      for (let at = 0; at < ends; at += 37) {
        const bytes = Buffer.from(sound);
        bytes[at]! ^= 0x10;
        writeFileSync(path, bytes);
        const { faults, place } = new LogRead(directory).finish();
        // Of the last record nothing later tells; LMDB does.
        expect(faults.length > 0 || place!.number < number, `segment ${segment}, byte ${at}`).toBe(true);
        for (const fault of faults) expect(fault).toMatch(/^log\/\d{8}, byte \d+: /);
      }
      writeFileSync(path, sound);
    }
    flip(segmentPath(directory, 1), 700);
    rmSync(tablesFolder(directory), { recursive: true });
    expect((await failure(openTables({ directory }))).text).toMatch(
      /its log is damaged: log\/00000001, byte \d+: records? [\d to]+ (is|are) damaged or missing \(lake fsck -repair brings back what is whole\)$/,
    );
  });
  const endOf = (bytes: Buffer, directory: string): number => {
    const { salt } = logBegin(directory)!.identity;
    const file = decodeHead(bytes, 'segment')!.number;
    let at = headBytes;
    for (
      let found = recordAt(bytes, at, { salt, file, byte: at });
      found;
      found = recordAt(bytes, at, { salt, file, byte: at })
    )
      at = found.end;
    return at;
  };

  test("segments that are missing, swapped or another lake's are named; tables that know more than the log are not opened", {
    timeout: 180_000,
  }, async () => {
    const sound = await someLog();
    const other = await someLog();
    const faultsOf = async (change: (directory: string) => void): Promise<string> => {
      const directory = await killed(sound);
      change(directory);
      rmSync(tablesFolder(directory), { recursive: true, force: true });
      return (await failure(openTables({ directory }))).text;
    };
    expect(
      await faultsOf((d) => {
        rmSync(segmentPath(d, 2));
      }),
    ).toMatch(/log\/00000003, byte 0: the segments before it are missing \(00000002 to 00000002\)/);
    expect(
      await faultsOf((d) => {
        rmSync(segmentPath(d, 1));
      }),
    ).toMatch(/there is none of what was before record/);
    expect(
      await faultsOf((d) => {
        copyFileSync(segmentPath(other, 2), segmentPath(d, 2));
      }),
    ).toMatch(/log\/00000002, byte 0: it is of another lake/);
    expect(
      await faultsOf((d) => {
        renameSync(segmentPath(d, 1), join(d, 'x'));
        renameSync(segmentPath(d, 2), segmentPath(d, 1));
        renameSync(join(d, 'x'), segmentPath(d, 2));
      }),
    ).toMatch(/its head is damaged/);
    const directory = await killed(sound);
    const { number, at, end } = placeOf(directory);
    const path = lastSegment(directory);
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0, at, end));
    expect((await failure(openTables({ directory }))).text).toMatch(
      new RegExp(`byte ${at}: record ${number} is not there`),
    );
  });

  test("the last record in tables that were closed is another lake's: they are made again", async () => {
    const one = await someLog();
    const other = await temporaryDirectory();
    const tables = await open(other);
    const why: string[] = [];
    await tables.write([put(500, 'of the other')]);
    await tables.close();
    rmSync(tablesFolder(one), { recursive: true });
    cpSync(tablesFolder(other), tablesFolder(one), { recursive: true });
    const again = await openTables({
      directory: one,
      rebuilt: (text) => {
        why.push(text);
      },
    });
    expect([why, Object.keys(rowsOf(again.tables)).length, again.tables.has('objects', key(500))]).toEqual([
      ['they are not those of this log'],
      60,
      false,
    ]);
    await again.tables.close();
  });
});

describe('what a client chose', () => {
  test("is never a record: rows that are the log's own bytes, at every place where one may begin, in front of torn and whole ends", {
    timeout: 300_000,
  }, async () => {
    const seed = seedOf(20_261_123);
    const random = randomOf(seed);
    const directory = await temporaryDirectory();
    const model = new Map<number, string>();
    let tables = await open(directory, { segmentBytes: 16_384, applyBytes: 1024 });
    const own = async (): Promise<Buffer> => {
      const paths = [
        ...listSegments(directory).map((n) => segmentPath(directory, n)),
        join(tablesFolder(directory), 'data.mdb'),
      ];
      const bytes = readFileSync(random.pick(paths));
      const from = random.below(bytes.length);
      return bytes.subarray(random.below(2) === 0 ? from & ~7 : from, from + random.below(6000));
    };
    for (let round = 0; round < 80; round++) {
      const n = random.below(200);
      const text = (await own()).toString('latin1');
      const shift = ' '.repeat(random.below(9));
      model.set(n, shift + text);
      await tables.write([{ table: 'objects', key: key(n), payload: Buffer.from(shift + text, 'latin1') }], undefined, {
        alone: random.below(2) === 0,
      });
      if (random.below(8) > 0) continue;
      const isKilled = random.below(2) === 0;
      if (!isKilled) await tables.close();
      const left = await killed(directory);
      if (isKilled) {
        // Half of a record that is made of records.
        const path = lastSegment(left);
        const bytes = readFileSync(path);
        const { end } = placeOf(left);
        (await own()).copy(bytes, end);
        writeFileSync(path, bytes);
        await tables.close();
      }
      if (random.below(6) > 0) rmSync(tablesFolder(left), { recursive: true });
      const again = await open(left);
      const found = Object.fromEntries(
        again.rows('objects').map((row) => [row.key.readUInt16BE(), row.payload.toString('latin1')]),
      );
      expect(found, `seed ${seed}, round ${round}`).toEqual(Object.fromEntries([...model].sort((a, b) => a[0] - b[0])));
      await again.close();
      rmSync(tablesFolder(directory), { recursive: true });
      tables = await open(directory, { segmentBytes: 16_384, applyBytes: 1024 });
    }
  });

  test("twenty bytes of a ring's record in a row do not keep a lake from opening", async () => {
    const lake = await openTestLake();
    await newPool(lake);
    await lake
      .pool('p')
      .load('main', [{ ...inlineObject(1), inline: Buffer.from('4c4a524e00000000000000000001000058ac177a', 'hex') }]);
    await lake.close();
    const again = await openTestLake({ directory: lake.directory });
    expect(await keysAt(again, 'p', 'main')).toEqual(['1']);
    await again.close();
    expect((await fsck({ directory: lake.directory, files: openObjects(lake.directory) })).faults).toEqual([]);
  });
});

describe('tables that are lost, damaged or older', { timeout: 180_000 }, () => {
  const made = async (): Promise<string> => {
    const lake = await openTestLake({ baseBytesMin: 1, segmentBytes: 8192 });
    await newPool(lake);
    for (let n = 0; n < 40; n++) await lake.pool('p').load('main', [inlineObject(n)]);
    await lake.close();
    return lake.directory;
  };
  const damages: readonly (readonly [name: string, damage: (data: string, older: Buffer) => void, isFault: boolean])[] =
    [
      [
        'are gone',
        (data) => {
          rmSync(join(data, '..'), { recursive: true });
        },
        false,
      ],
      [
        'are all zeros',
        (data) => {
          writeFileSync(data, Buffer.alloc(statSync(data).size));
        },
        true,
      ],
      [
        'have a flipped bit',
        (data) => {
          flip(data, 40_000);
        },
        false,
      ],
      [
        'were cut off',
        (data) => {
          writeFileSync(data, readFileSync(data).subarray(0, 20_000));
        },
        true,
      ],
      [
        'are older',
        (data, older) => {
          writeFileSync(data, older);
        },
        false,
      ],
    ];
  test.each(damages)('that %s come back by themselves, and it is told', async (name, damage, isFault) => {
    const directory = await made();
    const data = join(tablesFolder(directory), 'data.mdb');
    const older = readFileSync(data);
    const why: string[] = [];
    const more = await openTestLake({ directory });
    await more.pool('p').load('main', [inlineObject(99)]);
    await more.close();
    damage(data, older);
    const found = await fsck({ directory, files: openObjects(directory) });
    // A page that holds no row may be anything, and what older tables lack is in the log.
    if (isFault) expect(found.faultCount).toBeGreaterThan(0);
    expect(found.logSound).toBe(true);
    const lake = await openTestLake({
      directory,
      tablesMade: (text) => {
        why.push(text);
      },
    });
    expect((await keysAt(lake, 'p', 'main')).length).toBe(41);
    expect(lake.lastEventId()).toBe(42);
    await lake.close();
    expect(why.length).toBe(name === 'are gone' ? 0 : 1);
    expect((await fsck({ directory, files: openObjects(directory) })).faults).toEqual([]);
  });
});

describe('bases', { timeout: 180_000 }, () => {
  /** Writes until there is one. */
  const based = async (directory: string): Promise<number> => {
    const { tables, log, isCovered } = await openTables({ directory, segmentBytes: 4096, applyBytes: 1024 });
    const checkpoints = new Checkpoints({
      directory,
      tables,
      log,
      isCovered,
      report: (fault) => {
        throw fault;
      },
      bytesMin: 1,
    });
    let n = 0;
    for (; listBases(directory).length === 0 || n < 200; n++) {
      await tables.write([put(n % 90, `value ${n}`.repeat(20)), remove((n * 7) % 50)]);
      if (n % 10 === 0)
        await new Promise((resolve) => {
          setTimeout(resolve, 2);
        });
    }
    await checkpoints.settled();
    await checkpoints.close();
    await tables.close();
    return n;
  };
  test('bound the log; base and log give the rows again, and after a base that was not finished too', async () => {
    const directory = await temporaryDirectory();
    await based(directory);
    expect(listBases(directory).length).toBe(1);
    expect(listSegments(directory)[0]).toBeGreaterThan(1);
    const bytes = listSegments(directory).reduce((sum, n) => sum + statSync(segmentPath(directory, n)).size, 0);
    expect(bytes).toBeLessThan(2 * statSync(join(tablesFolder(directory), 'data.mdb')).size + 65_536);
    const tables = await open(directory);
    const rows = rowsOf(tables);
    await tables.close();
    rmSync(tablesFolder(directory), { recursive: true });
    writeFileSync(`${basePath(directory, 99_999)}.making`, 'half');
    const again = await open(directory);
    expect(rowsOf(again)).toEqual(rows);
    await again.close();
  });
  test('one that is damaged, cut off or missing is named where it is needed; with its tables sound nothing is lost, and a new one is made', async () => {
    const sound = await temporaryDirectory();
    await based(sound);
    const record = listBases(sound)[0]!;
    const bytes = readFileSync(basePath(sound, record));
    const rows = rowsOf(await open(await killed(sound)));
    for (let at = 0; at < bytes.length; at += 411) {
      const broken = Buffer.from(bytes);
      broken[at]! ^= 0x10;
      writeFileSync(basePath(sound, record), broken);
      const read = new BaseRead(sound, record);
      expect([...read].every(({ changes }) => changes.length > 0)).toBe(true);
      // Padding behind a payload is nobody's.
      if (read.faults.length === 0) expect(broken.equals(bytes) || at > 0).toBe(true);
      else for (const fault of read.faults) expect(fault).toMatch(/^base\/\d{16}, byte \d+: /);
    }
    rmSync(basePath(sound, record));
    const lost = await killed(sound);
    rmSync(tablesFolder(lost), { recursive: true });
    expect((await failure(openTables({ directory: lost }))).text).toMatch(
      /there is none of what was before record \d+/,
    );
    const lake = await openTables({ directory: sound });
    expect([rowsOf(lake.tables), lake.isCovered]).toEqual([rows, false]);
    await lake.tables.close();
  });
});

describe("a base that is none of the log's", { timeout: 180_000 }, () => {
  /** A lake with so many loads, or so many more, and a base of its last record; the segments before that are gone. */
  const made = async (loads: number, pool: string, directory?: string): Promise<string> => {
    const lake = await openTestLake({ segmentBytes: 4096, ...(directory && { directory }) });
    if (!directory) await newPool(lake, pool);
    for (let n = 0; n < loads; n++) await lake.pool(pool).load('main', [inlineObject(n)]);
    await lake.close();
    const { tables, log } = await openTables({ directory: lake.directory, segmentBytes: 4096 });
    const { number, digest, segment } = tables.seen;
    await writeBase({
      directory: lake.directory,
      identity: log.identity,
      record: number,
      before: digest,
      rows: allRows(tables),
    });
    log.forget(segment);
    await tables.close();
    return lake.directory;
  };
  const keepFile = async (): Promise<void> => undefined;
  const faultsOf = async (directory: string): Promise<readonly string[]> =>
    (await fsck({ directory, files: openObjects(directory) })).faults;
  test.each([
    ['another lake, up to a record after the end', 99_999],
    ['another lake, up to a record of the log', 0],
  ])(
    '%s: it is named and not read, with the tables and without, a repair moves it away, and nothing is lost',
    async (_, behind) => {
      const own = await made(40, 'p');
      const other = await made(90, 'q');
      const theirs = listBases(other)[0]!;
      const number = behind > 0 ? theirs : listBases(own)[0]! - 1;
      const name = `base/${String(number).padStart(16, '0')}`;
      copyFileSync(basePath(other, theirs), basePath(own, number));
      for (const gone of [false, true]) {
        const directory = await killed(own);
        const told: unknown[] = [];
        if (gone) rmSync(tablesFolder(directory), { recursive: true });
        const mended = await killed(directory);
        const opened = async (at: string): Promise<unknown> => {
          const lake = await openTestLake({
            directory: at,
            basePassedOver: (why) => {
              told.push(why);
            },
          });
          const keys = await keysAt(lake, 'p', 'main');
          await lake.close();
          return [keys.length, told.splice(0)];
        };
        expect(await opened(directory)).toEqual([
          40,
          [`${name}: it is of another lake; it is not read (lake fsck -repair moves it away)`],
        ]);
        expect(await faultsOf(mended)).toEqual([`${name}: it is of another lake`]);
        const { after, lost, kept } = await repair({ directory: mended, files: openObjects(mended), keepFile });
        expect([after!.faults, lost, listBases(mended).includes(number), listBases(kept!)]).toEqual([
          [],
          [],
          false,
          [number],
        ]);
        expect(await opened(mended)).toEqual([40, []]);
      }
      // Without its own base a lake is damaged, whatever others are there.
      const directory = await killed(own);
      for (const each of listBases(directory)) if (each !== number) rmSync(basePath(directory, each));
      rmSync(tablesFolder(directory), { recursive: true });
      expect((await failure(openTables({ directory }))).text).toMatch(
        new RegExp(`${name}: it is of another lake; base: there is none of what was before record`),
      );
    },
  );
  test('a copy of the lake that went on: it is not read where the log has what it needs without, and is refused where not', async () => {
    const early = await made(10, 'p');
    const copy = await killed(early);
    const own = early;
    await made(5, 'p', copy);
    const theirs = listBases(copy).at(-1)!;
    const name = `base/${String(theirs).padStart(16, '0')}`;
    expect(theirs).toBeGreaterThan(new LogRead(own).finish().place!.number);
    copyFileSync(basePath(copy, theirs), basePath(own, theirs));
    rmSync(tablesFolder(own), { recursive: true });
    const alone = await killed(own);
    const told: unknown[] = [];
    const found = await faultsOf(own);
    const mended = await killed(own);
    expect(found).toEqual([expect.stringMatching(`^${name}: the log ends before it, at record`)]);
    // It is this log's: what it knows more was committed, here or in the copy.
    expect(await repair({ directory: mended, files: openObjects(mended), keepFile })).toMatchObject({
      after: { faults: [] },
      lost: found,
    });
    const lake = await openTestLake({
      directory: own,
      basePassedOver: (why) => {
        told.push(why);
      },
    });
    expect([(await keysAt(lake, 'p', 'main')).length, told.length]).toEqual([10, 1]);
    await lake.close();
    for (const each of listBases(alone)) if (each !== theirs) rmSync(basePath(alone, each));
    expect((await failure(openTables({ directory: alone }))).text).toContain(
      `${name}: the log ends before it, at record`,
    );
  });
});

test('a pool that a damaged base alone has comes back by a repair, with all that is whole of it', {
  timeout: 180_000,
}, async () => {
  const lake = await openTestLake({ segmentBytes: 4096 });
  for (const name of ['p', 'q']) await newPool(lake, name);
  for (let n = 0; n < 12; n++) await lake.pool('p').load('main', [inlineObject(n)], { body: `load number ${n}` });
  await lake.pool('q').load('main', [inlineObject(99, 100)]);
  await lake.close();
  const { tables, log } = await openTables({ directory: lake.directory, segmentBytes: 4096 });
  const { number, digest, segment } = tables.seen;
  await writeBase({
    directory: lake.directory,
    identity: log.identity,
    record: number,
    before: digest,
    rows: allRows(tables),
  });
  log.forget(segment);
  await tables.close();
  rmSync(tablesFolder(lake.directory), { recursive: true });
  const sound = readFileSync(basePath(lake.directory, number));
  const keys = Array.from({ length: 12 }, (_, n) => String(n));
  // Where each table's rows begin in the base: of all tables but those of pools and branches their parts may be lost
  // alone.
  const damages: readonly (readonly [string, number, readonly string[], RegExp])[] = [
    ['the head of the file', 20, keys, /its head is damaged/],
    ['events, retries and what else is behind', sound.length - 300, keys, /the record there is damaged or missing/],
    [
      'commits of both pools',
      sound.indexOf('load number 3'),
      [],
      /pool "p", branch "main": set back to commit 0{27}, lost with what they did/,
    ],
    ['bodies', sound.indexOf('99..100'), [], /takes out 12 lost data objects with 12 rows/],
  ];
  for (const [what, at, left, told] of damages) {
    const directory = await killed(lake.directory);
    flip(basePath(directory, number), at);
    expect((await failure(openTables({ directory }))).text, what).toMatch(/its log is damaged: base\//);
    const { after, lost, kept } = await repair({
      directory,
      files: openObjects(directory),
      keepFile: async () => undefined,
    });
    expect([after?.faults, listBases(kept!)], what).toEqual([[], [number]]);
    expect(lost.join('\n'), what).toMatch(told);
    const again = await openTestLake({ directory });
    expect(
      [
        again
          .pools()
          .map(({ name }) => name)
          .sort(),
        await keysAt(again, 'p', 'main'),
      ],
      what,
    ).toEqual([['p', 'q'], left]);
    await again.pool('p').load('main', [inlineObject(500)]);
    expect(await keysAt(again, 'p', 'main'), what).toEqual([...left, '500']);
    await again.close();
    expect((await fsck({ directory, files: openObjects(directory) })).faults, what).toEqual([]);
  }
});

test('what a base has after a damaged record is read', { timeout: 180_000 }, async () => {
  const directory = await temporaryDirectory();
  const record = 1;
  const salted = { lake: Buffer.alloc(16, 1), salt: Buffer.alloc(16, 2) };
  const rows = Array.from({ length: 6 }, (_, n) => [put(n, `part ${n}`.repeat(50))]);
  await writeBase({ directory, identity: salted, record, before: Buffer.alloc(16), rows });
  const path = basePath(directory, record);
  const sound = readFileSync(path);
  const partsOf = (): { readonly parts: readonly number[]; readonly faults: readonly string[] } => {
    const parts: number[] = [];
    const read = new BaseRead(directory, record);
    for (const { number } of read) parts.push(number);
    return { parts, faults: read.faults };
  };
  expect(partsOf()).toEqual({ parts: [1, 2, 3, 4, 5, 6], faults: [] });
  const damages: readonly (readonly [at: number, parts: readonly number[]])[] = [
    [5, [1, 2, 3, 4, 5, 6]],
    [40, [1, 2, 3, 4, 5, 6]],
    [sound.indexOf('part 2'), [1, 2, 4, 5, 6]],
    [sound.indexOf('part 0') - 40, [2, 3, 4, 5, 6]],
    [sound.length - 20, [1, 2, 3, 4, 5, 6]],
  ];
  for (const [at, parts] of damages) {
    // What the head says of the salt is believed where no log says it.
    flip(path, at);
    const { parts: found, faults } = partsOf();
    expect([at, found, faults.length]).toEqual([at, at === 40 ? [] : parts, 1]);
    writeFileSync(path, sound);
  }
});

test('a log that is damaged where the tables know it all: fsck names it, a repair begins a new one, and nothing is lost; with the tables gone what is before and behind is there', {
  timeout: 180_000,
}, async () => {
  const lake = await openTestLake();
  await newPool(lake);
  for (let n = 0; n < 6; n++) await lake.pool('p').load('main', [inlineObject(n)], { body: `load number ${n}` });
  await newPool(lake, 'q');
  await lake.pool('q').load('main', [inlineObject(7)]);
  await lake.close();
  flip(segmentPath(lake.directory, 1), readFileSync(segmentPath(lake.directory, 1)).indexOf('load number 3'));
  const torn = await killed(lake.directory);
  const keepFile = async (): Promise<void> => undefined;
  const { before, after, lost } = await repair({
    directory: lake.directory,
    files: openObjects(lake.directory),
    keepFile,
  });
  expect([
    before.faults.filter((fault) => fault.startsWith('log/')).length,
    before.tablesSound,
    after?.faults,
    lost,
  ]).toEqual([1, true, [], []]);
  const again = await openTestLake({ directory: lake.directory });
  expect([await keysAt(again, 'p', 'main'), await keysAt(again, 'q', 'main')]).toEqual([
    ['0', '1', '2', '3', '4', '5'],
    ['7'],
  ]);
  rmSync(tablesFolder(torn), { recursive: true });
  const mended = await repair({ directory: torn, files: openObjects(torn), keepFile });
  expect(mended.after?.faults).toEqual([]);
  expect(mended.lost.join('\n')).toMatch(
    /record \d+ is damaged or missing[\s\S]*pool "p", branch "main": set back to commit \w{27}, lost with what they did: \w{27}, \w{27}/,
  );
  const left = await openTestLake({ directory: torn });
  expect([await keysAt(left, 'p', 'main'), await keysAt(left, 'q', 'main')]).toEqual([['0', '1', '2'], ['7']]);
  expect(readdirSync(torn).filter((name) => name.startsWith('repaired') || name.startsWith('tables.'))).toEqual([]);
});

test('an end that may have lost something is noted: a file that is shorter than it was made, data objects that no commit names', {
  timeout: 180_000,
}, async () => {
  const lake = await openTestLake();
  const ids = ['a', 'b'].map((digit) => digit.repeat(40));
  await newPool(lake);
  for (let n = 0; n < 4; n++) await lake.pool('p').load('main', [inlineObject(n)]);
  await lake.close();
  for (const [cut, orphans] of [
    [0, 1],
    [8, 2],
    [200, 0],
  ] as const) {
    const directory = await killed(lake.directory);
    const { end } = placeOf(directory);
    const files = openObjects(directory);
    rmSync(tablesFolder(directory), { recursive: true });
    for (const id of ids.slice(0, orphans)) await files.put(id, Uint8Array.of(1));
    truncateSync(segmentPath(directory, 1), end - cut);
    const { faults, notes } = await fsck({ directory, files });
    expect([
      faults,
      notes.some((note) =>
        /^log\/00000001: the file is shorter than it was made: what was committed last may be missing$/.test(note),
      ),
    ]).toEqual([[], true]);
    expect(notes.filter((note) => note.includes('that no commit names')).map((note) => note.slice(0, 8))).toEqual(
      orphans === 0 ? [] : [orphans === 1 ? '1 file o' : '2 files '],
    );
  }
});

describe('a stop in the middle', { timeout: 300_000 }, () => {
  const made = async (): Promise<string> => {
    const lake = await openTestLake();
    await newPool(lake);
    for (let n = 0; n < 5; n++)
      await lake
        .pool('p')
        .load(
          'main',
          [inlineObject(n)],
          n === 2 ? { terms: { retry: { key: 'a'.repeat(64), request: 'b'.repeat(64), body: 'c'.repeat(64) } } } : {},
        );
    await lake.close();
    return lake.directory;
  };
  const isWhole = async (directory: string): Promise<void> => {
    const lake = await openTestLake({ directory });
    expect(await keysAt(lake, 'p', 'main')).toEqual(['0', '1', '2', '3', '4']);
    // What was asked for under a key is not done again.
    expect(lake.retried('a'.repeat(64))).toMatchObject({ request: 'b'.repeat(64), body: 'c'.repeat(64) });
    await lake.close();
    expect((await fsck({ directory, files: openObjects(directory) })).faults).toEqual([]);
  };
  test.each(['rebuild: made', 'rebuild: old tables gone', 'close: tables closed'])(
    'of making the tables again, at "%s": the next start has them',
    async (killAt) => {
      const directory = await made();
      const data = join(tablesFolder(directory), 'data.mdb');
      writeFileSync(data, readFileSync(data).fill(0x5a, 8192));
      expect(await openIn(directory, { killAt })).toBe('SIGKILL');
      await isWhole(directory);
    },
  );
  test.each(['base: half written', 'repair: rebuilt', 'repair: old log kept', 'repair: swapped'])(
    'of a repair that begins a new log, at "%s": the lake is the old or the new one, and the repair can be run again; keys of requests are kept',
    async (killAt) => {
      const directory = await made();
      const path = segmentPath(directory, 1);
      flip(path, readFileSync(path).indexOf('3..3'));
      expect(await openIn(directory, { killAt, what: 'repair' })).toBe('SIGKILL');
      expect(await openIn(directory, { what: 'repair' })).toBe('0');
      await isWhole(directory);
    },
  );
});
