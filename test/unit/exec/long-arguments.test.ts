/** Functions of arguments that are very long, or far from what is usual: an answer or a clear error, never a fault. */
import { describe, expect, test } from 'vitest';
import { linkTask } from '../../../src/vectors/stop.ts';
import { ThreadMemory } from '../../../src/vectors/thread-memory.ts';
import { runQuery } from '../../support/queries/case.ts';

describe('long texts are read without an expression that overflows the stack', () => {
  test.each([
    ["select length(base64(repeat('abcd',4000000))) as n", '{n:12000000}'],
    ["select length(from_base64(repeat('abcd',4000000))) as n", '{n:12000000}'],
    ["select length(unhex(repeat('ab',4000000))) as n", '{n:4000000}'],
    ["select length(hex(repeat('ab',4000000))) as n", '{n:16000000}'],
    ["select length(unbin(repeat('01',4000000))) as n", '{n:1000000}'],
    ['values cast(repeat("1ns",400000),<duration>)', '400us'],
    [
      'values base64("a==="),base64("===="),base64("ab==")',
      'error({message:"base64: string argument is not base64",on:"a==="})\nerror({message:"base64: string argument is not base64",on:"===="})\n0x69',
    ],
    ['values unbin("101100001"),unbin("")', '0x0161\n0x'],
    ["select bin('aé') as b", '{b:"011000011100001110101001"}'],
    ["select overlay('héllo','xx',2,1) as a, overlay('hello','xx',2) as b", '{a:"hxxllo",b:"hxxlo"}'],
    [
      'values cast("-1.5h30m",<duration>),cast("1hm",<duration>),cast("-",<duration>)',
      '-2h\nerror({message:"cannot cast to duration",on:"1hm"})\nerror({message:"cannot cast to duration",on:"-"})',
    ],
  ])('%s', async (query, answer) => {
    expect(await runQuery(query, 'null')).toBe(`${answer}\n`);
  });
  test('a format of strptime has a limit', async () => {
    await expect(runQuery("select strptime('2024',repeat('%Y',101)) as t", 'null')).rejects.toThrow(
      'strptime: a format of at most 200 characters required',
    );
  });
});

describe('places of long decimals', () => {
  test.each([
    ['round(100000000000000000000, -2147483648)', '{n:0.}'],
    ['trunc(-123456789012345678901.55::decimal(38,2), -300000000)', '{n:0.}'],
    ['round(155000000000000000000, -19)', '{n:"160000000000000000000"::=sql_decimal}'],
    ["trunc(100000000000000000000,'NaN'::double)", '{n:error({message:"trunc: integer argument required",on:NaN})}'],
  ])('%s', async (call, answer) => {
    const began = process.cpuUsage();
    expect(await runQuery(`select ${call} as n`, 'null')).toBe(`${answer}\n`);
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1e6).toBeLessThan(2);
  });
  test('are whole, as those of other numbers', async () => {
    await expect(runQuery('select trunc(100000000000000000000.5::decimal(38,2),0.5) as n', 'null')).rejects.toThrow(
      'query: trunc: integer argument required',
    );
  });
});

describe('what a function needs between its argument and its result is charged before it is made', () => {
  /** A query that may hold 64 MiB. */
  const refusal = async (query: string): Promise<string> => {
    const { signal } = new AbortController();
    linkTask(signal, {
      account: new ThreadMemory(64 << 20, { bytes: () => 0, collect: () => undefined }).open(),
    });
    return runQuery(query, '"ab"', { signal }).then(
      (answer) => answer.slice(0, 100),
      (error: Error) => error.message,
    );
  };
  test.each([
    ['damerau_levenshtein(repeat(this,100000),repeat(this,100000))', 'damerau_levenshtein'],
    ['bin(repeat(this,5000000))', 'bin'],
    ['jaro_similarity(repeat(this,5000000),this)', 'jaro_similarity'],
    ['length_grapheme(repeat(this,5000000))', 'graphemes'],
    ['list_sort(split(repeat(this,500000),""))', 'the elements of a list'],
    ['list_zip(range(0,6000000),[1])', 'list_zip'],
  ])('%s', async (call, what) => {
    expect(await refusal(`values ${call}`)).toBe(
      `query: values (${what}) needs more than 67108864 bytes of memory (option -memory)`,
    );
  });
});

describe('what is done some thousand characters at a time is done as at once', () => {
  // A letter and its mark, syllables of several letters, and what is escaped, around every place where a part may end.
  const long = '\u00e9e\u0301\u1112\u1161\u11ab.a\ud83d\ude00['.repeat(10_000);
  test.each([
    ['strip_accents', long.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC')],
    ['nfc_normalize', long.normalize('NFC')],
  ])('%s', async (name, expected) => {
    expect(await runQuery(`values ${name}(this)==${JSON.stringify(expected)}`, JSON.stringify(long))).toBe('true\n');
  });
  test('regexp_escape', async () => {
    const [short, times] = ['é.a[b ', 20_000];
    const query = `values regexp_escape(this)==repeat(regexp_escape("${short}"),${times})`;
    expect(await runQuery(query, JSON.stringify(short.repeat(times)))).toBe('true\n');
  });
  test('bytes as text', async () => {
    expect(await runQuery("select ('a'||repeat('\\xFFb\\x00',40000))::blob::varchar as t", 'null')).toBe(
      `{t:"a${String.raw`\\xFFb\\x00`.repeat(40_000)}"}\n`,
    );
  });
});
