/** What the compiler refuses, with the text and the place that users see. */
import { describe, expect, test } from 'vitest';
import { LakeError } from '../../../src/errors.ts';
import { compile } from '../../../src/query/analyze.ts';
import { CompileError, compilationErrorsJson, formatCompileErrors } from '../../../src/query/parse/error.ts';
import type { CompileEnvironment } from '../../../src/query/plan/plan.ts';
import { recordType, types } from '../../../src/vectors/type.ts';
import { fileEnvironment, lakeEnvironment } from '../../support/queries/environment.ts';

const input = { kind: 'name', name: 'in' } as const;
const row = recordType([
  { name: 'id', type: types.int64 },
  { name: 'name', type: types.string },
]);
const files = fileEnvironment({
  in: undefined,
  'a.sup': row,
  'b.sup': recordType([
    { name: 'id', type: types.int64 },
    { name: 'w', type: types.string },
  ]),
});
const dynamic = fileEnvironment({ in: undefined, 'a.sup': undefined }, input);

/** Message, column (in bytes, from 1) and length of each fault; a column of 0: no place. */
const faultsOf = async (query: string, environment: CompileEnvironment): Promise<readonly string[]> => {
  try {
    await compile(query, environment);
  } catch (error) {
    if (error instanceof CompileError)
      return error.errors.map((e) => (e.start < 0 ? e.message : `${e.message} @${e.start + 1}+${e.end - e.start}`));
    throw error;
  }
  return [];
};

const refused = (environment: CompileEnvironment, table: Readonly<Record<string, readonly string[]>>): void => {
  for (const [query, faults] of Object.entries(table))
    test(query.slice(0, 100), async () => {
      expect(await faultsOf(query, environment)).toEqual(faults);
    });
};

describe('names', () => {
  refused(dynamic, {
    'values nosuch(1)': ['no such function @8+9'],
    'const x=1 values x(2)': ['"x" is not a function @18+4'],
    'values upper()': ['too few arguments @8+7'],
    'values upper("a","b")': ['too many arguments @8+14'],
    skip: ['no such user operator: "skip" @1+4'],
    'let q=(values 1) q': ['symbol "q" is not bound to an operator @18+1'],
    'const a=1 const a=2 values a': ['symbol "a" redefined @17+1'],
    'values 1::foo': [],
    'fn f(x):x values f': ['function "f" referenced but not called (consider &f to create a function value) @18+1'],
  });
});

describe('declarations', () => {
  refused(dynamic, {
    'const a=b const b=a values a': ['const "a" involved in cyclic dependency @7+1'],
    'const y=f(3) fn f(x):g(x+1) fn g(x):x+y values y': ['const "y" involved in cyclic dependency @7+1'],
    'fn f(x,y):x values f(1)': ['"f": expected 2 params but called with 1 @20+4'],
    'op o x: (values x) o': ['0 args provided when operator expects 1 arg @20+1'],
    'op o: (p) op p: (o) o': ['operator cycle found: o -> p -> o -> p -> etc... @18+1'],
    'pragma foo pass': ['unknown pragma "foo" @8+3'],
    'pragma index_base=2 pass': ['index_base must be 0 or 1 @8+10'],
    "pragma default_null_order='first' pass": [
      'default_null_order must be nulls_last, nulls_first, nulls_first_on_asc_last_on_desc, nulls_last_on_asc_first_on_desc, as text @27+7',
    ],
    'op d f: (put f:=1) d 1': ['illegal left-hand side of assignment @14+4'],
  });
  test('an operator may stand in its own argument', async () => {
    expect(
      await faultsOf('op twice F: (values F | values F) values 1 | twice (values this | twice this+1)', dynamic),
    ).toEqual([]);
  });
});

describe('assignments', () => {
  refused(dynamic, {
    'cut this': ["cannot assign to 'this' @5+4"],
    'put this:=1': ["cannot assign to 'this' @5+7"],
    'cut a:=1,a:=2': ['duplicate field: "a" @5+9'],
    'cut a.b,d,a.c': ['fields in record a must be adjacent @5+9'],
    'cut r.q.x,o,r.q.y': ['fields in record r must be adjacent @5+13'],
    'put a:=1,a:=2': ['multiple assignments to a @1+13'],
    'put a:=1,a.b:=2': ['conflicting nested assignments to a and a.b @1+15'],
    'rename x.c:=a.b': ['cannot rename x.c to a.b (differ in x vs a) @8+8'],
    'rename c:=a.b': ['left-hand side and right-hand side must have the same depth (c vs a.b) @8+6'],
    'x:=1,y:=count()': ['mix of aggregations and non-aggregations in assignment list @1+15'],
    'count(),count()': ['duplicate field: "count"'],
    'sum()': ['sum: argument required'],
  });
});

