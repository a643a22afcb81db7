/** The `lake` command as a person types it: what it prints, where it writes, how it ends. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
  writeSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parquetMetadata } from 'hyparquet';
import { mapRow } from '../../src/commands/help.ts';
import { queryCommand } from '../../src/commands/query.ts';
import { program, startBuiltService } from '../support/service/built.ts';
import { mayMount, mountSmallDisk } from '../support/small-disk.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-commands-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the built program. */
const lake = (
  args: readonly string[],
  input = '',
): { readonly status: number | null; readonly out: string; readonly err: string } => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: folder,
    input,
    encoding: 'utf8',
  });
  return { status, out: stdout, err: stderr };
};
/** Runs `lake query` in this process. */
const query = async (
  args: readonly string[],
  input = '',
): Promise<{ readonly status: number; readonly out: string; readonly err: string }> => {
  const out: Uint8Array[] = [];
  const err: string[] = [];
  async function* stdin(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(input);
  }
  const status = await queryCommand(args, {
    cwd: folder,
    stdin: stdin(),
    stdoutIsTerminal: false,
    write: (chunk) => {
      out.push(chunk.slice());
      return Promise.resolve();
    },
    complain: (text) => {
      err.push(text);
    },
  });
  return { status, out: Buffer.concat(out).toString(), err: err.join('') };
};
const put = (name: string, content: string | Uint8Array): void => writeFileSync(join(folder, name), content);

describe('lake', () => {
  test('lists its commands', () => {
    const { status, out } = lake(['help']);
    expect(status).toBe(0);
    for (const name of ['serve', 'query', 'load', 'fsck']) expect(out).toContain(`  ${name}`);
    expect(lake([]).out).toBe(out);
  });
  test('prints the functions with examples', () => {
    const { out } = lake(['help', 'functions']);
    expect(out).toContain('upper(');
    expect(out).toMatch(/count\(.*\)\n {4}.+\n {4}count\(\) <<< .+ => \d/);
  });
  test('has examples of map that are true', async () => {
    for (const { query: text, output } of mapRow.examples)
      expect((await query(['-s', '-c', `values ${text}`])).out).toBe(`${output}\n`);
  });
  test('tells its version', () => expect(lake(['version']).out).toMatch(/^v\d+\.\d+\.\d+\n$/));
  test('ends with status 2 and one line for what it does not know', () => {
    expect(lake(['frobnicate'])).toEqual({
      status: 2,
      out: '',
      err: 'unknown command: frobnicate (lake help lists them)\n',
    });
    expect(lake(['serve', '-nope'])).toEqual({
      status: 2,
      out: '',
      err: 'unknown option: -nope (lake help lists them)\n',
    });
    expect(lake(['serve', '--l=here'])).toMatchObject({
      status: 2,
      err: expect.stringMatching(/^bad value for -l: "here"/) as string,
    });
    expect(lake(['query', '-pretty', 'x', '-c', '1'])).toMatchObject({
      status: 2,
      err: expect.stringMatching(/^bad value for -pretty: "x"/) as string,
    });
    expect(lake(['query'])).toMatchObject({
      status: 2,
      err: 'lake query: no query and no input (see lake query -h)\n',
    });
  });
});

