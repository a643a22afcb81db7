/**
 * Loads of very many shapes and columns: refused with their place, nothing is committed, and the service stays as small
 * as it was.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { residentMib } from './support/resident.ts';
import { type Service, startBuiltService } from './support/service/built.ts';
import { type Answer, type Client, clientOf } from './support/service/client.ts';
import { printFigures } from './support/figures.ts';

interface Limited {
  readonly service: Service;
  readonly client: Client;
}
/** With the limit of shapes that it has without a word, and with a lower one. */
let usual: Limited;
let lower: Limited;
const lowerShapes = 20_000;
const start = async (...flags: readonly string[]): Promise<Limited> => {
  const service = await startBuiltService({ flags });
  const client = clientOf(service.address);
  await client.createPool('p');
  return { service, client };
};
beforeAll(async () => {
  [usual, lower] = await Promise.all([
    start('-columns.max', '250000', '-workers', '1'),
    start('-types.max', String(lowerShapes), '-workers', '1'),
  ]);
});
afterAll(async () => {
  for (const limited of [usual, lower]) {
    limited?.client.close();
    await limited?.service.stop();
  }
});
const load = ({ client }: Limited, type: string, body: string | Uint8Array): Promise<Answer> =>
  client.ask('POST', '/pool/p/branch/main', { headers: { 'content-type': type }, body });
const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n');
const errorOf = ({ status, body }: Answer): readonly [number, string] => [
  status,
  (JSON.parse(body) as { error: string }).error,
];
const rssMb = ({ service }: Limited): number => residentMib(service.process.pid!, 'VmRSS')!;

describe('a load of too many shapes (load-types)', () => {
  const bodies: Readonly<Record<string, readonly [limit: number, type: string, line: (i: number) => string]>> = {
    JSON: [100_000, 'application/json', (i) => `{"k":${i},"f${i}":1}`],
    SUP: [lowerShapes, 'application/x-sup', (i) => `{k:${i},f${i}:1}`],
    'records within records': [lowerShapes, 'application/json', (i) => `{"k":${i},"in":{"f${i}":1}}`],
    'names around values': [lowerShapes, 'application/x-sup', (i) => `{k:${i},v:1::=n${i}}`],
  };
  for (const [what, [limit, type, line]] of Object.entries(bodies)) {
    test(`${what}: is told where, and commits nothing`, async () => {
      const limited = limit === lowerShapes ? lower : usual;
      const tip = await limited.client.tip('p');
      const before = rssMb(limited);
      const [status, error] = errorOf(await load(limited, type, lines(limit * 1.2, line)));
      printFigures(`a load of too many shapes, ${what}`, {
        'RSS MB before': before.toFixed(0),
        after: rssMb(limited).toFixed(0),
      });
      expect([status, error]).toEqual([
        413,
        expect.stringMatching(
          new RegExp(
            `^load: more than ${limit} distinct shapes \\(option -types\\.max\\), reached between values \\d+ and \\d+$`,
          ),
        ),
      ]);
      expect(await limited.client.tip('p')).toBe(tip);
      expect(rssMb(limited)).toBeLessThan(1600);
    });
  }
});

test('columns are counted likewise (load-columns)', async () => {
  expect(
    errorOf(
      await load(
        usual,
        'application/json',
        lines(300, (i) => `{${Array.from({ length: 1000 }, (_, n) => `"f${i}_${n}":1`).join(',')}}`),
      ),
    ),
  ).toEqual([
    413,
    expect.stringMatching(
      /^load: more than 250000 columns \(option -columns\.max\), reached between values \d+ and \d+$/,
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
  expect((await load(usual, 'application/json', body)).status).toBe(200);
  expect(
    (
      await load(
        usual,
        'application/json',
        lines(5000, (i) => `{"k":${i},"f${i}":1}`),
      )
    ).status,
  ).toBe(200);
  expect(await usual.client.query('from p | aggregate n:=count()')).toEqual([{ n: 25_000 }]);
});
