/** The pictures that are taken: a page, and what is done there before. */
import type { Page } from 'playwright-core';

/** `guarded`: of a service with access control, by one who has not signed in. */
interface Shot {
  readonly name: string;
  readonly path: string;
  readonly show: (page: Page) => Promise<void>;
  readonly guarded?: true;
}

const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) });
const queryEnds = (page: Page): Promise<void> =>
  page
    .locator('.run-status .pill')
    .getByText(/^(Done|Failed)$/)
    .waitFor({ timeout: 120_000 });
const ask = (text: string): string => `#/query?${new URLSearchParams({ text }).toString()}`;
const view = async (page: Page, name: string): Promise<void> => {
  await queryEnds(page);
  await page.getByRole('tab', { name }).click();
};
/** Values of every kind, nulls, errors, what is absent, texts in several scripts. */
const kinds = String.raw`values {id:1,place:{city:"Zürich",at:{lat:47.37,lon:8.54}},at:2026-11-22T08:30:00Z,took:1.5s,ip:10.0.0.1,net:10.0.0.0/8,ok:true,text:"plain",list:[1,2,3],map:|{"a":1,"b":2}|},
  {id:2,at:null,took:250us,ip:2001:db8::1,ok:false,text:"",list:[],place:{city:"東京",at:null},set:|["x","y"]|},
  {id:-3,at:error("no time"),text:"null",list:["a",{b:2}],place:error({message:"unknown place",on:"Atlantis"}),type:<{a:int64}>},
  {id:9223372036854775807,text:"a line\nand another\twith a tab",big:1.5e300,bytes:0x00ff10,word:"مرحبا بالعالم"}, 42, "a text alone", error("a value that is an error")`;
