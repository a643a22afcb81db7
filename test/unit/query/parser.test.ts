import { describe, expect, test } from 'vitest';
import type { QueryNode } from '../../../src/query/ast.ts';
import { parse } from '../../../src/query/parse/parser.ts';

/**
 * The tree as one line: kinds with their parts, names as text, identifiers with `$`, literals as type:text; spans,
 * false and empty parts are left out.
 */
function show(node: unknown): string {
  if (Array.isArray(node)) return `[${node.map(show).join(' ')}]`;
  if (typeof node !== 'object' || node === null) return JSON.stringify(node);
  const { kind, start: _start, end: _end, ...parts } = node as Record<string, unknown>;
  if (kind === 'name') return String(parts.text);
  if (kind === 'id') return `$${String(parts.name)}`;
  if (kind === 'literal') return `${String(parts.type)}:${String(parts.text)}`;
  const shown = Object.entries(parts).filter(
    ([, part]) => part !== undefined && part !== false && !(Array.isArray(part) && part.length === 0),
  );
  return `(${[String(kind), ...shown.map(([name, part]) => `${name}=${show(part)}`)].join(' ')})`;
}

const ops = (text: string): string => parse(text).ops.map(show).join(' | ');
const expr = (text: string): string => ops(`values ${text}`).replace(/^\(values-op exprs=\[(.*)\]\)$/s, '$1');

