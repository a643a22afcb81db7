/** Scenario files in the inspector: what their steps do, what was expected, and where a machine comes out otherwise. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { machineNames } from '../../machines/machines.ts';
import {
  faultsOf,
  lacksChromium,
  newPageOf,
  seriousFindings,
  type SharedBrowser,
  sharedChromium,
} from '../support/chromium.ts';
import { startPrefixProxy } from '../support/service/prefix-proxy.ts';
import { scenarioFiles, scenarioFolder } from '../support/machines/scenario-player.ts';
import { startService, type TestService } from '../support/service/server.ts';
import { drop } from './hand.ts';

/** Its second step says another state and another emitted event than what comes, its third something that cannot be. */
const differing = `
why: a load that is told of too much
machine: load
input: {poolId: p}
steps:
  - {event: {type: begun}, state: receiving, context: {bodyBytes: 0}}
  - {event: {type: all rows read, bodyBytes: 12}, state: waiting, emitted: [{type: surprise}]}
  - {done: bake, state: done}
  - {event: {type: committed, commit: c1}, state: committed}
`;

describe.skipIf(lacksChromium())('the inspector opens scenarios', () => {
  let service: TestService;
  let browser: SharedBrowser;
  let context: BrowserContext;
  beforeAll(async () => {
    service = await startService(['-workers', '1']);
    browser = await sharedChromium();
    context = await browser.newContext();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
  });

  const open = async (
    options: { readonly width?: number; readonly height?: number; readonly dark?: boolean; readonly url?: string } = {},
  ): Promise<{ readonly page: Page; readonly faults: readonly string[] }> => {
    const page = await newPageOf(context, options);
    const faults = faultsOf(page);
    await page.goto(`${options.url ?? service.url}/inspect`);
    await page.getByText('Live', { exact: true }).waitFor();
    return { page, faults };
  };
  const give = (page: Page, name: string, text: string): Promise<void> =>
    page.setInputFiles('input[type=file]', { name, mimeType: 'text/plain', buffer: Buffer.from(text) });
  const activeState = (page: Page, state: string) => page.locator(`.machine .node.active[data-state="${state}"]`);
  const steps = (page: Page) => page.getByRole('listbox', { name: 'Messages' });
  const result = (page: Page) => page.getByRole('region', { name: 'Expected and found' });
  const row = (page: Page, what: string) =>
    result(page)
      .getByRole('row')
      .filter({ has: page.getByRole('rowheader', { name: what, exact: true }) });
  const cells = (page: Page, what: string): Promise<readonly string[]> =>
    row(page, what).getByRole('cell').allTextContents();
  const step = (page: Page): Promise<void> => page.getByRole('button', { name: 'Step', exact: true }).click();

  test("a machine's scenario is played, and its steps go forward and backward with what was expected beside what came", async () => {
    const { page, faults } = await open();
    await page.setInputFiles('input[type=file]', join(scenarioFolder, 'pool/store-fails.yaml'));
    await page.getByText('store-fails.yaml: 5 steps, all as expected').waitFor();
    await page
      .getByRole('status')
      .filter({ hasText: 'Scenario store-fails.yaml' })
      .filter({ hasText: 'as expected' })
      .waitFor();
    await activeState(page, 'opening').waitFor();
    await result(page).getByText('after the store failed every group is settled as refused').waitFor();
    await expect.poll(() => steps(page).getByRole('option').count()).toBe(6);
    await step(page);
    await activeState(page, 'idle').waitFor();
    await expect.poll(() => cells(page, 'state')).toEqual(['idle', 'idle']);
    for (let n = 2; n <= 4; n++) await step(page);
    await activeState(page, 'failed').waitFor();
    await result(page).getByRole('heading', { name: 'Step 4: work waiting' }).waitFor();
    const [expected, found] = await cells(page, 'emitted');
    expect(JSON.parse(expected!)).toEqual([
      {
        type: 'settled',
        outcomes: [{ id: 3, status: 'refused', why: 'store failed', text: 'I/O error' }],
      },
    ]);
    expect(JSON.parse(found!)).toEqual(JSON.parse(expected!));
    await expect.poll(() => cells(page, 'context')).toHaveLength(2);
    await step(page);
    await expect
      .poll(() => steps(page).locator('[aria-selected=true]').textContent())
      .toMatch(/step 5.*close.*as expected/);
    await page.getByRole('button', { name: 'Step back' }).click();
    await result(page).getByRole('heading', { name: 'Step 4: work waiting' }).waitFor();
    await page.getByRole('slider', { name: 'Place' }).focus();
    await page.keyboard.press('Home');
    await activeState(page, 'opening').waitFor();
    await page.getByRole('button', { name: 'Back to live' }).click();
    await page.getByText('Live', { exact: true }).waitFor();
    await expect.poll(() => result(page).count()).toBe(0);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('steps that come out otherwise are marked, and those behind one that cannot be played are not run', async () => {
    const { page, faults } = await open();
    await give(page, 'told.yaml', differing);
    await page
      .getByRole('alert')
      .filter({
        hasText: 'told.yaml: 2 of 4 steps differ from what was expected, the first is step 2; not run from step 4 on',
      })
      .waitFor();
    await page.getByRole('status').filter({ hasText: '2 differ' }).waitFor();
    await steps(page)
      .getByRole('option', { name: /step 1.*begun.*as expected/ })
      .waitFor();
    await steps(page)
      .getByRole('option', { name: /step 4.*committed.*not run/ })
      .waitFor();
    await page.getByLabel('Differences').check();
    await expect.poll(() => steps(page).getByRole('option').count()).toBe(2);
    await steps(page)
      .getByRole('option', { name: /step 2.*all rows read.*differs: state, emitted/ })
      .click();
    await expect.poll(() => cells(page, 'state')).toEqual(['waiting', '≠ sorting']);
    await expect.poll(() => cells(page, 'emitted')).toEqual(['[ { "type": "surprise" } ]', '≠ nothing']);
    await expect.poll(() => row(page, 'state').getAttribute('class')).toBe('differs');
    await activeState(page, 'sorting').waitFor();
    await steps(page)
      .getByRole('option', { name: /step 3.*bake done.*differs: work/ })
      .click();
    await expect.poll(() => cells(page, 'work')).toEqual(['bake', '≠ nothing runs']);
    expect(faults).toEqual([]);
    await page.close();
  });

  test("a lake's scenario shows its steps and what is expected, and says that it was not run", async () => {
    const { page, faults } = await open();
    await page.setInputFiles('input[type=file]', join(scenarioFolder, 'service/overtaken.yaml'));
    await page.getByText('overtaken.yaml: 5 steps, not run here').waitFor();
    await page.getByRole('status').filter({ hasText: 'not run' }).waitFor();
    await page.getByText('lake replay overtaken.yaml -lake DIR').waitFor();
    await expect.poll(() => page.locator('.machine').count()).toBe(0);
    await steps(page)
      .getByRole('option', { name: /step 5.*together.*not run/ })
      .click();
    await result(page).getByRole('heading', { name: 'Step 5: together' }).waitFor();
    await expect.poll(() => cells(page, '1 (compact): error')).toEqual(['object-not-found', 'not run']);
    await expect.poll(() => cells(page, '2 (delete): error')).toEqual(['none', 'not run']);
    await page.getByRole('button', { name: 'Step back' }).click();
    await expect.poll(() => cells(page, 'rows')).toEqual(['{ "p@main": "{ts:3}\\n{ts:4}" }', 'not run']);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('every scenario opens, and those of machines come out as expected', async () => {
    const { page, faults } = await open();
    for (const folder of [...machineNames, 'service']) {
      for (const file of scenarioFiles(folder)) {
        const name = `${folder}-${file}`;
        await give(page, name, readFileSync(join(scenarioFolder, folder, file), 'utf8'));
        await page
          .getByRole('status')
          .filter({ hasText: name })
          .filter({ hasText: folder === 'service' ? 'not run' : 'as expected' })
          .waitFor({ timeout: 30_000 });
      }
    }
    expect(faults).toEqual([]);
    await page.close();
  });

  test('a scenario that is dropped on the page opens, behind a path prefix too', async () => {
    const proxy = await startPrefixProxy(new URL(service.url));
    const { page, faults } = await open({ url: proxy.url });
    await drop(page, 'dropped.yml', differing);
    await page.getByRole('status').filter({ hasText: 'Scenario dropped.yml' }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
    proxy.close();
  });

  test('a file that is no scenario is told with its line or step, and the page goes on', async () => {
    const { page, faults } = await open();
    const machine = (text: string): string =>
      `why: x\nmachine: load\ninput: {poolId: p}\nsteps:\n  - {event: {type: rows sorted}, state: waiting}\n  - ${text}\n`;
    const lake = (text: string): string => `why: x\nlake: {}\nsteps:\n  - {create pool: p}\n  - ${text}\n`;
    for (const [name, text, fault] of [
      ['a.yaml', 'why: x\nsteps:\n  - {a: [}\n', 'at line 3'],
      ['b.yaml', 'hello', 'it does not say why'],
      ['c.yml', machine('{after: 1}'), 'step 2 does not say the state after it'],
      ['d.yaml', machine('knock'), 'step 2 is no map'],
      ['e.yaml', lake('{bake cake: p}'), 'step 2: there is no step "bake cake"'],
      ['f.yaml', lake('{together: [{load: a, into: p@main}, {bake: p}]}'), 'step 2, 2: there is no step "bake"'],
      ['g.yaml', 'why: x\nmachine: pool\nsteps:\n  - {event: {}, state: a}\n', 'step 1: its event has no type'],
    ] as const) {
      await give(page, name, text);
      await page
        .getByRole('alert')
        .filter({ hasText: `${name}: ` })
        .filter({ hasText: fault })
        .waitFor({ timeout: 30_000 });
    }
    await page.setInputFiles(
      'input[type=file]',
      ['pool/close.yaml', 'pool/group.yaml'].map((file) => join(scenarioFolder, file)),
    );
    await page.getByRole('alert').filter({ hasText: 'Open one scenario at a time' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('hostile texts of a scenario stay text, and axe-core finds nothing serious, in both themes, wide and narrow', async () => {
    const hostile = '<img src=x onerror=alert(1)>';
    // Themes differ in colours, widths in what is beside what: two looks have both of each.
    for (const look of [{ dark: false }, { width: 360, height: 740, dark: true }]) {
      const { page, faults } = await open(look);
      await give(
        page,
        'hostile.yaml',
        `${differing.replace('told of too much', hostile).replace('surprise', hostile).replace('poolId: p', `poolId: "${hostile}"`)}`,
      );
      await page.getByRole('status').filter({ hasText: 'hostile.yaml' }).waitFor();
      for (let n = 1; n <= 2; n++) await page.keyboard.press('.');
      await result(page).getByText(hostile).first().waitFor();
      expect(await seriousFindings(page), JSON.stringify(look)).toEqual([]);
      await expect
        .poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth'))
        .toBeLessThanOrEqual(0);
      await expect.poll(() => page.locator('img:not(.home img)').count()).toBe(0);
      await page.setInputFiles('input[type=file]', join(scenarioFolder, 'service/overtaken.yaml'));
      await page.getByRole('status').filter({ hasText: 'overtaken.yaml' }).waitFor();
      expect(await seriousFindings(page), `lake ${JSON.stringify(look)}`).toEqual([]);
      expect(faults).toEqual([]);
      await page.close();
    }
  });
});
