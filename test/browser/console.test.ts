/** The console in a real browser against the real service: what people look at and change. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { lacksChromium } from '../support/chromium.ts';
import { dataset, mixedEvents } from './console-lake.ts';
import { button, commit, curl, figure, openCommit, pick, soon, useConsole } from './console-page.ts';
import { drop, placeOf } from './hand.ts';

describe.skipIf(lacksChromium())('the console', () => {
  const pages = useConsole();
  const count = async (text: string): Promise<unknown> => pages.lake.query(text).first();

  test('the whole story: a file is dropped, loaded, queried, branched, loaded there, merged, reverted, vacuumed', async () => {
    const { page, faults } = await pages.open();
    await page.getByRole('heading', { name: 'There are no pools yet' }).waitFor();
    await drop(page, 'movies.json', readFileSync(dataset('movies.json')));
    await page.getByLabel('Each element of the JSON array is a record').waitFor();
    await expect.poll(() => page.getByLabel('Name of the pool').inputValue()).toBe('movies');
    await page.getByLabel('Key', { exact: true }).fill('Title');
    await page.getByText('Author and message').click();
    await page.getByLabel('Author').fill('ann');
    await page.getByLabel('Message').fill('all films');
    await button(page, 'Load file').click();
    await page.getByText(/^3,201 records, 1.4 MB in /).waitFor();
    await button(page, 'Show the pool').click();
    await page.getByRole('heading', { name: 'movies' }).waitFor();
    await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('3,201');
    await expect.poll(() => commit(page, 'all films').textContent()).toContain('+3,201');

    await page.getByRole('link', { name: 'Query', exact: true }).last().click();
    await page
      .locator('.query-place:not([hidden])')
      .getByText('Casablanca')
      .or(page.locator('.query-place [role=gridcell]').first())
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Pools', exact: true }).first().click();
    await page.getByRole('link', { name: 'movies', exact: true }).click();

    await button(page, 'Branch').click();
    await page.getByLabel('Name', { exact: true }).fill('trial');
    await button(page, 'Create branch').click();
    await expect.poll(() => page.getByLabel('Branch', { exact: true }).inputValue(), soon).toBe('trial');
    await button(page, 'Load data').click();
    await pick(page, 'more.sup', '{Title:"A Lake"}\n{Title:"Another Lake"}\n');
    await button(page, 'Load file').click();
    await button(page, 'Show the pool').click();
    await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('3,203');
    await expect.poll(() => count('from movies | count()')).toBe(3201n);

    await button(page, 'Merge').click();
    await page.locator('dialog .effect').waitFor();
    await expect
      .poll(() => page.locator('dialog .effect').textContent())
      .toBe('adds+2 records in 1 data objectremovesnothingthe branch changes by+2 recordsconflictsnone');
    await button(page, 'Merge').last().click();
    await page.getByText('Merged trial into main.').waitFor();
    await expect.poll(() => count('from movies | count()')).toBe(3203n);
    await page.getByLabel('Branch', { exact: true }).selectOption('main');
    await openCommit(page, 'merged "trial" into "main"');
    await expect
      .poll(() => page.locator('.details').textContent())
      .toMatch(/added\+2 records.*parents[0-9a-f]{8} [0-9a-f]{8} /);

    await button(page, 'Revert').click();
    await page.locator('dialog .effect').getByText('−2 records in 1 data object').waitFor();
    await button(page, 'Revert').last().click();
    await commit(page, 'reverted commit').waitFor();
    await expect.poll(() => count('from movies | count()')).toBe(3201n);

    await button(page, 'Delete records').click();
    await page.getByLabel('Where').fill('this["IMDB Rating"] < 2 or');
    await page.locator('dialog .fault').waitFor();
    await page.getByLabel('Where').fill('this["IMDB Rating"] < 2');
    await page.getByText(/would go/).waitFor();
    const gone = Number(await count('from movies | this["IMDB Rating"] < 2 | count()'));
    await expect.poll(() => page.locator('dialog .effect').textContent()).toContain(`${gone} records would go`);
    await button(page, `Delete ${gone} records`).click();
    await expect.poll(() => count('from movies | count()'), soon).toBe(BigInt(3201 - gone));

    await button(page, 'Branches 2')
      .or(page.getByRole('tab', { name: /Branches/ }))
      .first()
      .click();
    await button(page, 'Delete branch trial').click();
    await page.getByLabel(/to confirm/).fill('trial');
    await button(page, 'Delete branch').click();
    await page.getByText('Branch trial is deleted.').waitFor();
    await button(page, 'Vacuum').click();
    await page.getByText(/data objects? would be removed/).waitFor();
    await page.getByLabel('Remove them for good').check();
    await button(page, /^Remove \d+ data object/).click();
    await page.getByText(/Removed \d+ data objects? for good/).waitFor();
    expect(await pages.lake.pool('movies').vacuum('main', { dryRun: true })).toEqual([]);
    expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
    await page.close();
  });

  test('a file of events is dropped, loaded, queried, and its histogram brushed', async () => {
    const { page, faults } = await pages.open();
    await page.getByRole('heading', { name: /^Pools/ }).waitFor();
    await drop(page, 'visits.sup', Buffer.from(mixedEvents(3000)));
    await expect.poll(() => page.getByLabel('Key', { exact: true }).inputValue(), soon).toBe('ts');
    await button(page, 'Load file').click();
    await page.getByText(/^3,000 records/).waitFor();
    await button(page, 'Show the pool').click();
    await page.getByRole('heading', { name: 'visits' }).waitFor();
    await page.getByRole('link', { name: 'Query', exact: true }).last().click();
    await page.getByText('3,000 rows', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Plot' }).click();
    const { x, y, width } = await placeOf(page.locator('.u-over'));
    await page.mouse.move(x + width * 0.25, y + 50);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.75, y + 60, { steps: 4 });
    await page.mouse.up();
    await expect.poll(() => new URL(page.url()).hash, soon).toMatch(/text=from\+visits\+%7C\+where\+ts\+%3E%3D\+/);
    const text = new URLSearchParams(new URL(page.url()).hash.split('?')[1]).get('text')!;
    await page
      .getByText(`${Number(await count(`${text} | count()`)).toLocaleString('en-US')} rows`, { exact: true })
      .waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('time travel: a click shows the pool as it was, in the address, the figures and the link to its query', async () => {
    const main = (await pages.lake.createPool('travel', { keys: [['k']] })).branch('main');
    const first = await main.insert([{ k: 1n }], { message: 'one' });
    await main.insert([{ k: 2n }, { k: 3n }], { message: 'two more' });
    const { page, faults } = await pages.open('#/pool/travel');
    await openCommit(page, 'one');
    await button(page, 'Go to this point in time').click();
    await page.getByText(/The pool as it was at/).waitFor();
    await expect.poll(() => new URL(page.url()).hash).toBe(`#/pool/travel?at=${first.commit}`);
    await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('1');
    await expect
      .poll(() => page.getByRole('link', { name: 'Query', exact: true }).last().getAttribute('href'))
      .toBe(`#/query?pool=travel&branch=${first.commit}`);
    await page.getByRole('tab', { name: 'Data objects' }).click();
    await page.locator('.row.object').waitFor();
    await expect.poll(() => page.locator('.row.object').count()).toBe(1);
    await button(page, 'Back to main').click();
    await expect.poll(() => page.locator('.row.object').count(), soon).toBe(2);
    await page.goBack();
    await page.getByText(/The pool as it was at/).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('the place of a fault in a file is shown with the text around it', async () => {
    await pages.lake.createPool('faults');
    const { page } = await pages.open('#/pool/faults');
    await button(page, 'Load data').first().click();
    const tried: readonly (readonly [name: string, text: string | Buffer, lines: readonly string[], mark?: string])[] =
      [
        [
          'a.ndjson',
          '{"a":1}\n{"a":2}\n{"a":,"b":3}\n{"a":4}\n',
          ['1{"a":1}', '2{"a":2}', '3{"a":,"b":3}', '4{"a":4}'],
          ',',
        ],
        ['b.csv', 'a,b\n1,2\n3\n4,5\n', ['1a,b', '21,2', '33', '44,5']],
        ['c.json.gz', gzipSync('[{"a":1},\n{"a":2 "b"}]'), ['[{"a":1},', '{"a":2 "b"}]'], '"'],
        ['<b>.sup', '{a:1}\n{a:\u202e"<i>" y}\n', ['1{a:1}', '2{a:⟨U+202E⟩"<i>" y}']],
      ];
    for (const [name, text, lines, mark] of tried) {
      await pick(page, name, text);
      await button(page, /^Load/).last().click();
      const file = page.locator('li.file.failed').filter({ hasText: name });
      await expect
        .poll(async () => (await file.locator('.fault-line').allTextContents()).map((line) => line.trimEnd()))
        .toEqual(lines);
      if (mark !== undefined) await expect.poll(() => file.locator('mark').textContent()).toBe(mark);
      await button(page, 'Close').last().click();
      await button(page, 'Load data').first().click();
    }
    expect(await pages.lake.pool('faults').sums('main')).toMatchObject({ records: 0 });
    await page.close();
  });

  test('CSV of any kind is loaded as the dialog says', async () => {
    const pool = await pages.lake.createPool('dialects', { keys: [['k']] });
    const { page } = await pages.open('#/pool/dialects');
    await button(page, 'Load data').first().click();
    await pick(page, 'report.csv', 'Report of today\nk~zip~price\n1~00123~1.234,50\n2~NA\n');
    await page.getByText('How the CSV is written').click();
    for (const [label, text] of [
      ['Delimiter', '~'],
      ['Title lines', '1'],
      ['Words for null', 'NA'],
      ['Types', 'zip=string'],
    ] as const)
      await page.getByLabel(label, { exact: true }).fill(text);
    await page.getByLabel('Decimal sign').selectOption('Comma');
    await page.getByLabel('Ragged rows').selectOption('Fill');
    await button(page, 'Load file').click();
    await expect.poll(async () => (await pool.sums('main')).records).toBe(2);
    expect(await pages.lake.query('from dialects').asText()).toBe(
      '{k:1.,zip:"00123",price:1234.5}\n{k:2.,zip:null,price:null}\n',
    );
    await page.close();
  });

  test('a load can be cancelled, and nothing of it is there', async () => {
    const pool = await pages.lake.createPool('cancelled', { keys: [['k']] });
    const before = await pool.branch('main').tip();
    const { page } = await pages.open('#/pool/cancelled');
    await button(page, 'Load data').first().click();
    // Slow enough that it is still on its way.
    const network = await page.context().newCDPSession(page);
    await network.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: 200_000,
    });
    await pick(page, 'long.ndjson', '{"k":1,"text":"a line that is repeated"}\n'.repeat(100_000));
    await button(page, 'Load file').click();
    await page.getByText(/^Sent \d+ %/).waitFor();
    await button(page, 'Cancel load').click();
    await page.getByText('Cancelled: nothing was loaded').waitFor();
    await expect.poll(() => pool.branch('main').tip()).toBe(before);
    await page.close();
  });

  test('the lines for curl do what they say, whatever the names are', async () => {
    const run = async (line: string, cwd?: string): Promise<string> =>
      (await promisify(execFile)('bash', ['-c', line], { encoding: 'utf8', ...(cwd !== undefined && { cwd }) })).stdout;
    const { page } = await pages.open();
    for (const name of ['plain', 'it\'s $(touch pwned) `id` "quoted" \\', 'ünï©ode \u202e👩‍👧', 'a\u0000b\nc']) {
      await button(page, 'New pool').click();
      await page.getByLabel('Name', { exact: true }).fill('');
      // What a field cannot take by typing it takes by pasting.
      await page.evaluate(
        `document.activeElement.value = ${JSON.stringify(name)}; document.activeElement.dispatchEvent(new Event('input', { bubbles: true }))`,
      );
      const asTyped = name.replace('\n', '');
      await expect.poll(async () => (await curl(page))!.includes('"name":""'), soon).toBe(false);
      const line = (await curl(page))!;
      expect(line).toMatch(/^[\x20-\x7e]+$/);
      expect((JSON.parse(await run(line)) as { readonly pool: { readonly name: string } }).pool.name).toBe(asTyped);
      await page.keyboard.press('Escape');
      const { id } = (await pages.lake.pools()).find((p) => p.name === asTyped)!;
      await page.goto(`${pages.service.address}/#/pool/${id}`);
      await button(page, 'Branch').click();
      await page.getByLabel('Name', { exact: true }).fill(name.replaceAll(/[\0\n]/g, ''));
      await run((await curl(page))!);
      await page.keyboard.press('Escape');
      expect((await pages.lake.pool(id).branches()).map((b) => b.name).sort()).toEqual(
        ['main', name.replaceAll(/[\0\n]/g, '')].sort(),
      );
      await page.goto(`${pages.service.address}/`);
    }
    const folder = mkdtempSync(join(tmpdir(), 'console-'));
    try {
      await page.goto(`${pages.service.address}/#/pool/plain`);
      for (const file of ["it's a file.ndjson", '-o.json', '\u202ex é.json']) {
        await button(page, 'Load data').first().click();
        const body = '{"ts":1}\n';
        execFileSync('bash', ['-c', 'cat > "./$1"', 'sh', file], { cwd: folder, input: body });
        await pick(page, file, body);
        await page.locator('dialog .curl code').waitFor();
        expect((JSON.parse(await run((await curl(page))!, folder)) as { readonly commit: string }).commit).toMatch(
          /^0x[0-9a-f]{40}$/,
        );
        await button(page, 'Close').last().click();
      }
      expect(await pages.lake.pool('plain').sums('main')).toMatchObject({ records: 3 });
      // What is not there yet is made by the same line.
      await page.goto(`${pages.service.address}/#/pools`);
      await page.getByRole('heading', { name: /^Pools/ }).waitFor();
      execFileSync('bash', ['-c', 'cat > "it is new.ndjson"'], { cwd: folder, input: '{"at":1}\n{"at":2}\n' });
      await drop(page, 'it is new.ndjson', Buffer.from('{"at":1}\n{"at":2}\n'));
      await expect.poll(() => page.getByLabel('Key', { exact: true }).inputValue(), soon).toBe('at');
      await run((await curl(page))!, folder);
      expect(await pages.lake.pool('it is new').sums('main')).toMatchObject({ records: 2 });
      expect((await pages.lake.pools()).find(({ name }) => name === 'it is new')!.layout).toEqual({
        order: 'asc',
        keys: [['at']],
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    await page.close();
  });

  test('a commit gets a tag, which the graph and the list show; a branch is reset to it', async () => {
    const pool = await pages.lake.createPool('tagged', { keys: [['k']] });
    const main = pool.branch('main');
    const { commit: first } = await main.load('{k:1}', { format: 'sup', message: 'the first' });
    await main.load('{k:2}', { format: 'sup', message: 'the second' });
    const { page, faults } = await pages.open('#/pool/tagged');
    await openCommit(page, 'the first');
    await button(page, 'Tag').click();
    await page.locator('dialog').getByLabel('Name').fill('main');
    await page.getByText('There is a branch or a tag of this name already.').waitFor();
    await page.locator('dialog').getByLabel('Name').fill('v1');
    await button(page, 'Create tag').click();
    await commit(page, 'the first').locator('.tag.fixed').getByText('v1').waitFor();
    await page.locator('#shown-branch').selectOption('v1');
    await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('1');
    await page.locator('#shown-branch').selectOption('main');
    await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('2');
    await openCommit(page, 'the first');
    await button(page, 'Reset a branch to here').click();
    await page.getByText('and would hold').waitFor();
    await button(page, 'Reset branch').click();
    await expect.poll(() => main.tip()).toBe(first);
    await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('1');
    await page.getByRole('tab', { name: /Branches/ }).click();
    await button(page, 'Delete tag v1').click();
    await button(page, 'Delete tag').click();
    await expect.poll(() => pool.tags()).toEqual([]);
    await page.locator('.tags-table').waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
    await page.close();
  });

  test('a merge that conflicts is shown before it is tried, and each change is done by its line for curl', async () => {
    const pool = await pages.lake.createPool('by-line', { keys: [['k']] });
    await pool.setIdentity([['k']]);
    const main = pool.branch('main');
    await main.load('{k:1}{k:2}{k:3}', { format: 'sup' });
    const side = await pool.createBranch('side', await main.tip());
    const other = await pool.createBranch('other', await main.tip());
    await other.load('{k:4}', { format: 'sup' });
    await main.deleteWhere('k == 1');
    await side.update('k == 1', 'note:="kept"');
    const { page, faults } = await pages.open('#/pool/by-line');
    await button(page, 'Merge').click();
    await page.locator('dialog select').first().selectOption('side');
    await page.locator('dialog .effect.refused').waitFor();
    await expect.poll(() => page.locator('dialog .effect').textContent()).toMatch(/conflict/);
    await expect.poll(() => button(page, 'Merge').last().isDisabled()).toBe(true);
    /** Runs the line of the open dialog in place of its button. */
    const byLine = async (): Promise<void> => {
      const { stdout } = await promisify(execFile)('bash', ['-c', (await curl(page))!], { encoding: 'utf8' });
      expect(stdout).not.toContain('"error"');
      await page.keyboard.press('Escape');
      await page.locator('dialog').waitFor({ state: 'detached' });
    };
    const keys = async (branch = 'main'): Promise<readonly unknown[]> =>
      pages.lake.query(`from "by-line"@${branch} | sort k | values k`).all();
    await page.locator('dialog select').first().selectOption('other');
    await page.locator('dialog .effect:not(.refused)').waitFor();
    await byLine();
    await expect.poll(() => keys()).toEqual([2n, 3n, 4n]);
    await openCommit(page, 'merged "other" into "main"');
    await button(page, 'Revert').click();
    await page.locator('dialog .effect').waitFor();
    await byLine();
    await expect.poll(() => keys()).toEqual([2n, 3n]);
    await button(page, 'Delete records').click();
    await page.getByLabel('Where').fill('k == 3');
    await page.getByText(/would go/).waitFor();
    await byLine();
    await expect.poll(() => keys()).toEqual([2n]);
    await button(page, 'Vacuum').click();
    await page.getByLabel('Remove them for good').check();
    await byLine();
    await expect.poll(() => pool.vacuum('main', { dryRun: true })).toEqual([]);
    await page.getByRole('tab', { name: /Branches/ }).click();
    await button(page, 'Delete branch other').click();
    await byLine();
    expect((await pool.branches()).map(({ name }) => name).sort()).toEqual(['main', 'side']);
    await button(page, 'Rename pool').click();
    await page.getByLabel('New name').fill('by-line-too');
    await byLine();
    await page.getByRole('heading', { name: 'by-line-too' }).waitFor();
    await button(page, 'Delete pool').click();
    await byLine();
    await page.getByText('There is no such pool').waitFor();
    expect(faults.filter((fault) => !/40[49]/.test(fault))).toEqual([]);
    await page.close();
  });

  test('small data objects are put together without a change to the records; a pool is renamed and its page follows', async () => {
    const main = (await pages.lake.createPool('many parts', { keys: [['k']] })).branch('main');
    for (let k = 0; k < 4; k++) await main.insert([{ k: BigInt(k) }]);
    const { page, faults } = await pages.open('#/pool/many parts');
    await expect.poll(() => figure(page, 'data objects').textContent(), soon).toBe('4');
    await button(page, 'Compact').click();
    await page.locator('dialog .effect').getByText('4 data objects').waitFor();
    await expect
      .poll(() => curl(page))
      .toMatch(/^curl -sS http\S+\/compact .* -d '\{object_ids:\[(0x[0-9a-f]{40},?){4}\]\}'$/);
    await button(page, 'Compact').last().click();
    await page.getByText('Put 4 data objects together on main.').waitFor();
    await expect.poll(() => figure(page, 'data objects').textContent(), soon).toBe('1');
    await expect.poll(() => figure(page, 'records').textContent()).toBe('4');
    await button(page, 'Rename pool').click();
    await page.getByLabel('New name').fill('one part');
    await button(page, 'Rename').click();
    await page.getByRole('heading', { name: 'one part' }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('events come as they happen, pause, and are filtered', async () => {
    const pool = await pages.lake.createPool('watched');
    const other = await pages.lake.createPool('unwatched');
    const { page, faults } = await pages.open('#/events');
    await pool.branch('main').insert([{ ts: 1n }]);
    await other.branch('main').insert([{ ts: 1n }]);
    await page.locator('.row.event').filter({ hasText: 'unwatched @ main' }).waitFor();
    await page.getByLabel('Filter events by pool or branch').fill('unwatched');
    await expect.poll(() => page.locator('.row.event').count(), soon).toBe(1);
    await page.getByLabel('Filter events by pool or branch').fill('');
    await button(page, 'Pause').click();
    await pool.createBranch('side', await pool.branch('main').tip());
    await page.getByText('Paused, 1 newer').waitFor();
    await expect.poll(() => page.locator('.row.event').filter({ hasText: 'Branch made' }).count()).toBe(0);
    await button(page, 'Resume').click();
    await page.locator('.row.event').filter({ hasText: 'Branch made' }).waitFor();
    await page.getByRole('listbox', { name: 'Events, newest first' }).focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'watched' }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('a long history is drawn a screen at a time, and read as one scrolls', async () => {
    const pool = await pages.lake.createPool('long', { keys: [['k']] });
    const main = pool.branch('main');
    for (let i = 0; i < 13; i++)
      await Promise.all(Array.from({ length: 32 }, (_, at) => main.insert([{ k: BigInt(i * 32 + at) }])));
    const { page } = await pages.open('#/pool/long');
    await page.locator('.row.commit').first().waitFor();
    await page.getByRole('listbox', { name: 'Commits, newest first' }).focus();
    await expect
      .poll(
        async () => {
          await page.keyboard.press('End');
          return page.locator('.row.commit').first().getAttribute('aria-setsize');
        },
        { timeout: 30_000 },
      )
      .toBe('416');
    await page.keyboard.press('End');
    await page.locator('.row.commit[aria-selected=true][aria-posinset="416"]').waitFor();
    await expect.poll(() => page.locator('.row.commit').count()).toBeLessThan(60);
    await expect.poll(() => page.locator('.details').textContent()).toContain('the first commit');
    await page.close();
  });
  test('what is looked at stands in the address, and Back goes back; data from elsewhere has its configuration filled in', async () => {
    await pages.lake.createPool('weather report');
    const { page, faults } = await pages.open('#/pool/weather%20report');
    await page.getByRole('tab', { name: 'Data objects' }).click();
    await expect.poll(() => page.url()).toContain('#/pool/weather%20report?tab=objects');
    await page.getByRole('tab', { name: /^Branches/ }).click();
    await page.goBack();
    await expect
      .poll(() => page.getByRole('tab', { name: 'Data objects' }).getAttribute('aria-selected'), soon)
      .toBe('true');
    await page.reload();
    await page.getByRole('tab', { name: 'Data objects', selected: true }).waitFor();
    await button(page, 'Add data').click();
    await page.getByLabel('What sends it').selectOption({ label: 'Fluent Bit' });
    const { port } = new URL(pages.service.address);
    await expect
      .poll(() => page.getByLabel('Configuration of Fluent Bit').locator('code').textContent())
      .toBe(`[OUTPUT]
    Name                es
    Match               *
    Host                127.0.0.1
    Port                ${port}
    Index               weather report
    Suppress_Type_Name  On
    Generate_ID         On`);
    await page.getByLabel('Pool', { exact: true }).fill('shop');
    await page.getByLabel('What sends it').selectOption({ label: 'curl' });
    await expect
      .poll(() => page.getByLabel('Configuration of curl').locator('code').textContent())
      .toContain(`curl -sS ${pages.service.address}/pool/shop/branch/main?time=ts -H 'Content-Type`);
    await button(page, 'Done').click();
    expect(faults).toEqual([]);
  });
});
