/** The operators of the language for people: how they are written and what they do. Help texts, completion and hints come from here. */

/** One operator as help shows it. */
interface OperatorText {
  /** The word that it begins with. */
  readonly name: string;
  /** How it is written: capitals stand for what is to be filled in, brackets hold what may be left out. */
  readonly syntax: string;
  /** What it does, in a phrase without a full stop. */
  readonly text: string;
}

/** Sorted by name. Joins have a row for each word that they begin with. */
export const operatorTable: readonly OperatorText[] = [
  { name: 'aggregate', syntax: '[aggregate] [NAME :=] AGG(EXPR), ... [by KEY, ...]', text: 'computes aggregates, over all values or for each group' },
  { name: 'anti', syntax: 'anti join (QUERY) on LEFT = RIGHT', text: 'keeps the values without a match on the other side' },
  { name: 'assert', syntax: 'assert EXPR', text: 'makes an error of each value for which the expression is not true' },
  { name: 'call', syntax: 'call NAME [ARGUMENT, ...]', text: 'runs an operator that the query declares' },
  { name: 'count', syntax: 'count [RECORD]', text: 'numbers the values' },
  { name: 'cross', syntax: 'cross join (QUERY)', text: 'pairs each value with each of the other side' },
  { name: 'cut', syntax: 'cut [NAME :=] EXPR, ...', text: 'keeps only these fields' },
  { name: 'debug', syntax: 'debug [EXPR]', text: 'copies values to the channel debug' },
  { name: 'distinct', syntax: 'distinct EXPR', text: 'keeps the first value of each result of the expression' },
  { name: 'drop', syntax: 'drop FIELD, ...', text: 'removes fields' },
  { name: 'fork', syntax: 'fork (BRANCH) (BRANCH) ...', text: 'sends each value through all branches' },
  { name: 'from', syntax: 'from POOL[@BRANCH]', text: 'reads a pool, a file or a URL' },
  { name: 'fuse', syntax: 'fuse', text: 'gives all values one type that holds them all' },
  { name: 'head', syntax: 'head [N]', text: 'keeps the first values' },
  { name: 'inner', syntax: 'inner join (QUERY) on LEFT = RIGHT', text: 'pairs values that match' },
  { name: 'join', syntax: 'join (QUERY) on LEFT = RIGHT', text: 'pairs values that match' },
  { name: 'left', syntax: 'left join (QUERY) on LEFT = RIGHT', text: 'pairs values that match, and keeps those of the left without a match' },
  { name: 'limit', syntax: 'limit N', text: 'keeps the first values' },
  { name: 'load', syntax: 'load POOL[@BRANCH]', text: 'commits the values to a pool' },
  { name: 'merge', syntax: 'merge KEY [asc|desc], ...', text: 'combines sorted branches into one sorted stream' },
  { name: 'order', syntax: 'order by EXPR [asc|desc], ...', text: 'sorts the values' },
  { name: 'output', syntax: 'output NAME', text: 'sends the values to a channel' },
  { name: 'pass', syntax: 'pass', text: 'gives the values as they come' },
  { name: 'put', syntax: 'put FIELD := EXPR, ...', text: 'sets or adds fields' },
  { name: 'rename', syntax: 'rename NEW := OLD, ...', text: 'renames fields' },
  { name: 'right', syntax: 'right join (QUERY) on LEFT = RIGHT', text: 'pairs values that match, and keeps those of the right without a match' },
  { name: 'search', syntax: 'search TEXT', text: 'keeps the values in which a text or pattern occurs' },
  { name: 'select', syntax: 'select EXPR, ... from TABLE [where EXPR] [group by KEY, ...]', text: 'a query in SQL' },
  { name: 'shapes', syntax: 'shapes [FIELD]', text: 'one example value of each type' },
  { name: 'skip', syntax: 'skip N', text: 'leaves out the first values' },
  { name: 'sort', syntax: 'sort [-r] [EXPR [asc|desc], ...]', text: 'sorts the values' },
  { name: 'summarize', syntax: 'summarize AGG(EXPR), ... [by KEY, ...]', text: 'another word for aggregate' },
  { name: 'switch', syntax: 'switch [EXPR] case EXPR (BRANCH) ... [default (BRANCH)]', text: 'sends each value through the first branch that fits' },
  { name: 'tail', syntax: 'tail [N]', text: 'keeps the last values' },
  { name: 'top', syntax: 'top [N] EXPR [asc|desc], ...', text: 'the first values in sorted order' },
  { name: 'uniq', syntax: 'uniq [-c]', text: 'leaves out values equal to the one before' },
  { name: 'unnest', syntax: 'unnest EXPR [into (QUERY)]', text: 'gives the elements of an array one by one' },
  { name: 'values', syntax: 'values EXPR, ...', text: 'gives the results of expressions' },
  { name: 'where', syntax: 'where EXPR', text: 'keeps the values for which the expression is true' },
  { name: 'with', syntax: 'with NAME as (QUERY) select ...', text: 'names queries for the SQL that follows' },
];

/** Words of the grammar that are no operators by themselves. */
export const keywords: readonly string[] = [
  'all', 'and', 'as', 'asc', 'between', 'by', 'case', 'const', 'default', 'desc', 'distinct', 'else', 'end', 'except', 'exists', 'extract', 'false', 'filter', 'first', 'fn', 'full', 'group by', 'having', 'in', 'intersect',
  'into', 'is', 'lambda', 'last', 'let', 'like', 'not', 'null', 'nulls', 'offset', 'on', 'op', 'or', 'ordinality', 'outer', 'over', 'partition by', 'pragma', 'recursive', 'substring', 'then', 'true', 'type', 'union', 'using', 'when',
];

/** Words that are no alias without AS, and name no user operator. */
export const reservedWords: ReadonlySet<string> = new Set([
  'from', 'group', 'having', 'select', 'recursive', 'anti', 'inner', 'left', 'right', 'outer', 'cross', 'join', 'union', 'order', 'offset', 'limit',
  'where', 'with', 'using', 'on',
]);

/** Words that begin a statement of SQL beside SELECT; operators that a query declares go before them. */
export const statementWords: ReadonlySet<string> = new Set(['describe', 'desc', 'show', 'summarize', 'explain', 'pivot', 'unpivot']);
