/** The rule by identity where very many records are settled by a value of their own. */
import { expect, test } from 'vitest';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { type Vector, valueAt } from '../../../src/vectors/vector.ts';
import { identityOf } from '../../../src/workers/merge/identity.ts';
import { mergeByIdentity } from '../../../src/workers/merge/rules.ts';
import { Settler } from '../../../src/workers/merge/settle.ts';
import { randomOf, seedOf } from '../../support/random.ts';

const rows = (count: number, text: (i: number) => string): Vector =>
  vectorOf(parseSupValues(Array.from({ length: count }, (_, i) => text(i)).join('\n')));
const textsOf = (v: Vector): readonly string[] => Array.from({ length: v.length }, (_, i) => supText(valueAt(v, i)));

test('records whose fields both sides changed become vectors of many, not one each', () => {
  const count = 10_000;
  const base = rows(count, (i) => `{id:${i},a:0,b:0}`);
  const settler = new Settler({ fields: true }, [['id']], { offset: 0, limit: 10 });
  const given = {
    oursRemoved: base,
    oursAdded: rows(count, (i) => `{id:${i},a:1,b:0}`),
    theirsRemoved: base,
    // One is in conflict, one the same on both sides, one gone.
    theirsAdded: rows(count - 1, (i) =>
      i === 7 ? `{id:7,a:2,b:0}` : i === 8 ? '{id:8,a:1,b:0}' : `{id:${i},a:0,b:2}`,
    ),
  };
  const effect = mergeByIdentity(given, (v) => identityOf(v, [['id']]), settler);
  expect([settler.conflicts, settler.told]).toEqual([
    2,
    `{key:{id:7},base:{id:7,a:0,b:0},ours:{id:7,a:1,b:0},theirs:{id:7,a:2,b:0}}\n{key:{id:9999},base:{id:9999,a:0,b:0},ours:{id:9999,a:1,b:0},theirs:null}`,
  ]);
  const ids = Array.from({ length: count - 1 }, (_, i) => i).filter((i) => i !== 7 && i !== 8);
  expect(textsOf(effect.added)).toEqual(ids.map((i) => `{id:${i},a:1,b:2}`));
  expect(textsOf(effect.removed)).toEqual(ids.map((i) => `{id:${i},a:1,b:0}`));
  expect(effect.added.form).toBe('record');
});

test('several rows of an identity and single ones are told apart', () => {
  const merged = (...sides: readonly string[]): string => {
    const settler = new Settler({ fields: true }, [['id']], { offset: 0, limit: 10 });
    const [oursRemoved, oursAdded, theirsRemoved, theirsAdded] = sides.map((text) =>
      vectorOf(parseSupValues(text)),
    ) as [Vector, Vector, Vector, Vector];
    const { removed, added } = mergeByIdentity(
      { oursRemoved, oursAdded, theirsRemoved, theirsAdded },
      (v) => identityOf(v, [['id']]),
      settler,
    );
    return `-${textsOf(removed).join('')} +${textsOf(added).join('')} conflicts ${settler.conflicts}`;
  };
  const base = '{id:1,x:0.,y:1}';
  expect(merged(base, '{id:1,x:0.,y:2}', base, '{id:1,x:3.,y:1}')).toBe(
    '-{id:1,x:0.,y:2} +{id:1,x:3.,y:2} conflicts 0',
  );
  expect(merged(base, '{id:1,x:NaN,y:1}', base, '{id:1,x:NaN,y:1}')).toBe('- + conflicts 0');
  expect(merged(base, '{id:1,x:1.,y:1}', base, '{id:1,x:2.,y:1}')).toBe('- + conflicts 1');
  // Two of one identity on one side, beside one that is alone on each.
  const two = '{id:2,x:1.,y:1}{id:2,x:2.,y:2}';
  expect(merged(`${base}${two}`, `{id:1,x:5.,y:1}`, `${base}${two}`, '{id:1,x:0.,y:7}')).toBe(
    '-{id:1,x:5.,y:1} +{id:1,x:5.,y:7} conflicts 0',
  );
  expect(merged(two, '{id:2,x:1.,y:1}', two, '{id:2,x:3.,y:3}')).toBe('- + conflicts 1');
});

const seed = seedOf(29_401);
test(`fields that are merged by columns are those that are merged record by record (seed ${seed})`, () => {
  const random = randomOf(seed);
  const valuesOf = [
    ['1', '2'],
    ['0.', '-0.', 'NaN'],
    ['"a"', '"b"', 'null'],
    ['[1]', '[1,2]', '["x"]'],
    ['{c:1}', '{c:2}'],
  ];
  for (let run = 0; run < 60; run++) {
    const some = valuesOf.filter(() => random.below(2) === 0);
    const textOf = (id: number): string =>
      `{id:${id}${some.map((texts, k) => `,f${k}:${random.pick(random.below(8) === 0 ? texts : texts.slice(0, 2))}`).join('')}}`;
    const base = Array.from({ length: 30 }, (_, id) => textOf(id));
    const changed = (): readonly string[] =>
      base.flatMap((text, id) => {
        const kind = random.below(12);
        if (kind === 0) return [];
        if (kind === 1) return [textOf(id), textOf(id)];
        if (kind === 2) return [`{id:${id},g:1}`];
        return [kind < 8 ? textOf(id) : text];
      });
    const side = (after: readonly string[]) => {
      const gone = base.filter((text) => !after.includes(text));
      return { removed: gone, added: after.filter((text) => !base.includes(text)) };
    };
    const [ours, theirs] = [side(changed()), side(changed())];
    const vector = (texts: readonly string[]): Vector => vectorOf(parseSupValues(texts.join('\n')));
    const given = {
      oursRemoved: vector(ours.removed),
      oursAdded: vector(ours.added),
      theirsRemoved: vector(theirs.removed),
      theirsAdded: vector(theirs.added),
    };
    const results = [true, false].map((byColumns) => {
      const settler = new Settler({ fields: true }, [['id']], { offset: 0, limit: 100 });
      const effect = mergeByIdentity(
        given,
        (v) => identityOf(v, [['id']]),
        byColumns ? settler : { settle: settler.settle },
      );
      const { conflicts, settled, told } = settler;
      return {
        gone: [...textsOf(effect.removed)].sort(),
        come: [...textsOf(effect.added)].sort(),
        conflicts,
        settled,
        told,
      };
    });
    expect(results[0]).toEqual(results[1]);
  }
});
