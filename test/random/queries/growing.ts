/** Queries of small texts whose values grow: each step makes of a value a larger one, of the same kind or another. */
import type { Random } from '../../support/random.ts';

/** What a step takes and gives. */
type Kind = 'text' | 'array' | 'set' | 'map' | 'record' | 'any';
interface Growth {
  readonly from: Kind;
  readonly to: Kind /** `x` stands for the value. */;
  readonly text: (x: string, random: Random) => string;
}

const times = (x: string, n: number, between = ','): string => Array.from({ length: n }, () => x).join(between);
const few = (random: Random): number => 2 + random.below(7);
const letters = (random: Random): string => 'abcdefgh'.repeat(1 + random.below(8)).slice(0, 1 + random.below(60));

const growths: readonly Growth[] = [
  { from: 'text', to: 'text', text: (x, r) => times(x, few(r), '||') },
  { from: 'text', to: 'text', text: (x, r) => `concat(${times(x, few(r))})` },
  { from: 'text', to: 'text', text: (x, r) => `f"${times(`{${x}}`, few(r), '-')}"` },
  {
    from: 'text',
    to: 'text',
    text: (x, r) => `replace(${x},${JSON.stringify(r.pick(['', 'a', 'b', 'ab']))},"${letters(r)}")`,
  },
  {
    from: 'text',
    to: 'text',
    text: (x, r) =>
      `regexp_replace(${x},"${r.pick(['a', '(a+)', '.', '(.)(.)', '^(.*)$'])}","${times(r.pick(['$0', '${0}', '$1', 'ab']), few(r), '')}")`,
  },
  { from: 'text', to: 'text', text: (x, r) => `join(split(${x},"${r.pick(['', 'a', 'b'])}"),"${letters(r)}")` },
  { from: 'text', to: 'text', text: (x) => `upper(${x})||lower(${x})` },
  { from: 'text', to: 'text', text: (x) => `hex((${x})::bytes)||base64((${x})::bytes)` },
  { from: 'text', to: 'array', text: (x, r) => `split(${x},"${r.pick(['', 'a', 'b'])}")` },
  { from: 'text', to: 'array', text: (x, r) => `[${times(x, few(r))}]` },
  { from: 'text', to: 'array', text: (x) => `regexp("(a+)(b*)(.*)",${x})` },
  { from: 'array', to: 'array', text: (x, r) => `[${times(`...${x}`, few(r))}]` },
  { from: 'array', to: 'array', text: (x, r) => `[${times(x, few(r))}]` },
  { from: 'array', to: 'array', text: (x) => `[...${x},[...${x}],{a:${x}},"a"]` },
  { from: 'array', to: 'text', text: (x) => `f"{${x}}"` },
  { from: 'array', to: 'set', text: (x) => `|[...${x},[...${x}],{a:${x}}]|` },
  { from: 'set', to: 'set', text: (x) => `|[...${x},${x},[${x}]]|` },
  { from: 'set', to: 'array', text: (x) => `[...${x},...${x},...${x}]` },
  { from: 'any', to: 'map', text: (x) => `|{${x}:${x},1:[${x}]}|` },
  { from: 'map', to: 'map', text: (x) => `|{${x}:${x},"a":[${x}]}|` },
  {
    from: 'any',
    to: 'record',
    text: (x, r) => `{${Array.from({ length: few(r) }, (_, i) => `f${i}:${x}`).join(',')}}`,
  },
  { from: 'record', to: 'record', text: (x, r) => `{...${x},n${r.below(1000)}:${x},m:[${x}]}` },
  { from: 'record', to: 'array', text: (x) => `[...flatten({a:${x},b:${x}}),...flatten(${x})]` },
  { from: 'record', to: 'record', text: (x) => `unflatten(flatten({a:${x},b:${x}}))` },
  { from: 'record', to: 'text', text: (x) => `f"{typeof(${x})}{typeof(${x})}"` },
  { from: 'any', to: 'any', text: (x) => `error({a:${x},b:[${x},${x}]})` },
  { from: 'any', to: 'text', text: (x) => `(${x})::string||[${x},${x}]::string` },
  { from: 'any', to: 'any', text: (x) => `parse_sup(f"[{[${x}]},{[${x}]},1]")` },
  { from: 'any', to: 'array', text: (x) => `[${x},${x},${x}]` },
];

/** Operators that multiply rows, or put them together. */
const operators: readonly ((random: Random) => string)[] = [
  () => 'values [this,this,this,this,this,this,this,this] | unnest this',
  (r) => `values ${times('this', few(r))}`,
  () => 'collect(this)',
  () => 'union(this)',
  () => 'fuse',
  () => 'sort this',
  () => 'distinct this',
  () => 'count() by this',
  () => 'values |{this:this}| | collect_map(this)',
  (r) => `put x${r.below(99)}:=this`,
  () => 'fork ( => pass => pass => values [this,this])',
  () => 'aggregate dcount(this),c:=collect(this),u:=union(this)',
  () => 'put r:=(values [1,2,3] | unnest this | collect(this))',
  () => 'top 5 this',
  () => 'tail 1000',
  () => 'uniq -c',
  () => 'values {a:this,b:this,k:1} | fork ( => pass => pass) | inner join on left.k=right.k',
  () => 'aggregate fuse(this)',
];

