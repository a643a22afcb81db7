/** Pools that shippers name, over a real lake: found, made on demand, refused. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rm } from 'node:fs/promises';
import { LakeError } from '../../../src/errors.ts';
import { parseGrant, type Principal } from '../../../src/http/access/roles.ts';
import { ingestPool, type WantedPool } from '../../../src/http/ingest/pools.ts';
import { startService, type TestService } from '../../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
  await service.lake.createPool({ name: 'own' });
});
afterAll(async () => {
  await service.close();
  await rm(service.directory, { recursive: true, force: true });
});

interface Rules {
  readonly pools?: 'create' | 'existing';
  readonly poolsMax?: number;
  readonly nameBytesMax?: number;
  readonly grants?: readonly string[];
}
/** The pool that somebody with these grants gets, or the code of the error and what they were told to lack. */
const asked = async (wanted: WantedPool, rules: Rules = {}): Promise<unknown> => {
  const { pools = 'create', poolsMax = 100, nameBytesMax = 100, grants } = rules;
  const lacks: string[] = [];
  const who: Principal | undefined = grants && { name: 'somebody', grants: grants.map((text) => parseGrant(text)!) };
  try {
    const { config } = await ingestPool(
      {
        service: { lake: service.lake, config: { ingest: { pools, poolsMax }, nameBytesMax } },
        ...(who && { who }),
        audit: { refused: (refusal: { readonly lacks: string }) => lacks.push(refusal.lacks) } as never,
      },
      wanted,
    );
    return [config.name, config.layout.order, ...config.layout.keys.map((key) => key.join('.'))].join(' ');
  } catch (error) {
    if (!(error instanceof LakeError)) throw error;
    return [error.code, ...lacks].join(' ');
  }
};

describe('pools that shippers name', () => {
  test('one that is there is taken, by name or id, and stays as it is', async () => {
    const id = `0x${service.lake.pool('own').config.id}`;
    expect(await asked({ name: 'own', order: 'desc', keys: [['x']] })).toBe('own asc ts');
    expect(await asked({ name: id })).toBe('own asc ts');
    expect(await asked({ name: 'own' }, { pools: 'existing', poolsMax: 0 })).toBe('own asc ts');
  });
  test('a missing one is made with the keys and the order that are wanted', async () => {
    expect(await asked({ name: 'new', order: 'desc', keys: [['ts'], ['a', 'b']] })).toBe('new desc ts a.b');
    expect(await asked({ name: 'new 日本 /x' })).toBe('new 日本 /x asc ts');
  });
  test('several requests that want one at once make one', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => asked({ name: 'crowd' })));
    expect(new Set(all)).toEqual(new Set(['crowd asc ts']));
    expect(service.lake.pools().filter(({ name }) => name === 'crowd')).toHaveLength(1);
  });
  test('none is made where the option says so', async () => {
    expect(await asked({ name: 'gone' }, { pools: 'existing' })).toBe('pool-not-found');
  });
  test('none is made where there are as many as the option allows', async () => {
    expect(await asked({ name: 'gone' }, { poolsMax: 1 })).toBe('pools-many');
  });
  test('a writer of the lake makes one; who may not gets what a missing pool is', async () => {
    expect(await asked({ name: 'by a writer' }, { grants: ['writer'] })).toBe('by a writer asc ts');
    for (const grants of [['reader'], ['writer:own'], ['admin:own'], []])
      expect(await asked({ name: 'gone' }, { grants })).toBe('pool-not-found writer');
  });
  test('the role writer of a pool is enough for it, and less is not', async () => {
    expect(await asked({ name: 'own' }, { grants: ['writer:own'] })).toBe('own asc ts');
    expect(await asked({ name: 'own' }, { grants: ['reader'] })).toBe('auth-role writer');
    expect(await asked({ name: 'own' }, { grants: ['writer:other'] })).toBe('pool-not-found reader');
  });
  test('names that no pool can have are refused', async () => {
    expect(await asked({ name: '' })).toBe('pool-name-missing');
    expect(await asked({ name: '..' })).toBe('name-reserved');
    expect(await asked({ name: 'x'.repeat(11) }, { nameBytesMax: 10 })).toBe('name-long');
  });
});
