/** Parts of the shell that need no lake: statements from lines, completion, tables, history, faults. */
import { describe, expect, test } from 'vitest';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shellCommands } from '../../../src/commands/shell/commands.ts';
import { type LakeWords, complete } from '../../../src/commands/shell/complete.ts';
import { faultText } from '../../../src/commands/shell/fault.ts';
import { History, historyFile } from '../../../src/commands/shell/history.ts';
import { StatementReader, oneLine } from '../../../src/commands/shell/input.ts';
import { ShellFault } from '../../../src/commands/shell/lake.ts';
import { secondsText } from '../../../src/commands/shell/session.ts';
import { TableText } from '../../../src/commands/shell/table.ts';
import { colors, colorsFor, fitted, harmless, noColors, textWidth } from '../../../src/commands/shell/text.ts';
import { openReader } from '../../../src/formats/formats.ts';

describe('statements', () => {
  /** Statements of lines; each line sees the next one, as in a file. */
  const read = (text: string): readonly string[] => {
    const reader = new StatementReader();
    const lines = text.split('\n');
    return [...lines.flatMap((line, i) => reader.add(line, lines[i + 1])), ...reader.end()].map(
      (s) => `${s.line}: ${s.text}`,
    );
  };
  test('a line is a statement', () => expect(read('values 1\nvalues 2')).toEqual(['1: values 1', '2: values 2']));
  test('it goes on behind a pipe, a backslash and before a line that begins with a pipe', () => {
    expect(read('from p |\nhead 1\nvalues 1 \\\n+ 2\nfrom p\n| head 2\n  | count()\nvalues "a|"')).toEqual([
      '1: from p |\nhead 1',
      '3: values 1 \n+ 2',
      '5: from p\n| head 2\n  | count()',
      '8: values "a|"',
    ]);
  });
  test('it goes on while brackets, strings and comments are open', () => {
    expect(read('values {a:[1,\n2],\nb:3}\nvalues /* x\n) */ 1\nvalues f"{upper(\n"a")} ("\nvalues "a\nb"')).toEqual([
      '1: values {a:[1,\n2],\nb:3}',
      '4: values /* x\n) */ 1',
      '6: values f"{upper(\n"a")} ("',
      '8: values "a\\nb"',
    ]);
  });
  test('a semicolon or an empty line ends it', () => {
    expect(read('values 1; values 2;values\n3;\nvalues (\n\nvalues ";" ; -- no; more')).toEqual([
      '1: values 1',
      '1: values 2',
      '1: values',
      '2: 3',
      '3: values (',
      '5: values ";" ',
    ]);
  });
  test('brackets in comments, regular expressions and strings are not counted', () => {
    expect(read('values 1 -- (\nsearch /a(b/\nvalues \'(\' + "\\"("\nvalues a/2 + (b/2)')).toEqual([
      '1: values 1 -- (',
      '2: search /a(b/',
      '3: values \'(\' + "\\"("',
      '4: values a/2 + (b/2)',
    ]);
  });
  test('commands are whole lines, but not inside a statement', () => {
    expect(read('.mode json\n  .use p@main \nvalues [1,\n.5]\n-- nothing\n')).toEqual([
      '1: .mode json',
      '2: .use p@main',
      '3: values [1,\n.5]',
    ]);
  });
  test('the history has it on one line, without comments', () =>
    expect(oneLine('from p -- all\n  | head 1\n')).toBe('from p | head 1'));
});

