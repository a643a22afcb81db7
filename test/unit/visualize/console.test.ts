/** The console's own reckoning: lanes of commits, lines for a shell, places in files, key ranges. */
import { execFileSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { Time } from '../../../src/client/client.ts';
import { base62, newId } from '../../../src/lake/ksuid.ts';
import { namesAt, offeredOf } from '../../../visualize/console/offered.ts';
import { curlLine, shellWord } from '../../../visualize/console/curl.ts';
import { arrayElements, faultPlace, likelyKey, linesAt, lookInto } from '../../../visualize/console/load/file-text.ts';
import { barsOf } from '../../../visualize/console/keys.ts';
import { type LaneRow, Lanes, lineThrough } from '../../../visualize/console/lanes.ts';
import { ago, bytes, duration, idPieces, visible, visibleName, withShortIds } from '../../../visualize/console/text.ts';
import { hostileTexts } from '../../support/hostile-texts.ts';
import { randomOf } from '../../support/random.ts';

test('of very many branches a list offers the first ones, and the one that is chosen', () => {
  const named = (n: number): readonly { readonly name: string }[] =>
    Array.from({ length: n }, (_, i) => ({ name: `b${i}` }));
  expect(offeredOf(named(500), 'b499')).toEqual({ offered: named(500), rest: 0 });
  expect(offeredOf(named(100_000), 'b3')).toEqual({ offered: named(500), rest: 99_500 });
  expect(offeredOf(named(100_000), 'b70000')).toEqual({ offered: [{ name: 'b70000' }, ...named(500)], rest: 99_499 });
  expect(offeredOf(named(100_000), undefined)).toEqual({ offered: named(500), rest: 99_500 });
});

test('a hundred thousand names at one commit are put together at once', () => {
  const all = Array.from({ length: 100_000 }, (_, i) => ({ name: `b${i}`, commit: i % 1000 === 7 ? '0x1' : '0x0' }));
  const began = process.cpuUsage();
  const names = namesAt(all);
  const { user, system } = process.cpuUsage(began);
  expect([names.get('0x0')?.length, names.get('0x1')?.slice(0, 2)]).toEqual([99_900, ['b7', 'b1007']]);
  // A copy of the names so far for each took a minute.
  expect((user + system) / 1e6).toBeLessThan(5);
});

describe('lanes', () => {
  const lanesOf = (text: string, trunk?: string): readonly LaneRow[] => {
    const lanes = new Lanes(trunk);
    lanes.add(
      text
        .trim()
        .split(/\s*;\s*/)
        .map((line) => {
          const [id, ...parents] = line.split(' ');
          return { id: id!, parents };
        }),
    );
    return lanes.rows;
  };
  test('one line of commits is one lane', () => {
    expect(lanesOf('c b; b a; a')).toEqual([
      { lane: 0, through: [], into: [], out: [0] },
      { lane: 0, through: [], into: [0], out: [0] },
      { lane: 0, through: [], into: [0], out: [] },
    ]);
  });
  test('a merge leaves by two lanes, which meet in the commit that both came from', () => {
    expect(lanesOf('m b s; s a; b a; a', 'm')).toEqual([
      { lane: 0, through: [], into: [], out: [0, 1] },
      { lane: 1, through: [0], into: [1], out: [1] },
      { lane: 0, through: [1], into: [0], out: [0] },
      { lane: 0, through: [], into: [0, 1], out: [] },
    ]);
  });
  test('the trunk keeps the first lane when a side branch is newer', () => {
    expect(lanesOf('s a; t a; a', 't').map((row) => row.lane)).toEqual([1, 0, 0]);
    expect(lanesOf('s a; t a; a').map((row) => row.lane)).toEqual([0, 1, 0]);
  });
  test('a branch that went on from the trunk is one lane with it; of two the newest', () => {
    const commits = (text: string) =>
      text.split('; ').map((line) => {
        const [id, ...parents] = line.split(' ');
        return { id: id!, parents };
      });
    expect(lineThrough(commits('d c; c b; b a; a'), 'b')).toBe('d');
    expect(lineThrough(commits('e c; d b; c b; b a; a'), 'b')).toBe('e');
    expect(lineThrough(commits('s a; b a; a'), 'b')).toBe('b');
    // A merge of the trunk into another branch is no line of the trunk's.
    expect(lineThrough(commits('m s b; s a; b a; a'), 'b')).toBe('b');
    expect(lineThrough(commits('b a; a'), 'x')).toBe('x');
    expect(lanesOf('d c; c b; b a; a', 'd').map((row) => row.lane)).toEqual([0, 0, 0, 0]);
  });
  test('a parent that stands above its child gets no line', () => {
    expect(lanesOf('a; b a')).toEqual([
      { lane: 0, through: [], into: [], out: [] },
      { lane: 0, through: [], into: [], out: [] },
    ]);
  });
  test('in any history every line goes on without a gap, and 10,000 commits take less than a second', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = randomOf(seed);
      const size = seed === 20 ? 10_000 : 200;
      const commits = Array.from({ length: size }, (_, i) => {
        const parent = (): number => i + 1 + random.below(Math.min(12, size - i - 1));
        return {
          id: String(i),
          parents:
            i === size - 1
              ? []
              : random.below(5) === 0
                ? [...new Set([String(parent()), String(parent())])]
                : [String(parent())],
        };
      });
      const lanes = new Lanes('0');
      const began = performance.now();
      lanes.add(commits);
      expect(performance.now() - began).toBeLessThan(1000);
      let open: readonly number[] = [];
      const sorted = (all: readonly number[]): readonly number[] => [...all].sort((a, b) => a - b);
      const breaches: string[] = [];
      for (const [i, row] of lanes.rows.entries()) {
        // What comes from above is what left downwards.
        if (
          String(sorted([...row.through, ...row.into])) !== String(open) ||
          row.through.includes(row.lane) ||
          row.out.length !== new Set(commits[i]!.parents).size
        )
          breaches.push(`seed ${seed}, row ${i}`);
        open = sorted([...new Set([...row.through, ...row.out])]);
      }
      expect(breaches).toEqual([]);
      expect(open).toEqual([]);
    }
  });
});

