/** Values of more levels than readers take come into no pool, whichever way: there nobody could read them any more. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { levelsMax } from '../../../src/vectors/type-limits.ts';
import { type TestService, startService } from '../../support/service/server.ts';

const json = { accept: 'application/json' } as const;
let service: TestService;
beforeAll(async () => {
  service = await startService(['-workers', '1']);
  for (const name of ['deep', 'again'])
    await service.ask('POST', '/pool', { headers: json, body: `{"name":"${name}"}` });
});
afterAll(() => service.close());

const query = (text: string, accept = 'application/json') =>
  service.ask('POST', '/query', { headers: { accept }, body: JSON.stringify({ query: text }) });
/** A record of so many levels around what `value` gives. */
const nested = (levels: number, value: string): string =>
  `unflatten([{key:[${Array.from({ length: levels }, () => '"a"').join(',')}],value:${value}}])`;
const refusal = `rows have more than ${levelsMax} levels of values within values, which no pool takes`;

test('queries that write are refused beyond the limit, and the branch stays', async () => {
  const atLimit = await query(`values ${nested(levelsMax - 1, '{b:1}')} | load deep`);
  expect([atLimit.status, atLimit.body]).toEqual([200, expect.stringContaining('0x')]);
  for (const text of [
    `values ${nested(levelsMax, '{b:1}')} | load deep`,
    `values ${nested(levelsMax, '[1]')} | load deep`,
    `values ${nested(levelsMax, 'error(1)')} | load deep`,
    'insert into deep select {x: a} as a from deep',
    'update deep set a = {x: a}',
  ]) {
    const answer = await query(text);
    expect([text.slice(-40), answer.status, (JSON.parse(answer.body) as { error: string }).error]).toEqual([
      text.slice(-40),
      400,
      expect.stringContaining(refusal),
    ]);
  }
  expect((await query('from deep | count()')).body.trim()).toBe('[1]');
});

test('what is at the limit is read in all formats that hold it, and loaded again', async () => {
  for (const type of ['application/x-ndjson', 'application/x-sup', 'application/x-bsup', 'application/x-csup']) {
    const answer = await fetch(`${service.url}/query`, {
      method: 'POST',
      headers: { accept: type },
      body: '{"query":"from deep"}',
    });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    expect([type, answer.status]).toEqual([type, 200]);
    const loaded = await service.ask('POST', '/pool/again/branch/main', {
      headers: { accept: 'application/json', 'content-type': type },
      body: bytes,
    });
    expect([type, loaded.status, loaded.body]).toEqual([type, 200, expect.stringContaining('commit')]);
  }
});

test('functions that nest say that it is too deep', async () => {
  const path = Array.from({ length: levelsMax + 1 }, () => 'a');
  expect((await query(`values nest_dotted({"${path.join('.')}":1})`)).body).toContain('nest_dotted: nesting too deep');
  expect((await query(`values ${nested(100_000, '1')}`)).body).toContain('unflatten: nesting too deep');
});