describe('completion', () => {
  const lake: LakeWords = {
    pools: async () => ['movies', 'my pool', 'music'],
    tables: async () => ['movies', 'my pool', 'music'],
    branches: async (pool) => (pool === 'movies' ? ['main', 'trial'] : ['main']),
    fields: async (source) =>
      source === 'movies' ? ['Title', 'Rating', 'Rating.imdb'] : source === undefined ? ['ts'] : [],
  };
  const words = async (line: string, before = ''): Promise<string> => {
    const [found, partial] = await complete(before, line, shellCommands, lake);
    return `${partial} -> ${found.join(' ')}`;
  };
  test.each([
    ['va', 'va -> values var_pop( var_samp( variance('],
    ['from movies | he', 'he -> head'],
    ['from movies | wh', 'wh -> where'],
    ['from movies | sum', 'sum -> sum( summarize'],
    ['from movies | where up', 'up -> upcast( upper('],
    ['from movies | where Ti', 'Ti -> Title time_bucket('],
    ['from movies | cut Rating.', 'Rating. -> Rating.imdb'],
    ['from movies | cut ti', 'ti -> Title time_bucket('],
    ['t', 't -> tail top ts type'],
    ['from m', 'm -> movies music'],
    ['from "my', '"my -> "my pool"'],
    ['from movies@t', 'movies@t -> movies@trial'],
    ['from movies:l', 'movies:l -> movies:log'],
    ['from :', ': -> :branches :pools :tags :views'],
    ['select * from mo', 'mo -> movies'],
    ['from movies | sort Title de', 'de -> decode( default degrees( dense_rank( desc'],
    ['values "up', ' -> '],
    ['values 1 -- up', ' -> '],
    ['.p', '.p -> .pools'],
    ['.use m', 'm -> movies music my pool'],
    ['.use movies@', 'movies@ -> movies@main movies@trial'],
    ['.mode t', 't -> table tsv'],
    ['.timing ', ' -> off on'],
  ])('%s', async (line, expected) => expect(await words(line)).toBe(expected));
  test('earlier lines of the statement count', async () =>
    expect(await words('  | cut Ti', 'from movies')).toBe('Ti -> Title time_bucket('));
});

describe('tables', () => {
  const table = async (sup: string, width = 80): Promise<string> => {
    const text = new TableText({ width, colors: noColors });
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(sup);
    }
    let out = '';
    for await (const batch of await openReader('sup', bytes())) out += text.add(batch);
    return out + text.end();
  };
  test('names, types, rows; numbers to the right', async () => {
    expect(
      await table(
        '{a:1,name:"x",t:2024-01-01T00:00:00Z,n:{b:[1,2]}}\n{a:200,name:null,t:2024-01-01T00:00:00Z,n:{b:[3,4]}}',
      ),
    ).toBe(
      [
        '    a  name         t                     n',
        'int64  string|null  time                  {b:[int64]}',
        '    1  x            2024-01-01T00:00:00Z  {b:[1,2]}',
        '  200  null         2024-01-01T00:00:00Z  {b:[3,4]}',
        '',
      ].join('\n'),
    );
  });
  test('values that are no records have one column; another shape begins a new table', async () => {
    expect(await table('1\n"x"\n{a:error("no")}\n{}')).toBe(
      'this\nint64|string\n1\nx\n\na\nerror(string)\nerror("no")\n\nthis\n{}\n{}\n',
    );
  });
  test('columns are cut to the width, and what does not fit is named', async () => {
    const text = await table(`{a:"${'x'.repeat(50)}",b:"${'y'.repeat(50)}",c:1}`, 40);
    expect(text).toBe(
      [
        'a                b                     c',
        'string           string            int64',
        `${'x'.repeat(14)}…  ${'y'.repeat(15)}…      1`,
        '',
      ].join('\n'),
    );
    const many = await table(`{${Array.from({ length: 9 }, (_, i) => `c${i}:"${'z'.repeat(20)}"`).join(',')}}`, 40);
    expect(
      many
        .split('\n')
        .map(textWidth)
        .every((w) => w <= 40),
    ).toBe(true);
    expect(many).toContain('... and 6 more columns (.mode sup shows…');
  });
  test('wide and combining characters keep the columns straight', async () => {
    expect((await table('{a:"日本",b:1}\n{a:"x\u0302y",b:2}\n{a:"abcd",b:3}')).split('\n').slice(2, 5)).toEqual([
      '日本        1',
      'x\u0302y          2',
      'abcd        3',
    ]);
    expect(fitted('日本語', 4, false)).toBe('日… ');
  });
  test('data cannot move the cursor', async () => {
    expect(await table('{a:"\\u001b[2Jx\\ny"}')).toBe('a\nstring\n\\u001b[2Jx\\ny\n');
    expect(harmless('a\x9bb\x07\t\n')).toBe('a\\u009bb\\u0007\t\n');
  });
  test('a long answer keeps one head', async () => {
    const lines = (await table(Array.from({ length: 1200 }, (_, i) => `{n:${i}}`).join('\n'))).split('\n');
    expect(lines.length).toBe(1203);
    expect(lines.filter((line) => line.includes('int64')).length).toBe(1);
  });
});

