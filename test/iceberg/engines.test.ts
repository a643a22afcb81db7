/**
 * Engines that people have read every state of a pool over the service's own bucket, and get its own counts, sums, least
 * and greatest values. They are packages for Python in a folder of their own, `ICEBERG_PYTHON`; engines that are not
 * there are left out by name. `UPDATE_README=1` renews the table in the manual.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseId } from '../../src/lake/ksuid.ts';
import { startService, type TestService } from '../support/service/server.ts';
import { engineRows, type EngineStep, type ReadPlace } from '../../visualize/console/pool/engines.ts';
import { type Engine, engines, lacks, readBy } from './readers.ts';
import { bearer, lakeKey, tablePath } from './support.ts';

const manualPage = fileURLToPath(new URL('../../visualize/docs/manual/iceberg.md', import.meta.url));

/** What an engine is asked for. */
interface Lines {
  readonly lines: string;
}
interface Case {
  readonly warehouse: string;
  readonly table: string;
  readonly ref?: string;
  readonly snapshot?: number;
  readonly ms?: number;
  readonly columns?: readonly string[];
}
type Numbers = readonly (number | string)[];

let directory: string;
let service: TestService;
let keys: { readonly admin: string; readonly reader: string };
/** What the service itself says of a state, and how engines name it. */
interface State {
  readonly numbers: Numbers;
  readonly commit: string;
  snapshot: number;
  ms: number;
}
const states: Record<'first' | 'second' | 'main' | 'dev' | 'v1', State> = {} as never;

const post = async (path: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<string> => {
  const answer = await service.ask('POST', path, {
    headers: { ...bearer(keys.admin), 'content-type': 'application/x-sup', accept: 'application/json', ...headers },
    body,
  });
  expect([path, answer.status]).toEqual([path, 200]);
  return answer.body;
};
/** Rows of which each engine can tell whether it has them all. */
const load = (branch: string, start: number, end: number, more: (id: number) => string = () => ''): Promise<string> =>
  post(
    `/pool/events/branch/${branch}`,
    Array.from({ length: end - start }, (_, i) => start + i)
      .map((id) => `{ts:${new Date(epoch + id * 1000).toISOString()},id:${id},name:"n${id % 7}"${more(id)}}\n`)
      .join(''),
  );
const epoch = Date.UTC(2026, 10, 28);

const stateOf = async (ref: string): Promise<State> => {
  const rows = await post(
    '/query',
    `{query:"from events@${ref} | aggregate n:=count(),s:=sum(id),a:=min(id),b:=max(id)"}`,
  );
  const [{ n, s, a, b }] = JSON.parse(rows) as [Readonly<Record<'n' | 's' | 'a' | 'b', number>>];
  const { body } = await service.ask('GET', `/pool/events/branch/${ref}`, {
    headers: { ...bearer(keys.admin), accept: 'application/json' },
  });
  const { commit } = JSON.parse(body) as { readonly commit: string };
  return { numbers: [n, s, a, b], commit: commit.replace('0x', ''), snapshot: 0, ms: 0 };
};

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lake-engines-'));
  keys = {
    admin: await lakeKey(directory, 'add', '-role', 'admin', 'admin'),
    reader: await lakeKey(directory, 'add', '-role', 'reader', 'engines'),
  };
  service = await startService(['-auth.keys'], directory);
  await post('/pool', '{name:"events",layout:{order:"asc",keys:[["ts"]]},iceberg:"lazy"}');
  await load('main', 0, 3000);
  states.first = await stateOf('main');
  await load('main', 3000, 5000, (id) => `,score:${id / 2}`);
  states.second = await stateOf('main');
  await post('/pool/events', `{name:"dev",commit:"0x${states.second.commit}"}`);
  // So many small ones that they are merged.
  for (let start = 5000; start < 5500; start += 10) await load('dev', start, start + 10);
  await post('/pool/events', JSON.stringify({ name: oddBranch, commit: `0x${(await stateOf('dev')).commit}` }));
  await post('/pool/events/tag', `{name:"v1",commit:"0x${states.first.commit}"}`);
  states.v1 = await stateOf('v1');
  states.dev = await stateOf('dev');
  await post('/pool/events/branch/main/delete', '{where:"id < 1000"}');
  states.main = await stateOf('main');
  await post('/pool', '{name:"odd.Name",layout:{order:"asc",keys:[["id"]]},iceberg:"eager"}');
  await post(
    '/pool/odd.Name/branch/main',
    '{id:1,a:1,b:{c:"x",d:[1,2]}} {id:2,a:"two",b:{c:"y",d:[3]}} {id:3,a:null,e:error("no")} {id:4,u:18446744073709551615::uint64}',
  );
  let loaded = await service.ask('GET', tablePath('events'), { headers: bearer(keys.reader) });
  while (!/manifests\/\w+-\d+-g1\.avro/.test(loaded.body))
    loaded = await service.ask('GET', tablePath('events'), { headers: bearer(keys.reader) });
  const { metadata } = JSON.parse(loaded.body) as {
    readonly metadata: {
      readonly snapshots: readonly {
        readonly 'snapshot-id': number;
        readonly 'timestamp-ms': number;
        readonly summary: Readonly<Record<string, string>>;
      }[];
    };
  };
  for (const state of Object.values(states)) {
    const snapshot = metadata.snapshots.find(({ summary }) => parseId(summary['lake.commit'] ?? '') === state.commit);
    state.snapshot = snapshot!['snapshot-id'];
    state.ms = snapshot!['timestamp-ms'];
  }
}, 120_000);
afterAll(async () => {
  await service.close();
  await rm(directory, { recursive: true, force: true });
});

