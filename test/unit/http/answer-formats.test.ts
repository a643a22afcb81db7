/**
 * Every endpoint that answers a value does so in every format: the status is a success, the media type the one that was
 * asked for, and our reader of the format takes the value back.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { arrowFileType } from '../../../src/format-names.ts';
import { type FormatName, formatTable } from '../../../src/formats/formats.ts';
import { routes } from '../../../src/http/routes/routes.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { underValue } from '../../../src/vectors/value.ts';
import { readValues } from '../../support/formats/convert.ts';
import { type TestService, startService } from '../../support/service/server.ts';

const json = { accept: 'application/json', 'content-type': 'application/json' } as const;
let service: TestService;
beforeAll(async () => {
  service = await startService(['-workers', '1']);
});
afterAll(() => service?.close());

/** Asks in JSON what has to be there before. */
const prepare = async <T>(method: string, path: string, body?: object): Promise<T> => {
  const answer = await service.ask(method, path, { headers: json, ...(body && { body: JSON.stringify(body) }) });
  expect(answer.status, `${method} ${path}: ${answer.body}`).toBe(200);
  return JSON.parse(answer.body) as T;
};
interface Commit {
  readonly commit: string;
}
/** What a pool of its own for each answer has: two loads on main, one on the branch `kid`. */
interface World {
  readonly pool: string;
  readonly commit: string;
  readonly objects: readonly string[];
}
let pools = 0;
const world = async (): Promise<World> => {
  const pool = `p${++pools}`;
  const load = (branch: string, row: object): Promise<Commit> => prepare('POST', `/pool/${pool}/branch/${branch}`, row);
  await prepare('POST', '/pool', { name: pool, layout: { order: 'asc', keys: [['ts']] } });
  await load('main', { ts: 1, level: 'info' });
  const { commit } = await load('main', { ts: 2, level: 'debug' });
  await prepare('POST', `/pool/${pool}`, { name: 'kid', commit });
  await load('kid', { ts: 3, level: 'warn' });
  const rows = await service.ask('POST', '/query', {
    headers: json,
    body: JSON.stringify({ query: `from ${pool}:objects | values id` }),
  });
  return { pool, commit, objects: JSON.parse(rows.body) as string[] };
};

/** The one of all that leave it for each other as they need it. */
let common: Promise<World> | undefined;

