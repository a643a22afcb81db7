/**
 * Clients that do everything to a lake at once: loads (good, broken, empty, of several formats), deletes by id and by
 * filter, updates, upserts, MERGE INTO, branches, tags, protections, merges, reverts and picks, compactions, marks, vacuums, queries that read and that write, pools that come,
 * are renamed and go, views, subscribers. What they do follows from the seed; how it is mixed does not.
 */
import { type Random, randomOf } from '../random.ts';

interface MixedOptions {
  readonly address: string;
  readonly operations: number;
  readonly clients: number;
  readonly seed: number;
}
/** Answers by status, and operations by kind. */
export interface MixedReport {
  readonly statuses: Readonly<Record<string, number>>;
  readonly kinds: Readonly<Record<string, number>>;
}

const json = { 'content-type': 'application/json', accept: 'application/json' };
const pools = ['one', 'two', 'three'];
/** Its records have an identity. */
const keyed = 'three';
const branchNames = ['main', 'kid', 'side'];
const tagNames = ['v1', 'v2', 'side'];

export const runMixedOperations = async ({
  address,
  operations,
  clients,
  seed,
}: MixedOptions): Promise<MixedReport> => {
  const statuses: Record<string, number> = {};
  const kinds: Record<string, number> = {};
  const commits: { readonly pool: string; readonly id: string }[] = [];
  const ask = async (
    method: string,
    path: string,
    body?: string,
    headers: Readonly<Record<string, string>> = json,
  ): Promise<string> => {
    const response = await fetch(address + path, { method, headers, ...(body !== undefined && { body }) });
    const text = await response.text();
    statuses[response.status] = (statuses[response.status] ?? 0) + 1;
    return response.ok ? text : '';
  };
  const commit = async (
    pool: string,
    method: string,
    path: string,
    body?: string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<void> => {
    const id = /"commit":"(?:0x)?(\w+)"/.exec(await ask(method, path, body, headers))?.[1];
    if (id !== undefined) commits.push({ pool, id: id.length === 40 ? `0x${id}` : id });
  };
  const objects = async (pool: string, branch: string): Promise<readonly string[]> =>
    [
      ...(
        await ask('POST', '/query', JSON.stringify({ query: `from ${pool}@${branch}:objects | values string(id)` }))
      ).matchAll(/"(0x[0-9a-f]{40}|\w{27})"/g),
    ].map((m) => m[1]!);

  const kindsOf: Readonly<Record<string, (random: Random, pool: string, branch: string) => Promise<void>>> = {
    load: (random, pool, branch) =>
      commit(pool, 'POST', `/pool/${pool}/branch/${branch}`, rows(random, 1 + random.below(4)), json),
    'load of csv': (random, pool, branch) =>
      commit(pool, 'POST', `/pool/${pool}/branch/${branch}`, `ts,v\n${random.below(1000)},${random.hex(4)}\n`, {
        ...json,
        'content-type': 'text/csv',
      }),
    'large load': (random, pool, branch) =>
      commit(
        pool,
        'POST',
        `/pool/${pool}/branch/${branch}`,
        `{"ts":${random.below(1000)},"pad":"${random.hex(90_000)}"}`,
      ),
    'broken load': (random, pool, branch) =>
      commit(pool, 'POST', `/pool/${pool}/branch/${branch}`, `${rows(random, 2)}{"ts":`),
    'empty load': (_, pool, branch) => commit(pool, 'POST', `/pool/${pool}/branch/${branch}`, ''),
    'load with a note': (random, pool, branch) =>
      commit(pool, 'POST', `/pool/${pool}/branch/${branch}`, rows(random, 1), {
        ...json,
        'superdb-commit': JSON.stringify({ author: 'somebody', body: `note ${random.below(9)}`, meta: '{a:1}' }),
      }),
    'delete where': (random, pool, branch) =>
      commit(
        pool,
        'POST',
        `/pool/${pool}/branch/${branch}/delete`,
        JSON.stringify({ where: `ts == ${random.below(1000)} or v == "${random.hex(1)}"` }),
      ),
    update: (random, pool, branch) =>
      commit(
        pool,
        'POST',
        `/pool/${pool}/branch/${branch}/update`,
        JSON.stringify({
          where: `ts % 9 == ${random.below(9)} or v == "${random.hex(1)}"`,
          put: random.pick(['ts:=ts+1', 'v:=upper(v)', 'seen:=true', 'at:=now()']),
        }),
      ),
    delete: async (random, pool, branch) => {
      const ids = await objects(pool, branch);
      if (ids.length > 0)
        await commit(
          pool,
          'POST',
          `/pool/${pool}/branch/${branch}/delete`,
          JSON.stringify({ object_ids: [random.pick(ids)] }),
        );
    },
    compact: async (random, pool, branch) => {
      const ids = await objects(pool, branch);
      if (ids.length > 1)
        await commit(
          pool,
          'POST',
          `/pool/${pool}/branch/${branch}/compact`,
          JSON.stringify({ object_ids: ids.slice(0, 2 + random.below(6)) }),
        );
    },
    mark: async (random, pool, branch) => {
      const ids = await objects(pool, branch);
      if (ids.length > 0)
        await commit(
          pool,
          random.below(3) === 0 ? 'DELETE' : 'POST',
          `/pool/${pool}/revision/${branch}/vector`,
          JSON.stringify({ object_ids: [random.pick(ids)] }),
        );
    },
    branch: async (random, pool) => {
      const from = commits.filter((c) => c.pool === pool);
      if (from.length > 0)
        await ask(
          'POST',
          `/pool/${pool}`,
          JSON.stringify({ name: random.pick(branchNames.slice(1)), commit: random.pick(from).id }),
        );
    },
    'delete branch': async (random, pool) => {
      await ask('DELETE', `/pool/${pool}/branch/${random.pick(branchNames.slice(1))}`);
    },
    reset: async (random, pool) => {
      const from = commits.filter((c) => c.pool === pool);
      if (from.length > 0)
        await ask(
          'PUT',
          `/pool/${pool}/branch/${random.pick(branchNames)}`,
          JSON.stringify({ commit: random.pick(from).id }),
        );
    },
    tag: async (random, pool) => {
      const from = commits.filter((c) => c.pool === pool);
      if (from.length > 0)
        await ask(
          'POST',
          `/pool/${pool}/tag`,
          JSON.stringify({ name: random.pick(tagNames), commit: random.pick(from).id }),
        );
    },
    'delete tag': async (random, pool) => {
      await ask('DELETE', `/pool/${pool}/tag/${random.pick(tagNames)}`);
    },
    'query of a tag': async (random, pool) => {
      await ask('POST', '/query', JSON.stringify({ query: `from ${pool}@${random.pick(tagNames)} | count()` }));
    },
    merge: (random, pool, branch) =>
      commit(
        pool,
        'POST',
        `/pool/${pool}/branch/${branch}/merge/${random.pick([...branchNames, ...tagNames.slice(0, 1)])}`,
      ),
    transaction: async (random, pool, branch) => {
      const other = random.pick(pools);
      const staged = await ask('POST', `/pool/${other}/branch/main?stage=T`, rows(random, 2));
      const id = /"id":"([^"]+)"/.exec(staged)?.[1];
      const changes = [
        { delete: { where: `ts % 11 == ${random.below(11)}` } },
        { update: { where: `ts % 7 == ${random.below(7)}`, put: 'v:=upper(v)' } },
        { merge: random.pick(branchNames) },
      ];
      const commits = [
        { pool: other, load: [id ?? 'none'] },
        { pool, branch, ...random.pick(changes) },
      ];
      await ask('POST', '/transaction', JSON.stringify({ commits }));
    },
    revert: async (random, pool, branch) => {
      const from = commits.filter((c) => c.pool === pool);
      if (from.length > 0) await commit(pool, 'POST', `/pool/${pool}/branch/${branch}/revert/${random.pick(from).id}`);
    },
    pick: async (random, pool, branch) => {
      const from = commits.filter((c) => c.pool === pool);
      const some = Array.from({ length: 1 + random.below(2) }, () => random.pick(from)?.id ?? 'none');
      await commit(pool, 'POST', `/pool/${pool}/branch/${branch}/pick/${some.join('..')}`);
    },
    upsert: (random, _, branch) =>
      commit(
        keyed,
        'POST',
        `/pool/${keyed}/branch/${branch}?upsert=T&delete=gone`,
        upserts(random, 1 + random.below(5)),
      ),
    'merge into': (random, pool, branch) =>
      commit(
        keyed,
        'POST',
        '/query',
        JSON.stringify({
          query: `merge into ${keyed}@${branch} as t using (select ts, max(v) as v from ${pool} group by ts limit 9) as s on t.ts = s.ts when matched then update set v = upper(s.v) when not matched then insert *`,
        }),
      ),
    protect: async (random, pool) => {
      const who = random.pick(['writer', 'writer', 'admin', 'nobody']);
      const verb = random.pick(['load', 'delete', 'merge', 'reset']);
      const path = `/pool/${pool}/branch/${random.pick(branchNames.slice(1))}/protection`;
      await ask('PUT', path, JSON.stringify({ [verb]: who }));
    },
    vacuum: async (random, pool, branch) => {
      await ask('POST', `/pool/${pool}/revision/${branch}/vacuum?dryrun=${random.below(2) === 0 ? 'T' : 'F'}`);
    },
    query: async (_, pool, branch) => {
      await ask('POST', '/query', JSON.stringify({ query: `from ${pool}@${branch} | count()` }));
    },
    'broken query': async () => {
      await ask('POST', '/query', JSON.stringify({ query: 'from (' }));
    },
    'query that loads': async (random, pool) => {
      await ask(
        'POST',
        '/query',
        JSON.stringify({ query: `from ${pool} | head 2 | put copied:=${random.below(100)} | load ${pool}` }),
      );
    },
    'create pool': async (random) => {
      await ask(
        'POST',
        '/pool',
        JSON.stringify({
          name: random.pick([...pools, 'four']),
          layout: { order: random.pick(['asc', 'desc']), keys: [['ts']] },
        }),
      );
    },
    'rename pool': async (random) => {
      await ask(
        'PUT',
        `/pool/${random.pick(['four', 'five'])}`,
        JSON.stringify({ name: random.pick(['four', 'five', 'one']) }),
      );
    },
    'delete pool': async (random) => {
      await ask('DELETE', `/pool/${random.pick(['four', 'five'])}`);
    },
    'create view': async (random, pool) => {
      const name = random.pick(['four', 'seen']);
      const how = random.pick(['', 'or replace ']);
      await ask('POST', '/query', JSON.stringify({ query: `create ${how}view ${name} as from ${pool} | count()` }));
    },
    'rename view': async (random) => {
      const [name, to] = random.pick([
        ['four', 'seen'],
        ['seen', 'four'],
      ]);
      await ask('PUT', `/view/${name!}`, JSON.stringify({ name: to }));
    },
    'drop view': async (random) => {
      await ask('POST', '/query', JSON.stringify({ query: `drop view ${random.pick(['four', 'seen'])}` }));
    },
    'query of a view': async () => {
      await ask('POST', '/query', JSON.stringify({ query: 'select * from seen' }));
    },
    subscribe: async () => {
      const ends = new AbortController();
      const response = await fetch(`${address}/events`, { signal: ends.signal });
      statuses[response.status] = (statuses[response.status] ?? 0) + 1;
      ends.abort();
    },
  };
  const weights: Readonly<Record<string, number>> = {
    load: 30,
    'load of csv': 3,
    'delete where': 6,
    update: 5,
    delete: 5,
    compact: 4,
    merge: 6,
    revert: 5,
    pick: 4,
    upsert: 5,
    'merge into': 3,
    transaction: 8,
    branch: 4,
    query: 6,
  };
  const bag = Object.keys(kindsOf).flatMap((kind) => Array.from({ length: weights[kind] ?? 2 }, () => kind));

  for (const name of pools)
    await ask('POST', '/pool', JSON.stringify({ name, ...(name === keyed && { identity: [['ts']] }) }));
  let left = operations;
  const client = async (number: number): Promise<void> => {
    const random = randomOf(seed * 1000 + number);
    while (left-- > 0) {
      const kind = random.pick(bag);
      kinds[kind] = (kinds[kind] ?? 0) + 1;
      await kindsOf[kind]!(random, random.pick(pools), random.below(3) === 0 ? random.pick(branchNames) : 'main');
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, i) => client(i)));
  return { statuses, kinds };
};

const upserts = (random: Random, count: number): string =>
  Array.from(
    { length: count },
    () => `{"ts":${random.below(60)},"v":"${random.hex(1)}","gone":${random.below(4) === 0}}`,
  ).join('\n');
const rows = (random: Random, count: number): string =>
  Array.from({ length: count }, () => `{"ts":${random.below(1000)},"v":"${random.hex(1)}"}`).join('\n');
