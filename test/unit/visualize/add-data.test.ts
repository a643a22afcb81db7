/** Configurations that the console hands out: the manual's, with an address, a pool and keys filled in. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { filledIn } from '../../../visualize/console/add-data/fill.ts';
import { type Recipe, recipesOf } from '../../../visualize/docs/recipes.ts';

const recipes = ['shippers', 'elasticsearch'].flatMap((page) =>
  recipesOf(readFileSync(new URL(`../../../visualize/docs/manual/${page}.md`, import.meta.url), 'utf8')),
);
const named = (title: string): Recipe => recipes.find((recipe) => recipe.title === title)!;
const open = { address: 'http://lake.example:8080', pool: 'logs', guarded: false };
const guarded = { address: 'https://lake.example', pool: 'logs', guarded: true };

test('the manual has one for each of the usual programs', () => {
  const titles = recipes.map(({ title }) => title);
  for (const title of ['OpenTelemetry collector', 'Fluent Bit', 'Vector', 'Filebeat', 'Promtail', 'curl'])
    expect(titles).toContain(title);
});
test.each(recipes)("$title: nothing of the manual's own service or pool is left", (recipe) => {
  const text = filledIn(recipe, open);
  expect(text).toContain('lake.example');
  expect(text).toContain('logs');
  expect(text).not.toMatch(/127\.0\.0\.1|9867|TOKEN|asks for keys/);
  expect(text).not.toMatch(new RegExp(`\\b${recipe.pool}\\b`));
});
test('keys stay variables of the environment, and TLS is said', () => {
  expect(filledIn(named('Fluent Bit'), guarded)).toBe(`[OUTPUT]
    Name                es
    Match               *
    Host                lake.example
    Port                443
    tls                 On
    Index               logs
    Suppress_Type_Name  On
    Generate_ID         On
    HTTP_User           lake
    HTTP_Passwd         \${LAKE_TOKEN}`);
  expect(filledIn(named('Filebeat'), guarded)).toBe(`output.elasticsearch:
  hosts: ["https://lake.example"]
  index: logs
  username: lake
  password: \${LAKE_TOKEN}
setup.template.enabled: false
setup.ilm.enabled: false`);
  expect(filledIn(named('curl'), guarded)).toContain('-H "Authorization: Bearer $LAKE_TOKEN"');
});
test('a name is quoted or escaped where it has to be', () => {
  const odd = { ...open, pool: 'a "b" & $&' };
  expect(filledIn(named('Filebeat'), odd)).toContain('index: "a \\"b\\" & $&"');
  expect(filledIn(named('Promtail'), odd)).toContain('push?pool=a%20%22b%22%20%26%20%24%26');
  expect(filledIn(named('lake load -follow'), odd)).toContain(`-use 'a "b" & $&' `);
});
