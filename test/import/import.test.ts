/**
 * `lake import`: a lake of SuperDB v0.2.0 (lake.json, made by make.sh), each of whose commits answers here as `super`
 * did there.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CommandIo } from '../../src/commands/io.ts';
import { fsckCommand } from '../../src/commands/fsck.ts';
import { importCommand } from '../../src/commands/import/import.ts';
import { openReader } from '../../src/formats/formats.ts';
import { stringValue } from '../../src/vectors/value.ts';
import { supText } from '../../src/vectors/sup/print.ts';
import { valueAt } from '../../src/vectors/vector.ts';
import { written } from '../support/formats/convert.ts';
import { randomOf } from '../support/random.ts';
import { startService, type TestService } from '../support/service/server.ts';

interface Fixture {
  readonly files: Readonly<Record<string, string>>;
  readonly answers: readonly {
    readonly pool: string;
    readonly at: string;
    readonly rows?: string;
    readonly missing?: true;
    readonly log: string;
  }[];
}
const { files, answers } = JSON.parse(readFileSync(new URL('lake.json', import.meta.url), 'utf8')) as Fixture;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'lake-import-'));
  unpack('source');
});
afterAll(() => rmSync(folder, { recursive: true }));
const unpack = (name: string): void => {
  for (const [path, bytes] of Object.entries(files)) {
    const to = join(folder, name, path);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, Buffer.from(bytes, 'base64'));
  }
};

const run = async (
  ...argv: readonly string[]
): Promise<{ readonly status: number | string; readonly said: string }> => {
  let said = '';
  const say = (text: string): void => {
    said += text;
  };
  const io: CommandIo = {
    cwd: folder,
    stdin: (async function* () {})(),
    stdoutIsTerminal: false,
    write: async (chunk) => say(Buffer.from(chunk).toString()),
    complain: say,
  };
  const status = await importCommand(argv, io).catch((problem: Error) => problem.message.replaceAll(folder, ''));
  return { status, said };
};
/** Each value of a text by itself, in one order: where named types are defined depends on the order. */
const values = async (sup: string): Promise<readonly string[]> => {
  const found: string[] = [];
  const once = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(sup);
  };
  for await (const batch of await openReader('sup', once()))
    for (let i = 0; i < batch.length; i++) found.push(supText(valueAt(batch, i)));
  return found.sort();
};

describe('a lake', () => {
  let service: TestService;
  beforeAll(async () => {
    const { status, said } = await run('-lake', 'lake', 'source');
    // There, a vacuum of main took objects that trial holds.
    expect([status, said.split('\n').sort()]).toEqual([
      1,
      [
        '',
        'a new name: 0 commits, 0 vacuumed objects',
        'empty: 0 commits, 0 vacuumed objects',
        'kept: 12 commits, 0 vacuumed objects',
        'types: 4 commits, 0 vacuumed objects',
        'work: 10 commits, 2 vacuumed objects',
        'work@trial: 2 of its objects are missing in source: it has no rows of them',
      ],
    ]);
    service = await startService([], join(folder, 'lake'));
  });
  afterAll(async () => {
    await service.close();
    let said = '';
    const say = (text: string): void => {
      said += text;
    };
    const io = { cwd: folder, stdin: (async function* () {})(), stdoutIsTerminal: false, complain: say };
    const write = async (chunk: Uint8Array): Promise<void> => say(Buffer.from(chunk).toString());
    expect([await fsckCommand(['-lake', 'lake'], { ...io, write }), said]).toEqual([0, expect.any(String)]);
  });
  const ask = (query: string): ReturnType<TestService['ask']> =>
    service.ask('POST', '/query', { headers: { 'content-type': 'text/plain' }, body: query });

  test('has the pools with ids, keys and times, and their branches', async () => {
    const pools = await service.query('from :pools | sort name | values {name,keys:layout.keys,order:layout.order}');
    expect(
      pools
        .split('\n')
        .map((row) => /name:"([^"]*)"/.exec(row)?.[1])
        .filter(Boolean),
    ).toEqual(['a new name', 'empty', 'kept', 'types', 'work']);
    const ids = await service.query('from :pools | values ksuid(id)');
    for (const id of ids
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text) as string))
      expect(Object.keys(files).some((path) => path.startsWith(`${id}/`))).toBe(true);
  });
  test.each(answers)('$pool at $at', async ({ pool, at, rows, log }) => {
    const { status, body } = await ask(`from "${pool}"@"${at}"`);
    if (rows === undefined && !at.startsWith('0x')) return;
    if (rows === undefined) expect([status, body]).toEqual([410, expect.stringContaining('vacuumed') as string]);
    else expect(await values(body)).toEqual(await values(rows));
    const { body: own } = await ask(
      `from "${pool}"@"${at}":log | has(author) | head 1 | values {author,date,message,meta}`,
    );
    expect(await values(own)).toEqual(await values(log));
  });
  test('has every type', async () => {
    const { body } = await ask('from types | aggregate count() by type:=typeof(this)');
    const wanted = [
      ...['uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64', 'float16', 'float32', 'float64'],
      ...[
        'bool',
        'bytes',
        'string',
        'ip',
        'net',
        'time',
        'duration',
        'type',
        'null',
        'enum(',
        'error(',
        '|[',
        '|{',
        '[',
        '{',
      ],
      ...['=', '?:', 'int64|string'],
    ];
    expect(wanted.filter((type) => !body.includes(type))).toEqual([]);
  });
  test('goes on: what is loaded then comes after it', async () => {
    const pool = 'work';
    await service.ask('POST', `/pool/${pool}/branch/main`, { body: '{ts:100}' });
    expect(await service.query('from work | head 1')).toBe('{ts:100}\n');
  });
});