interface Asked {
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}
type Ask = (world: World) => Asked | Promise<Asked>;
const query = 'from p1 | put a:=1 | count() by level | sort level';
/** The requests by operation: a dry run beside the real thing. */
const requests: Readonly<Record<string, readonly Ask[]>> = {
  createPool: [
    () => ({ path: '/pool', body: { name: `new${++pools}`, layout: { order: 'asc', keys: [['ts'], ['a', 'b']] } } }),
  ],
  createView: [() => ({ path: '/view', body: { name: `v${++pools}`, query: 'from p1' } })],
  listViews: [
    async () => {
      await view();
      return { path: '/view' };
    },
  ],
  getView: [async () => ({ path: `/view/${await view()}` })],
  putView: [async () => ({ path: `/view/${await view()}`, body: { query: 'from p1 | head 1' } })],
  preview: [() => ({ path: '/preview', body: { ts: 1, level: 'info', tags: ['a', { b: 2 }] } })],
  transact: [
    async ({ pool }) => {
      const { id } = await prepare<{ readonly id: string }>('POST', `/pool/${pool}/branch/main?stage=T`, { ts: 9 });
      return { path: '/transaction', body: { commits: [{ pool, load: [id] }] } };
    },
  ],
  icebergTable: [
    ({ pool }) => ({ path: `/pool/${pool}/iceberg` }),
    async () => {
      const table = `table${++pools}`;
      await prepare('POST', '/pool', { name: table, iceberg: 'lazy', layout: { order: 'asc', keys: [['ts']] } });
      return { path: `/pool/${table}/iceberg` };
    },
  ],
  createBranch: [({ pool, commit }) => ({ path: `/pool/${pool}`, body: { name: `new${++pools}`, commit } })],
  resetBranch: [({ pool, commit }) => ({ path: `/pool/${pool}/branch/main`, body: { commit } })],
  getProtection: [({ pool }) => ({ path: `/pool/${pool}/branch/main/protection` })],
  protectBranch: [({ pool }) => ({ path: `/pool/${pool}/branch/main/protection`, body: { reset: 'nobody' } })],
  createTag: [({ pool, commit }) => ({ path: `/pool/${pool}/tag`, body: { name: `v${++pools}`, commit } })],
  listTags: [
    ({ pool }) => ({ path: `/pool/${pool}/tag` }),
    async ({ pool, commit }) => {
      await prepare('POST', `/pool/${pool}/tag`, { name: `v${++pools}`, commit });
      return { path: `/pool/${pool}/tag` };
    },
  ],
  getTag: [
    async ({ pool, commit }) => {
      const name = `v${++pools}`;
      await prepare('POST', `/pool/${pool}/tag`, { name, commit });
      return { path: `/pool/${pool}/tag/${name}` };
    },
  ],
  poolIdentity: [
    ({ pool }) => ({ path: `/pool/${pool}/identity` }),
    async () => {
      const keyed = `keyed${++pools}`;
      await prepare('POST', '/pool', { name: keyed, identity: [['ts']], layout: { order: 'asc', keys: [['ts']] } });
      return { path: `/pool/${keyed}/identity?check=T` };
    },
  ],
  poolStats: [({ pool }) => ({ path: `/pool/${pool}/stats` })],
  load: [({ pool }) => ({ path: `/pool/${pool}/branch/main`, body: { ts: 9 } })],
  getBranch: [({ pool }) => ({ path: `/pool/${pool}/branch/main` })],
  deleteData: [
    ({ pool }) => ({ path: `/pool/${pool}/branch/main/delete`, body: { where: 'ts==1' } }),
    ({ pool, objects }) => ({ path: `/pool/${pool}/branch/main/delete`, body: { object_ids: objects.slice(0, 1) } }),
    ({ pool }) => ({ path: `/pool/${pool}/branch/main/delete?dryrun=T`, body: { where: 'ts==1' } }),
  ],
  updateData: [
    ({ pool }) => ({ path: `/pool/${pool}/branch/main/update`, body: { where: 'ts==1', put: 'level:="warn"' } }),
    ({ pool }) => ({ path: `/pool/${pool}/branch/main/update?dryrun=T`, body: { where: 'ts==1', put: 'seen:=true' } }),
  ],
  pick: [
    async ({ pool }) => ({ path: `/pool/${pool}/branch/main/pick/${await tipOfKid(pool)}` }),
    async ({ pool }) => ({ path: `/pool/${pool}/branch/main/pick/${await tipOfKid(pool)}?dryrun=T` }),
  ],
  merge: [
    ({ pool }) => ({ path: `/pool/${pool}/branch/main/merge/kid` }),
    ({ pool }) => ({ path: `/pool/${pool}/branch/main/merge/kid?dryrun=T` }),
  ],
  revert: [
    ({ pool, commit }) => ({ path: `/pool/${pool}/branch/main/revert/${commit}` }),
    ({ pool, commit }) => ({ path: `/pool/${pool}/branch/main/revert/${commit}?dryrun=T` }),
  ],
  compact: [({ pool, objects }) => ({ path: `/pool/${pool}/branch/main/compact`, body: { object_ids: objects } })],
  vacuum: [
    ({ pool }) => ({ path: `/pool/${pool}/revision/main/vacuum` }),
    async ({ pool }) => {
      await prepare('POST', `/pool/${pool}/branch/kid/delete`, { where: 'ts==3' });
      return { path: `/pool/${pool}/revision/kid/vacuum?dryrun=T` };
    },
  ],
  addVectors: [({ pool, objects }) => ({ path: `/pool/${pool}/revision/main/vector`, body: { object_ids: objects } })],
  deleteVectors: [
    async ({ pool, objects }) => {
      await prepare('POST', `/pool/${pool}/revision/main/vector`, { object_ids: objects });
      return { path: `/pool/${pool}/revision/main/vector`, body: { object_ids: objects } };
    },
  ],
  graph: [({ pool }) => ({ path: `/pool/${pool}/graph` }), ({ pool }) => ({ path: `/pool/${pool}/graph?limit=1` })],
  sums: [({ pool }) => ({ path: `/pool/${pool}/revision/main/sums` })],
  queryStatus: [async () => ({ path: `/query/status/${await ran()}` })],
  queryProgress: [async () => ({ path: `/query/${await ran()}` })],
  loadProgress: [
    async ({ pool }) => {
      const id = `load${++pools}`;
      await service.ask('POST', `/pool/${pool}/branch/main`, {
        headers: { ...json, 'x-request-id': id },
        body: '{"ts":5}',
      });
      return { path: `/load/${id}` };
    },
  ],
  describeQuery: [
    () => ({ path: '/query/describe', body: { query } }),
    () => ({ path: '/query/describe', body: { query: 'values 1 | fork ( pass ) ( output other )' } }),
  ],
  compile: [() => ({ path: '/compile', body: { query } }), () => ({ path: '/compile', body: { query: 'values 1' } })],
  authMethod: [() => ({ path: '/auth/method' })],
  authIdentity: [() => ({ path: '/auth/identity' })],
};
/** Requests that need no pool of their own: they change nothing, or make something of a new name, or add rows. */
const sharing: ReadonlySet<string> = new Set([
  'createPool',
  'createView',
  'listViews',
  'getView',
  'putView',
  'preview',
  'transact',
  'icebergTable',
  'icebergTable (2)',
  'createBranch',
  'createTag',
  'listTags (2)',
  'getTag',
  'poolIdentity',
  'poolIdentity (2)',
  'load',
  'loadProgress',
  'getProtection',
  'poolStats',
  'getBranch',
  'pick (2)',
  'merge (2)',
  'revert (2)',
  'deleteData (3)',
  'updateData (2)',
  'graph',
  'graph (2)',
  'sums',
  'queryStatus',
  'queryProgress',
  'describeQuery',
  'describeQuery (2)',
  'compile',
  'compile (2)',
  'authMethod',
  'authIdentity',
]);
/** The name of one that was made for it. */
const view = async (): Promise<string> => {
  const name = `v${++pools}`;
  await prepare('POST', '/view', { name, query: 'from p1' });
  return name;
};
const tipOfKid = async (pool: string): Promise<string> => {
  const { body } = await service.ask('GET', `/pool/${pool}/branch/kid`, { headers: json });
  return (JSON.parse(body) as { readonly commit: string }).commit;
};
const ran = async (): Promise<string> =>
  (await service.ask('POST', '/query', { headers: json, body: '{"query":"values 1"}' })).headers.get('x-request-id')!;