describe('ids in texts of the service', () => {
  const ids = Array.from({ length: 50 }, () => newId());
  test('are found where the service writes them, and are those', () => {
    const [a, b] = [base62(ids[0]!), base62(ids[1]!)];
    for (const text of [
      `reverted commit ${a}`,
      `picked commits ${a}..${b}`,
      `commit ${a} cannot be reverted: the data objects it added were rewritten since or deleted: ${b}, ${a}`,
      `loaded 2 data objects\n\n  ${a} 1 record in 9 data bytes\n  ${b} 2 records in 9 data bytes\n`,
      `vector add\n\n    ${a}\n`,
      `commit not found: ${a}`,
    ]) {
      const pieces = idPieces(text);
      expect(pieces.map((piece) => (typeof piece === 'string' ? piece : base62(piece.id.slice(2)))).join('')).toBe(
        text,
      );
      expect(pieces.some((piece) => typeof piece !== 'string' && piece.id === `0x${ids[0]!}`)).toBe(true);
    }
    for (const id of ids)
      expect(withShortIds(`reverted commit ${base62(id)}`)).toBe(`reverted commit ${id.slice(8, 16)}`);
  });
  test('are not what is written elsewhere, nor more than an id can say', () => {
    for (const text of [
      `a pool called ${base62(ids[0]!)}`,
      `merged "${base62(ids[0]!)}" into "main"`,
      `commit ${'z'.repeat(27)}`,
      `commit ${base62(ids[0]!)}x`,
    ])
      expect(withShortIds(text)).toBe(text);
  });
});

