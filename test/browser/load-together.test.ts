/** Files loaded into several pools as one transaction, in a real browser against the real service. */
import { describe, expect, test } from 'vitest';
import { lacksChromium } from '../support/chromium.ts';
import { button, useConsole } from './console-page.ts';

describe.skipIf(lacksChromium())('loads into several pools', () => {
  const pages = useConsole();

  test('are there together, or not at all', async () => {
    const orders = await pages.lake.createPool('orders', { keys: [['id']] });
    const stock = await pages.lake.createPool('stock', { keys: [['id']] });
    const { page, faults } = await pages.open();
    await button(page, 'Load together').click();
    const dialog = page.getByRole('dialog');
    const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    const picker = dialog.getByLabel('Files to load');
    await picker.setInputFiles([file('orders.json', '[{"id":1},{"id":2}]'), file('stock.json', '{"id":')]);
    const pool = (name: string) => dialog.getByLabel(`Pool of ${name}`).locator('option:checked');
    expect([await pool('orders.json').innerText(), await pool('stock.json').innerText()]).toEqual(['orders', 'stock']);
    await button(page, 'Load 2 files').click();
    await dialog
      .getByRole('alert')
      .getByText(/^stock\.json: /)
      .waitFor();
    expect([await orders.branch('main').log(), await stock.branch('main').log()]).toEqual([[], []]);
    await button(page, 'Leave out stock.json').click();
    await picker.setInputFiles([file('left.csv', 'id,left\n1,3\n')]);
    await dialog.getByLabel('Pool of left.csv').selectOption('stock');
    expect(await dialog.locator('figure code').innerText()).toContain(
      '{"commits":[{"pool":"orders","files":["orders.json"]},{"pool":"stock","files":["left.csv"]}]}',
    );
    await button(page, 'Load 2 files').click();
    await page.getByText('Loaded 2 files into 2 pools, all or none.').waitFor();
    expect([(await orders.sums('main')).records, (await stock.sums('main')).records]).toEqual([2, 1]);
    expect(await orders.branch('main').tip()).toBe(await stock.branch('main').tip());
    // The refusal is one to the browser.
    expect(faults.filter((fault) => !fault.includes('status of 400'))).toEqual([]);
    await page.close();
  });
});