const table = 'events';
const atFirst = (): string => new Date(states.first.ms).toISOString();
/** Cases by the heading that they have in the manual, with the state that they are to give. */
const columns = {
  main: () => [{ warehouse: 'lake', table }, 'main'],
  'branch by name': () => [{ warehouse: 'lake', table, ref: 'dev' }, 'dev'],
  'branch by `lake@REF`': () => [{ warehouse: 'lake@dev', table }, 'dev'],
  'tag by name': () => [{ warehouse: 'lake', table, ref: 'v1' }, 'v1'],
  'tag by `lake@REF`': () => [{ warehouse: 'lake@v1', table }, 'v1'],
  'commit by id': () => [{ warehouse: 'lake', table, snapshot: states.first.snapshot }, 'first'],
  'commit by `lake@REF`': () => [{ warehouse: `lake@${states.second.commit}`, table }, 'second'],
  'commit by time': () => [{ warehouse: 'lake', table, ms: states.first.ms }, 'first'],
  'time by `lake@REF`': () => [{ warehouse: `lake@${atFirst()}`, table }, 'first'],
} as const satisfies Record<string, () => readonly [Case, keyof typeof states]>;
type Column = keyof typeof columns;
const columnsOf = (engine: Engine): readonly Column[] =>
  (Object.keys(columns) as Column[]).filter((column) => !/^(branch|tag) by name$/.test(column) || engines[engine].refs);

/** The console's own lines for places of a pool: their last step is what is typed into the engine. */
const linesOf = (engine: Engine): Readonly<Record<string, Lines>> => {
  const row = engineRows.find(({ name }) => engines[engine].name.startsWith(name));
  const place = (table: string, at?: ReadPlace['at']): ReadPlace => ({
    base: service.url,
    table,
    key: keys.reader,
    ...(at && { at }),
  });
  const places = {
    'lines of main': place('events'),
    'lines of a branch': place('events', { kind: 'branch', name: oddBranch }),
    'lines of a tag': place('events', { kind: 'tag', name: 'v1' }),
    'lines of a commit': place('events', { kind: 'commit', name: `0x${states.second.commit}` }),
    'lines of an odd name': place('odd_x002e_Name'),
  };
  return Object.fromEntries(
    Object.entries(row ? places : {}).map(([name, own]) => [name, { lines: typed(engine, row!.steps(own)) }]),
  );
};
/** What is typed into the engine itself; those of Java get their settings before. */
const typed = (engine: Engine, steps: readonly EngineStep[]): string =>
  (engines[engine].isJava ? steps : steps.slice(-1)).map(({ text }) => text).join('\n---\n');