describe('lines for a shell', () => {
  test('a word comes out of the shell as it went in', () => {
    const words = hostileTexts.filter((text) => !text.includes('\0') && !text.endsWith('\n'));
    const said = execFileSync('bash', ['-c', `printf '%s\\0' ${words.map(shellWord).join(' ')}`], { encoding: 'utf8' });
    expect(said.split('\0').slice(0, -1)).toEqual(words);
  });
  test('the line has nothing but printable ASCII, and a variable for the token', () => {
    for (const text of hostileTexts) {
      const line = curlLine(
        'http://h:1',
        { method: 'POST', path: ['pool', text, 'branch', 'main', 'delete'], json: { where: text }, headers: {} },
        { guarded: true },
      );
      expect(line).toMatch(/^[\x20-\x7e]+$/);
    }
    expect(
      curlLine(
        'http://h:1',
        {
          method: 'POST',
          path: ['pool', 'a b', 'branch', "it's"],
          headers: { 'Content-Type': 'text/csv' },
          file: '-x.csv',
        },
        { guarded: true },
      ),
    ).toBe(
      "curl -sS -X POST -T - http://h:1/pool/a%20b/branch/it%27s -H \"Authorization: Bearer $LAKE_TOKEN\" -H 'Accept: application/json' -H 'Content-Type: text/csv' < ./-x.csv",
    );
    expect(curlLine('http://h:1', { method: 'DELETE', path: ['pool', 'p'] })).toBe(
      "curl -sS -X DELETE http://h:1/pool/p -H 'Accept: application/json'",
    );
  });
});

describe('files', () => {
  const file = (name: string, body: string | Uint8Array): Blob & { readonly name: string } =>
    Object.assign(new Blob([typeof body === 'string' ? body : new Uint8Array(body)]), { name });
  test('the elements of an array stand one after the other, each byte where it was', async () => {
    const text = '[ {"a":"],[\\",","b":[1,{"c":[]}]} ,2, [3,4], "x,y" ]\n';
    for (const body of [text, gzipSync(text)]) {
      const out = await (await arrayElements(file('a.json', body))).text();
      expect(out).toBe('  {"a":"],[\\",","b":[1,{"c":[]}]} \n2\n [3,4]\n "x,y"  \n');
      expect(out.length).toBe(text.length);
    }
  });
  test('fields are guessed, and the one that is a time is the likely key', async () => {
    expect(await lookInto(file('a.json', '[{"id":1,"created_at":"2026"}]'))).toEqual({
      gzip: false,
      isArray: true,
      fields: ['id', 'created_at'],
    });
    expect(await lookInto(file('a.csv.gz', gzipSync('k,"a ""b"""\n1,2\n')))).toEqual({
      gzip: true,
      isArray: false,
      fields: ['k', 'a "b"'],
    });
    expect((await lookInto(file('conn.log', '#separator \\x09\n#fields\tts\tid.orig_h\n'))).fields).toEqual([
      'ts',
      'id',
    ]);
    expect([likelyKey(['id', 'created_at']), likelyKey(['a', 'b']), likelyKey([])]).toEqual(['created_at', 'a', 'ts']);
  });
  test('the place of a fault is read from its text', () => {
    expect(faultPlace('json: unexpected end (line 3, column 1, byte 14)')).toEqual({ line: 3, column: 1, byte: 14 });
    expect(faultPlace('csv: record on line 2: wrong number of fields')).toEqual({ line: 2 });
    expect(faultPlace('arrows: too short (byte 99)')).toEqual({ byte: 99 });
    expect(faultPlace('load: nothing')).toBeUndefined();
  });
  test('lines around it are cut where they are long, also beyond the first piece of a file', async () => {
    const long = `${'x'.repeat(500)}ü!${'y'.repeat(500)}`;
    const text = `first\n${long}\nlast\n`;
    const at = Buffer.byteLength(`first\n${'x'.repeat(500)}ü`);
    const [above, there, below, ...rest] = (await linesAt(file('a', text), { byte: at, line: 2 }))!;
    expect([above, below, rest]).toEqual([
      { number: 1, text: 'first', isFault: false },
      { number: 3, text: 'last', isFault: false },
      [],
    ]);
    expect([there!.text[there!.at!], there!.text.length]).toEqual(['!', 162]);
    const many = 'a line\n'.repeat(200_000);
    expect((await linesAt(file('b', many), { line: 150_000 }))!.map((line) => line.number)).toEqual([
      149_998, 149_999, 150_000, 150_001, 150_002,
    ]);
    expect(await linesAt(file('c', new Uint8Array([1, 0, 2])), { byte: 1 })).toBeUndefined();
  });
});