describe('expressions', () => {
  test('levels bind in their order, and lean left', () => {
    expect(expr('1-2-3*4||5')).toBe(
      '(binary op="-" left=(binary op="-" left=int64:1 right=int64:2) right=(binary op="*" left=int64:3 right=(binary op="||" left=int64:4 right=int64:5)))',
    );
    expect(expr('a or b and not c == d')).toBe(
      '(binary op="or" left=$a right=(binary op="and" left=$b right=(unary op="!" operand=(binary op="==" left=$c right=$d))))',
    );
    expect(expr('a ? b : c ? d : e')).toBe(
      '(conditional condition=$a then=$b otherwise=(conditional condition=$c then=$d otherwise=$e))',
    );
    expect(expr('-a::int64')).toBe('(unary op="-" operand=(cast expr=$a target=(type-primitive name="int64")))');
    expect(expr('a between 1 and 2 and b not in [1]')).toBe(
      '(binary op="and" left=(between expr=$a lower=int64:1 upper=int64:2) right=(binary op="not in" left=$b right=(array elems=[int64:1])))',
    );
  });
  test('a sign belongs to the literal behind it, blanks or names make it an operator', () => {
    expect(expr('-1, - 1, -a, 1-1, -1::uint8')).toBe(
      'int64:-1 (unary op="-" operand=int64:1) (unary op="-" operand=$a) (binary op="-" left=int64:1 right=int64:1) (cast expr=int64:-1 target=(type-primitive name="uint8"))',
    );
  });
  test('literals of every kind', () => {
    expect(
      expr(
        '1, 1., .5e3, -Inf, NaN, 1h30m, 2024-01-02T03:04:05.6Z, 10.0.0.1, 10.0.0.0/8, ::1, ::1/128, 0x0f, TRUE, Null',
      ),
    ).toBe(
      'int64:1 float64:1. float64:.5e3 float64:-Inf float64:NaN duration:1h30m time:2024-01-02T03:04:05.6Z ip:10.0.0.1 net:10.0.0.0/8 ip:::1 net:::1/128 bytes:0x0f bool:true null:null',
    );
    expect(expr('2024-01-01')).toBe(
      '(binary op="-" left=(binary op="-" left=int64:2024 right=int64:01) right=int64:01)',
    );
    expect(expr('1--1')).toBe('int64:1');
  });
  test('hexadecimal before two colons is an address, unless a cast must follow', () => {
    expect(expr('1::ff, 1::(ff), 1::=foo, a::int64, ffff::')).toBe(
      'ip:1::ff (cast expr=int64:1 target=(type-name name="ff")) (cast expr=int64:1 target=(cast-name name="foo")) (cast expr=$a target=(type-primitive name="int64")) ip:ffff::',
    );
  });
  test('strings know escapes, raw strings do not, f-strings nest', () => {
    expect(expr(String.raw`"a\n\u00e9\u{1F32E}", '"', r'\n'`)).toBe('string:a\né🌮 string:" string:\\n');
    expect(expr(String.raw`f'x{f'{a}'}\{'`)).toBe(
      '(fstring parts=[(fstring-text text="x") (fstring-value expr=(fstring parts=[(fstring-value expr=$a)])) (fstring-text text="{")])',
    );
  });
  test('containers, access and slices', () => {
    expect(expr('{a,...b,"c d":1}.a[0][1:][:2], |[1]|, |{1:2}|, (1,2)')).toBe(
      '(slice expr=(slice expr=(index expr=(dot expr=(record elems=[(record-value expr=$a) (spread expr=$b) (record-field name=c d expr=int64:1)]) name=a) index=int64:0) from=int64:1) to=int64:2)' +
        ' (set elems=[int64:1]) (map entries=[(map-entry key=int64:1 value=int64:2)]) (tuple elems=[int64:1 int64:2])',
    );
  });
  test('queries in brackets are subqueries where expressions fail', () => {
    expect(expr('(values 1), [values 1], [a], exists(pass), (a)')).toBe(
      '(subquery query=(query ops=[(values-op exprs=[int64:1])])) (array-subquery query=(query ops=[(values-op exprs=[int64:1])])) (array elems=[$a]) (exists query=(query ops=[(pass-op)])) $a',
    );
  });
  test('calls, aggregates and lambdas', () => {
    expect(expr('f(), count(*), avg(distinct -1), min(`distinct` -1), sum(x) filter (where y), sum(all)')).toBe(
      '(call callee=f) (agg name=count) (agg name=avg arg=int64:-1 distinct=true) (call callee=min args=[(binary op="-" left=$distinct right=int64:1)])' +
        ' (agg name=sum arg=$x filter=$y) (call callee=sum args=[$all])',
    );
    expect(expr('map(a, &f), map(a, lambda x:x+1), lambda x,y:(x+y)(3,4)')).toBe(
      '(call callee=map args=[$a (function-ref name=f)]) (call callee=map args=[$a (lambda params=[x] body=(binary op="+" left=$x right=int64:1))])' +
        ' (call callee=(lambda params=[x y] body=(binary op="+" left=$x right=$y)) args=[int64:3 int64:4])',
    );
  });
  test('forms with keywords', () => {
    expect(
      expr(
        "case a when 1 then 2 else 3 end case, CAST(a AS DATE), cast(a, b), extract(year from t), substring(s from 1 for 2), date '2024'",
      ),
    ).toBe(
      '(case operand=$a whens=[(case-when when=int64:1 then=int64:2)] otherwise=int64:3) (cast call=true expr=$a target=(cast-date)) (call callee=cast args=[$a $b])' +
        ' (extract part=$year expr=$t) (substring expr=$s from=int64:1 length=int64:2) (date type="date" text="2024" textStart=128)',
    );
  });
  test('types, with SQL names in any letter case', () => {
    expect(
      expr(
        '<{a?:int64,"b c":[string]|null}>, <|{ip:error(net)}|>, a::DOUBLE PRECISION, a::(port=uint16), <enum(a,"b")>',
      ),
    ).toBe(
      '(type-value type=(type-record fields=[(type-field name=a optional=true type=(type-primitive name="int64")) (type-field name=b c type=(type-union types=[(type-array elem=(type-primitive name="string")) (type-primitive name="null")]))]))' +
        ' (type-value type=(type-map key=(type-primitive name="ip") value=(type-error type=(type-primitive name="net"))))' +
        ' (cast expr=$a target=(type-primitive name="float64" alias="DOUBLE PRECISION")) (cast expr=$a target=(type-named name="port" type=(type-primitive name="uint16"))) (type-value type=(type-enum symbols=[a b]))',
    );
  });
  test('a long chain of or is a shallow tree', () => {
    const depth = (node: unknown): number =>
      typeof node !== 'object' || node === null ? 0 : 1 + Math.max(0, ...Object.values(node).map(depth));
    expect(depth(parse(`where ${'a==1 or '.repeat(5000)}b`))).toBeLessThan(30);
  });
});

