/** Wrong signatures are answered before the framework has them: as they are answered behind it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { presignedUrl, signedHeaders } from './sign.ts';
import { bearer, credentialsOf, startIceberg } from './support.ts';

/** What a service answers to wrong requests, its lines in the audit log, and how many it counted by status. */
const answers = async (flags: readonly string[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-gate-'));
  const audit = join(folder, 'audit.ndjson');
  const iceberg = await startIceberg({ keys: { all: ['reader'] }, flags: ['-audit', audit, ...flags] });
  const own = await credentialsOf(iceberg, 'events', bearer(iceberg.keys['all']!));
  const path = own.location.replace('s3://lake', '/s3/lake');
  const { url } = iceberg.service;
  const at = new Date(Date.now() - 3_600_000);
  const good = signedHeaders(url + path, own);
  const shown: unknown[] = [];
  const ask = async (method: string, to: string, headers: Record<string, string>): Promise<void> => {
    const answer = await iceberg.service.ask(method, to, { headers: { 'x-request-id': 'mine', ...headers } });
    const { date: _, ...rest } = Object.fromEntries(answer.headers);
    const body = answer.status < 300 ? '' : answer.body.replace(/-36\d\d s/, 'AGO').replace(/at 20[\d-]+T.+Z/, 'THEN');
    shown.push([method, to.split('?', 1)[0], answer.status, answer.status < 300 ? {} : rest, body]);
  };
  for (const method of ['GET', 'HEAD']) {
    await ask(method, path, {});
    await ask(method, path, good);
    await ask(method, path, signedHeaders(url + path, { ...own, secretAccessKey: 'x' }, { method }));
    await ask(method, path, signedHeaders(url + path, { ...own, accessKeyId: 'AKIAIOSFODNN7EXAMPLE' }, { method }));
    await ask(method, path, signedHeaders(url + path, { ...own, sessionToken: 'sealed_AAAA' }, { method }));
    await ask(method, path, signedHeaders(url + path, own, { method, at }));
    await ask(method, path, { ...good, authorization: 'AWS4-HMAC-SHA256 x' });
    await ask(method, path, { ...good, origin: 'http://other.example' });
    await ask(method, presignedUrl(url + path, own, { method, at }).slice(url.length), {});
    await ask(method, `${path}?x=%ff`, good);
    await ask(method, `/lake${path.slice('/s3/lake'.length)}`, good);
    await ask(method, '/s3', {});
  }
  await ask('POST', path, {});
  const metrics = (await iceberg.service.ask('GET', '/metrics', { headers: bearer(iceberg.keys['all']!) })).body;
  const counted = metrics.split('\n').filter((line) => /^lake_http_requests_total\{.*route="\/s3"/.test(line));
  await iceberg.close();
  const lines = readFileSync(audit, 'utf8')
    .trim()
    .split('\n')
    .map((line) => ({ ...(JSON.parse(line) as Record<string, unknown>), time: '' }));
  rmSync(folder, { recursive: true, force: true });
  return { shown, counted: counted.sort(), lines };
};

test('answers, audit log and metrics are the same either way', async () => {
  // Behind a proxy that is trusted the framework has to read who asks.
  const behind = await answers(['-proxy.trust', 'loopback']);
  const before = await answers([]);
  expect(before).toEqual(behind);
  expect(before.counted.join()).toContain('status="403"');
  expect(before.lines.length).toBeGreaterThan(10);
});
