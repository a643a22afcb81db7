/**
 * Functions of texts of some million characters. What each of them makes beside its answer is little: a process that
 * evaluates them one after the other stays within the bound of one with this budget.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { residentMib } from '../../support/resident.ts';
import { program } from '../../support/service/built.ts';
import { runQuery } from '../../support/queries/case.ts';

const values: readonly (readonly [string, string])[] = [
  ['values cast(f"{repeat(\'0h\', 2000000)}1h30m", <duration>)', '1h30m'],
  ["values cast(repeat('1', 2000000), <duration>) == 1h", 'error({message:"cannot cast to duration",on:"1..."})'],
  ["select strip_accents('👩é' || repeat('aé👩한', 20000)) = '👩e' || repeat('ae👩한', 20000) as a", '{a:true}'],
  // A letter of Hangul that joins the one before stands where a slice of the text may end.
  ["select strip_accents(repeat('a', 65535) || '\u1100\u1161') = repeat('a', 65535) || '가' as a", '{a:true}'],
  ["select regexp_escape(repeat('a.👩', 30000)) = repeat('a\\.👩', 30000) as a", '{a:true}'],
];
describe('long texts', () => {
  for (const [query, expected] of values)
    test(query.slice(0, 80), async () => {
      const answer = (await runQuery(query, 'null')).trim();
      expect(answer.replace(/1{1000,}/, '1...')).toBe(expected);
    });
  test('their memory is that of the answer', { timeout: 120_000 }, async () => {
    const long = "repeat('ab,', 5000000)";
    const calls = [
      `bin(repeat('ab,', 1500000))`,
      `(${long}::blob)::varchar`,
      `string_to_array(repeat('é', 10000000), 'é')`,
      `string_split(${long}, ',')`,
      `strip_accents(repeat('é', 10000000))`,
      `regexp_escape(${long})`,
    ];
    const options = ['aggmem', 'sortmem', 'fusemem'].flatMap((name) => [`-${name}`, '128MiB']);
    const query = `${calls.map((call) => `select typeof(${call}) as a`).join(' union all ')} union all select typeof(damerau_levenshtein('ab', 'ba'))`;
    const child = spawn(process.execPath, [program, 'query', '-s', ...options, '-c', query]);
    const answer = text(child.stdout);
    const ended = once(child, 'exit');
    let most = 0;
    while (child.exitCode === null) {
      most = Math.max(most, residentMib(child.pid!, 'VmHWM') ?? 0);
      await Promise.race([ended, pause(20)]);
    }
    expect(await answer).toContain('{a:<[string]>}');
    expect(most).toBeLessThan(430);
  });
});