describe('pipe operators', () => {
  test('a keyword without its arguments is a call', () => {
    expect(ops('distinct | drop | skip | foo')).toBe(
      '(call-op name=distinct implied=true) | (call-op name=drop implied=true) | (call-op name=skip implied=true) | (call-op name=foo implied=true)',
    );
  });
  test('implied operators, in their order', () => {
    expect(ops('a:=1, b.c:=d')).toBe(
      '(assignments-op assignments=[(assignment target=$a expr=int64:1) (assignment target=(dot expr=$b name=c) expr=$d)])',
    );
    expect(ops('c:=count() by k')).toBe(
      '(aggregate-op implied=true aggs=[(assignment target=$c expr=(call callee=count))] keys=[(assignment expr=$k)])',
    );
    expect(ops('by k with -limit 10')).toBe('(aggregate-op implied=true keys=[(assignment expr=$k)] limit="10")');
    expect(ops('count()')).toBe('(expr-op expr=(call callee=count))');
    expect(ops('foo a, &f')).toBe('(call-op name=foo args=[$a (function-ref name=f)] implied=true)');
    expect(ops('len(x) > 1')).toBe('(expr-op expr=(binary op=">" left=(call callee=len args=[$x]) right=int64:1))');
    expect(ops('a in b')).toBe('(expr-op expr=(binary op="in" left=$a right=$b))');
    expect(ops('not has(t)')).toBe('(expr-op expr=(unary op="!" operand=(call callee=has args=[$t])))');
    expect(ops('count:=1')).toBe('(assignments-op assignments=[(assignment target=$count expr=int64:1)])');
    expect(ops('fuse(this)')).toBe('(expr-op expr=(call callee=fuse args=[$this]))');
  });
  test('sort, top, head, uniq and their flags', () => {
    expect(ops('sort -r a, b desc nulls first | top -r 2 a | top 3 a, b | head | limit 5 | uniq -c')).toBe(
      '(sort-op reverse=true keys=[(order-key expr=$a) (order-key expr=$b order="desc" nulls="first")]) | (top-op reverse=true limit=int64:2 keys=[(order-key expr=$a)])' +
        ' | (top-op limit=int64:3 keys=[(order-key expr=$a) (order-key expr=$b)]) | (head-op) | (head-op count=int64:5) | (uniq-op counted=true)',
    );
  });
  test('branches', () => {
    expect(ops('switch x case 1 (pass) default (head)')).toBe(
      '(switch-op expr=$x cases=[(switch-case expr=int64:1 body=(query ops=[(pass-op)])) (switch-case body=(query ops=[(head-op)]))])',
    );
    expect(ops('switch case flag (pass)')).toBe(
      '(switch-op cases=[(switch-case expr=$flag body=(query ops=[(pass-op)]))])',
    );
    expect(ops('fork (pass) (pass) |> merge a')).toBe(
      '(fork-op branches=[(query ops=[(pass-op)]) (query ops=[(pass-op)])]) | (merge-op keys=[(order-key expr=$a)])',
    );
    expect(ops('anti join (from x) as {l,r} using (a)')).toBe(
      '(join-op style="anti" right=(query ops=[(from-op source=(source origin=(source-text text="x")))]) alias=(join-alias left=l right=r) condition=(join-using fields=[$a]))',
    );
  });
  test('an assertion keeps its text', () => {
    expect(ops('assert  n between 1  and 0 ')).toBe(
      '(assert-op expr=(between expr=$n lower=int64:1 upper=int64:0) text="n between 1  and 0")',
    );
  });
  test('sources', () => {
    expect(ops('from p@main:log')).toBe('(from-op source=(source origin=(source-text text="p") commit=main meta=log))');
    expect(ops('from "a b"@1aB (commit x)')).toBe(
      '(from-op source=(source origin=(source-text text="a b" quoted=true) commit=1aB args=[(source-arg key=commit value=(source-text text="x"))]))',
    );
    expect(ops('from p@2026-11-01T00:00:00.5+01:00:log | from p@b (asof 2026-11-01T00:00:00Z)')).toBe(
      '(from-op source=(source origin=(source-text text="p") commit=2026-11-01T00:00:00.5+01:00 meta=log)) | (from-op source=(source origin=(source-text text="p") commit=b args=[(source-arg key=asof value=(source-text text="2026-11-01T00:00:00Z"))]))',
    );
    expect(
      ops('from :pools | from /a.*/ | from /a/b.sup | from x*y | from https://a.b-c.d/e.json (headers {a:"b"})'),
    ).toBe(
      '(from-op source=(source origin=(source-meta name=pools))) | (from-op source=(source origin=(source-regexp pattern="a.*"))) | (from-op source=(source origin=(source-text text="/a/b.sup")))' +
        ' | (from-op source=(source origin=(source-glob pattern="x*y")))' +
        ' | (from-op source=(source origin=(source-text text="https://a.b-c.d/e.json") args=[(source-arg key=headers value=(record elems=[(record-field name=a expr=string:b)]))]))',
    );
  });
  test('declarations come before the pipeline of their scope', () => {
    const query = parse(
      'op o a: (values a) fn f(x,y): x+y let q=(pass) pragma pg const c=1 type t=int64|string (const d=2 o d)',
    );
    expect(query.decls.map(show).join(' ')).toBe(
      '(op-decl name=o params=[a] body=(query ops=[(values-op exprs=[$a])])) (fn-decl name=f params=[x y] body=(binary op="+" left=$x right=$y)) (let-decl name=q query=(query ops=[(pass-op)]))' +
        ' (pragma-decl name=pg) (const-decl name=c expr=int64:1) (type-decl name=t type=(type-union types=[(type-primitive name="int64") (type-primitive name="string")]))',
    );
    expect(query.ops.map(show).join(' ')).toBe(
      '(scope-op body=(query decls=[(const-decl name=d expr=int64:2)] ops=[(call-op name=o args=[$d] implied=true)]))',
    );
  });
});

