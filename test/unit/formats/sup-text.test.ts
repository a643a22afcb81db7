import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseSup, parseSupType, parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { supNestingMax } from '../../../src/vectors/sup/scanner.ts';
import { SupError } from '../../../src/vectors/sup/error.ts';
import { supText, supType } from '../../../src/vectors/sup/print.ts';
import { supRowPrinter } from '../../../src/vectors/sup/rows.ts';
import { TextOut } from '../../../src/vectors/texts/out.ts';
import { type Type, arrayType, types, typeText } from '../../../src/vectors/type.ts';
import { type Value } from '../../../src/vectors/value.ts';
import { type Vector } from '../../../src/vectors/vector.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { hasNegativeZero } from '../../support/formats/convert.ts';
import { anyValue, someValues, typesOfDepth } from '../../support/formats/values.ts';

const sampleFolder = fileURLToPath(new URL('../../cases/formats/samples/', import.meta.url));
const sample = (name: string): string => readFileSync(sampleFolder + name, 'utf8');
const reprint = (text: string, indent = 0): string =>
  parseSupValues(text)
    .map((v) => `${supText(v, { indent })}\n`)
    .join('');
const fault = (text: string): string => {
  try {
    const value = parseSup(text);
    return value ? supText(value) : 'no value';
  } catch (problem) {
    if (!(problem instanceof SupError)) throw problem;
    return problem.message;
  }
};
const rowsText = (v: Vector): string => {
  const out = new TextOut();
  const names = new Map<string, Type>();
  const print = supRowPrinter(v, out, { names });
  for (let row = 0; row < v.length; row++) {
    print(row);
    out.byte(0x0a);
    names.clear();
  }
  return Buffer.from(out.take()).toString();
};

/** Where the text of a value tells less than the value: an empty container at top level of an implied type. */
const losesType = (v: Value): boolean =>
  (v.type.kind === 'array' || v.type.kind === 'set' || v.type.kind === 'map') &&
  (v.data as readonly unknown[]).length === 0;
const printable = anyValue().filter((v) => !hasNegativeZero(v.data));

