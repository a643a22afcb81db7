/** `?time=FIELD`: times of records that come as texts or numbers, over real HTTP. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
let pools = 0;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());
/** The field `t` of the rows, in their order. */
const loaded = async (body: string, { query = 'time=t', type = 'application/json' } = {}): Promise<string> => {
  const pool = `p${pools++}`;
  await service.ask('POST', '/pool', { body: JSON.stringify({ name: pool, layout: { keys: [['i']], order: 'asc' } }) });
  const headers = { 'content-type': type };
  const answer = await service.ask('POST', `/pool/${pool}/branch/main?${query}`, { headers, body });
  expect(answer.status, answer.body).toBe(200);
  return (await service.query(`from ${pool} | sort i | collect(t)`)).trim();
};
const json = (...values: readonly unknown[]): string => values.map((t, i) => JSON.stringify({ i, t })).join('\n');

test.each([
  ['seconds', 1_764_300_000, '2025-11-28T03:20:00Z'],
  ['seconds with a fraction', 1_764_300_000.123456, '2025-11-28T03:20:00.123456Z'],
  ['seconds before 1970', -1.5, '1969-12-31T23:59:58.5Z'],
  ['milliseconds', 1_764_300_000_123, '2025-11-28T03:20:00.123Z'],
  ['milliseconds with a fraction', 1_764_300_000_123.25, '2025-11-28T03:20:00.12325Z'],
  ['microseconds', 1_764_300_000_123_456, '2025-11-28T03:20:00.123456Z'],
  ['a text of seconds', '1764300000.5', '2025-11-28T03:20:00.5Z'],
  ['a text of nanoseconds', '1764300000123456789', '2025-11-28T03:20:00.123456789Z'],
  ['RFC 3339', '2025-11-28T03:20:00.123456789Z', '2025-11-28T03:20:00.123456789Z'],
  ['RFC 3339 with an offset', '2025-11-28T03:20:00+01:00', '2025-11-28T02:20:00Z'],
  ['a date and a time', '2025-11-28 03:20:00', '2025-11-28T03:20:00Z'],
  ['a text that is no time', 'soon', '"soon"'],
  ['a number that is no time', 1e300, '1e+300'],
  ['a digit too many', '99999999999999999999', '"99999999999999999999"'],
  ['a year that 64 bits do not reach', '9999-12-31T23:59:59Z', '"9999-12-31T23:59:59Z"'],
  ['the year 0', '0000-01-01T00:00:00Z', '"0000-01-01T00:00:00Z"'],
  ['the last nanosecond', '2262-04-11T23:47:16.854775807Z', '2262-04-11T23:47:16.854775807Z'],
  ['the one behind it', '2262-04-11T23:47:16.854775808Z', '"2262-04-11T23:47:16.854775808Z"'],
  ['a bool', true, 'true'],
  ['a list', [1], '[1]'],
])('%s', async (_, value, time) => {
  expect(await loaded(json(value))).toBe(`[${time}]`);
});

test('nanoseconds beyond 2^53', async () => {
  expect(await loaded('{"i":0,"t":1764300000123456789}')).toBe('[2025-11-28T03:20:00.123456789Z]');
});
test('values of many types, records without the field, and values that are no records', async () => {
  const body = `${json('2025-11-28T03:20:00Z', 'x', 1, null)}\n{"i":4}\n5\n{"i":6,"t":{"t":1}}`;
  expect(await loaded(body)).toBe('[2025-11-28T03:20:00Z,"x",1970-01-01T00:00:01Z,{t:1}]');
});
test('what Fluent Bit sends: one array of records with a date', async () => {
  const body = '[{"date":1764300000.123456,"i":0,"log":"a"},{"date":1764300001.0,"i":1,"log":"b"}]';
  const pool = `p${pools++}`;
  await service.ask('POST', '/pool', { body: JSON.stringify({ name: pool, layout: { keys: [['date']] } }) });
  const headers = { 'content-type': 'application/json' };
  const answer = await service.ask('POST', `/pool/${pool}/branch/main?unnest=T&time=date`, { headers, body });
  expect(answer.status, answer.body).toBe(200);
  expect(await service.query(`from ${pool} | sort date | values date`)).toBe(
    '2025-11-28T03:20:00.123456Z\n2025-11-28T03:20:01Z\n',
  );
});
test('CSV, and a body that a worker reads', async () => {
  expect(await loaded('i,t\n0,2025-11-28T03:20:00Z\n1,1764300000\n', { type: 'text/csv' })).toBe(
    '[2025-11-28T03:20:00Z,2025-11-28T03:20:00Z]',
  );
  const many = Array.from({ length: 5000 }, (_, i) => JSON.stringify({ i, t: i })).join('\n');
  expect((await loaded(many)).slice(-42)).toBe('1970-01-01T01:23:18Z,1970-01-01T01:23:19Z]');
});

test('a column of CSV that is said to be times, and JSUP, refuse a time that 64 bits do not reach', async () => {
  await service.ask('POST', '/pool', { body: JSON.stringify({ name: 'said', layout: { keys: [['t']] } }) });
  const load = (query: string, type: string, body: string) =>
    service.ask('POST', `/pool/said/branch/main?${query}`, { headers: { 'content-type': type }, body });
  const csv = await load('types=t=time', 'text/csv', 't\n2262-04-11T23:47:16.854775807Z\n9999-12-31T23:59:59Z\n');
  expect(csv.status).toBe(400);
  expect(csv.body).toContain('column \\"t\\": \\"9999-12-31T23:59:59Z\\" is not of the type');
  const type = `{"kind":"record","id":30,"fields":[{"name":"t","type":{"kind":"primitive","name":"time"}}]}`;
  const jsup = await load('', 'application/x-jsup', `{"type":${type},"value":["9999-12-31T23:59:59Z"]}`);
  expect(jsup.status, jsup.body).toBe(400);
  expect(await service.query('from said | count()')).toBe('0\n');
});