describe('search', () => {
  const search = (text: string): string => ops(text).replace(/^\(search-op search=(.*)\)$/s, '$1');
  test('terms side by side are and-ed, or is weaker, not is stronger', () => {
    expect(search('? a not b or c')).toBe(
      '(search-binary op="or" left=(search-binary op="and" left=(search-word text="a") right=(search-not search=(search-word text="b"))) right=(search-word text="c"))',
    );
    expect(search('search foo (bar or baz)')).toBe(
      '(search-binary op="and" left=(search-word text="foo") right=(search-binary op="or" left=(search-word text="bar") right=(search-word text="baz")))',
    );
  });
  test('words, globs, regular expressions, literals', () => {
    expect(search(String.raw`? A\=* a*b`)).toBe(
      '(search-binary op="and" left=(search-glob pattern="A=*") right=(search-glob pattern="a*b"))',
    );
    expect(search(String.raw`? \"foo /a\/b/`)).toBe(
      '(search-binary op="and" left=(search-word text="\\"foo") right=(search-regexp pattern="a/b"))',
    );
    expect(search('? "x y" 10.0.0.0/8')).toBe(
      '(search-binary op="and" left=(search-word text="x y") right=(search-literal literal=net:10.0.0.0/8 text="10.0.0.0/8"))',
    );
    expect(search('? /usr/bin')).toBe('(search-word text="/usr/bin")');
  });
  test('an operator or a parenthesis behind a term makes it a predicate', () => {
    expect(search('? x==1 inaction')).toBe(
      '(search-binary op="and" left=(search-expr expr=(binary op="==" left=$x right=int64:1)) right=(search-word text="inaction"))',
    );
    expect(search('? a*b==c')).toBe(
      '(search-expr expr=(binary op="==" left=(binary op="*" left=$a right=$b) right=$c))',
    );
    expect(search('? a is(x,<int64>)')).toBe(
      '(search-binary op="and" left=(search-word text="a") right=(search-expr expr=(call callee=is args=[$x (type-value type=(type-primitive name="int64"))])))',
    );
  });
});

