/** The load dialog where an answer was lost, in a real browser against the real service. */
import { describe, expect, test } from 'vitest';
import { lacksChromium } from '../support/chromium.ts';
import { button, pick, useConsole } from './console-page.ts';

describe.skipIf(lacksChromium())('a load whose answer was lost', () => {
  const pages = useConsole();

  test('is there once when it is sent again, and the dialog says that it was', async () => {
    const pool = await pages.lake.createPool('sent twice', { keys: [['k']] });
    const { page } = await pages.open('#/pool/sent twice');
    let lost = 0;
    await page.route(/\/branch\/main$/, async (route) => {
      if (route.request().method() !== 'POST' || lost++ > 0) return route.continue();
      // It is loaded, and nobody hears of it.
      await route.fetch();
      return route.abort('connectionreset');
    });
    await button(page, 'Load data').first().click();
    await pick(page, 'a.json', '{"k":1}\n{"k":2}\n');
    await button(page, 'Load file').click();
    await page.getByText('Not known whether it was loaded').waitFor();
    const tip = await pool.branch('main').tip();
    await button(page, 'Load file').click();
    const file = page.locator('li.file.done');
    await file.getByText('Was loaded by the try before').waitFor();
    await expect.poll(() => file.locator('code.id').getAttribute('title')).toBe(tip);
    expect(await pool.branch('main').tip()).toBe(tip);
    expect((await pool.sums('main')).records).toBe(2);
    await page.close();
  });
});
