/** How queries are lowered: plans as text, without rules. */
import { describe, expect, test } from 'vitest';
import { compile, compileFilter } from '../../../src/query/analyze.ts';
import { CompileError } from '../../../src/query/parse/error.ts';
import type { CompileEnvironment } from '../../../src/query/plan/plan.ts';
import { exprText, planText } from '../../../src/query/plan/text.ts';
import { fileEnvironment, lakeEnvironment } from '../../support/queries/environment.ts';

const planned = async (
  query: string,
  environment: CompileEnvironment = lakeEnvironment(),
): Promise<readonly string[]> =>
  planText(await compile(query, environment, { rulesOff: 'all' }))
    .trimEnd()
    .split('\n');

const lowered = (table: Readonly<Record<string, readonly string[]>>): void => {
  for (const [query, plan] of Object.entries(table))
    test(query, async () => {
      expect(await planned(query)).toEqual(plan);
    });
};

describe('implied operators', () => {
  lowered({
    'from p | a>1': ['scan p', 'filter a>1'],
    'from p | has(a)': ['scan p', 'filter has(a)'],
    'from p | a+1': ['scan p', 'values a+1'],
    'from p | x:=a': ['scan p', 'put x:=a'],
    'from p | ? foo* or 10.0.0.1': ['scan p', 'filter search(this,/^foo.*$/) or search(this,10.0.0.1)'],
  });
});

describe('sources', () => {
  test('a text without source reads one null', async () => {
    expect(await planned('values 1')).toEqual(['null', 'values 1']);
  });
  test('a text without source reads the default source if there is one', async () => {
    expect(await planned('where a=1', lakeEnvironment({ kind: 'name', name: 'p' }))).toEqual(['scan p', 'filter a==1']);
    expect(await planned('', lakeEnvironment({ kind: 'name', name: 'p' }))).toEqual(['scan p', 'pass']);
    expect(await planned('from q', lakeEnvironment({ kind: 'name', name: 'nope' }))).toEqual(['scan q']);
  });
  lowered({
    'const x="p" from x': ['scan p'],
    'from :pools': ['scan pools'],
    'let t = (from p | head 1) from t | head 2': ['scan p', 'head 1', 'head 2'],
    'op read s: (from s) read p': ['scan p'],
    'load p': ['null', 'load p'],
  });
  test('an expression over the input is opened row by row', async () => {
    expect(await planned('values "x" | from f"{this}.sup"', fileEnvironment())).toEqual([
      'null',
      'values "x"',
      'fromEach f"{this}.sup"',
    ]);
  });
});

describe('aggregates', () => {
  lowered({
    'from p | sum(a)': ['scan p', 'aggregate sum:=sum(a)', 'values sum'],
    'from p | s:=sum(a)': ['scan p', 'aggregate s:=sum(a)'],
    'from p | by a.b': ['scan p', 'aggregate by b:=a.b', 'values b'],
    'from p | Count() by x:=a': ['scan p', 'aggregate Count:=count() by x:=a'],
    'from p | sum(distinct a) filter (b), count() with -limit 5': [
      'scan p',
      'aggregate sum:=sum(distinct a) filter (b), count:=count()',
    ],
  });
});

describe('subqueries', () => {
  lowered({
    'from p | values (from q | count())': ['scan p', 'values scalar(scan q | aggregate count:=count() | values count)'],
    'from p | values [unnest a]': ['scan p', 'values collected of row(unnest a)'],
    'from p | values (values 1,2)': ['scan p', 'values scalar(null | values 1, 2)'],
    'from p | where a in (from q)': ['scan p', 'filter a in array(scan q)'],
    'let t = (from q) from p | values t, [t]': ['scan p', 'values scalar(scan q), collected(scan q)'],
  });
});

describe('functions and operators', () => {
  lowered({
    'fn f(n): n<1 ? 0 : f(n-1) from p | values f(a)': ['fn #0 f(n): (n<1) ? 0 : #0(n-1)', 'scan p', 'values #0(a)'],
    'fn t(f,x): f(f(x)) from p | values t(lambda y:y+1, a)': [
      'fn #1 lambda(y): y+1',
      'fn #0 t(x): #1(#1(x))',
      'scan p',
      'values #0(a)',
    ],
    'from p | values map(a, &upper)': ['scan p', 'values map(a,value:upper(value))'],
    'op add n: (x:=x+n) from p | add b | add 2': ['scan p', 'put x:=x+b', 'put x:=x+2'],
    'const two=1+1 from p | head two': ['scan p', 'head 2'],
  });
});

describe('joins', () => {
  lowered({
    'from p | join (from q) on left.a=right.b and left.c<right.d': [
      'scan p',
      'inner join as {left,right} on a=b if left.c<right.d',
      '  right',
      '    scan q',
    ],
    'from p | left join (from q) as {l,r} on upper(r.x)=l.y': [
      'scan p',
      'left join as {l,r} on y=upper(x)',
      '  right',
      '    scan q',
    ],
    'from p | join (from q) using (k)': ['scan p', 'inner join as {left,right} on k=k', '  right', '    scan q'],
    'from p | cross join (values 1)': ['scan p', 'cross join as {left,right}', '  right', '    null', '    values 1'],
  });
});

describe('SQL', () => {
  lowered({
    'select a, b as c from p where d=1 order by c, e desc limit 2 offset 1': [
      'scan p',
      'filter d==1',
      'sort b, e desc',
      'skip 1',
      'head 2',
      'values {a:a,c:b}',
    ],
    'select a, sum(b)+1 as s from p group by a having count()>1 order by s': [
      'scan p',
      'aggregate a0:=sum(b), a1:=count() by k0:=a',
      'filter a1>1',
      'sort a0+1',
      'values {a:k0,s:a0+1}',
    ],
    'select distinct a from p order by a desc': ['scan p', 'values {a:a}', 'distinct this', 'sort a desc'],
    'select 1 x union all select 2 y': [
      'combine',
      '  branch',
      '    null',
      '    values {x:1}',
      '  branch',
      '    null',
      '    values {y:2}',
      '    values {x:y}',
    ],
    'with t(x) as (values (1)) select x from t': ['null', 'values {c0:1}', 'values {x:c0}', 'values {x:x}'],
    'select * from (select 1 as a) t join (select 1 as a, 2 as b) u using (a)': [
      'null',
      'values {a:1}',
      'inner loose join as {left,right} on a=a',
      '  right',
      '    null',
      '    values {a:1,b:2}',
      'values {a:left.a,b:right.b}',
    ],
    'values {a:1} | select a, a': ['null', 'values {a:1}', 'values {a:a,a_1:a}'],
    'from p | select this, upper(s)': ['scan p', 'values {that:this,upper:upper(s)}'],
  });
});

describe('delete-where', () => {
  const text = async (query: string): Promise<string> => exprText((await compileFilter(query, lakeEnvironment())).expr);
  test('the keyword where may be left out', async () => {
    expect(await text('where a=1 and b>2')).toBe('(a==1) and (b>2)');
    expect(await text('a=1')).toBe('a==1');
  });
  test('constants may be declared', async () => {
    expect(await text('const n=3 where a>n')).toBe('a>3');
  });
  for (const query of ['values 1', 'where a=1 | head 1', 'from p | where a=1', 'pass', '']) {
    test(`${query || 'the empty text'} is refused`, async () => {
      const error: unknown = await compileFilter(query, lakeEnvironment()).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(CompileError);
      expect((error as CompileError).errors).toEqual([
        expect.objectContaining({
          message: 'invalid delete where query: must be a single filter operation',
          about: 'not-one-filter',
        }),
      ]);
    });
  }
});
