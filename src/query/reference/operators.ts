/**
 * The operators of the language for people: how they are written and what they do. Help texts, completion and hints
 * come from here.
 */

/**
 * A query and what it gives, a value a line; empty where that depends on pools. Run as a test, and printed in the
 * manual.
 */
interface OperatorExample {
  readonly query: string;
  readonly output: string;
}

/** One operator as help shows it. */
interface OperatorText {
  /** The word that it begins with. */
  readonly name: string;
  /** How it is written: capitals stand for what is to be filled in, brackets hold what may be left out. */
  readonly syntax: string;
  /** What it does, in a phrase without a full stop. */
  readonly text: string;
  readonly examples: readonly OperatorExample[];
}

/** Sorted by name. Joins have a row for each word that they begin with. */
export const operatorTable: readonly OperatorText[] = (
  [
    {
      name: 'aggregate',
      syntax: '[aggregate] [NAME :=] AGG(EXPR), ... [by KEY, ...]',
      text: 'computes aggregates, over all values or for each group',
      query: 'values {k:"a",v:1},{k:"b",v:2},{k:"a",v:3} | aggregate total:=sum(v), n:=count() by k | sort k',
      output: '{k:"a",total:4,n:2}\n{k:"b",total:2,n:1}',
    },
    {
      name: 'anti',
      syntax: 'anti join (QUERY) on LEFT = RIGHT',
      text: 'keeps the values without a match on the other side',
      query: 'values {id:1},{id:2} | anti join (values {id:2}) on left.id=right.id',
      output: '{left:{id:1}}',
    },
    {
      name: 'assert',
      syntax: 'assert EXPR',
      text: 'makes an error of each value for which the expression is not true',
      query: 'values {a:1},{a:-1} | assert a > 0',
      output: '{a:1}\nerror({message:"assertion failed",expr:"a > 0",on:{a:-1}})',
    },
    {
      name: 'call',
      syntax: 'call NAME [ARGUMENT, ...]',
      text: 'runs an operator that the query declares',
      query: 'op double_it: ( values this*2 ) values 1,2 | call double_it',
      output: '2\n4',
    },
    {
      name: 'count',
      syntax: 'count [RECORD]',
      text: 'numbers the values',
      query: 'values "x","y" | count',
      output: '{that:"x",count:1}\n{that:"y",count:2}',
    },
    {
      name: 'cross',
      syntax: 'cross join (QUERY)',
      text: 'pairs each value with each of the other side',
      query: 'values 1,2 | cross join (values "a") | values {l:left,r:right}',
      output: '{l:1,r:"a"}\n{l:2,r:"a"}',
    },
    {
      name: 'cut',
      syntax: 'cut [NAME :=] EXPR, ...',
      text: 'keeps only these fields',
      query: 'values {a:1,b:2,c:3} | cut c, d:=a+b',
      output: '{c:3,d:3}',
    },
    {
      name: 'debug',
      syntax: 'debug [EXPR]',
      text: 'copies values to the channel debug',
      query: 'values 1,2 | debug | values this+1',
      output: '2\n3',
    },
    {
      name: 'distinct',
      syntax: 'distinct EXPR',
      text: 'keeps the first value of each result of the expression',
      query: 'values {k:1,v:"a"},{k:1,v:"b"},{k:2,v:"c"} | distinct k',
      output: '{k:1,v:"a"}\n{k:2,v:"c"}',
    },
    {
      name: 'drop',
      syntax: 'drop FIELD, ...',
      text: 'removes fields',
      query: 'values {a:1,b:2} | drop b',
      output: '{a:1}',
    },
    {
      name: 'fork',
      syntax: 'fork (BRANCH) (BRANCH) ...',
      text: 'sends each value through all branches',
      query: 'values 1,2 | fork ( values this+10 ) ( values this+20 ) | sort this',
      output: '11\n12\n21\n22',
    },
    {
      name: 'from',
      syntax: 'from POOL[@BRANCH] [(asof TIME)]',
      text: 'reads a pool, a file or a URL',
      query: 'from movies@trial | head 1',
      output: '',
    },
    {
      name: 'fuse',
      syntax: 'fuse',
      text: 'gives all values one type that holds them all',
      query: 'values {a:1},{b:"x"} | fuse',
      output: '{a?:1,b?:_::string}\n{a?:_::int64,b?:"x"}',
    },
    {
      name: 'head',
      syntax: 'head [N]',
      text: 'keeps the first values',
      query: 'values 1,2,3 | head 2',
      output: '1\n2',
    },
    {
      name: 'inner',
      syntax: 'inner join (QUERY) on LEFT = RIGHT',
      text: 'pairs values that match',
      query:
        'values {id:1,a:"x"},{id:2,a:"y"} | inner join (values {id:2,b:"z"}) on left.id=right.id | values {...left,...right}',
      output: '{id:2,a:"y",b:"z"}',
    },
    {
      name: 'join',
      syntax: 'join (QUERY) on LEFT = RIGHT',
      text: 'pairs values that match',
      query: 'values {id:1,a:"x"},{id:2,a:"y"} | join (values {id:2,b:"z"}) on left.id=right.id',
      output: '{left:{id:2,a:"y"},right:{id:2,b:"z"}}',
    },
    {
      name: 'left',
      syntax: 'left join (QUERY) on LEFT = RIGHT',
      text: 'pairs values that match, and keeps those of the left without a match',
      query: 'values {id:1},{id:2} | left join (values {id:2,b:"z"}) on left.id=right.id | sort left.id',
      output: '{left:{id:1}}\n{left:{id:2},right:{id:2,b:"z"}}',
    },
    { name: 'limit', syntax: 'limit N', text: 'keeps the first values', query: 'values 1,2,3 | limit 1', output: '1' },
    {
      name: 'load',
      syntax: 'load POOL[@BRANCH]',
      text: 'commits the values to a pool',
      query: 'from draft | load movies',
      output: '',
    },
    {
      name: 'merge',
      syntax: 'merge KEY [asc|desc], ...',
      text: 'combines sorted branches into one sorted stream',
      query: 'fork ( values 1,3 ) ( values 2,4 ) | merge this',
      output: '1\n2\n3\n4',
    },
    {
      name: 'order',
      syntax: 'order by EXPR [asc|desc], ...',
      text: 'sorts the values',
      query: 'values {a:2},{a:1} | order by a desc',
      output: '{a:2}\n{a:1}',
    },
    {
      name: 'output',
      syntax: 'output NAME',
      text: 'sends the values to a channel',
      query: 'values 1,2 | output results',
      output: '',
    },
    {
      name: 'pass',
      syntax: 'pass',
      text: 'gives the values as they come',
      query: 'values 1,2 | fork ( pass ) ( count() ) | sort this',
      output: '1\n2\n2',
    },
    {
      name: 'put',
      syntax: 'put FIELD := EXPR, ...',
      text: 'sets or adds fields',
      query: 'values {a:1} | put b := a+1, a := 0',
      output: '{a:0,b:2}',
    },
    {
      name: 'rename',
      syntax: 'rename NEW := OLD, ...',
      text: 'renames fields',
      query: 'values {a:1,b:2} | rename c := a',
      output: '{c:1,b:2}',
    },
    {
      name: 'right',
      syntax: 'right join (QUERY) on LEFT = RIGHT',
      text: 'pairs values that match, and keeps those of the right without a match',
      query: 'values {id:1} | right join (values {id:1,b:"y"},{id:2,b:"z"}) on left.id=right.id | sort right.id',
      output: '{left:{id:1},right:{id:1,b:"y"}}\n{right:{id:2,b:"z"}}',
    },
    {
      name: 'search',
      syntax: 'search TEXT',
      text: 'keeps the values in which a text or pattern occurs',
      query: 'values {a:"the lake"},{a:"a pond"} | search "lake"',
      output: '{a:"the lake"}',
    },
    {
      name: 'select',
      syntax: 'select EXPR, ... from TABLE [where EXPR] [group by KEY, ...]',
      text: 'a query in SQL',
      query: "select k, count(*) as n from (values ('a'),('b'),('a')) t(k) group by k order by k",
      output: '{k:"a",n:2}\n{k:"b",n:1}',
    },
    {
      name: 'shapes',
      syntax: 'shapes [EXPR]',
      text: 'one example value of each type',
      query: 'values 1,2,"a",{x:1},{x:2} | shapes',
      output: '1\n"a"\n{x:1}',
    },
    {
      name: 'skip',
      syntax: 'skip N',
      text: 'leaves out the first values',
      query: 'values 1,2,3 | skip 2',
      output: '3',
    },
    {
      name: 'sort',
      syntax: 'sort [-r] [EXPR [asc|desc], ...]',
      text: 'sorts the values',
      query: 'values {a:2},{a:1},{a:null} | sort -r a',
      output: '{a:2}\n{a:1}\n{a:null}',
    },
    {
      name: 'summarize',
      syntax: 'summarize AGG(EXPR), ... [by KEY, ...]',
      text: 'another word for aggregate',
      query: 'values 1,2,3 | summarize avg(this)',
      output: '2.',
    },
    {
      name: 'switch',
      syntax: 'switch [EXPR] case EXPR (BRANCH) ... [default (BRANCH)]',
      text: 'sends each value through the first branch that fits',
      query:
        'values 1,"a",2 | switch is(this,<int64>) case true ( values this*10 ) default ( values upper(this) ) | sort this',
      output: '10\n20\n"A"',
    },
    { name: 'tail', syntax: 'tail [N]', text: 'keeps the last values', query: 'values 1,2,3 | tail 2', output: '2\n3' },
    {
      name: 'top',
      syntax: 'top [N] EXPR [asc|desc], ...',
      text: 'the first values in sorted order',
      query: 'values 3,1,2 | top 2 this desc',
      output: '3\n2',
    },
    {
      name: 'uniq',
      syntax: 'uniq [-c]',
      text: 'leaves out values equal to the one before',
      query: 'values 1,1,2,1 | uniq -c',
      output: '{value:1,count:2}\n{value:2,count:1}\n{value:1,count:1}',
    },
    {
      name: 'unnest',
      syntax: 'unnest EXPR [into (QUERY)]',
      text: 'gives the elements of an array one by one',
      query: 'values {k:"a",l:[1,2]},{k:"b",l:[3]} | unnest {k,e:l}',
      output: '{k:"a",e:1}\n{k:"a",e:2}\n{k:"b",e:3}',
    },
    {
      name: 'values',
      syntax: 'values EXPR, ...',
      text: 'gives the results of expressions',
      query: 'values {a:1,b:2} | values a, b, a+b',
      output: '1\n2\n3',
    },
    {
      name: 'where',
      syntax: 'where EXPR',
      text: 'keeps the values for which the expression is true',
      query: 'values {a:1},{a:2} | where a > 1',
      output: '{a:2}',
    },
    {
      name: 'with',
      syntax: 'with NAME as (QUERY) select ...',
      text: 'names queries for the SQL that follows',
      query: 'with t as (select 1 as a union all select 2) select sum(a) as s from t',
      output: '{s:3}',
    },
  ] as const
).map(({ query, output, ...row }) => ({ ...row, examples: [{ query, output }] }));