/** What a format cannot hold of an answer: the error that comes instead. */
const refused: Readonly<Record<string, string>> = {
  // The syntax tree has arrays of nodes of several kinds, and Parquet no unions.
  'compile parquet': 'parquetio: unsupported type: not implemented: support for DENSE_UNION',
};
/** What our readers take for nothing: an empty text alone in its row is an empty line. */
const emptyLines: ReadonlySet<string> = new Set(['queryStatus csv', 'queryStatus tsv', 'queryStatus zeek']);

const withValue = routes.filter(({ answers }) => answers[200]?.value !== undefined);
test('each endpoint with a value has a request', () => {
  expect(Object.keys(requests).sort()).toEqual(withValue.map(({ id }) => id).sort());
});

describe.each(Object.values(formatTable).flatMap((f) => f.mediaTypes.map((type, i) => [type, f.name, i > 0] as const)))(
  '%s holds the answer of',
  (type, format, isOther) => {
    // Arrow's file has its own bytes; other names of a format choose the same writer, and ask of the common pool alone.
    const isAlias = isOther && type !== arrowFileType;
    const reader: FormatName = format === 'ndjson' ? 'json' : format;
    for (const { id, method } of withValue)
      for (const [k, ask] of (requests[id] ?? []).entries()) {
        const name = k === 0 ? id : `${id} (${k + 1})`;
        if (isAlias && !sharing.has(name)) continue;
        test(name, async () => {
          const { path, body, headers } = await ask(await (sharing.has(name) ? (common ??= world()) : world()));
          const answer = await fetch(service.url + path, {
            method,
            headers: { accept: type, 'content-type': 'application/json', ...headers },
            ...(body && { body: JSON.stringify(body) }),
          });
          const bytes = Buffer.from(await answer.arrayBuffer());
          const why = refused[`${id} ${format}`];
          if (why !== undefined && k === 0) {
            expect([answer.status, (JSON.parse(bytes.toString()) as { readonly error: string }).error]).toEqual([
              400,
              why,
            ]);
            return;
          }
          expect([answer.status, answer.headers.get('content-type')], bytes.toString().slice(0, 500)).toEqual([
            200,
            type,
          ]);
          if (emptyLines.has(`${id} ${format}`)) {
            expect(bytes.toString()).toMatch(/error(\n.*)?\n\n$/);
            return;
          }
          const values = await readValues(bytes, reader);
          if (format !== 'line')
            expect(
              values.map(underValue).map(({ type: t }) => t.kind),
              values.map((v) => supText(v)).join('\n'),
            ).toEqual(['record']);
        });
      }
  },
);

