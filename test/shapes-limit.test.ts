/**
 * Loads of very many shapes and columns: refused with their place, nothing is committed, and the service stays as small
 * as it was.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startBuiltService } from './support/built-service.ts';
import { type Answer, type Client, clientOf } from './support/client.ts';
import { printFigures } from './support/figures.ts';

let service: Service;
let client: Client;
beforeAll(async () => {
  service = await startBuiltService({ flags: ['-columns.max', '400000'] });
  client = clientOf(service.address);
  await client.createPool('p');
});
afterAll(async () => {
  client?.close();
  await service?.stop();
});
const load = (type: string, body: string | Uint8Array): Promise<Answer> =>
  client.ask('POST', '/pool/p/branch/main', { headers: { 'content-type': type }, body });
const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n');
const errorOf = ({ status, body }: Answer): readonly [number, string] => [
  status,
  (JSON.parse(body) as { error: string }).error,
];
const rssMb = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.process.pid!}/status`, 'utf8'))![1]) / 1024;

describe('a load of too many shapes (load-types)', () => {
  const bodies: Readonly<Record<string, readonly [type: string, body: () => string]>> = {
    JSON: ['application/json', () => lines(120_000, (i) => `{"k":${i},"f${i}":1}`)],
    SUP: ['application/x-sup', () => lines(120_000, (i) => `{k:${i},f${i}:1}`)],
    'records within records': ['application/json', () => lines(120_000, (i) => `{"k":${i},"in":{"f${i}":1}}`)],
    'names around values': ['application/x-sup', () => lines(120_000, (i) => `{k:${i},v:1::=n${i}}`)],
  };
  for (const [what, [type, body]] of Object.entries(bodies)) {
    test(`${what}: is told where, and commits nothing`, async () => {
      const tip = await client.tip('p');
      const before = rssMb();
      const [status, error] = errorOf(await load(type, body()));
      printFigures(`a load of too many shapes, ${what}`, {
        'RSS MB before': before.toFixed(0),
        after: rssMb().toFixed(0),
      });
      expect([status, error]).toEqual([
        413,
        expect.stringMatching(
          /^load: more than 100000 distinct shapes \(option -types\.max\), reached between values \d+ and \d+$/,
        ),
      ]);
      expect(await client.tip('p')).toBe(tip);
      expect(rssMb()).toBeLessThan(1600);
    });
  }
});

test('columns are counted likewise (load-columns)', async () => {
  expect(
    errorOf(
      await load(
        'application/json',
        lines(500, (i) => `{${Array.from({ length: 1000 }, (_, n) => `"f${i}_${n}":1`).join(',')}}`),
      ),
    ),
  ).toEqual([
    413,
    expect.stringMatching(
      /^load: more than 400000 columns \(option -columns\.max\), reached between values \d+ and \d+$/,
    ),
  ]);
});

test('fields that change their type are one shape, and thousands of shapes are no trouble', async () => {
  const kinds = ['1', '"x"', 'null', '1.5', 'true'];
  const body = lines(
    20_000,
    (i) =>
      `{"k":${i},${Array.from({ length: 8 }, (_, n) => `"f${n}":${kinds[Math.floor(i / 5 ** (n % 6)) % 5]!}`).join(',')}}`,
  );
  expect((await load('application/json', body)).status).toBe(200);
  expect(
    (
      await load(
        'application/json',
        lines(5000, (i) => `{"k":${i},"f${i}":1}`),
      )
    ).status,
  ).toBe(200);
  expect(await client.query('from p | aggregate n:=count()')).toEqual([{ n: 25_000 }]);
});
