/** The service goes away while the console's pages are open, and comes back. */
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Lake } from '../../src/client/client.ts';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { lacksChromium, type SharedBrowser, sharedChromium } from '../support/chromium.ts';

/** The proxy of one test says another Host than browsers see. */
const flags = ['-workers', '1', '-cors.origin', 'http://127.0.0.1:*'];

/** For what comes by itself, on a machine that has other work too. */
const soon = { timeout: 20_000 };

describe.skipIf(lacksChromium())('the console while the service is away', () => {
  let service: Service;
  let browser: SharedBrowser;
  let context: BrowserContext;
  let lake: Lake;
  let port: number;
  let folder: string;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startBuiltService({ flags }), sharedChromium()]);
    [port, folder, lake] = [Number(new URL(service.address).port), service.lake, connect(service.address)];
    context = await browser.newContext({ reducedMotion: 'reduce' });
    for (const name of ['looked at', 'not yet'])
      await (await lake.createPool(name, { keys: [['k']] })).branch('main').insert([{ k: 1n }], { message: 'before' });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.end();
    if (folder) rmSync(dirname(folder), { recursive: true, force: true, maxRetries: 10 });
  });

  const open = async (hash: string): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(`${service.address}/${hash}`);
    await page.getByText('Live', { exact: true }).waitFor();
    return page;
  };
  const restart = async (): Promise<void> => {
    service = await startBuiltService({ lake: folder, port, flags });
  };
  const commit = (page: Page, text: string) => page.locator('.row.commit').filter({ hasText: text });
  const records = (page: Page): Promise<string | null> =>
    page.locator('.figure').filter({ hasText: 'records' }).locator('dd').textContent();

  test('each page says that the connection is lost, goes on by itself when the service is back, and keeps what was typed', async () => {
    const [asking, watching, pool] = await Promise.all([open('#/query'), open('#/events'), open('#/pool/looked at')]);
    const editor = asking.getByRole('textbox', { name: 'Query' });
    await editor.click();
    await asking.keyboard.insertText('from "looked at" | count()');
    await commit(pool, 'before').waitFor();
    await service.end('SIGKILL');
    for (const page of [asking, watching, pool]) await page.getByText('Connection lost', { exact: true }).waitFor(soon);
    await watching.getByText('The connection is lost: what happens meanwhile comes when it is back').waitFor();
    // What is asked for now fails with words, and is asked for again later.
    await asking.keyboard.press('Control+Enter');
    await asking.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    await expect.poll(() => editor.innerText()).toBe('from "looked at" | count()');
    await editor.click();
    await asking.keyboard.press('End');
    await asking.keyboard.insertText(' | values this + 1');
    await pool.evaluate('location.hash = "#/pool/not yet"');
    await pool.getByRole('heading', { name: 'not yet' }).waitFor();
    await pool.getByText('The service cannot be reached.').waitFor(soon);

    await restart();
    await lake
      .pool('looked at')
      .branch('main')
      .insert([{ k: 2n }], { message: 'after' });
    for (const page of [asking, watching, pool]) await page.getByText('Live', { exact: true }).waitFor(soon);
    // The commit was made before the page was back.
    await watching.locator('.row.event').filter({ hasText: 'looked at @ main' }).waitFor(soon);
    await commit(pool, 'before').waitFor(soon);
    await expect.poll(() => records(pool), soon).toBe('1');
    await pool.evaluate('location.hash = "#/pool/looked at"');
    await commit(pool, 'after').waitFor(soon);
    await expect.poll(() => records(pool), soon).toBe('2');
    await asking.keyboard.press('Control+Enter');
    await asking.locator('.run-status .pill').getByText('Done', { exact: true }).waitFor(soon);
    await expect.poll(() => asking.locator('#cell-0-1').innerText()).toBe('3');
    expect(await editor.innerText()).toBe('from "looked at" | count() | values this + 1');
    await Promise.all([asking, watching, pool].map((page) => page.close()));
  });

  test('a page that came while the service went away begins when it is back; a proxy that says so meanwhile ends nothing', async () => {
    // Pages and answers come through a proxy that is told to say 502.
    let away = true;
    const proxy = createServer((request, response) => {
      const { url = '/', method = 'GET' } = request;
      if (away && !/^\/(?:assets|$)/.test(url)) {
        response.writeHead(502).end('Bad Gateway');
        return;
      }
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const left = new AbortController();
        response.on('close', () => {
          left.abort();
        });
        const answer = await fetch(`${service.address}${url}`, {
          method,
          headers: Object.entries(request.headers).filter(
            (each): each is [string, string] =>
              typeof each[1] === 'string' && !/^(?:host|connection|content-length|transfer-encoding)$/.test(each[0]),
          ),
          ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
          signal: left.signal,
        });
        const headers = Object.fromEntries(
          [...answer.headers].filter(
            ([name]) => !/^(?:content-encoding|content-length|transfer-encoding|connection)$/.test(name),
          ),
        );
        response.writeHead(answer.status, headers).flushHeaders();
        for await (const chunk of answer.body ?? []) response.write(chunk);
        response.end();
      })().catch(() => {
        response.destroy();
      });
    });
    await new Promise<void>((resolve) => {
      proxy.listen(0, '127.0.0.1', resolve);
    });
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/#/events`);
    await page.getByRole('heading', { name: 'The service cannot be reached' }).waitFor(soon);
    away = false;
    await page.getByText('Live', { exact: true }).waitFor(soon);
    away = true;
    proxy.closeAllConnections();
    await page.getByText('Connection lost', { exact: true }).waitFor(soon);
    // Tried again at least once.
    await page.waitForResponse((response) => response.url().endsWith('/events') && response.status() === 502);
    await lake
      .pool('not yet')
      .branch('main')
      .insert([{ k: 3n }]);
    away = false;
    await page.locator('.row.event').filter({ hasText: 'not yet @ main' }).waitFor(soon);
    await page.close();
    proxy.closeAllConnections();
    proxy.close();
  });

  test('a load whose connection is lost before its answer is tried again without loading the file twice', async () => {
    const page = await open('#/pool/not yet');
    const before = await lake.pool('not yet').sums('main');
    // The service has done it when the answer is lost.
    await page.route(
      /\/branch\/main$/,
      async (route) => {
        await route.fetch();
        await route.abort('connectionreset');
      },
      { times: 1 },
    );
    await page.getByRole('button', { name: 'Load data' }).click();
    await page.setInputFiles('dialog input[type=file]', {
      name: 'more.ndjson',
      mimeType: '',
      buffer: Buffer.from('{"k":10}\n{"k":11}\n'),
    });
    await page.getByRole('button', { name: 'Load file' }).click();
    await page.getByText('Not known whether it was loaded').waitFor();
    await page.getByRole('button', { name: 'Load file' }).click();
    await page.getByRole('button', { name: 'Show the pool' }).waitFor();
    expect(await lake.pool('not yet').sums('main')).toMatchObject({ records: before.records + 2 });
    await page.close();
  });
});
