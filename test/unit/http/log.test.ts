/** What the service's log holds: nothing that a client chose, and no more than a short line for one that goes away. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { request as httpRequest } from 'node:http';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { LakeError } from '../../../src/errors.ts';
import { loggedFault } from '../../../src/http/log-fault.ts';
import { type TestService, startService } from '../../support/service/server.ts';

const mark = 'S3cretValue';
const lines: string[] = [];
const sink = new Writable({
  write: (chunk: Buffer, _encoding, done) => {
    lines.push(
      ...chunk
        .toString()
        .split('\n')
        .filter((line) => line !== ''),
    );
    done();
  },
});
let service: TestService;
beforeAll(async () => {
  service = await startService([], undefined, pino({ level: 'debug' }, sink));
  await service.lake.createPool({ name: 'p', keys: [['k']] });
  const rows = Array.from({ length: 20_000 }, (_, k) => `{"k":${k},"text":"${mark} ${k}"}`).join('\n');
  await service.ask('POST', '/pool/p/branch/main', { headers: { 'content-type': 'application/json' }, body: rows });
});
afterAll(() => service.close());

/** Sends a part of a request, or reads a part of its answer, and goes away. */
const leave = (
  method: string,
  path: string,
  {
    headers = {},
    part,
    when,
  }: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly part?: string;
    readonly when: 'sent' | 'first byte';
  },
): Promise<void> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(service.url);
    const client = httpRequest({ hostname, port, method, path, headers, agent: false }, (response) => {
      response
        .on('error', () => undefined)
        .once('data', () => {
          client.destroy();
        });
    });
    client
      .on('error', () => undefined)
      .on('close', () => {
        resolve();
      });
    if (part !== undefined) client.write(part);
    if (headers['content-length'] === String(part?.length)) client.end();
    else client.flushHeaders();
    if (when === 'sent')
      client.once('socket', (socket) => {
        socket.once('connect', () => {
          setTimeout(() => {
            client.destroy();
          }, 60);
        });
      });
  });
const query = (text: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> =>
  service
    .ask('POST', '/query', {
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query: text }),
    })
    .catch(() => undefined);
const settle = async (): Promise<readonly string[]> => {
  for (
    let before = -1;
    before !== lines.length;
    await new Promise((resolve) => {
      setTimeout(resolve, 150);
    })
  )
    before = lines.length;
  return lines.splice(0);
};

test('nothing that a client chose is logged, at the finest level, whatever goes wrong', async () => {
  await settle();
  const csv = { accept: 'text/csv' };
  const json = { 'content-type': 'application/json' };
  // The first fails at once, the others after their answer has begun.
  for (const text of [
    `values "${mark}"`,
    `from p | values k < 19990 ? this : text`,
    `from p | values k < 19990 ? this : {other:text}`,
  ]) {
    for (const headers of [csv, { accept: 'application/x-parquet' }, { accept: 'application/vnd.apache.arrow.stream' }])
      await query(text, headers);
  }
  for (const text of [
    mark,
    `from ${mark}`,
    `from p | nosuch("${mark}")`,
    `from "http://${mark}.example/"`,
    `from p@${mark}`,
    `values error("${mark}")`,
    `from p | load ${mark}`,
    `values f"{${mark}}`,
    `values regexp("(${mark}", "a")`,
  ])
    await query(text);
  for (const [method, path] of [
    ['POST', `/pool/${mark}`],
    ['GET', `/pool/p/branch/${mark}`],
    ['GET', `/${mark}`],
    ['PATCH', `/pool/${mark}`],
    ['GET', `/query/${mark}`],
    ['GET', `/events?names=${mark}`],
    ['POST', `/pool/p/branch/main?csv.delim=${mark}`],
  ] as const) {
    await service.ask(method, path, {
      headers: { accept: 'application/json' },
      ...(method === 'POST' && { body: `{"${mark}":"${mark}"` }),
    });
  }
  for (const name of [
    'accept',
    'content-type',
    'content-encoding',
    'if-match',
    'superdb-commit',
    'origin',
    'cookie',
    'authorization',
    'last-event-id',
    'user-agent',
    'traceparent',
  ]) {
    await service.ask('POST', '/pool/p/branch/main', {
      headers: { ...json, [name]: mark },
      body: `{"k":1,"v":"${mark}"}`,
    });
  }
  for (const body of [`{"k":${mark}}`, `"${mark}`, `${mark},${mark}\n"${mark}`, `{"k":1}${mark}`])
    for (const type of [
      'application/json',
      'text/csv',
      'application/x-sup',
      'application/x-bsup',
      'application/x-zeek',
      'application/x-parquet',
    ]) {
      await service.ask('POST', '/pool/p/branch/main', { headers: { 'content-type': type }, body });
      await service.ask('POST', '/pool', { headers: { 'content-type': type }, body });
    }
  const logged = await settle();
  expect(logged.filter((line) => line.toLowerCase().includes(mark.toLowerCase()))).toEqual([]);
  expect(logged.length).toBeGreaterThan(50);
  expect(
    logged.some((line) => line.includes('query failed while it streamed') && line.includes('"code":"write-')),
  ).toBe(true);
});

