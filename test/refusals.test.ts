/**
 * What the service refuses when a limit is reached or a request asks for what it does not do: the status, the text, and
 * a lake that goes on.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { queryCommand } from '../src/commands/query.ts';
import { type TestService, startService } from './support/service/server.ts';

const json = { 'content-type': 'application/json', accept: 'application/json' };
const errorOf = (body: string): string => (JSON.parse(body) as { error: string }).error;

describe('limits', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(['-events.max', '1', '-tasks.max', '2', '-queue.max', '1']);
    await service.ask('POST', '/pool', { headers: json, body: '{"name":"p"}' });
  });
  afterAll(() => service.close());

  test('subscribers beyond -events.max are refused', async () => {
    const held = new AbortController();
    const first = await fetch(`${service.url}/events`, { signal: held.signal });
    expect(first.status).toBe(200);
    const second = await service.ask('GET', '/events');
    expect({ status: second.status, error: errorOf(second.body) }).toEqual({
      status: 503,
      error: 'events: too many subscribers: limit 1 (option -events.max)',
    });
    held.abort();
  });

  test('queries beyond -tasks.max are refused, those that run go on', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => service.ask('POST', '/query', { headers: json, body: '{"query":"values 1"}' })),
    );
    const refused = answers.filter((a) => a.status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    expect(new Set(refused.map((a) => `${a.status} ${errorOf(a.body)}`))).toEqual(
      new Set(['503 too many concurrent queries: limit 1 (option -tasks.max 2)']),
    );
    expect(answers.filter((a) => a.status === 200).every((a) => a.body === '[1]\n')).toBe(true);
    expect(await service.query('values 1')).toBe('1\n');
  });

  test('writes beyond -queue.max are refused, the others are all done', async () => {
    const pool = service.lake.pool('p');
    const results = await Promise.allSettled(
      Array.from({ length: 16 }, (_, i) => pool.createBranch(`b${i}`, '0'.repeat(40))),
    );
    const refused = results.flatMap((r) => (r.status === 'rejected' ? [String((r.reason as Error).message)] : []));
    expect(refused.length).toBeGreaterThan(0);
    expect(new Set(refused)).toEqual(new Set(['write queue is full: 1 pending (option -queue.max)']));
    expect(pool.branches().length).toBe(1 + results.length - refused.length);
  });
});

describe('requests', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(['-cors.origin=http://friend.example']);
    await service.ask('POST', '/pool', { headers: json, body: '{"name":"p"}' });
  });
  afterAll(() => service.close());
  const refusal = async (
    method: string,
    path: string,
    options: Parameters<TestService['ask']>[2],
  ): Promise<{ readonly status: number; readonly error: string }> => {
    const { status, body } = await service.ask(method, path, options);
    return { status, error: errorOf(body) };
  };

  test('a content coding that nobody knows', async () => {
    expect(
      await refusal('POST', '/pool/p/branch/main', { headers: { 'content-encoding': 'lzma' }, body: '{a:1}' }),
    ).toEqual({
      status: expect.toBeOneOf([400, 415]) as number,
      error: expect.stringMatching(/^unsupported content coding "lzma" \(supported: /) as string,
    });
  });
  test('a vector marker that is not there', async () => {
    await service.ask('POST', '/pool/p/branch/main', { body: '{a:1}' });
    const id = /0x[0-9a-f]{40}/.exec(await service.query('from p:objects | values id'))![0];
    const { status, error } = await refusal('DELETE', '/pool/p/revision/main/vector', { body: `{object_ids:[${id}]}` });
    expect({ status, error }).toEqual({
      status: 404,
      error: expect.stringMatching(/^vector \S+ does not exist: vector delete operation aborted$/) as string,
    });
  });
  test('a web page of another origin that would write by a query', async () => {
    const tip = (): Promise<string> => service.query('from p | count()');
    const before = await tip();
    expect(
      await refusal('POST', '/query', {
        headers: { ...json, origin: 'http://evil.example' },
        body: '{"query":"values {a:2} | load p"}',
      }),
    ).toEqual({
      status: 403,
      error: 'origin http://evil.example: web pages of another origin are refused (option -cors.origin allows them)',
    });
    expect(await tip()).toBe(before);
  });
});

describe('lake query', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-refusals-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const complaint = async (...args: string[]): Promise<string> => {
    const err: string[] = [];
    async function* none(): AsyncGenerator<Uint8Array> {
      /* no input */
    }
    await queryCommand(args, {
      cwd: folder,
      stdin: none(),
      stdoutIsTerminal: false,
      write: () => Promise.resolve(),
      complain: (text) => {
        err.push(text);
      },
    });
    return err.join('').split('\n')[0]!;
  };
  test('sources that files cannot be', async () => {
    mkdirSync(join(folder, 'sub'));
    expect(await complaint('-s', '-c', 'from /x/')).toBe(
      'cannot use regular expression with from operator on local file system at line 1, column 6:',
    );
    expect(await complaint('-s', '-c', 'from :pools')).toMatch(/^":pools" is lake metadata: files have none/);
    expect(await complaint('-s', 'sub')).toMatch(/^sub: is a directory/);
  });
  test('formats that are only written', async () => {
    expect(await complaint('-s', '-i', 'table', '-')).toMatch(/table: this format cannot be read$/);
  });
});