/** Words of the grammar that are no operators by themselves. */
export const keywords: readonly string[] = [
  'all',
  'and',
  'as',
  'asc',
  'between',
  'by',
  'case',
  'const',
  'default',
  'desc',
  'distinct',
  'else',
  'end',
  'except',
  'exists',
  'extract',
  'false',
  'filter',
  'first',
  'fn',
  'full',
  'group by',
  'having',
  'in',
  'intersect',
  'into',
  'is',
  'lambda',
  'last',
  'let',
  'like',
  'not',
  'null',
  'nulls',
  'offset',
  'on',
  'op',
  'or',
  'ordinality',
  'outer',
  'over',
  'partition by',
  'pragma',
  'recursive',
  'substring',
  'then',
  'true',
  'type',
  'union',
  'using',
  'when',
];

/** Words that are no alias without AS, and name no user operator. */
export const reservedWords: ReadonlySet<string> = new Set([
  'from',
  'group',
  'having',
  'select',
  'recursive',
  'anti',
  'inner',
  'left',
  'right',
  'outer',
  'cross',
  'join',
  'union',
  'order',
  'offset',
  'limit',
  'where',
  'with',
  'using',
  'on',
]);

/** Words that begin a statement of SQL beside SELECT; operators that a query declares go before them. */
export const statementWords: ReadonlySet<string> = new Set([
  'describe',
  'desc',
  'show',
  'summarize',
  'explain',
  'pivot',
  'unpivot',
]);
