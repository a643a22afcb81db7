/** Which plans several threads can share, and from how many rows on they are long enough for that. */
import { describe, expect, test } from 'vitest';
import { functionCatalog } from '../../../src/exec/functions/functions.ts';
import { compile } from '../../../src/query/analyze.ts';
import type { Plan } from '../../../src/query/plan/plan.ts';
import { splitOf } from '../../../src/query/plan/split.ts';
import { nsOfRow } from '../../../src/query/plan/work.ts';
import { lakeEnvironment } from '../../support/queries/environment.ts';

const planOf = (query: string): Promise<Plan> => compile(query, lakeEnvironment());

/** The operators of a part, and what is done with the answers; none if one thread does all. */
const splitText = async (query: string): Promise<string> => {
  const split = splitOf(await planOf(query), functionCatalog);
  if (!split) return 'one thread';
  const kinds = (ops: readonly { readonly kind: string }[]): string => ops.map((op) => op.kind).join(' ');
  return `${kinds([...split.part, ...(split.aggregate ? [split.aggregate] : [])])} / ${kinds(split.rest)}`.trimEnd();
};

describe('plans that threads share', () => {
  test.each([
    ['from p | count() by a', 'scan aggregate /'],
    ['from p | b > 1 | put c:=a+b | sum(c), avg(b) by a | sort a', 'scan put aggregate / sort'],
    ['select a, count(*) as n from p where b > 1 group by a order by n desc limit 3', 'scan aggregate / top values'],
    ['from p | put c:=lower(a) | sort c | head 3', 'scan put top / top'],
    ['from p | a > 1 | put c:=a | sort c | tail 3', 'scan put sort tail / sort tail'],
  ])('%s', async (query, wanted) => {
    expect(await splitText(query)).toBe(wanted);
  });
});

describe('plans of one thread', () => {
  test.each([
    ['rows that a filter leaves cost more on their way than the filter', 'from p | b > 1 | put c:=a+1'],
    ['the best rows so far bound what is read', 'from p | sort a | head 3'],
    ['so may be all values that differ', 'from p | distinct a'],
    ['sets of values are not merged', 'from p | count(distinct b) by a'],
    ['a set of types is not merged', 'from p | union(a)'],
    ['what looks at the clock gives something else in each thread', 'from p | put t:=now() | count() by t'],
    ['a join has two scans', 'from p | join (from p) on left.a==right.a | count()'],
    ['most rows behind a head are never wanted', 'from p | head 10 | count()'],
  ])('%s', async (_, query) => {
    expect(await splitText(query)).toBe('one thread');
  });
});

describe('the work for a row, as a guess', () => {
  const nsOf = async (query: string): Promise<number> => nsOfRow((await planOf(query)).pipeline.ops);
  test('is more for more columns, and half behind a filter', async () => {
    const one = await nsOf('from p | sum(a)');
    expect(await nsOf('from p | s:=sum(a), t:=sum(b), u:=sum(c)')).toBeGreaterThan(one + 10);
    expect(await nsOf('from p | x > 1 | s:=sum(a), t:=sum(b), u:=sum(c), v:=avg(a), w:=avg(b) by k')).toBeLessThan(
      await nsOf('from p | s:=sum(a), t:=sum(b), u:=sum(c), v:=avg(a), w:=avg(b) by k'),
    );
  });
  test('is much for regular expressions, wherever they are', async () => {
    const plain = await nsOf('from p | count() by k:=lower(a)');
    expect(await nsOf('from p | count() by k:=regexp_replace(a, "x", "y")')).toBeGreaterThan(5 * plain);
    expect(await nsOf('from p | count() by k:=lower(regexp_replace(a, "x", "y"))')).toBeGreaterThan(5 * plain);
  });
});
