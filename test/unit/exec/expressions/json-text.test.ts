/** JSON texts: what the grammar allows, and what is read of them along a path of names. */
import { expect, test } from 'vitest';
import { type Json, isJsonObject, jsonText, parseJson } from '../../../../src/exec/expressions/json-text.ts';
import { functionNamed } from '../../../../src/exec/functions/functions.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { supText } from '../../../../src/vectors/sup/print.ts';
import { nullValue, stringValue } from '../../../../src/vectors/value.ts';
import { type Vector, valueAt } from '../../../../src/vectors/vector.ts';
import { constantOf } from '../../../../src/vectors/builder.ts';
import { randomOf, seedOf } from '../../../support/random.ts';

const names = ['a', 'b', 'tags', 'ä"', '__proto__', '1'];
const seed = seedOf(5);
const random = randomOf(seed);
const written = (depth: number): string => {
  const blank = random.pick(['', '', ' ', '\n\t']);
  const list = (item: () => string): string => Array.from({ length: random.below(4) }, item).join(`${blank},`);
  const kind = depth === 0 ? random.below(4) : random.below(7);
  if (kind === 0) return random.pick(['-0', '1.50', '12e+3', '0']);
  if (kind === 1) return random.pick(['true', 'false', 'null']);
  if (kind < 4) return JSON.stringify(random.pick(['', 'plain', 'a"b\\c', '\u0001', '€😀', '\u2028']));
  if (kind === 4) return `[${blank}${list(() => written(depth - 1))}]${blank}`;
  return `{${blank}${list(() => `${JSON.stringify(random.pick(names))}${blank}:${blank}${written(depth - 1)}`)}}${blank}`;
};
/** Without blanks, mostly as `jsonText` writes it. */
const short = (text: string): string => text.replaceAll(/\s+/g, '');
/** A text with a sign taken out, doubled or changed. */
const damaged = (text: string): string => {
  const at = random.below(text.length);
  return (
    text.slice(0, at) + random.pick(['', text[at]! + text[at]!, '"', ',', '\\', '\n', '}', '0']) + text.slice(at + 1)
  );
};
const along = (v: Json | undefined, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((x, name) => (x !== undefined && isJsonObject(x) ? x.get(name) : undefined), v);

test(`texts are JSON if JavaScript says so, with the same values (seed ${seed})`, () => {
  for (let k = 0; k < 4000; k++) {
    const text = k % 2 === 0 ? written(4) : damaged(written(4));
    let own: unknown;
    let isJson = true;
    try {
      own = JSON.parse(text);
    } catch {
      isJson = false;
    }
    const found = parseJson(text);
    expect([text, found !== undefined]).toEqual([text, isJson]);
    if (found !== undefined) expect(JSON.parse(jsonText(found))).toEqual(own);
  }
});

test(`a path of names finds the same in what is read for it, and refuses the same (seed ${seed})`, () => {
  for (let k = 0; k < 4000; k++) {
    const text = k % 2 === 0 ? written(4) : damaged(written(4));
    const path = Array.from({ length: random.below(4) }, () => random.pick(names));
    const whole = parseJson(text);
    const some = parseJson(text, path);
    expect([text, some !== undefined]).toEqual([text, whole !== undefined]);
    expect([text, path, along(some, path)]).toEqual([text, path, along(whole, path)]);
  }
});

test(`values are copied from texts as those of parsed texts are written (seed ${seed})`, () => {
  const length = 600;
  const twice = [
    '',
    '{"a":{"b":1},"a":2}',
    '{"a":2,"a":{"b":1}}',
    '{"a":[{"b":0},1],"a":{"b":{"b":1},"b":null}}',
    '{"a":{"b":{"c":1,"d":[],"c":2}}}',
  ];
  for (let k = 0; k < 60; k++) {
    const texts = vectorOf(
      Array.from({ length }, (_, i) =>
        i % 50 === 0
          ? nullValue
          : stringValue(twice[i] ?? (i % 5 === 0 ? damaged(written(4)) : i % 2 === 0 ? short(written(4)) : written(4))),
      ),
    );
    const steps = Array.from({ length: random.below(4) }, () =>
      random.pick([...names.map((name) => `."${name.replaceAll('"', '\\"')}"`), '[0]', '[1]', '[#-1]']),
    );
    const path = stringValue(k === 0 ? '$.a.b' : `$${steps.join('')}`);
    for (const name of ['json_extract', 'json_extract_string']) {
      const evaluate = functionNamed(name)!.make({} as never);
      const rowsWith = (paths: Vector): string[] => {
        const answer = evaluate([texts, paths], length) as Vector;
        return Array.from({ length }, (_, i) => supText(valueAt(answer, i)));
      };
      // Where each row has a path of its own, each text is parsed.
      expect(rowsWith(constantOf(path, length))).toEqual(rowsWith(vectorOf(Array.from({ length }, () => path))));
    }
  }
});