describe('text of values', () => {
  for (const name of [
    'values.sup',
    'flat.sup',
    'nulls.sup',
    'mixed.sup',
    'lines.sup',
    'big.sup',
    'columns.sup',
    'zeekish.sup',
    'columns.parquet.sup',
  ]) {
    test(`${name} reads and prints back to the byte`, () => {
      expect(reprint(sample(name))).toBe(sample(name));
    });
  }
  test('the indented sample is printed to the byte', () => {
    expect(reprint(sample('values.sup'), 4)).toBe(sample('values.pretty.sup'));
  });
  test('the indented sample reads as the other', () => {
    expect(reprint(sample('values.pretty.sup'))).toBe(sample('values.sup'));
  });
  const indentedTypes = [
    '<|{string: int64}|>',
    '<[\n  [int64]\n]>',
    '<[\n  {\n    a: int64\n  }\n]>',
    '<|[\n  error(string)\n]|>',
    '<|{\n  string: [int64]\n}|>',
    '<[\n  \n    int64|\n    string\n  \n]>',
    '<{\n  a: [\n    foo=int64\n  ],\n  b: [\n    foo\n  ]\n}>',
  ];
  for (const text of indentedTypes)
    test(`a type that is printed as ${JSON.stringify(text)}`, () => {
      expect(reprint(text.replace(/\s/g, ''), 2)).toBe(`${text}\n`);
    });

  const same = (text: string): void => {
    test(`${text} prints as it reads`, () => {
      expect(fault(text)).toBe(text);
    });
  };
  for (const text of [
    '[1::int8,2::int8]',
    '|{1::int8:2::int8}|',
    'error(1::int8)',
    '{a:[]::[null]}',
    '[[]::[null]]',
    '{a:[]::[int8]}',
    '[]',
    '[]::[int8]',
    '1::(int64|string)',
    'null::(int64|null)',
    '[1,"a"]',
    '[null,1]',
    '[1]::[int64|string]',
    '|{"a":1}|::|{string:int64|string}|',
    '80::(port=uint16)',
    '[1::=foo,2::foo]',
    '{a:80::(port=uint16),b:81::port}',
    '"a"::enum(a,b)',
    '{o?:_::int64}',
    '[1::=beef,2::"beef"]',
    '1::="my type"',
    '1::=a.b',
    '1::=foo::(foo|(foo=string))',
    '""::=string_named::(union_named=int64|string_named)',
    '|{"a":"foo","b":1}|::|{string:(named=int64|string)}|',
    '|{:: :::,::1 :::1,2:: :2::}|',
    '|{::1/128:::1/128,2::/16:2::/16}|',
    '{p:1::=port,q:{p:1::port}::=rec,c:[1::port]::=list}',
    '{src:{port:80::uint16}::=socket,dst:{port:20130}::socket}::=conn',
    '{orig_p:51913::(port=uint16)::(port|null),resp_p:443::port::(port|null)}',
    '{a:123::int32::(int32|string)::(string|[int32]|(int32|string))}',
    '[error(1)::=named,error(1)::named]',
    '1::int32::(int32|string)',
    '<(foo={x:int64})|(foo={y:int64})>',
  ])
    same(text);
  test('sets are in the order of their encoding', () => {
    expect(fault('|[-1,1,0,300,2]|')).toBe('|[0,1,-1,2,300]|');
  });
  test('a name that got another meaning is defined again', () => {
    expect(
      supText({
        type: types.type,
        data: parseSupValues('[{x:{y:63}}::=foo,{x:{abcdef:{x:{y:127}}::foo}}::=foo]')[0]!.type,
      }),
    ).toBe('<[(foo={x:{abcdef:foo={x:{y:int64}}}})|(foo={x:{y:int64}})]>');
  });
  for (const [text, printed] of [
    ['1000.', '1000.'],
    ['1.5e-7', '1.5e-07'],
    ['1e21', '1e+21'],
    ['0.0001', '0.0001'],
    ['0.00001', '1e-05'],
    ['-0.', '0.'],
    ['4987896.159284373', '4.987896159284373e+06'],
    ['1724716323249999872.', '1724716323249999872.'],
    ['18446744073709551616', '1.8446744073709552e+19'],
    ['0.1::float16', '0.099975586::float16'],
    ['0.1::float32', '0.1::float32'],
    ['1e-45::float32', '1e-45::float32'],
    ['3.4028235e38::float32', '3.4028235e+38::float32'],
    ['5e-324', '5e-324'],
    ['18446744073709551615', '18446744073709551615::uint64'],
    ['-5', '-5'],
    ['+5', '5'],
    ['300::uint8', 'invalid integer: 300 is no uint8'],
    ['1w', '7d'],
    ['400d', '1y35d'],
    ['1500ms', '1.5s'],
    ['1001us', '1.001ms'],
    ['0s', '0s'],
    ['-1h0.5s', '-1h500ms'],
    ['1.2.3.4/24', '1.2.3.0/24'],
    ['::ffff:1.2.3.4', '::ffff:1.2.3.4'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['0xFF', '0xff'],
    ['2020-01-01T01:00:00+02:00', '2019-12-31T23:00:00Z'],
    ['"\\u00e9\\ud83d\\ude00\\/"', '"é😀/"'],
    ['"A\\u030a"', '"Å"'],
    ['"\\ud800"', '"�"'],
    ['{a:1,a:2}', '{a:1}'],
    ['|{1:2,1:3}|', '|{1:2}|'],
    ['{if:1,true:2,}', '{if:1,true:2}'],
    ['"\\u007f"', '"\u007f"'],
    ['{"\\u007f":1}', '{"\u007f":1}'],
    ['1 2', '1'],
    ['/* c */ 1 // d', '1'],
    ['{a:1}::{b:int32}', '{b:1::int32}'],
    ['1::(int64|string|int64)', '1::(int64|int64|string)'],
  ])
    test(`${text} prints as ${printed}`, () => {
      expect(fault(text!)).toBe(printed);
    });

  test('any value reads back as it was', () => {
    fc.assert(
      fc.property(printable, (value) => {
        const text = supText(value);
        const back = parseSup(text)!;
        expect(supText(back)).toBe(text);
        if (!losesType(value)) expect(typeText(back.type)).toBe(typeText(value.type));
      }),
      { numRuns: 2000 },
    );
  });
  test('any value reads back from its indented text', () => {
    fc.assert(
      fc.property(printable, (value) => {
        expect(supText(parseSup(supText(value, { indent: 2 }))!)).toBe(supText(value));
      }),
      { numRuns: 1000 },
    );
  });
  test('rows of vectors print as their values do', () => {
    fc.assert(
      fc.property(someValues(), (values) => {
        expect(rowsText(vectorOf(values))).toBe(values.map((v) => `${supText(v)}\n`).join(''));
      }),
      { numRuns: 1000 },
    );
  });
  test('any type reads back', () => {
    fc.assert(
      fc.property(typesOfDepth(3), (type) => {
        expect(parseSupType(supType(type))).toBe(type);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('bad text', () => {
  for (const [text, said] of [
    ['!', 'line 1: syntax error'],
    ['{a:1}\n}', '{a:1}'],
    ['1//c', 'line 1: syntax error'],
    ['1/* c */2', 'line 1: syntax error'],
    ['1e400', 'line 1: syntax error'],
    ['Inf', 'no value'],
    ['😀 smile', 'line 1: syntax error'],
    ['日本', 'no value'],
    ['{a:1', 'no value'],
    ['error(1', 'no value'],
    ['', 'no value'],
    ['_', 'no value'],
    ['{a:"x\n', 'line 2: parse error: string literal: unescaped line break'],
    ['{a:"x', 'line 1: parse error: string literal: EOF'],
    ['"\\v"', 'line 1: parse error: string literal: illegal escape (\\v)'],
    ['{a:1,b:2}::{b:int32}', 'record decorator fields (1) mismatched with value fields (2)'],
    ['-1::uint64', 'invalid unsigned integer: -1'],
    ['9223372036854775808::int64', 'invalid integer: 9223372036854775808'],
    ['[18446744073709551615::int8]', 'invalid integer: 18446744073709551615'],
    ['1::duration', 'type mismatch: "int64" cannot be used as "duration"'],
    ['1::time', 'type mismatch: "int64" cannot be used as "time"'],
    ['1'.repeat(400), 'line 1: syntax error'],
    ['{a:[-2]::[uint8]}', 'invalid unsigned integer: -2'],
    ['1e39::float32', 'invalid floating point: 1e+39'],
    ['70000::float16', 'invalid floating point: 70000'],
    ['1.5::int64', 'type mismatch: "float64" cannot be used as "int64"'],
    ['1::(int8|string)', 'type "int64" is not in union type "int8|string"'],
    ['1::int64::int32', 'decorator conflict enclosing context "int32" and decorator cast "int64"'],
    ['1::foo', 'no such type name: "foo"'],
    ['"c"::enum(a,b)', 'symbol "c" not a member of enum(a,b)'],
    ['{a:_::int64}', '_ cannot appear in non-optional field "a"'],
    ['{a?:_}', 'none value (_) must include type decorator'],
    ['<[int64>', 'line 1: parse error: mismatched brackets while parsing array type'],
    ['<{a:int64>', 'line 1: parse error: mismatched braces while parsing record type'],
    ['<(int64,string)>', 'line 1: parse error: union components are separated by pipe symbol (|) not comma'],
    ['1::=int64', 'bad type name "int64": primitive type name'],
    ['2300-01-01T00:00:00Z', 'time overflow: 2300-01-01T00:00:00Z (max: 2262-04-11T23:47:16Z)'],
    ['1::uint128', 'no such type name: "uint128"'],
  ])
    test(`${JSON.stringify(text)}: ${said}`, () => {
      expect(fault(text!)).toBe(said);
    });

  test('values and types nest to a limit, not to the end of the stack', () => {
    const deep = '['.repeat(supNestingMax - 1) + ']'.repeat(supNestingMax - 1);
    expect(supText(parseSup(deep)!).length).toBeGreaterThan(deep.length);
    expect(fault('['.repeat(100_000))).toBe(`line 1: parse error: nesting too deep (limit ${supNestingMax})`);
    expect(fault('{a:'.repeat(100_000))).toBe(`line 1: parse error: nesting too deep (limit ${supNestingMax})`);
    expect(fault('error('.repeat(100_000))).toBe(`line 1: parse error: nesting too deep (limit ${supNestingMax})`);
    expect(fault(`<${'('.repeat(100_000)}`)).toBe(`line 1: parse error: nesting too deep (limit ${supNestingMax})`);
    const names = `1${Array.from({ length: supNestingMax + 1 }, (_, i) => `::=n${i}`).join('')}`;
    expect(fault(names)).toBe(`line 1: parse error: nesting too deep (limit ${supNestingMax})`);
    expect(fault(`<${Array.from({ length: supNestingMax + 1 }, (_, i) => `n${i}=`).join('')}int64>`)).toBe(
      `line 1: parse error: nesting too deep (limit ${supNestingMax})`,
    );
    expect(parseSupType('[int64]')).toBe(arrayType(types.int64));
  });
});