test('numbers and times lie on the axis where their values are, other keys in their order', () => {
  const at = (ns: bigint): Time => new Time(ns);
  expect(
    barsOf([
      { min: 0n, max: 5n },
      { min: 7.5, max: 10n },
    ]),
  ).toEqual({
    bars: [
      { from: 0, to: 0.5 },
      { from: 0.75, to: 1 },
    ],
    low: '0',
    high: '10',
    linear: true,
  });
  expect(
    barsOf([
      { min: at(0n), max: at(1n) },
      { min: at(1n), max: at(2n) },
    ]).bars,
  ).toEqual([
    { from: 0, to: 0.5 },
    { from: 0.5, to: 1 },
  ]);
  expect(
    barsOf([
      { min: 'a', max: 'z' },
      { min: 'b', max: 'b' },
    ]),
  ).toEqual({
    bars: [
      { from: 0, to: 1 },
      { from: 0.5, to: 0.5 },
    ],
    low: 'a',
    high: 'z',
    linear: false,
  });
  expect(
    barsOf([
      { min: 1n, max: 'x' },
      { min: null, max: null },
    ]).linear,
  ).toBe(false);
  expect(barsOf([{ min: 3n, max: 3n }]).bars).toEqual([{ from: 0.5, to: 0.5 }]);
});

test('texts show what would not be seen, and keep what is', () => {
  expect(['\u202eevil', 'a\u0000b', 'tab\t', '👩‍👩‍👧‍👦', 'مرحبا', '\ud800x'].map((text) => visible(text))).toEqual([
    '⟨U+202E⟩evil',
    'a␀b',
    'tab␉',
    '👩‍👩‍👧‍👦',
    'مرحبا',
    '\ufffdx',
  ]);
  expect(visible('x'.repeat(1000), 5)).toBe('xxxxx…');
  expect(visibleName('feature-'.repeat(20) + 'end\u202e', 9)).toBe('featur…nd⟨U+202E⟩');
  expect(['short', '👩👩👩👩👩'].map((text) => visibleName(text, 5))).toEqual(['short', '👩👩…']);
  expect([0, 999, 1000, 99_400, 1_234_567, 5e12].map(bytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '99.4 kB',
    '1.2 MB',
    '5.0 TB',
  ]);
  const now = Date.parse('2026-11-21T12:00:00Z');
  expect(
    [
      '2026-11-21T11:59:58Z',
      '2026-11-21T11:30:00Z',
      '2026-11-21T02:00:00Z',
      '2026-11-20T12:20:00Z',
      '2026-11-19T12:00:00Z',
      '2024-01-02T12:00:00Z',
    ].map((text) => ago(text, now)),
  ).toEqual(['just now', '30 min ago', '10 h ago', '1 day ago', '2 days ago', '2024-01-02']);
  expect([0, 999.4, 999.6, 1000, 59_940, 59_960, 60_000, 119_400, 119_600, 123_000].map(duration)).toEqual([
    '0 ms',
    '999 ms',
    '1.0 s',
    '1.0 s',
    '59.9 s',
    '1 min 0 s',
    '1 min 0 s',
    '1 min 59 s',
    '2 min 0 s',
    '2 min 3 s',
  ]);
});
