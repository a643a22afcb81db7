/**
 * Rows whose field names all differ: each is a shape of its own, and each field a column. Whatever is asked of them is
 * answered, or refused with an error that names the limit, and the process stays about as small as its `-memory` says.
 */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { residentMib } from './support/resident.ts';
import { type Service, startBuiltService } from './support/service/built.ts';
import { type Answer, type Client, clientOf, jsonType } from './support/service/client.ts';

const rows = 500;
const fields = 500;
/**
 * MiB: `-memory` of 64, and 256 beside it. Before the parts of columns were charged these took 1,160 to more than 2,000,
 * and DESCRIBE up to 392 while each shape's type was made to find its fields.
 */
const residentMax = 64 + 256;
let service: Service;
let client: Client;
beforeAll(async () => {
  service = await startBuiltService({ flags: ['-memory', '64MiB'] });
  client = clientOf(service.address);
  await client.createPool('p');
  const row = (i: number): string =>
    `{"x":${i},${Array.from({ length: fields }, (_, k) => `"f${i}_${k}":${k}`).join(',')}}\n`;
  const { status, body } = await client.ask('POST', '/pool/p/branch/main', {
    headers: { 'content-type': 'application/x-ndjson' },
    body: Array.from({ length: rows }, (_, i) => row(i)).join(''),
  });
  expect([status, body]).toEqual([200, expect.anything()]);
}, 60_000);
afterAll(async () => {
  client?.close();
  await service?.stop();
});

const asked = (query: string, accept = 'application/x-ndjson', path = '/query'): Promise<Answer | undefined> =>
  // A failure behind the first byte ends the connection.
  client
    .ask('POST', path, { headers: { ...jsonType, accept }, body: JSON.stringify({ query }) })
    .catch(() => undefined);

describe('are within the memory', () => {
  const queries: Readonly<Record<string, string>> = {
    'a group for each': 'from p | count() by this | count()',
    'a set of all': 'from p | union(this) | values len(union)',
    'all of them': 'from p | collect(this) | values len(collect)',
    'one of each run': 'from p | uniq | count()',
    'their types': 'from p | count() by typeof(this)',
    'their columns': 'describe p',
    'figures of their columns': 'summarize p',
    'one type for all': 'from p | fuse | head 1',
    'an order': 'from p | sort this | head 1',
    'a search': 'from p | search 77 | count()',
    'fewer fields': 'from p | drop x | count()',
    'a join': 'select count(*) from p a join p b on a.x = b.x',
  };
  for (const [what, query] of Object.entries(queries))
    test(`${what}: ${query}`, async () => {
      writeFileSync(`/proc/${service.process.pid}/clear_refs`, '5');
      const answer = await asked(query);
      expect(residentMib(service.process.pid!, 'VmHWM')).toBeLessThan(residentMax);
      if (answer?.status !== 200)
        expect([answer?.status, answer?.body]).toEqual([
          413,
          expect.stringMatching(/ needs more than 33554432 bytes of memory \(option -memory\)/),
        ]);
    }, 60_000);
});

test('rows of many shapes are answered where what is asked of them is small', async () => {
  expect(await client.query('from p | count()')).toEqual([rows]);
  expect(await client.query('from p | sort -r x | cut x | head 2')).toEqual([{ x: rows - 1 }, { x: rows - 2 }]);
  expect(await client.query('from p | drop x | count()')).toEqual([rows]);
});