describe('in Zeek', () => {
  const rows = async (method: string, path: string, body?: object): Promise<string[]> => {
    const answer = await service.ask(method, path, {
      headers: { ...json, accept: 'application/x-zeek' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return answer.body
      .split('\n')
      .filter((line) => !/^#(?:sep|set_|empty|unset)/.test(line))
      .map((line) => line.replaceAll(/0x[0-9a-f]{40}/g, 'ID').replaceAll(/\d{9,}\.\d+/g, 'TIME'));
  };
  test('ids are strings, and a list of them a vector of strings', async () => {
    const { pool, commit } = await world();
    expect(await rows('GET', `/pool/${pool}/branch/main`)).toEqual([
      '#fields\tcommit\twarnings',
      '#types\tstring\tstring',
      'ID\t-',
      '',
    ]);
    expect(await rows('POST', `/pool/${pool}/branch/main/revert/${commit}?dryrun=T`)).toEqual([
      '#fields\ttip\tadds\tremoves\trecords_added\trecords_removed\trecords\tconflicts\terror',
      '#types\tstring\tvector[string]\tvector[string]\tint\tint\tint\tvector[string]\tstring',
      'ID\t(empty)\tID\t0\t1\t-1\t(empty)\t-',
      '',
    ]);
    expect(await rows('POST', `/pool/${pool}/branch/main`, { ts: 7 })).toEqual([
      '#fields\tcommit\twarnings',
      '#types\tstring\tvector[string]',
      'ID\t(empty)',
      '',
    ]);
  });
  test('what Zeek has no type for is text', async () => {
    expect(await rows('POST', '/pool', { name: 'zeek', layout: { order: 'asc', keys: [['a'], ['b', 'c']] } })).toEqual([
      '#fields\tpool.ts\tpool.name\tpool.id\tpool.layout.order\tpool.layout.keys\tpool.seek_stride\tpool.threshold\tbranch.ts\tbranch.name\tbranch.commit',
      '#types\ttime\tstring\tstring\tstring\tstring\tint\tint\ttime\tstring\tstring',
      'TIME\tzeek\tID\tasc\t[["a"]::=field.Path,["b","c"]::field.Path]\t65536\t524288000\tTIME\tmain\tID',
      '',
    ]);
  });
  test('rows of queries are as they were: bytes have no type there', async () => {
    expect(await rows('POST', '/query', { query: 'values {a:0x00}' })).toEqual([
      '{"type":"Error","kind":"invalid operation","error":"type bytes: type cannot be represented in zeek format"}',
      '',
    ]);
  });
});