describe('what is refused', () => {
  test('no lake, another version, and a pool that is not there or there already', async () => {
    mkdirSync(join(folder, 'nothing'));
    expect((await run('-lake', 'x', 'nothing')).status).toBe('/nothing: no SuperDB lake: it has no superdb.bsup');
    expect((await run('-lake', 'x', 'gone')).status).toBe('gone: no such folder');
    expect((await run('-lake', 'x')).status).toBe('lake import: one folder, that of a SuperDB lake');
    expect((await run('-lake', 'x', '-pool', 'no', 'source')).status).toBe('source: has no pool no');
    expect((await run('-lake', 'twice', '-pool', 'empty', 'source')).status).toBe(0);
    expect((await run('-lake', 'twice', 'source')).status).toBe(
      'pool empty: the lake has it already, by its name or id (option -pool)',
    );
  });
  test('a pool whose commits cannot be read is not there', async () => {
    unpack('broken');
    const commit = Object.keys(files)
      .filter((path) => /commits\/\w+\.bsup$/.test(path))
      .at(-1)!;
    writeFileSync(join(folder, 'broken', commit), 'no commit');
    expect((await run('-lake', 'half', 'broken')).status).toContain(`${commit}: bsup: `);
    unlinkSync(join(folder, 'broken', commit));
    expect((await run('-lake', 'half', 'broken')).status).toMatch(/(commit is missing|has it already)/);
  });
  test('an object whose file is cut, or is that of another one, and journals of other things', async () => {
    const damage = async (name: string, path: RegExp, bytes: (found: Buffer) => Uint8Array): Promise<unknown> => {
      unpack(name);
      for (const one of Object.keys(files).filter((each) => path.test(each))) {
        const file = join(folder, name, one);
        writeFileSync(file, bytes(readFileSync(file)));
      }
      return (await run('-lake', `of ${name}`, name)).status;
    };
    const objects = /\/data\/\w+\.bsup$/;
    // The values are whole, and one of them is not there.
    expect(await damage('cut', objects, () => Buffer.from('ff', 'hex'))).toMatch(
      /^\/cut\/\w+\/data\/\w+\.bsup: has 1 bytes, its commit says \d+$/,
    );
    // As long as it was, without its values: each byte is the end of a stream.
    expect(await damage('hollow', objects, (found) => found.fill(0xff))).toMatch(
      /^\/hollow\/\w+\/data\/\w+\.bsup: no records in request$/,
    );
    // As long as it was, and something else: one value.
    const single = (found: Buffer): Uint8Array => {
      let text = randomOf(1).hex(found.length);
      while (written([stringValue(text)], 'bsup').length > found.length) text = text.slice(1);
      return written([stringValue(text)], 'bsup');
    };
    expect(await damage('other', objects, single)).toMatch(
      /^\/other\/\w+\/data\/\w+\.bsup: has 1 values, its commit says \d+$/,
    );
    const branches = Buffer.from(
      files[Object.keys(files).find((path) => path.endsWith('branches/1.bsup'))!]!,
      'base64',
    );
    expect(await damage('crossed', /^pools\/1\.bsup$/, () => branches)).toBe(
      '/crossed/pools/1.bsup: the entry of a pool is expected',
    );
    const commit = Buffer.from(files[Object.keys(files).find((path) => /commits\/\w+\.bsup$/.test(path))!]!, 'base64');
    expect(await damage('strange', /^pools\/1\.bsup$/, () => commit)).toBe(
      '/strange/pools/1.bsup: an entry with a name is expected',
    );
  });
  test('a journal whose HEAD was cut off, or is behind its entries, is refused, not read as a shorter one', async () => {
    const branches = Object.keys(files).find((path) => path.endsWith('branches/HEAD'))!;
    const cases: readonly (readonly [string, string, RegExp])[] = [
      ['pools/HEAD', '', /^\/headless\/pools: HEAD is "", a number is expected$/],
      [branches, '\n', /^\/headless\/\w+\/branches: HEAD is "", a number is expected$/],
      [branches, '1e1', /HEAD is "1e1", a number is expected$/],
      [branches, '0', /HEAD is 0, and there is \d+\.bsup: HEAD is damaged, or a commit was cut off$/],
    ];
    for (const [i, [head, text, fault]] of cases.entries()) {
      unpack('headless');
      writeFileSync(join(folder, 'headless', head), text);
      expect((await run('-lake', `headless-${i}`, 'headless')).status).toMatch(fault);
    }
    rmSync(join(folder, 'headless'), { recursive: true });
  });
  test('objects that a branch needs and that are missing are told, and are no rows', async () => {
    unpack('lossy');
    for (const path of Object.keys(files)) if (/\/data\/\w+\.bsup$/.test(path)) rmSync(join(folder, 'lossy', path));
    const { status, said } = await run('-lake', 'lost', '-pool', 'work', 'lossy');
    expect(status).toBe(1);
    expect(said).toMatch(/\nwork@main: \d+ of its objects are missing in lossy: it has no rows of them\n/);
    const service = await startService([], join(folder, 'lost'));
    try {
      expect(await service.query('from work | count()')).toBe('0\n');
    } finally {
      await service.close();
    }
  });
});
