/**
 * Programs that people run ship to the built service, which is killed meanwhile: a small run of `npm run shippers`.
 * Programs that are not here are left out by name. `UPDATE_README=1` renews the table in the manual.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Shipped, ship } from './ship.ts';
import { shippers } from './shippers.ts';
import { faultOf, surenessText } from './sureness.ts';

const records = 3_000;
const here = shippers.filter(({ lacks }) => !lacks());
let shipped: ReadonlyMap<string, Shipped> = new Map();
beforeAll(async () => {
  shipped = await ship(here, { records, kills: 1, waitMs: 240_000 });
}, 600_000);

describe('what a program ships is as sure as the manual says', () => {
  for (const shipper of shippers)
    test.skipIf(!here.includes(shipper))(`${shipper.name}: ${surenessText[shipper.sureness]}`, () => {
      const found = shipped.get(shipper.name)!;
      expect(faultOf(shipper, records, found), found.said).toBeUndefined();
    });
});

test('the manual lists them', () => {
  const page = fileURLToPath(new URL('../../visualize/docs/manual/shippers.md', import.meta.url));
  const heads = ['Program', 'By', 'When the service is killed and starts again'];
  const rows = shippers.map(({ name, protocol, sureness }) => [name, protocol, surenessText[sureness]]);
  const table = [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const text = `<!-- begin tested shippers -->\n${table.join('\n')}\n<!-- end tested shippers -->`;
  const marked = /<!-- begin tested shippers -->[\s\S]*<!-- end tested shippers -->/;
  if (process.env['UPDATE_README'] !== undefined)
    writeFileSync(
      page,
      readFileSync(page, 'utf8').replace(marked, () => text),
    );
  expect(marked.exec(readFileSync(page, 'utf8'))?.[0]).toBe(text);
});
