/**
 * The clients of Elasticsearch for Python and JavaScript, as they are: `python3 -m pip install elasticsearch`, `npm
 * install --prefix FOLDER @elastic/elasticsearch`, where `ELASTIC_CLIENT` is the folder.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { lacksPython } from '../support/python.ts';
import { startService, type TestService } from '../support/service/server.ts';

const run = promisify(execFile);
let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const python = `
import sys
from elasticsearch import Elasticsearch, helpers
es = Elasticsearch(sys.argv[1])
print(es.info()["version"]["number"], es.ping(), es.cluster.health()["status"])
print(helpers.bulk(es, ({"_index": "py", "_op_type": "create", "_id": str(i), "@timestamp": "2026-01-01T00:00:00Z", "i": i} for i in range(3000))))
print(es.bulk(operations=[{"index": {"_index": "py"}}, {"i": -1}])["errors"])
try:
    helpers.bulk(es, [{"_op_type": "delete", "_index": "py", "_id": "1"}])
except helpers.BulkIndexError as error:
    print(error.errors[0]["delete"]["status"])
`;
describe.skipIf(lacksPython('elasticsearch'))('Python (python3 -m pip install elasticsearch)', () => {
  test('looks, sends, and hears of items that failed', async () => {
    const { stdout } = await run('python3', ['-c', python, service.url]);
    expect(stdout).toBe('8.17.0 True green\n(3000, [])\nFalse\n400\n');
    expect(await service.query('from py | rows:=count(),ids:=count(has(_id)==true)')).toMatch(/^\{rows:3001/);
  });
});

const script = `
const { Client } = require('@elastic/elasticsearch');
(async () => {
  const client = new Client({ node: process.argv[1], compression: true });
  console.log((await client.info()).version.number, await client.ping());
  const datasource = Array.from({ length: 3000 }, (_, i) => ({ '@timestamp': new Date(i), i }));
  const { total, failed } = await client.helpers.bulk({ datasource, onDocument: () => ({ index: { _index: 'js' } }) });
  const { errors, items } = await client.bulk({ operations: [{ create: { _index: 'js', _id: 'a' } }, { i: -1 }] });
  console.log(total, failed, errors, items[0].create.status);
})();
`;
const packages = join(process.env['ELASTIC_CLIENT'] ?? '', 'node_modules');
const lacksClient = (): boolean =>
  process.env['NO_SKIPS'] === undefined && !existsSync(join(packages, '@elastic/elasticsearch'));
describe.skipIf(lacksClient())('JavaScript (npm install --prefix $ELASTIC_CLIENT @elastic/elasticsearch)', () => {
  test('looks, sends compressed, and hears of each item', async () => {
    const { stdout } = await run(process.execPath, ['-e', script, service.url], {
      env: { ...process.env, NODE_PATH: packages },
    });
    expect(stdout).toBe('8.17.0 true\n3000 0 false 201\n');
    expect(await service.query('from js | count()')).toBe('3001\n');
  });
});
