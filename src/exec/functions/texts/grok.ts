/** grok: text taken apart by named patterns. */
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { types } from '../../../vectors/type.ts';
import { type Value, nullValue, recordValue, stringValue, stringData } from '../../../vectors/value.ts';
import { patternMax, tooLarge } from '../../expressions/regexp.ts';
import { remembered } from '../remembered.ts';
import { refused } from '../row.ts';
import { Refusal } from '../typed.ts';
import { grokPatterns } from './grok-patterns.ts';

/** A compiled pattern: group numbers in order, with the field that each goes to. */
interface Grok {
  readonly re: RE2JS;
  readonly fields: readonly { readonly name: string; readonly group: number }[];
}
/** How deep patterns may refer to one another. */
const referenceDepthMax = 50;

/** The match of `pattern` in `text` as a record of strings, or an error. */
export const grok = (pattern: Value, text: Value, definitions?: Value): Value => {
  if (pattern.type === types.null || text.type === types.null || definitions?.type === types.null) return nullValue;
  if (definitions && definitions.type !== types.string)
    return refused('grok: definitions argument must be a string', definitions);
  if (pattern.type !== types.string) return refused('grok: pattern argument must be a string', pattern);
  if (text.type !== types.string) return refused('grok: input argument must be a string', text);
  const compiled = compiledOf(stringData(pattern.data), definitions ? stringData(definitions.data) : '');
  if (compiled instanceof Refusal)
    return refused(`grok: ${compiled.text}`, (compiled.argument === definitionsArgument && definitions) || pattern);
  const matcher = compiled.re.matcher(stringData(text.data));
  if (!matcher.find()) return refused('grok: value does not match pattern', text);
  const fields = new Map<string, string>();
  for (const { name, group } of compiled.fields) {
    const found = matcher.group(group);
    // Fields that matched nothing are left out, as in the reference.
    if (found) fields.set(name, found);
  }
  return recordValue([...fields].map(([name, value]) => ({ name, value: stringValue(value) })));
};

const definitionsArgument = 2;
const compiledOf = (pattern: string, definitions: string): Grok | Refusal => {
  // Before the two are put together: each may be millions of characters.
  const longest = Math.max(pattern.length, definitions.length);
  return longest > patternMax ? new Refusal(tooLarge(longest)) : compiledOfKey(JSON.stringify([pattern, definitions]));
};
const compiledOfKey = remembered((key): Grok | Refusal => {
  const [pattern, definitions] = JSON.parse(key) as [string, string];
  return compile(pattern, definitions);
});

const compile = (pattern: string, definitions: string): Grok | Refusal => {
  if (pattern === '') return new Refusal('an empty expression');
  const own = new Map<string, string>();
  for (const line of definitions.split('\n')) {
    const m = /^\s*(\S+)\s+(.*)$/.exec(line);
    if (!m) continue;
    if (own.has(m[1]) || Object.hasOwn(grokPatterns, m[1]))
      return new Refusal('the pattern already exist', definitionsArgument);
    const unknown = [...m[2].matchAll(reference)]
      .map((r) => r[1])
      .find((name) => !own.has(name) && !Object.hasOwn(grokPatterns, name));
    if (unknown !== undefined) return new Refusal(`the '${unknown}' pattern doesn't exist`);
    own.set(m[1], m[2]);
  }
  const names: string[] = [];
  const expanded = expand(pattern, own, names, 0);
  if (typeof expanded !== 'string') return new Refusal(expanded.problem);
  if (expanded.length > patternMax) return new Refusal(tooLarge(expanded.length));
  try {
    const re = RE2JS.compile(expanded);
    const groups = re.namedGroups();
    return { re, fields: names.map((name, k) => ({ name, group: groups[`g${k}`] })) };
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return new Refusal(error.message);
    throw error;
  }
};

const reference = /%\{(\w+)(?::([^:}]*))?(?::[^}]*)?\}/g;
/** The expression of a pattern with references written out; fields become groups g0, g1, ... in order. */
const expand = (
  pattern: string,
  own: ReadonlyMap<string, string>,
  names: string[],
  depth: number,
): string | { readonly problem: string } => {
  if (depth > referenceDepthMax) return { problem: 'patterns refer to one another too deeply' };
  let out = '';
  let done = 0;
  for (const m of pattern.matchAll(reference)) {
    const body = own.get(m[1]) ?? (Object.hasOwn(grokPatterns, m[1]) ? grokPatterns[m[1]] : undefined);
    if (body === undefined) return { problem: `the '${m[1]}' pattern doesn't exist` };
    out += withoutNames(pattern.slice(done, m.index));
    done = m.index + m[0].length;
    const group = m[2] ? `g${names.push(m[2]) - 1}` : undefined;
    const inner = expand(body, own, names, depth + 1);
    if (typeof inner !== 'string') return inner;
    out += group ? `(?P<${group}>${inner})` : `(?:${inner})`;
    // The expression's own limit says so, before it has grown much further.
    if (out.length > patternMax) return out;
  }
  return out + withoutNames(pattern.slice(done));
};
/** Named groups of the pattern itself are no fields. */
const withoutNames = (text: string): string => text.replace(/\(\?P?<[A-Za-z_]\w*>/g, '(?:');