test('colours are for terminals whose owner has nothing against them', () => {
  expect(colorsFor(true, {})).toBe(colors);
  for (const [isTerminal, environment] of [
    [false, {}],
    [true, { NO_COLOR: '1' }],
    [true, { TERM: 'dumb' }],
  ] as const)
    expect(colorsFor(isTerminal, environment)).toBe(noColors);
});

describe('faults', () => {
  const shown = (
    text: string,
    fault: { readonly message: string; readonly start: number; readonly end: number; readonly hint?: string },
    line = 1,
    absoluteLines = false,
  ): string => faultText(new ShellFault('', [fault]), { text, line }, { colors: noColors, absoluteLines });
  test('the mark is under its text in the right line, whatever stands before', () => {
    expect(shown('values 1\n| put x:=日本(1)', { message: 'no such function', start: 18, end: 27 })).toBe(
      'no such function at line 2, column 10:\n| put x:=日本(1)\n         ~~~~~~~\n',
    );
    expect(shown('a\n\tb c', { message: 'm', start: 5, end: 6 }, 7, true)).toBe('m at line 8, column 4:\n b c\n   ~\n');
    expect(shown('values (', { message: 'parse error', start: 8, end: -1 })).toBe(
      'parse error at line 1, column 9:\nvalues (\n        ^\nhint: the parenthesis ( at line 1, column 8 is not closed\n',
    );
    expect(shown('values f()', { message: 'no such function', start: 7, end: 10, hint: 'did you mean "g"?' })).toBe(
      'no such function at line 1, column 8:\nvalues f()\n       ~~~\nhint: did you mean "g"?\n',
    );
  });
  test('one without a place is its text', () =>
    expect(faultText(new Error('gone\x1b'), { text: 'x', line: 3 }, { colors: noColors, absoluteLines: false })).toBe(
      'gone\\u001b\n',
    ));
});

describe('history', () => {
  test('its file is in the state folder of the user unless an option says otherwise', () => {
    expect(historyFile('', {}, '/home/u')).toBe('/home/u/.local/state/lake/history');
    expect(historyFile('', { XDG_STATE_HOME: '/s' }, '/home/u')).toBe('/s/lake/history');
    expect(historyFile('/x/h', {}, '/home/u')).toBe('/x/h');
    expect(historyFile('off', {}, '/home/u')).toBeUndefined();
  });
  test('statements are kept once, for the owner alone, the last thousand of them', () => {
    const folder = mkdtempSync(join(tmpdir(), 'lake-history-'));
    const file = join(folder, 'deep', 'history');
    const history = new History(file);
    for (const entry of ['a', 'a', ' secret', '', 'b']) history.add(entry);
    expect(history.entries).toEqual(['b', 'a']);
    expect(readFileSync(file, 'utf8')).toBe('a\nb\n');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    writeFileSync(file, Array.from({ length: 2500 }, (_, i) => `q${i}\n`).join(''));
    expect(new History(file).entries.slice(0, 2)).toEqual(['q2499', 'q2498']);
    expect(readFileSync(file, 'utf8').split('\n').length).toBe(1001);
    rmSync(folder, { recursive: true });
  });
  test('a file that cannot be written is no fault', () => {
    const history = new History('/dev/null/nowhere');
    history.add('a');
    expect(history.entries).toEqual(['a']);
  });
});

test('a duration that rounds up to a minute or second is one', () => {
  expect([0, 999.4, 999.6, 1000, 59_994, 59_996, 60_000, 119_400, 119_600, 123_000].map(secondsText)).toEqual([
    '0 ms',
    '999 ms',
    '1.00 s',
    '1.00 s',
    '59.99 s',
    '1 min 0 s',
    '1 min 0 s',
    '1 min 59 s',
    '2 min 0 s',
    '2 min 3 s',
  ]);
});