export const shots: readonly Shot[] = [
  {
    name: 'pools',
    path: '#/pools',
    show: async (page) => {
      await page.locator('.pools .records .number').filter({ hasText: /\d/ }).nth(2).waitFor();
    },
  },
  {
    name: 'commits',
    path: '#/pool/flights',
    show: async (page) => {
      await page.locator('.row').filter({ hasText: 'merged' }).first().click();
    },
  },
  {
    name: 'objects',
    path: '#/pool/flights',
    show: async (page) => {
      await page.getByRole('tab', { name: 'Data objects' }).click();
      await page.locator('.row').first().waitFor();
    },
  },
  {
    name: 'branches',
    path: '#/pool/flights',
    show: async (page) => {
      await page.getByRole('tab', { name: /Branches/ }).click();
      await page.getByRole('row').nth(2).waitFor();
    },
  },
  {
    name: 'time-travel',
    path: '#/pool/flights',
    show: async (page) => {
      await page.locator('.row').nth(5).click();
      await button(page, 'Go to this point in time').click();
      await page.locator('.banner').waitFor();
    },
  },
  {
    name: 'merge',
    path: '#/pool/flights',
    show: async (page) => {
      await button(page, 'Merge').click();
      await page.locator('.effect').waitFor();
    },
  },
  {
    name: 'delete-records',
    path: '#/pool/movies',
    show: async (page) => {
      await button(page, 'Delete records').click();
      await page.getByLabel('Where').fill('this["IMDB Rating"] < 3');
      await page.getByText(/would go/).waitFor();
    },
  },
  {
    name: 'revert',
    path: '#/pool/flights',
    show: async (page) => {
      await page.locator('.row').nth(2).click();
      await button(page, 'Revert').click();
      await page.locator('.effect').waitFor();
    },
  },
  {
    name: 'vacuum',
    path: '#/pool/flights',
    show: async (page) => {
      await button(page, 'Vacuum').click();
      await page.locator('dialog .effect').waitFor();
    },
  },
  {
    name: 'new-pool',
    path: '#/pools',
    show: async (page) => {
      await button(page, 'New pool').first().click();
      await page.getByLabel('Name', { exact: true }).fill('weather');
    },
  },
  {
    name: 'load-fault',
    path: '#/pool/flights',
    show: async (page) => {
      await button(page, 'Load data').first().click();
      await page.setInputFiles('dialog input[type=file]', {
        name: 'flights.ndjson',
        mimeType: '',
        buffer: Buffer.from(
          '{"date":"2001/04/02 08:10","delay":3,"distance":220}\n{"date":"2001/04/02 09:15","delay":-2,"distance":480}\n{"date":"2001/04/02 10:20","delay":,"distance":310}\n{"date":"2001/04/02 11:25","delay":14,"distance":95}\n',
        ),
      });
      await button(page, /^Load file/).click();
      await page.locator('.fault-place').waitFor();
    },
  },
  {
    name: 'load',
    path: '#/pools',
    show: async (page) => {
      await button(page, 'New pool').first().waitFor();
      await page.evaluate(
        `(() => { const data = new DataTransfer(); data.items.add(new File(['[{"station":"Seattle","date":"2026-01-01","rain":0.2}]'], 'weather.json')); window.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })); })()`,
      );
      await page.getByLabel('Name of the pool').waitFor();
    },
  },
  {
    name: 'events',
    path: '#/events',
    show: async (page) => {
      await page.locator('.row').nth(8).waitFor();
    },
  },
  {
    name: 'query',
    path: '#/query?pool=movies',
    show: async (page) => {
      await queryEnds(page);
    },
  },
  {
    name: 'query-mixed',
    path: ask('from events\n| where status >= 400 or level == "error" or rtt > 250ms\n| head 100000'),
    show: async (page) => {
      await queryEnds(page);
      // Once more, as one sees it when the service has done something like it before.
      await button(page, /^Run/).click();
      await page.waitForTimeout(200);
      await queryEnds(page);
      await page.locator('[role=gridcell]').nth(20).click();
    },
  },
  {
    name: 'query-kinds',
    path: ask(kinds),
    show: async (page) => {
      await queryEnds(page);
      // On a phone the column is not in sight.
      const unfold = button(page, 'Unfold place');
      if ((await unfold.count()) > 0) await unfold.click();
      await page.locator('#cell-0-1').dblclick();
    },
  },
  {
    name: 'query-types',
    path: ask(kinds),
    show: async (page) => {
      await queryEnds(page);
      await button(page, 'Columns').click();
      await page.getByLabel('A column for each type').check();
    },
  },
  {
    name: 'query-column-menu',
    path: '#/query?pool=events',
    show: async (page) => {
      await queryEnds(page);
      await page.getByRole('columnheader').nth(1).click();
    },
  },
  { name: 'query-sup', path: ask(kinds), show: (page) => view(page, 'SUP') },
  {
    name: 'query-plot',
    path: '#/query?pool=events',
    show: async (page) => {
      await view(page, 'Plot');
      await page
        .locator('.plot-note')
        .filter({ hasText: 'rows in bins' })
        .filter({ hasNotText: 'counted' })
        .waitFor({ timeout: 120_000 });
      await page.locator('.u-over').hover({ position: { x: 120, y: 60 } });
    },
  },
  {
    name: 'query-lines',
    path: ask('from events | count() by bucket(ts,1h), kind'),
    show: async (page) => {
      await view(page, 'Plot');
      await page.locator('.u-over').hover({ position: { x: 90, y: 60 } });
    },
  },
  {
    name: 'query-bars',
    path: ask(
      'from movies\n| films:=count(), gross:=sum(this["US Gross"]) by genre:=this["Major Genre"]\n| sort -r films',
    ),
    show: (page) => view(page, 'Plot'),
  },
  {
    name: 'query-flights',
    path: ask('from flights | count(), late:=avg(delay) by origin | sort -r count'),
    show: (page) => view(page, 'Plot'),
  },
  { name: 'query-no-plot', path: ask('values 1,2,3'), show: (page) => view(page, 'Plot') },
  {
    name: 'query-fault',
    path: ask('from events\n| where uper(kind) == "HTTP"\n| count() by kindd'),
    show: async (page) => {
      await page.getByRole('alert').waitFor();
      await page.locator('.cm-lintRange-error').first().waitFor();
    },
  },
  { name: 'query-nothing', path: ask('from events | where kind == "smtp"'), show: queryEnds },
  {
    name: 'query-download',
    path: '#/query?pool=events',
    show: async (page) => {
      await queryEnds(page);
      await button(page, 'Download').click();
    },
  },
  {
    name: 'query-history',
    path: '#/query?pool=movies',
    show: async (page) => {
      await queryEnds(page);
      await button(page, 'History').click();
    },
  },
  {
    name: 'query-saved',
    path: '#/query?pool=movies',
    show: async (page) => {
      await queryEnds(page);
      await button(page, 'Saved').click();
    },
  },
  {
    name: 'query-help',
    path: '#/query',
    show: async (page) => {
      await button(page, 'Help').click();
    },
  },
  {
    name: 'query-beginning',
    path: '#/query',
    show: async (page) => {
      await page.locator('.starts button').first().waitFor();
    },
  },
  {
    name: 'query-completion',
    path: '#/query',
    show: async (page) => {
      await page.getByRole('textbox', { name: 'Query' }).click();
      await page.keyboard.type('from flights | where d');
      await page
        .getByRole('option', { name: /^distance/ })
        .first()
        .waitFor();
    },
  },
  {
    name: 'branch',
    path: '#/pool/flights',
    show: async (page) => {
      await button(page, 'Branch').click();
      await page.getByLabel('Name', { exact: true }).fill('trial');
    },
  },
  {
    name: 'compact',
    path: '#/pool/flights',
    show: async (page) => {
      await button(page, 'Compact').click();
      await page.locator('dialog .effect').waitFor();
    },
  },
  {
    name: 'rename',
    path: '#/pool/flights',
    show: async (page) => {
      await button(page, 'Rename pool').click();
    },
  },
  {
    name: 'delete-pool',
    path: '#/pool/flights',
    show: async (page) => {
      await button(page, 'Delete pool').click();
    },
  },
  {
    name: 'no-such-pool',
    path: '#/pool/nowhere',
    show: async (page) => {
      await page.getByRole('link', { name: 'All pools' }).waitFor();
    },
  },
  {
    name: 'login',
    path: '',
    guarded: true,
    show: async (page) => {
      await page.getByLabel('Key or token').fill('lake_0');
      await button(page, 'Sign in').click();
      await page.getByRole('alert').waitFor();
    },
  },
  {
    name: 'docs',
    path: 'docs',
    show: async (page) => {
      await page.getByRole('heading', { level: 1, name: 'Manual' }).waitFor();
    },
  },
  {
    name: 'docs-try',
    path: 'docs#api',
    show: async (page) => {
      await page.locator('article', { hasText: '/version' }).getByText('Try it').first().click();
    },
  },
  {
    name: 'inspector',
    path: 'inspect',
    show: async (page) => {
      await page.getByRole('treeitem', { name: 'flights' }).first().click();
      await page.locator('.machine .node.active').first().waitFor();
    },
  },
];