describe('lake query', () => {
  test('says that a pipe is not read where no input names it, and only there', () => {
    put('named.json', '{"a":1}');
    const piped = (command: string): { readonly out: string; readonly err: string } => {
      const { stdout, stderr } = spawnSync('bash', ['-c', command, 'bash', process.execPath, program], {
        cwd: folder,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      return { out: stdout, err: stderr };
    };
    const unread = 'warning: standard input is not read: name it as an input, "-"\n';
    const pipe = `echo '{"a":2}' | "$1" "$2" query -s`;
    expect(piped(`${pipe} -c 'values 3'`)).toEqual({ out: '3\n', err: unread });
    expect(piped(`${pipe} -c 'count()' named.json`)).toEqual({ out: '1\n', err: unread });
    expect(piped(`${pipe} -c 'from missing.json'`).err).toMatch(new RegExp(`^${unread}file does not exist`));
    expect(piped(`${pipe} -q -c 'values 3'`)).toEqual({ out: '3\n', err: '' });
    expect(piped(`${pipe} -c 'values a' -`)).toEqual({ out: '2\n', err: '' });
    expect(piped(`${pipe} -c 'values 3' -`)).toEqual({ out: '3\n', err: '' });
    expect(piped(`${pipe} -c 'from "stdio:stdin" | values a'`)).toEqual({ out: '2\n', err: '' });
    expect(piped(`"$1" "$2" query -s -c 'values 3' < named.json`)).toEqual({ out: '3\n', err: '' });
    expect(piped(`"$1" "$2" query -s -c 'values 3' <&-`)).toEqual({ out: '3\n', err: '' });
  });
  test('counts from where it is told', async () =>
    expect(await query(['-s', '-index.base', '1', '-c', 'values {a:[7,8][1]}'])).toEqual({
      status: 0,
      out: '{a:7}\n',
      err: '',
    }));
  test('calculates without input', async () =>
    expect(await query(['-s', '-c', '1+1'])).toEqual({ status: 0, out: '2\n', err: '' }));
  describe('a result without rows is a whole file, with the columns that are known:', () => {
    const columns = async (text: string, files: readonly string[] = []): Promise<unknown> => {
      for (const format of ['arrows', 'parquet'])
        expect(await query(['-f', format, '-o', `none.${format}`, '-c', text, ...files])).toEqual({
          status: 0,
          out: '',
          err: '',
        });
      const { schema } = parquetMetadata(new Uint8Array(readFileSync(join(folder, 'none.parquet'))).buffer);
      const arrow = tableFromIPC(readFileSync(join(folder, 'none.arrows'))).schema.fields.map(
        (f) => `${f.name} ${String(f.type)}${f.nullable ? '?' : ''}`,
      );
      const parquet = schema
        .filter((e) => e.repetition_type !== undefined)
        .map((e) => `${e.name} ${e.converted_type ?? e.type ?? 'group'}${e.repetition_type === 'OPTIONAL' ? '?' : ''}`);
      for (const format of ['arrows', 'parquet'])
        expect(await query(['-s', '-i', format, '-c', 'pass', `none.${format}`])).toEqual({
          status: 0,
          out: '',
          err: '',
        });
      return { arrow, parquet };
    };
    test('those of a file, fused', async () => {
      put('known.sup', '{a:1,s:"x"}\n{a:2}\n{a:null,s:"y"}\n');
      expect(await columns('where a==9', ['known.sup'])).toEqual({
        arrow: ['a Int64?', 's Utf8?'],
        parquet: ['a INT_64?', 's UTF8?'],
      });
      expect(await columns('where a==9 | cut s', ['known.sup'])).toEqual({ arrow: ['s Utf8?'], parquet: ['s UTF8?'] });
    });
    test('those of SQL', async () =>
      expect(await columns("select 1 as a, 'x' as s where 1==2")).toEqual({
        arrow: ['a Int64?', 's Utf8?'],
        parquet: ['a INT_64?', 's UTF8?'],
      }));
    test('none where a value may be of several types, or of one that is not known', async () => {
      for (const text of [
        'values {a:1},{a:"x"} | where a==9',
        'values {a:[1,"x"]} | where a==9',
        'values {a:1,b:upper("x")} | where a==9',
        'values 1 | where this==9',
        'values {} | head 0',
        'values {a:1} | count() by a | where a==9',
      ]) {
        expect([text, await columns(text)]).toEqual([text, { arrow: [], parquet: [] }]);
      }
    });
    test('none in Parquet where it does not hold one of them', async () =>
      expect(await columns('values {a:1,d:1h} | where a==9')).toMatchObject({
        arrow: ['a Int64?', expect.stringMatching(/^d Duration/)],
        parquet: [],
      }));
  });
  test('reads standard input and files in the order given, formats by ending or bytes', async () => {
    put('a.csv', 'a,b\n1,foo\n');
    put('b.json', '{"a":3}');
    put('c.bin', gzipSync('{a:4}'));
    expect(await query(['-s', 'a.csv', 'b.json', 'c.bin', '-'], '{a:5}')).toEqual({
      status: 0,
      out: '{a:1.,b:"foo"}\n{a:3}\n{a:4}\n{a:5}\n',
      err: '',
    });
  });
  test('reads files by a glob in from', async () => {
    put('g1.sup', '1');
    put('g2.sup', '2');
    expect((await query(['-s', '-c', 'from g*.sup | sum(this)'])).out).toBe('3\n');
    expect(await query(['-s', '-c', 'from zz*.sup'])).toMatchObject({
      status: 1,
      err: 'no file names match glob pattern at line 1, column 6:\nfrom zz*.sup\n     ~~~~~~~\n',
    });
  });
  test('joins -c and -I in their order and names the file of an error', async () => {
    put('f.spq', 'fn f(x): x+1');
    expect((await query(['-s', '-I', 'f.spq', '-c', 'values f(2)'])).out).toBe('3\n');
    put('bad.spq', 'values upper()');
    expect(await query(['-s', '-I', 'f.spq', '-I', 'bad.spq'])).toMatchObject({
      status: 1,
      err: 'too few arguments in bad.spq at line 1, column 8:\nvalues upper()\n       ~~~~~~~\n',
    });
    expect(await query(['-I', 'none.spq'])).toMatchObject({ status: 1, err: 'none.spq: file does not exist\n' });
  });
  test('names the input that it cannot read', async () => {
    expect(await query(['-s', 'nowhere'])).toEqual({ status: 1, out: '', err: 'nowhere: file does not exist\n' });
    put('broken.sup', '{a:1}\n}');
    expect((await query(['-s', '-dynamic', 'broken.sup'])).err).toMatch(/^broken\.sup: .*line 2/);
  });
  test('leaves out a broken input with -e=false, silently with -q', async () => {
    put('fine.sup', '1');
    put('torn.sup', '}');
    expect(await query(['-s', '-dynamic', '-e=false', 'torn.sup', 'fine.sup'])).toMatchObject({
      status: 0,
      out: '1\n',
      err: expect.stringMatching(/^torn\.sup: /) as string,
    });
    expect(await query(['-s', '-q', '-dynamic', '-e=false', 'torn.sup', 'fine.sup'])).toEqual({
      status: 0,
      out: '1\n',
      err: '',
    });
  });
  test('knows the types of its input unless -dynamic', async () => {
    put('t.sup', '{a:1}');
    expect(await query(['-s', '-c', 'values b', 't.sup'])).toMatchObject({
      status: 1,
      err: 'no such field "b" at line 1, column 8:\nvalues b\n       ~\n',
    });
    expect((await query(['-s', '-dynamic', '-c', 'values b', 't.sup'])).out).toBe('error("missing")\n');
  });
  test('writes to a file with -o', async () => {
    expect(await query(['-j', '-o', 'out.json', '-c', 'values {a:1}'])).toEqual({ status: 0, out: '', err: '' });
    expect(readFileSync(join(folder, 'out.json'), 'utf8')).toBe('{"a":1}\n');
  });
  test('writes a file for each type with -split, named by _path, -o or number', async () => {
    const rows = '{_path:"conn",a:"foo"}{_path:"dns",a:1}{_path:"conn",a:"x"}{b:2}';
    await query(['-s', '-split', 'parts', '-'], rows);
    expect(
      Object.fromEntries(
        readdirSync(join(folder, 'parts'))
          .sort()
          .map((f) => [f, readFileSync(join(folder, 'parts', f), 'utf8')]),
      ),
    ).toEqual({
      '2.sup': '{b:2}\n',
      'conn.sup': '{_path:"conn",a:"foo"}\n{_path:"conn",a:"x"}\n',
      'dns.sup': '{_path:"dns",a:1}\n',
    });
    await query(['-s', '-split', 'named', '-o', 'x', '-'], rows);
    expect(readdirSync(join(folder, 'named')).sort()).toEqual(['x-0.sup', 'x-1.sup', 'x-2.sup']);
    await query(
      ['-s', '-split', 'sized', '-splitsize', '10000', '-c', 'from gen.sup'],
      (put('gen.sup', '"0123456789"\n'.repeat(20_000)), ''),
    );
    expect(readdirSync(join(folder, 'sized')).length).toBeGreaterThan(2);
    expect(readdirSync(join(folder, 'sized')).reduce((n, f) => n + statSync(join(folder, 'sized', f)).size, 0)).toBe(
      13 * 20_000,
    );
  });
  test('sorts beyond its memory through temporary files', async () => {
    put(
      'numbers.sup',
      Array.from({ length: 50_000 }, (_, i) => `{n:${(i * 7919) % 50_000},pad:"${'x'.repeat(40)}"}`).join('\n'),
    );
    expect((await query(['-s', '-sortmem', '100KB', '-c', 'from numbers.sup | sort n | skip 49998 | cut n'])).out).toBe(
      '{n:49998}\n{n:49999}\n',
    );
  });
  test('names the option for memory that it takes', async () => {
    const grown = 'values [1] ' + '| values [...this,...this,...this,...this] '.repeat(12);
    for (const option of ['-memory', '-aggmem']) {
      const { status, err } = await query([option, '16MiB', '-c', grown]);
      expect([status, err]).toEqual([
        1,
        expect.stringMatching(/needs more than 16777216 bytes of memory \(option -memory\)/),
      ]);
    }
  });
  test('refuses options that exclude each other', async () => {
    expect((await query(['-j', '-s', '-c', '1'])).err).toBe('cannot use -j or -J with -f, -s, or -S\n');
    expect((await query(['-sortmem', '0', '-c', '1'])).err).toBe('sortmem value must be greater than zero\n');
    for (const option of ['-f', '-i'])
      expect(await query([option, 'foo', '-c', '1'])).toMatchObject({ status: 2, err: 'no such format: "foo"\n' });
  });
});

describe('lake load and lake fsck', () => {
  let address = '';
  let lakeFolder = '';
  beforeAll(async () => {
    const service = await startBuiltService();
    ({ address, lake: lakeFolder } = service);
    await fetch(`${address}/pool`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"name":"p"}',
    });
    put(
      'rows.json',
      Array.from({ length: 20_000 }, (_, i) => `{"ts":${i},"text":"row ${i} ${(i * 2654435761) % 4294967296}"}\n`).join(
        '',
      ),
    );
    const loaded = lake(['load', '-lake', address, '-use', 'p', '-user', 'Zoë', '-message', 'all of it', 'rows.json']);
    expect(loaded).toMatchObject({ status: 0, out: expect.stringMatching(/^0x[0-9a-f]{40} rows\.json\n$/) as string });
    const log = await (
      await fetch(`${address}/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-sup' },
        body: '{query:"from p:log | has(message) | cut author, message"}',
      })
    ).text();
    expect(log).toBe('{author:"Zoë",message:"all of it"}\n');
    expect(lake(['load', '-lake', address, '-use', 'p@nope', 'rows.json'])).toMatchObject({
      status: 1,
      err: 'rows.json: "nope": branch not found\n',
    });
    expect(lake(['load', '-lake', address, 'rows.json'])).toMatchObject({
      status: 2,
      err: 'lake load: -use POOL[@BRANCH] says where to load\n',
    });
    expect(lake(['load', '-lake', address, '-use', 'p', 'gone.json'])).toMatchObject({
      status: 1,
      err: 'gone.json: file does not exist\n',
    });
    const held = lake(['fsck', '-lake', lakeFolder]);
    expect(held).toMatchObject({ status: 1, err: expect.stringMatching(/is in use by another server/) as string });
    await service.end();
  });
  afterAll(() => rmSync(join(lakeFolder, '..'), { recursive: true, force: true }));

  test('a lake that was closed is sound', () => {
    expect(lake(['fsck', '-lake', lakeFolder])).toMatchObject({
      status: 0,
      out: expect.stringMatching(
        /1 pool, 1 commit, 1 data object, 0 files that no table names[\s\S]*\nsound\n$/,
      ) as string,
    });
  });
  test('a changed byte in a data object is found and named', () => {
    const objects = join(lakeFolder, 'objects');
    const file = readdirSync(objects).flatMap((d) => readdirSync(join(objects, d)).map((f) => join(objects, d, f)))[0]!;
    const before = readFileSync(file);
    const fd = openSync(file, 'r+');
    writeSync(fd, Buffer.from([before[5000]! ^ 0xff]), 0, 1, 5000);
    closeSync(fd);
    const { status, out } = lake(['fsck', '-lake', lakeFolder]);
    expect(status).toBe(1);
    expect(out).toMatch(/[0-9A-Za-z]{27}.*(block \d+|dictionary \d+).*checksum[\s\S]*\ndamaged: 1 fault\n$/);
  });
  test('no service there: the address is named', () => {
    expect(lake(['load', '-lake', 'http://127.0.0.1:1', '-use', 'p', 'rows.json'])).toMatchObject({
      status: 1,
      err: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1: no service answers there/) as string,
    });
  });
  test('no lake there: the folder is named, and not made', () => {
    expect(lake(['fsck', '-lake', 'nothing'])).toMatchObject({
      status: 1,
      err: expect.stringMatching(/nothing cannot be opened: there is no lake here/) as string,
    });
    expect(existsSync(join(folder, 'nothing'))).toBe(false);
  });
  test.skipIf(!mayMount())('a key whose text cannot be written is none', () => {
    const disk = mountSmallDisk('4k');
    onTestFinished(disk.remove);
    const out = join(disk.folder, 'out');
    writeFileSync(out, Buffer.alloc(4096));
    const directory = join(folder, 'unseen');
    const add = spawnSync(
      'sh',
      [
        '-c',
        '"$0" "$@" >> "$OUT"',
        process.execPath,
        program,
        'key',
        'add',
        '-lake',
        directory,
        '-role',
        'admin',
        'me',
      ],
      { encoding: 'utf8', env: { ...process.env, OUT: out } },
    );
    expect([add.status, add.stderr]).toEqual([
      1,
      'This is shown once and kept nowhere:\nstandard output: no space left on the disk (ENOSPC, write)\n',
    ]);
    expect(lake(['key', 'list', '-lake', directory])).toEqual({ status: 0, out: '', err: '' });
    writeFileSync(join(directory, 'keys.json.new'), '');
    expect(lake(['key', 'add', '-lake', directory, '-role', 'admin', 'me'])).toMatchObject({
      status: 1,
      err: expect.stringMatching(
        /\nthe key above is none, it could not be kept: .*another command is changing/,
      ) as string,
    });
  });
  test('damaged keys: the start names the file and what to do, fsck finds them, a repair moves them away', () => {
    const directory = join(folder, 'guarded');
    const path = join(directory, 'keys.json');
    lake(['key', 'add', '-lake', directory, '-role', 'reader:p', 'one']);
    const text = readFileSync(path, 'utf8');
    const start = (): object => lake(['serve', '-lake', directory, '-auth.keys', '-l', '127.0.0.1:0']);
    const told = `${path} is damaged: `;
    for (const [damaged, why] of [
      [text.slice(0, 40), 'not a list of keys'],
      [text.replace('reader:p', 'reader:q'), 'its checksum does not match'],
      [text.replace('reader', 'ruler'), 'not a list of keys'],
      [
        JSON.stringify({ keys: [{ ...(JSON.parse(text) as { keys: object[] }).keys[0], expires: 'late' }] }),
        'not a list of keys',
      ],
    ] as const) {
      writeFileSync(path, damaged);
      const err = `${told}${why}. Restore it, or move it away and make keys again (lake key add); without it nobody has a key\n`;
      if (why === 'its checksum does not match') expect(start()).toMatchObject({ status: 1, err });
      expect(lake(['key', 'list', '-lake', directory])).toMatchObject({ status: 1, err });
    }
    // Of an earlier build: without a checksum.
    writeFileSync(path, JSON.stringify({ keys: (JSON.parse(text) as { keys: object[] }).keys }));
    expect(lake(['key', 'list', '-lake', directory])).toMatchObject({
      status: 0,
      out: expect.stringContaining('reader:p') as string,
    });
    cpSync(lakeFolder, directory, { recursive: true });
    const sound = lake(['fsck', '-lake', directory]).out;
    writeFileSync(path, text.slice(0, 40));
    const { status, out } = lake(['fsck', '-lake', directory]);
    expect([
      status,
      out.includes('keys.json: it is damaged: not a list of keys\n'),
      sound.includes('keys.json'),
    ]).toEqual([1, true, false]);
    expect(lake(['fsck', '-lake', directory, '-repair']).out).toMatch(
      /\nlost:[\s\S]*the keys of the lake: nobody has one until they are made again \(lake key add\)\nwhat was there before is kept in/,
    );
    expect([
      existsSync(path),
      readdirSync(directory)
        .filter((name) => name.startsWith('damaged-'))
        .map((name) => existsSync(join(directory, name, 'keys.json'))),
    ]).toEqual([false, [true]]);
  });
  test('in a folder that was removed: named, and what needs none is done', () => {
    const gone = join(folder, 'gone');
    const inGone = (command: string) =>
      spawnSync(
        'bash',
        ['-c', `mkdir "$1"; cd "$1"; rmdir "$1"; exec "$2" "$3" ${command}`, 'bash', gone, process.execPath, program],
        {
          encoding: 'utf8',
        },
      );
    expect(inGone('serve -lake lake')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: 'the current folder was removed: change to another one\n',
    });
    expect(inGone('version')).toMatchObject({ status: 0, stderr: '' });
  });
  test('a folder whose name is no text: refused, and no other one is made; a link to it is a way', () => {
    const run = (
      script: string,
    ): { readonly status: number | null; readonly stdout: string; readonly stderr: string } =>
      spawnSync('bash', ['-c', script, 'bash', process.execPath, program, lakeFolder], {
        cwd: folder,
        encoding: 'utf8',
      });
    expect(
      run(
        `cp -r "$3" $'caf\\xe9'; for command in "serve -l 127.0.0.1:0 -lake" "fsck -lake" "key list -lake"; do "$1" "$2" $command $'caf\\xe9'; echo $?; done; cd $'caf\\xe9' && "$1" "$2" fsck -lake sub; echo $?`,
      ),
    ).toMatchObject({
      stdout: '2\n2\n2\n2\n',
      stderr: expect.stringMatching(
        /^(-lake (caf\ufffd|sub): the name of [^\n]+caf\ufffd(\/sub)? is not UTF-8 text: rename the folder, or give a link to it \(ln -s\) whose name is\n){4}$/,
      ) as string,
    });
    expect(readdirSync(folder)).not.toContain('caf\ufffd/sub');
    expect(run(`ln -s $'caf\\xe9' linked && "$1" "$2" fsck -lake linked`).stdout).toMatch(
      /1 pool, 1 commit, 1 data object/,
    );
  });
});