describe('SQL', () => {
  const body = (text: string): string => ops(text).replace(/^\(sql-op query=\(sql-query (.*)\)\)$/s, '$1');
  test('double quotes are identifiers inside, strings outside', () => {
    expect(body('select "a", \'b\'')).toBe(
      'body=(sql-select columns=[(sql-column expr=$a) (sql-column expr=string:b)])',
    );
    expect(ops('select (values "a")')).toContain('(values-op exprs=[string:a])');
    expect(ops('values "a"')).toBe('(values-op exprs=[string:a])');
  });
  test('clauses', () => {
    expect(
      body(
        'select distinct t.*, a b from p t(x) where a>1 group by 1, a having count(*)>1 order by 1 desc limit all offset 2',
      ),
    ).toBe(
      'body=(sql-select distinct=true columns=[(sql-star table=t) (sql-column expr=$a as=b)] from=(sql-table source=(source origin=(source-text text="p")) alias=(sql-alias name=t columns=[x]))' +
        ' where=(binary op=">" left=$a right=int64:1) groupBy=[int64:1 $a] having=(binary op=">" left=(agg name=count) right=int64:1)) orderBy=[(order-key expr=int64:1 order="desc")] offset=int64:2',
    );
    expect(body('from t select a')).toBe(
      'body=(sql-select columns=[(sql-column expr=$a)] from=(sql-table source=(source origin=(source-text text="t"))))',
    );
  });
  test('joins lean left', () => {
    expect(body('select a from t left outer join (select 1) u on true, v')).toBe(
      'body=(sql-select columns=[(sql-column expr=$a)] from=(sql-join style="cross" left=(sql-join style="left" left=(sql-table source=(source origin=(source-text text="t")))' +
        ' right=(sql-subquery-table query=(query ops=[(sql-op query=(sql-query body=(sql-select columns=[(sql-column expr=int64:1)])))]) alias=(sql-alias name=u)) condition=(join-on expr=bool:true))' +
        ' right=(sql-table source=(source origin=(source-text text="v")))))',
    );
  });
  test('union leans left, WITH names queries', () => {
    expect(body('with r as not materialized (select 1) select 1 union all select 2 union select 3')).toBe(
      'with=(sql-with ctes=[(sql-cte alias=(sql-alias name=r) query=(sql-query body=(sql-select columns=[(sql-column expr=int64:1)])))])' +
        ' body=(sql-union distinct=true left=(sql-union left=(sql-select columns=[(sql-column expr=int64:1)]) right=(sql-select columns=[(sql-column expr=int64:2)])) right=(sql-select columns=[(sql-column expr=int64:3)]))',
    );
  });
  test('VALUES with parentheses is SQL only as a whole operator', () => {
    expect(body('values (1,2),(3)')).toBe(
      'body=(sql-values rows=[(tuple elems=[int64:1 int64:2]) (tuple elems=[int64:3])])',
    );
    expect(ops('values (1)*2')).toBe('(values-op exprs=[(binary op="*" left=int64:1 right=int64:2)])');
    expect(ops('from x | values (select 1)')).toContain('(values-op exprs=[(subquery');
  });
});

describe('places', () => {
  const slice = (text: string, node: { readonly start: number; readonly end: number }): string =>
    Buffer.from(text).subarray(node.start, node.end).toString();
  test('count bytes', () => {
    const text = 'values "é", (a + "🌮") * b';
    const [values] = parse(text).ops;
    expect(values.kind === 'values-op' && values.exprs.map((node) => slice(text, node))).toEqual([
      '"é"',
      '(a + "🌮") * b',
    ]);
  });
  test('an operator ends with its last character', () => {
    const text = ' from p  | merge x\n | fuse ';
    const query: QueryNode = parse(text);
    expect(query.ops.map((op) => slice(text, op))).toEqual(['from p', 'merge x', 'fuse']);
  });
});