test('a client that goes away is one short line, at the finest level', async () => {
  await settle();
  const json = { 'content-type': 'application/json' };
  const whole = (body: string): { readonly headers: Readonly<Record<string, string>>; readonly part: string } => ({
    headers: { ...json, 'content-length': `${body.length}` },
    part: body,
  });
  await leave('POST', '/query', {
    ...whole('{"query":"from p | join (from p) on left.text==right.text | sort left.text"}'),
    when: 'first byte',
  });
  await leave('POST', '/query', {
    ...whole('{"query":"from p | cross join (from p) | count() by text | sort text"}'),
    when: 'sent',
  });
  await leave('POST', '/pool/p/branch/main', {
    headers: { ...json, 'content-length': '100' },
    part: '{"k":',
    when: 'sent',
  });
  await leave('POST', '/pool/p/branch/main', {
    headers: { ...json, 'content-length': '10000000' },
    part: `{"k":1,"text":"${mark}"}`.repeat(1000),
    when: 'sent',
  });
  await leave('POST', '/pool/p/branch/main', { headers: json, part: '{"k":1}', when: 'sent' });
  await leave('POST', '/query', { headers: { ...json, 'content-length': '100' }, part: '{"query":', when: 'sent' });
  await leave('POST', '/query', {
    headers: { ...json, 'content-encoding': 'gzip', 'content-length': '100' },
    part: 'x',
    when: 'sent',
  });
  await leave('GET', '/events', { when: 'sent' });
  const logged = await settle();
  const gone = logged.filter((line) => line.includes('client went away'));
  expect(
    logged.filter(
      (line) =>
        (JSON.parse(line) as { readonly level: number }).level > 20 || line.length > 256 || line.includes('    at '),
    ),
  ).toEqual([]);
  expect(gone.length).toBeGreaterThanOrEqual(5);
});

test('of an error what is ours is logged: its code, numbers, parameters that no client chose, and where it was thrown', () => {
  const cause = Object.assign(new Error(`ENOSPC: no space at ${mark}`), { code: 'ENOSPC', syscall: 'write' });
  expect(loggedFault(new LakeError('object-unread', { id: 'ab', place: mark, fault: 'gone' }, { cause }))).toEqual({
    code: 'object-unread',
    id: 'ab',
    fault: 'gone',
    cause: { name: 'Error', code: 'ENOSPC', syscall: 'write', at: expect.stringMatching(/^ {4}at /) },
    at: expect.stringMatching(/^ {4}at /),
  });
  expect(loggedFault(new LakeError('body-too-long', { limit: 5 }))).toEqual({ code: 'body-too-long', limit: 5 });
  expect(loggedFault(new LakeError('write-not-record', { writer: 'CSV', value: mark }))).toEqual({
    code: 'write-not-record',
  });
  expect(
    JSON.stringify([loggedFault(new TypeError(`x\n    at ${'y'}`)), loggedFault(mark), loggedFault(undefined)]),
  ).not.toContain(mark);
});