const starts: readonly { readonly kind: Kind; readonly text: string }[] = [
  { kind: 'text', text: 'values "abababab"' },
  { kind: 'array', text: 'values [1,2,3]' },
  { kind: 'array', text: 'values ["a","bb",1]' },
  { kind: 'set', text: 'values |[1,2]|' },
  { kind: 'map', text: 'values |{1:"a"}|' },
  { kind: 'record', text: 'values {a:1,b:"ab"}' },
  { kind: 'text', text: 'from p | values s' },
  { kind: 'array', text: 'from p | values l' },
  { kind: 'record', text: 'from p' },
  { kind: 'text', text: 'from p | where k < 10 | values s' },
];

/** A query that grows, of `-memory` and time more than there is, mostly. */
export const growingQuery = (random: Random): string =>
  random.pick([chained, chained, chained, nested, repeated, recursive, constants, wide, sql])(random);

const next = (kind: Kind, random: Random): Growth =>
  random.pick(growths.filter((g) => g.from === kind || g.from === 'any'));
/** One step an operator. */
const chained = (random: Random): string => {
  const start = random.pick(starts);
  const out = [start.text];
  const hasOperators = random.below(3) === 0;
  let { kind } = start;
  for (let i = 4 + random.below(30); i > 0; i--) {
    if (hasOperators && random.below(4) === 0) {
      out.push(random.pick(operators)(random));
      kind = 'any';
    }
    const growth = next(kind, random);
    out.push(`values ${growth.text('this', random)}`);
    kind = growth.to;
  }
  if (random.below(3) === 0) out.push(random.pick(operators)(random));
  return out.join(' | ');
};
/** One step again and again: of the kind that it gives. */
const repeated = (random: Random): string => {
  const start = random.pick(starts);
  const growth = random.pick(growths.filter((g) => g.to === start.kind && g.from === start.kind)) ?? growths[0]!;
  const step = growth.text('this', random);
  return [start.text, ...Array.from({ length: 8 + random.below(40) }, () => `values ${step}`)].join(' | ');
};
/** Steps within steps: the text doubles too, so there are few. */
const nested = (random: Random): string => {
  const start = random.pick(starts);
  let x = 'this';
  let { kind } = start;
  while (x.length < 400) {
    const growth = next(kind, random);
    const text = growth.text(x, random);
    if (text.length > 6000) break;
    x = text;
    kind = growth.to;
  }
  return `${start.text} | ${random.pick(['values', 'put y:=', 'where len(', 'sort'])} ${x}`.replace(
    /where len\( (.*)$/s,
    'where len($1) > 3',
  );
};
/** A function that calls itself. */
const recursive = (random: Random): string => {
  const growth = random.pick(growths.filter((g) => g.from === g.to || g.from === 'any'));
  const start = random.pick(starts.filter((s) => growth.from === 'any' || s.kind === growth.from));
  return `fn f(x,n): (n==0 ? x : f(${growth.text('x', random)},n-1)) ${start.text} | values f(this,${8 + random.below(50)})`;
};
/** Worked out while the query is compiled. */
const constants = (random: Random): string => {
  const growth = random.pick(growths.filter((g) => g.from === g.to || g.from === 'any'));
  const count = 8 + random.below(40);
  const first =
    growth.from === 'text'
      ? '"abab"'
      : growth.from === 'set'
        ? '|[1]|'
        : growth.from === 'map'
          ? '|{1:2}|'
          : growth.from === 'record'
            ? '{a:1}'
            : '[1,2]';
  return `${Array.from({ length: count }, (_, i) => `const c${i} = ${i === 0 ? first : growth.text(`c${i - 1}`, random)}`).join(' ')} values c${count - 1}`;
};
/** Records of very many fields, and rows of unlike shapes. */
const wide = (random: Random): string => {
  const n = 500 + random.below(6000);
  return random.pick([
    () =>
      `values {${Array.from({ length: n }, (_, i) => `f${i}:${i}`).join(',')}} | values ${times('this', 40)} | fuse`,
    () =>
      `values {${Array.from({ length: n }, (_, i) => `f${i}:${i}`).join(',')}} | values {a:this,b:this,c:this,d:this} | values {a:this,b:this,c:this,d:this} | values [this,this,this,this]`,
    () =>
      `from p | values unflatten([{key:["f"||k::string],value:k}]) | ${random.pick(['fuse', 'collect(this)', 'count() by typeof(this)', 'sort this', 'union(this)'])}`,
    () => `from p | collect_map(|{s:l}|) | values [this,this,this]`,
    () =>
      `from p | put r:=unflatten([{key:["f"||k::string],value:s},{key:["g"||k::string],value:this}]) | fuse | count()`,
  ])();
};
const sql = (random: Random): string =>
  random.pick([
    () => 'select * from p a cross join p b cross join p c',
    () => 'select count(*) as n from p a cross join p b',
    () => 'select a.s||b.s as t from p a cross join p b order by t',
    () => 'select collect(a.s||b.s) as t from p a cross join p b',
    () => 'with recursive t as (select "ab" as s union all select s||s from t) select len(s) as n from t',
    () => 'with recursive t as (select [1,2] as s union all select [...s,...s,...s] from t) select * from t',
    () => 'select k, collect(s) over (order by k) as c from p',
    () => 'select k, (select collect(s) from p) as c from p',
    () => 'select k, (select collect(b.s) from p b where b.k <= a.k) as c from p a',
    () =>
      `select ${Array.from({ length: 30 }, (_, i) => `replace(s,"a","${letters(random)}") as s${i}`).join(', ')} from p order by s1`,
  ])();
