/** The rules' case files: the plan without any rule, and with the file's rule alone. */
import { describe, expect, test } from 'vitest';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { compile } from '../../../src/query/analyze.ts';
import { planText } from '../../../src/query/plan/text.ts';
import { rules } from '../../../src/query/rules/rules.ts';
import { lakeEnvironment } from '../../support/queries/environment.ts';

interface RuleCase {
  readonly why: string;
  readonly query: string;
  readonly before: string;
  readonly after: string;
}

const folder = fileURLToPath(new URL('../../cases/rules/', import.meta.url));
const names = [...new Set(rules.map((r) => r.name))];

test('each rule has a case file, and each case file a rule', () => {
  expect(readdirSync(folder).sort()).toEqual(names.map((n) => `${n}.yaml`).sort());
});

for (const name of names) {
  describe(name, () => {
    for (const c of parse(readFileSync(`${folder}${name}.yaml`, 'utf8')) as readonly RuleCase[]) {
      test(c.why, async () => {
        expect(planText(await compile(c.query, lakeEnvironment(), { rulesOff: 'all' }))).toBe(c.before);
        expect(planText(await compile(c.query, lakeEnvironment(), { rulesOff: names.filter((n) => n !== name) }))).toBe(
          c.after,
        );
      });
    }
  });
}

test('all rules together bring a filter, its columns and a top to the scan', async () => {
  const plan = await compile(
    'select a, upper(b) as u from (from p | where ts > 2024-01-01T00:00:00Z | values {a,b}) where a = 1 order by b limit 2',
    lakeEnvironment(),
  );
  expect(planText(plan)).toBe(
    [
      'scan p columns (a, b, ts) filter (ts>2024-01-01T00:00:00Z) and (a==1) prune (ts>2024-01-01T00:00:00Z and a==1) unordered',
      'values {a:a,b:b}',
      'top 2 b',
      'values {a:a,u:upper(b)}',
      '',
    ].join('\n'),
  );
});