/** Rows of two pools; names are quoted as the engine wants it. */
const joined = (engine: Engine): string => {
  const quote = engine === 'trino' ? '"' : '`';
  const other = `{lake}.lake.${quote}odd_x002e_Name${quote}`;
  return `SELECT count(*), sum(e.id) FROM {lake}.lake.events e JOIN ${other} o ON e.id - 1000 = o.id`;
};
const changed = (start: keyof typeof states, end: keyof typeof states): object => ({
  warehouse: 'lake',
  table,
  changes: [states[start].snapshot, states[end].snapshot],
});
/** By how much the count and the sum are greater at `end`. */
const moreIn = (start: keyof typeof states, end: keyof typeof states): Numbers =>
  [0, 1].map((i) => Number(states[end].numbers[i]) - Number(states[start].numbers[i]));
/** Each of its characters means something to one of the languages. */
const oddBranch = `o'd"d\\n é`;

describe('an engine reads what the service reads', () => {
  for (const engine of Object.keys(engines) as Engine[])
    test.skipIf(lacks(engine))(
      engines[engine].name,
      { timeout: engines[engine].isJava ? 900_000 : 240_000 },
      async () => {
        const own = columnsOf(engine);
        const cases = Object.fromEntries(own.map((column) => [column, columns[column]()[0]]));
        const odd = { warehouse: 'lake', table: 'odd_x002e_Name' };
        const found = await readBy(
          engine,
          { url: service.url, key: keys.reader },
          {
            ...cases,
            odd,
            'odd rows': { ...odd, columns: ['id', 'a', 'a__string'] },
            missing: { warehouse: 'lake', table: 'none' },
            ...linesOf(engine),
            ...(engines[engine].isJava && { join: { warehouse: 'lake', sql: joined(engine) } }),
            ...(engines[engine].isJava && {
              'changes of loads': changed('first', 'second'),
              'changes of a delete': changed('second', 'main'),
              'changes of both': changed('first', 'main'),
            }),
            ...(engine === 'spark' && {
              between: { warehouse: 'lake', table, start: states.first.snapshot, end: states.second.snapshot },
            }),
          },
        );
        const { missing, ...rest } = found;
        expect(missing).toMatch(/none/);
        const none = engine === 'chdb' ? 'null' : 'None';
        const cell = (text: string): string | null => (engine === 'chdb' && text === none ? null : text);
        expect(rest).toEqual({
          ...Object.fromEntries(own.map((column) => [column, states[columns[column]()[1]].numbers])),
          odd: [4, 10, 1, 4],
          'odd rows': [
            ['1', '1', cell(none)],
            ['2', cell(none), 'two'],
            ['3', cell(none), cell(none)],
            ['4', cell(none), cell(none)],
          ],
          ...(engine !== 'daft' && {
            'lines of main': states.main.numbers[0],
            'lines of a branch': states.dev.numbers[0],
            'lines of a tag': states.v1.numbers[0],
            'lines of a commit': states.second.numbers[0],
            'lines of an odd name': 4,
          }),
          ...(engines[engine].isJava && { join: [[4, 4010]] }),
          ...(engines[engine].isJava && {
            'changes of loads': moreIn('first', 'second'),
            'changes of a delete': moreIn('second', 'main'),
            'changes of both': moreIn('first', 'main'),
          }),
          ...(engine === 'spark' && { between: 2000 }),
        });
      },
    );
});

test('the manual says which engine reads what', () => {
  const heads = ['', ...Object.keys(columns), 'changes between commits'];
  const shown = (reads: boolean): string => (reads ? 'yes' : 'no');
  const rows = (Object.keys(engines) as Engine[]).map((engine) => [
    engines[engine].name,
    ...(Object.keys(columns) as Column[]).map((column) => shown(columnsOf(engine).includes(column))),
    shown(engines[engine].isJava),
  ]);
  const lines = [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const text = `<!-- begin iceberg engines -->\n${lines.join('\n')}\n<!-- end iceberg engines -->`;
  const marked = /<!-- begin iceberg engines -->[\s\S]*<!-- end iceberg engines -->/;
  const page = readFileSync(manualPage, 'utf8');
  if (process.env['UPDATE_README'] !== undefined)
    writeFileSync(
      manualPage,
      page.replace(marked, () => text),
    );
  expect(marked.exec(readFileSync(manualPage, 'utf8'))?.[0]).toBe(text);
});
