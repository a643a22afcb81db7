/** Functions that parse text: grok, parse_sup, parse_uri. */
import { types } from '../../../vectors/type.ts';
import { type Value, nullValue, underValue, stringData } from '../../../vectors/value.ts';
import { parseSup } from '../../../vectors/sup/parse.ts';
import { SupError } from '../../../vectors/sup/error.ts';
import { grok } from './grok.ts';
import { byValues, refused, type FunctionRow } from '../row.ts';
import { parseUri } from './uri.ts';

const sup = (v: Value): Value => {
  const text = v.type.kind === 'union' ? underValue(v) : v;
  if (text.type === types.null) return nullValue;
  if (text.type !== types.string) return refused('parse_sup: string arg required', v);
  try {
    return parseSup(stringData(text.data)) ?? nullValue;
  } catch (error) {
    if (error instanceof SupError) return refused(`parse_sup: ${error.message}`, v);
    throw error;
  }
};
const uri = (v: Value): Value => {
  if (v.type === types.null) return nullValue;
  if (v.type !== types.string) return refused('parse_uri: string arg required', v);
  const parsed = parseUri(stringData(v.data));
  return typeof parsed === 'string' ? refused(`parse_uri: ${parsed}`, v) : parsed;
};

export const parse: readonly FunctionRow[] = [
  {
    name: 'grok',
    signature: 'grok(pattern, s[, defs])',
    text: 'The fields that a pattern like "%{WORD:a} %{INT:b}" finds in a string; defs adds patterns, one `NAME expression` per line.',
    argumentsMin: 2,
    argumentsMax: 3,
    examples: [
      { query: 'grok("%{WORD:a} %{INT:b}","hi 12")', output: '{a:"hi",b:"12"}' },
      { query: 'grok("%{FOO:a}","zz","FOO z+")', output: '{a:"zz"}' },
      {
        query: 'grok("%{NOPE:a}","x")',
        output: 'error({message:"grok: the \'NOPE\' pattern doesn\'t exist",on:"%{NOPE:a}"})',
      },
      { query: 'grok("%{WORD:a}"," ")', output: 'error({message:"grok: value does not match pattern",on:" "})' },
    ],
    make: byValues((pattern, s, definitions) => grok(pattern!, s!, definitions), 'whole'),
  },
  {
    name: 'parse_sup',
    signature: 'parse_sup(s)',
    text: 'The first value of a SUP text.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'parse_sup("{a:1}")', output: '{a:1}' },
      { query: 'parse_sup("1 2")', output: '1' },
      { query: 'values parse_sup("")', output: 'null' },
      { query: 'values parse_sup("{a:")', output: 'null' },
      { query: 'parse_sup("]")', output: 'error({message:"parse_sup: line 1: syntax error",on:"]"})' },
      { query: 'parse_sup(1)', output: 'error({message:"parse_sup: string arg required",on:1})' },
    ],
    make: byValues((s) => sup(s!), 'whole'),
  },
  {
    name: 'parse_uri',
    signature: 'parse_uri(s)',
    text: 'The parts of a URI: scheme, opaque, user, password, host, port, path, query and fragment; null for what is not there.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      {
        query: 'parse_uri("http://u:p@h:80/x?a=1&a=2#f")',
        output:
          '{scheme:"http",opaque:null,user:"u",password:"p",host:"h",port:80::uint16,path:"/x",query:|{"a":["1","2"]}|,fragment:"f"}',
      },
      {
        query: 'parse_uri("/x")',
        output:
          '{scheme:null,opaque:null,user:null,password:null,host:null,port:null,path:"/x",query:null,fragment:null}',
      },
      { query: 'parse_uri(1)', output: 'error({message:"parse_uri: string arg required",on:1})' },
    ],
    make: byValues((s) => uri(s!), 'whole'),
  },
];
