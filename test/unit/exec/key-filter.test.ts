import { expect, it } from 'vitest';
import { KeyFilter } from '../../../src/exec/operators/rows/key-filter.ts';
import { randomOf } from '../../support/random.ts';

const random = randomOf(5);
const hashes = (count: number): Uint32Array => Uint32Array.from({ length: count }, () => random.below(2 ** 32));

it('a filter lets all keys pass that it has, and few others', () => {
  for (const count of [0, 1, 100, 50_000]) {
    const filter = new KeyFilter(count);
    const known = hashes(count);
    filter.add(known);
    expect(filter.rows(known)).toEqual(Uint32Array.from(known.keys()));
    expect(filter.rows(hashes(10_000)).length).toBeLessThan(1200);
  }
});