describe('structure', () => {
  refused(dynamic, {
    'head "x"': ['expected integer @6+3'],
    'head -1': ['expected positive integer @6+2'],
    'top 1.5 this': ['limit argument must be an integer @5+3'],
    'top 0': ['limit argument value must be greater than 0 @5+1'],
    'merge x': ['merge operator must follow fork or switch @1+7'],
    'join on left.a=right.a': ['join without subquery requires two pipe parents @1+22'],
    'join (values 1) as {a,a} on a=b': ['left and right join aliases cannot be the same @20+5'],
    'values sum(this)': ['call to aggregate function in non-aggregate context @8+9'],
    'cut count(), sum(this)': [
      'call to aggregate function in non-aggregate context @5+7',
      'call to aggregate function in non-aggregate context @14+9',
    ],
    'values count(), nope(1)': ['no such function @17+7'],
    'values upper(count()) | values nope(1)': ['no such function @32+7'],
    'values 1 | from a.sup': ['from operator cannot have parent unless from argument is an expression @17+5'],
    'from nofile': ['file does not exist @6+6'],
    'from a.sup (foo bar)': ['unknown argument "foo" @13+7'],
    'load p': ['load operator cannot be used without an attached database @1+6'],
    'count {...this}': ['last element in record expression for count must be an identifier @8+7'],
  });
});

describe('types that are known', () => {
  refused(files, {
    'select * from range(0, 5, 0)': ['range: step must not be 0 @27+1'],
    'select * from generate_series(1, 3, -0) t(x)': ['generate_series: step must not be 0 @37+2'],
    'values {a:8} | cut b': ['no such field "b" @20+1', 'no such field "b" @20+1'],
    'values null | values a': ['no such field "a" @22+1'],
    'values 1+"x"': ['type mismatch: int64 + string @8+5'],
    'values {x:true,y:1},{x:"a",y:1} | values x+y': ['type mismatch: bool|string + int64 @42+3'],
    'values "a"-"b"': [
      'numeric type required, encountered string @8+3',
      'numeric type required, encountered string @12+3',
    ],
    'where 1': ['boolean type required, encountered type "int64" @7+1'],
    'values 1 in "a"': [
      "scalar type mismatch for 'in' operator where right-hand side is not container type: string @8+8",
    ],
    'values "x" in {a:1}': [
      'left-hand side of in operator not compatible with any fields of record on right-hand side @8+3',
    ],
    'values 10.0.0.1 in 10.0.0.0/8': [
      'right-hand side of in operator cannot be type net; consider cidr_match() @20+10',
    ],
    'values 5[1:2]': ['sliced entity is not sliceable @8+1'],
    'values map(1,&upper)': ['map expression must be an array @8+13'],
    'fn f(a):a[1] values map([1],&f)': ['in functon called from map: indexed entity is not indexable @9+1'],
    'unnest {a:1,b:2,c:[3]}': ['unnested record must have two fields @8+15'],
    'from a.sup | values zz': ['no such field "zz" @21+2'],
    'op inc f: (values f+1) values "a" | inc this': ['type mismatch: string + int64 @19+3'],
  });
  test('what may be of a fitting type is left to the run', async () => {
    expect(await faultsOf('values {x:"foo",y:1},{x:1::int8,y:1} | values x+y', files)).toEqual([]);
    expect(
      await faultsOf(
        'fn walk(v): case kind(v) when "array" then [unnest v | walk(this)] else v+1 end values walk([1,[2]])',
        files,
      ),
    ).toEqual([]);
    expect(await faultsOf('where 1+a | values b.c[0]', dynamic)).toEqual([]);
  });
});

