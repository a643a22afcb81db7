import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestService, startService } from '../../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
  await service.ask('POST', '/pool', { body: '{name:"p",layout:{order:"asc",keys:[["ts"]]}}' });
});
afterAll(() => service?.close());

const json = { 'content-type': 'application/json', accept: 'application/json' };
const ask = async (path: string, query: string): Promise<Readonly<Record<string, never>>> =>
  JSON.parse((await service.ask('POST', path, { headers: json, body: JSON.stringify({ query }) })).body) as Readonly<
    Record<string, never>
  >;
/** Channels as `name [keys] order`. */
const channels = async (query: string): Promise<string> => {
  const { channels: all } = (await ask('/query/describe', query)) as unknown as {
    readonly channels: readonly {
      readonly name: string;
      readonly aggregation_keys: readonly (readonly string[])[] | null;
      readonly sort: readonly { readonly order: string; readonly key: readonly string[] }[] | null;
    }[];
  };
  const paths = (list: readonly (readonly string[])[]): string => list.map((path) => path.join('.')).join(',');
  return all
    .map((c) =>
      [
        c.name,
        c.aggregation_keys && `by ${paths(c.aggregation_keys)}`,
        c.sort?.map((s) => `${s.order} ${s.key.join('.')}`),
      ]
        .filter(Boolean)
        .join(' '),
    )
    .join('; ');
};

describe('what a query is said to answer', () => {
  test.each([
    ['from p', 'main asc ts'],
    ['from p | sort -r ts', 'main desc ts'],
    ['from p | sort a, b', 'main'],
    ['from p | where a>1 | head 2', 'main asc ts'],
    ['from p | count() by a', 'main by a'],
    ['from p | count() by x:=a.b, y:=c', 'main by a.b,c'],
    ['from p | count() by x:=a+1', 'main by x'],
    ['from p | count() by ts', 'main by ts asc ts'],
    ['from p | count()', 'main by '],
    ['from p | count() by a | join (from p) on left.a=right.a', 'main'],
    ['from p | assert ts==1', 'main'],
    ['select a as x, count(*) from p group by a', 'main by a'],
    ['from p | cut ts, a', 'main asc ts'],
    ['from p | cut t:=ts', 'main asc t'],
    ['from p | cut a', 'main'],
    ['from p | put ts:=1', 'main'],
    ['from p | drop ts', 'main'],
    ['from p | drop a', 'main asc ts'],
    ['from p | rename t:=ts', 'main asc t'],
    ['from p | rename x:=a', 'main asc ts'],
    ['from p | rename ts:=a', 'main'],
    ['from p | fuse', 'main asc ts'],
    ['from p | values {ts}', 'main'],
    ['from p | debug | count() by a', 'main by a; debug'],
    ['from p | fork (debug) (debug)', 'main; debug'],
    ['from p | fork (sort ts) (sort ts)', 'main'],
    ['from p | fork (count() by a | output x) (head 1 | output y)', 'x by a; y asc ts'],
    ['from p | fork (output x) (output x)', 'x'],
  ])('%s: %s', async (query, wanted) => {
    expect(await channels(query)).toBe(wanted);
  });
  test('the sources that are read, each as often as it is', async () => {
    const sources = async (query: string): Promise<unknown> =>
      (
        (await ask('/query/describe', query)) as unknown as { readonly sources: readonly { readonly kind: string }[] }
      ).sources.map((s) => s.kind);
    expect(await sources('fork (from p) (from p)')).toEqual(['Pool', 'Pool']);
    expect(await sources('fork (values 1) (values 2)')).toEqual(['Null']);
    expect(await sources('values 1')).toEqual(['Null']);
    expect(await sources('from p:log')).toEqual(['Pool']);
  });
  test('in SUP each part has the type that the reference names', async () => {
    const answer = await service.ask('POST', '/query/describe', {
      body: '{query:"fork (from p | count() by a | output c) (from p | count() | output d) (from :pools | sort name desc)"}',
    });
    expect(answer.body.replace(/0x[0-9a-f]{40}/g, 'ID')).toBe(
      '{sources:[{kind:"Pool",name:"p",id:ID::=ksuid.KSUID}::=describe.Pool,{kind:"Pool",name:"p",id:ID}::describe.Pool,' +
        '{kind:"DBMeta",meta:"pools"}::=describe.DBMeta],channels:[{name:"c",aggregation_keys:[["a"]::=field.Path]::=field.List,sort:null::=order.SortKeys}::=describe.Channel,' +
        '{name:"d",aggregation_keys:[],sort:null}::describe.Channel,{name:"main",aggregation_keys:null::=field.List,' +
        'sort:[{order:"desc"::=order.Which,key:["name"]::field.Path}::=order.SortKey]::=order.SortKeys}::=describe.Channel]}::=describe.Info\n',
    );
  });
  test('a load into a pool that is not there is pointed at as a whole', async () => {
    expect(await ask('/query', 'values {ts:1} | load nope')).toMatchObject({
      error: 'nope: pool not found at line 1, column 17:\nvalues {ts:1} | load nope\n                ~~~~~~~~~',
    });
  });
});
