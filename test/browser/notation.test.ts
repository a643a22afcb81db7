/** How the console writes what it shows: names of buttons, ids, the texts of errors, formats. One thing, one notation. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { lacksChromium } from '../support/chromium.ts';
import { button, curl, openCommit, pick, useConsole } from './console-page.ts';

describe.skipIf(lacksChromium())('the console writes', () => {
  const pages = useConsole();
  const short = (id: string): string => id.slice(10, 18);
  /** Words of the page that are ids of 27 characters, as the service's messages have them. */
  const messageIds = async (page: Page): Promise<readonly string[]> =>
    (await page.locator('body').innerText()).match(/\b(?=[0-9A-Za-z]*\d)[0-9A-Za-z]{27}\b/g) ?? [];

  test('a name on the button that copies the link of a question, on a wide and on a narrow screen', async () => {
    for (const width of [1280, 360]) {
      const { page, faults } = await pages.open('#/query?text=values 1', { width });
      await button(page, 'Copy link').click();
      await button(page, 'Copied').waitFor();
      await button(page, 'Copy link').waitFor();
      expect(faults).toEqual([]);
      await page.close();
    }
  });

  test('one notation of a commit, also in the message of a revert, and of the objects of a conflict', async () => {
    const pool = await pages.lake.createPool('written', { keys: [['k']] });
    const main = pool.branch('main');
    await main.load('{k:0}', { format: 'sup', message: 'the first' });
    const { commit: gone } = await main.load('{k:1}', { format: 'sup', message: 'the second' });
    await main.revert(gone);
    await main.load('{k:2}', { format: 'sup' });
    const { page, faults } = await pages.open('#/pool/written');
    await openCommit(page, `reverted commit ${short(gone)}`);
    await expect
      .poll(() => page.locator('.details h3').textContent(), { message: 'details' })
      .toBe(`reverted commit ${short(gone)}`);
    await openCommit(page, 'the second');
    // Where the id is looked for, it is found: in the details of the commit itself.
    await expect.poll(() => page.locator('.details').getByText(gone, { exact: true }).count()).toBe(2);
    await openCommit(page, 'loaded 1 data object');
    await expect.poll(() => page.locator('.details .message-text').innerText()).toMatch(/^ *[0-9a-f]{8} 1 record in /);
    await expect.poll(() => messageIds(page)).toEqual([]);
    await page.close();
    expect(faults).toEqual([]);
  });

  test('the objects of a conflict once, as everywhere', async () => {
    const pool = await pages.lake.createPool('vacuumed', { keys: [['k']] });
    const main = pool.branch('main');
    await main.load('{k:1}', { format: 'sup' });
    await main.load('{k:2}', { format: 'sup' });
    await main.deleteWhere('k == 1', { message: 'gone' });
    const [object] = await pool.vacuum('main');
    const { page } = await pages.open('#/pool/vacuumed');
    await openCommit(page, 'gone');
    await button(page, 'Revert').click();
    const refused = page.locator('dialog .effect.refused');
    await expect.poll(() => refused.locator('.pre').innerText()).toContain(short(object!));
    await expect.poll(() => refused.locator('.ids').innerText()).toBe(short(object!));
    await expect.poll(() => refused.locator('.ids code').getAttribute('title')).toBe(object);
    expect(await messageIds(page)).toEqual([]);
    await page.close();
  });

  test('the place of a mistake in a filter below it, on a line of its own', async () => {
    const pool = await pages.lake.createPool('caret', { keys: [['k']] });
    await pool.branch('main').load('{k:1}', { format: 'sup' });
    for (const width of [1280, 360]) {
      const { page } = await pages.open('#/pool/caret', { width });
      await button(page, 'Delete records').click();
      await page.getByLabel('Where').fill(`k == 1 and ${'a'.repeat(50)} == ) or`);
      const fault = page.locator('dialog .fault');
      await fault.waitFor();
      const lines = (await fault.innerText()).split('\n');
      const at = lines.findIndex((line) => /^[ =]*\^/.test(line));
      expect(lines[at - 1]![lines[at]!.indexOf('^')]).toBe(')');
      expect(lines.join('')).not.toContain('␊');
      // Nothing wraps: one line of the text is one line on the screen.
      const [height, line] = (await page.evaluate(`(() => {
        const fault = document.querySelector('dialog .fault');
        return [fault.clientHeight, parseFloat(getComputedStyle(fault).lineHeight)];
      })()`)) as [number, number];
      expect(height).toBeLessThan(line * (lines.length + 2));
      await page.close();
    }
  });

  test('why a download failed in a line or two, however long the types are', async () => {
    const fields = Array.from({ length: 60 }, (_, i) => `field_with_a_long_name_${i}:${i}`).join(',');
    const { page } = await pages.open(
      `#/query?${new URLSearchParams({ text: `values {a:1,${fields}}, {a:"x"}, 5` }).toString()}`,
    );
    await page.getByText('3 rows', { exact: true }).waitFor();
    const strip = page.locator('.strip.bad span');
    for (const [name, told] of [
      // Of CSV the answer had begun when the row came that it cannot hold.
      [/^CSV/, /^The download failed: .*\bCSV\b.*record/],
      [/^Arrow/, /^The download failed: .*not a record: 5::.*….*/],
      [/^Zeek/, /^The download failed: Zeek output encountered non-record value: 5$/],
    ] as const) {
      await button(page, 'Download').click();
      await page.getByRole('menuitem', { name }).click();
      await strip.waitFor();
      const text = await strip.innerText();
      expect(text).toMatch(told);
      expect(text.length).toBeLessThan(280);
      expect(text).not.toMatch(/[\n␊]/);
      expect((await strip.boundingBox())!.height).toBeLessThan(60);
      await page.locator('.strip.bad').getByRole('button', { name: 'Dismiss' }).click();
    }
    await page.close();
  });

  test('the format of a file as the line for curl says it', async () => {
    await pages.lake.createPool('formats', { keys: [['k']] });
    const { page, faults } = await pages.open('#/pool/formats');
    await button(page, 'Load data').first().click();
    const chosen = (): Promise<string | null> =>
      page.getByLabel('Format', { exact: true }).locator('option:checked').textContent();
    for (const [name, text, line] of [
      ['a.csv', 'CSV, by the name', 'Content-Type: text/csv'],
      ['b.csv.gz', 'CSV, by the name', 'Content-Type: text/csv'],
      ['c.parquet', 'Parquet, by the name', 'parquet'],
      ['d', 'Found out by the service', 'Content-Type: */*'],
    ] as const) {
      await pick(page, name, 'k\n1\n');
      await expect.poll(chosen, { message: name }).toBe(text);
      await expect.poll(() => curl(page), { message: name }).toContain(line);
      await button(page, `Leave out ${name}`).click();
    }
    await pick(page, 'e.csv', 'k\n1\n');
    await pick(page, 'f.json', '{"k":1}');
    await expect.poll(chosen).toBe('By their names, else found out');
    expect(faults).toEqual([]);
    await page.close();
  });
});