describe('SQL over tables of known type', () => {
  refused(files, {
    'select zz from a.sup': ['"zz" is not a column or table @8+2'],
    'select t.zz from a.sup t': ['column "zz" does not exist in table "t" @8+4'],
    'select id from a.sup a join b.sup b on a.id=b.id': ['ambiguous unqualified column "id" @8+2'],
    'select id from a.sup group by name': ['column "id" must appear in GROUP BY clause @8+2'],
    'select name from a.sup group by 5': [
      'position 5 is not in select list @33+1',
      'column "name" must appear in GROUP BY clause @8+4',
    ],
    'select count() c from a.sup group by 1': [
      'aggregate function "count" cannot appear in GROUP BY via positional reference @38+1',
    ],
    'select id from a.sup where count(*)>1': ['aggregate function "count" called in non-aggregate context @28+8'],
    'select id from a.sup having id>1': ['HAVING clause requires aggregation functions and/or a GROUP BY clause @29+4'],
    'select id from a.sup order by 3': ['column 3 is out of range @31+1'],
    'select id from a.sup union select 1,2': [
      'set operations can only be applied to sources with the same number of columns @1+37',
    ],
    'select t.* from a.sup t(a,b,c)': [
      'cannot apply 3 column aliases in table alias "t" to table with 2 columns @23+8',
    ],
    'with t as (values (1)), t as (values (2)) select 1': ['duplicate WITH clause name @25+1'],
    'select id from a.sup where exists (select 1 from b.sup b where b.id=c.id)': ['"c" is not a column or table @69+4'],
    'select id from a.sup where name in (select id, w from b.sup b where b.id=a.id)': [
      'the subquery has 2 columns where 1 is compared: select one @37+41',
    ],
    'select id from a.sup where id > all (select * from b.sup b where b.id=a.id)': [
      'the subquery has 2 columns where 1 is compared: select one @38+37',
    ],
    'select id from a.sup right join lateral (select w from b.sup b where b.id=a.id) l on true': [
      'LATERAL cannot be the right side of a RIGHT join: write JOIN LATERAL or LEFT JOIN LATERAL @33+49',
    ],
    'select id from a.sup join lateral (select w from b.sup b where b.id=a.id) l using (id)': [
      'LATERAL takes ON and no USING: write ON with the columns of both sides @77+10',
    ],
    'with t as (select 1 as x union all select x+1 from t) select x from t': [
      'recursive WITH relations not currently supported @52+1',
    ],
    'with recursive t(n) as (select n from t union all select 1) select n from t': [
      '"t" cannot refer to itself here: write with recursive t as (first union all next), where only the query behind union uses t @39+1',
    ],
    'with recursive t(k) using key (z) as (select 1 union all select k from t where k>1) table t': [
      'USING KEY: the table has no column "z" @32+1',
    ],
    'with recursive t(k) using key (max(k)) as (select 1 union all select k from t where k>1) table t': [
      'USING KEY needs a column as the key @32+6',
    ],
    'with recursive t(k,v) using key (k, max(v+1)) as (select 1,1 union all select k,v from t where k>1) table t': [
      'USING KEY: it is not clear which column this aggregate gives @37+8',
    ],
    'with recursive t(k,v) using key (k, max(v), min(v)) as (select 1,1 union all select k,v from t where k>1) table t':
      ['USING KEY: two aggregates give the column "v" @45+6'],
    'with recursive t(k,v) using key (k, max(k)) as (select 1,1 union all select k,v from t where k>1) table t': [
      'USING KEY: the column "k" cannot be both a key and an aggregate @37+6',
    ],
    'with recursive t(k) using key (k) as (select 1) table t': [
      'USING KEY goes with WITH RECURSIVE name(..) AS (first UNION [ALL] next) @32+1',
    ],
    'with t(k) as (select 1) select * from recurring.t': [
      'recurring.t stands only in the query behind union of with recursive t @39+11',
    ],
    'select * from a.sup natural join (values (1)) v(z)': [
      'NATURAL JOIN finds no column that both tables have: write CROSS JOIN, or ON with a condition @34+17',
    ],
    'select 1 as x except select 1, 2': [
      'set operations can only be applied to sources with the same number of columns @1+32',
    ],
    'select id, count(*) from a.sup group by rollup (name)': ['column "id" must appear in GROUP BY clause @8+2'],
    'values {a:1} | select a from a.sup': [
      'from operator cannot have parent unless from argument is an expression @30+5',
      'SELECT cannot have both an embedded FROM clause and input from parents @16+19',
    ],
  });
});

describe('SQL over tables of unknown type', () => {
  refused(dynamic, {
    'select *, count(*) from a.sup': ['column "*" must appear in GROUP BY clause @8+1'],
    'select * from a.sup order by 1': [
      "position 1 cannot be counted: the columns of * are not known before the query runs; write the column's name @30+1",
    ],
    'select t from a.sup t': [
      'cannot use unqualified reference "t" when table of same name is in scope (consider qualified reference) @8+1',
    ],
    'select * from a.sup t natural join a.sup u': [
      'NATURAL JOIN needs tables whose columns are known: write USING (column, ...) @36+7',
    ],
    'select * from a.sup t join a.sup u on x=1': [
      'join on dynamic column "x" requires table-qualified reference @39+1',
      'the all-columns (*) pattern cannot be used for dynamic inputs @8+1',
    ],
    'select id from a.sup t where id in (select * from a.sup u where u.id = t.id)': [
      'the columns of the subquery are not known: name the one to compare with instead of * @37+39',
    ],
    'select id from a.sup t(x)': ['cannot apply column aliases to dynamically typed data @22+4'],
    'select 1 from a.sup t1 join a.sup t2 on x=y': [
      'join on dynamic column "x" requires table-qualified reference @41+1',
      'join on dynamic column "y" requires table-qualified reference @43+1',
    ],
  });
});

