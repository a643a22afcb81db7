/** What the load dialog tells of a file before it is loaded, in a real browser against the real service. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { createWriter, openReader } from '../../src/formats/formats.ts';
import { lacksChromium, seriousFindings } from '../support/chromium.ts';
import { pieces } from '../support/formats/convert.ts';
import { button, pick, useConsole } from './console-page.ts';
import { drop } from './hand.ts';

const looked = (page: Page) => page.getByRole('region', { name: 'What the load would come to' });

describe.skipIf(lacksChromium())('a file that is to be loaded', () => {
  const pages = useConsole();

  test('is told before: its format and why, what is unsure, types, first records', async () => {
    const pool = await pages.lake.createPool('looked at', { keys: [['ts']], order: 'desc' });
    const { page } = await pages.open('#/pool/looked at');
    await button(page, 'Load data').first().click();
    await pick(page, 'a.dat', 'ts;n\n1;2\n3;4\n');
    await looked(page).getByText("csv, since the first line has the delimiter ';'").waitFor();
    await looked(page).getByText('{ts:float64,n:float64}').waitFor();
    await looked(page).getByText('ts, desc').waitFor();
    await looked(page).getByText('{ts:1.,n:2.}').waitFor();
    await button(page, 'Leave out a.dat').click();
    await looked(page).waitFor({ state: 'detached' });
    await pick(page, 'b.csv', 'at;n\n');
    await page.getByText('As it is, the load would be refused: csv: empty csv file').waitFor();
    await button(page, 'Leave out b.csv').click();
    await pick(page, 'c.csv', 'at|n,m\n1|2,3\n');
    await looked(page).getByText('no record has ts, a key of the pool').waitFor();
    await button(page, 'Leave out c.csv').click();
    await pick(page, 'd.json', '[{"ts":1},{"ts":2}]');
    await looked(page).getByText('2 records').waitFor();
    await page.getByLabel('Each element of the JSON array is a record').uncheck();
    await looked(page).getByText('it begins with an array').waitFor();
    expect((await pool.sums('main')).records).toBe(0);
    await page.close();
  });

  test('is sent in its first part alone, and a record that ends there is no fault', async () => {
    await pages.lake.createPool('of a part', { keys: [['k']] });
    const { page } = await pages.open('#/pool/of a part');
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') asked.push(new URL(request.url()).search);
    });
    await button(page, 'Load data').first().click();
    await pick(page, 'a.json', '{"k":1,"text":"some of it"}\n'.repeat(100_000));
    await looked(page).getByText('First 1,000 records').waitFor();
    await looked(page).getByText('{k:int64,text:string}').waitFor();
    expect(await looked(page).getByText('it was read up to here').count()).toBe(0);
    expect(asked).toContain('?dryrun=T&cut=T');
    await page.close();
  });

  test('gives its own key to a new pool, also where it is no text', async () => {
    const writer = createWriter('parquet');
    const bytes: Uint8Array[] = [];
    for await (const batch of await openReader(
      'sup',
      pieces(Buffer.from('{n:1,event_time:2026-11-28T00:00:00Z}'), 100),
    ))
      bytes.push(...writer.write(batch));
    bytes.push(...writer.end());
    const { page } = await pages.open();
    await drop(page, 'a.parquet', Buffer.concat(bytes));
    await looked(page).getByText('{n:int64,event_time:time}').waitFor();
    await expect.poll(() => page.locator('dialog').getByLabel('Key', { exact: true }).inputValue()).toBe('event_time');
    await page.close();
  });

  test('is told with names, roles and contrast, within a narrow screen', async () => {
    await pages.lake.createPool('narrow', { keys: [['k']] });
    const { page } = await pages.open('#/pool/narrow', { width: 360, height: 800 });
    await button(page, 'Load data').first().click();
    await pick(page, 'a.csv', `ts;${'long_name_of_a_column'.repeat(20)}\n1;2\n`);
    await looked(page).getByText('no record has k, a key of the pool').waitFor();
    for (const theme of ['light', 'dark']) {
      await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
      expect(await seriousFindings(page), theme).toEqual([]);
    }
    const width = await page.evaluate(`document.querySelector('dialog').scrollWidth`);
    expect(width).toBeLessThanOrEqual(360);
    await page.close();
  });
});