describe('sources', () => {
  test('a pool that is not there is a fault at its place, with offsets for the service', async () => {
    const error: unknown = await compile('from nope', lakeEnvironment()).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(CompileError);
    const { errors } = error as CompileError;
    expect(formatCompileErrors('from nope', errors)).toBe(
      'nope: pool not found at line 1, column 6:\nfrom nope\n     ~~~~',
    );
    expect(compilationErrorsJson(errors)).toEqual([{ Msg: 'nope: pool not found', Pos: 5, End: 8 }]);
  });
  test('an error of the environment that is no fault of the text passes as it is', async () => {
    const gone = new LakeError('internal', { text: 'disk' });
    await expect(compile('from p', { ...lakeEnvironment(), resolve: () => Promise.reject(gone) })).rejects.toBe(gone);
  });
  test('a source is resolved once for all its uses', async () => {
    const asked: string[] = [];
    const environment = lakeEnvironment();
    await compile('let t = (from p) fork (from t) (from p) (from t)', {
      ...environment,
      resolve: (r) => {
        asked.push(JSON.stringify(r));
        return environment.resolve(r);
      },
    });
    expect(asked).toEqual(['{"kind":"name","name":"p"}']);
  });
  test('what follows from a source that is not there is not told', async () => {
    expect(await faultsOf('select * from nofile', files)).toEqual(['file does not exist @15+6']);
  });
});

describe('texts that would grow without bound', () => {
  const doubling = (first: string, step: (i: number) => string, last: string): string =>
    [first, ...Array.from({ length: 40 }, (_, i) => step(i)), last].join(' ');
  test('names that stand for others, and operators one after another, end before the stack does', async () => {
    const count = 20_000;
    const chain = (of: (i: number) => string) => Array.from({ length: count }, (_, i) => of(i));
    const deep = 'query nested too deeply: what its names stand for included @1+-1';
    const wide = 'query is too large: more than 2000 operators one after another, after expansion';
    const tables = chain((i) => `c${i} as (select ${i === 0 ? '1 as a' : `* from c${i - 1}`})`);
    expect(await faultsOf(`with ${tables.join(',')} select * from c${count - 1}`, files)).toEqual([deep]);
    const ops = chain((i) => `op o${i}: (${i === 0 ? 'pass' : `o${i - 1}`})`);
    expect(await faultsOf(`${ops.join(' ')} values 1 | o${count - 1}`, files)).toEqual([deep]);
    expect(await faultsOf(`values {a:1}${' | put a:=1'.repeat(2_000)}`, files)).toEqual([wide]);
    expect(await faultsOf(`values {a:1}${' | put a:=1'.repeat(1_999)}`, files)).toEqual([]);
    expect(await faultsOf(`op o: (${'pass | '.repeat(99)}pass) values 1${' | o'.repeat(21)}`, files)).toEqual([wide]);
  });
  const tooLarge = 'query is too large: more than 200000 parts after expansion';
  refused(dynamic, {
    [doubling('op o0 x: (values x)', (i) => `op o${i + 1} x: (o${i} x+x)`, 'o40 1')]: [tooLarge],
    [doubling('let l0=(values 1)', (i) => `let l${i + 1}=(values [l${i}],[l${i}])`, 'from l40')]: [tooLarge],
    [doubling(
      'with t0 as (select 1 as a)',
      (i) => `, t${i + 1} as (select * from t${i} union all select * from t${i})`,
      'select * from t40',
    )]: [tooLarge],
    [doubling('const c0="xxxxxxxx"', (i) => `const c${i + 1}=c${i}||c${i}`, 'values c40')]: [
      'constant is too large: more than 1048576 bytes',
    ],
    'fn f(g): f(lambda x: g(x)) values f(&upper)': ['function "f" is passed to itself without end'],
  });
  test('advice at a place that comes many thousand times is made up once', async () => {
    let asked = 0;
    const { aggregates } = dynamic;
    const counting: CompileEnvironment = {
      ...dynamic,
      aggregates: {
        ...aggregates,
        find: (name) => {
          asked++;
          return aggregates.find(name);
        },
      },
    };
    await expect(
      compile(
        doubling('op o0: (nope)', (i) => `op o${i + 1}: (o${i} | o${i})`, 'o40'),
        counting,
      ),
    ).rejects.toThrow(tooLarge);
    expect(asked).toBeLessThan(100);
  });
});
