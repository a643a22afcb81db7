/** Hints of the analysis: what a name that is not known may have been meant to be. */
import type { CompileEnvironment } from '../plan/plan.ts';
import { operatorTable } from '../reference/operators.ts';
import type { CompileFault } from '../parse/error.ts';
import type { Scope } from './scope.ts';
import { didYouMean, foreignColumns, foreignFunctions, foreignOperators, foreignWord, oneOf } from './suggest.ts';
import { alternatives } from '../types/of.ts';
import { type Type, types } from '../../vectors/type.ts';

/** For a call of a function that is not there. */
export const functionHint = (
  name: string,
  scope: Scope,
  { functions, aggregates, windows }: CompileEnvironment,
): string | undefined => {
  if (windows.find(name.toLowerCase()))
    return `window functions stand in SQL with OVER: write select ${name}(...) over (...)`;
  if (functions.find(name.toLowerCase()) ?? aggregates.find(name.toLowerCase())?.sqlOnly)
    return `${name}(...) stands in SQL alone: write select ${name}(...)`;
  const known = [
    ...(functions.names?.() ?? []),
    ...(aggregates.names?.() ?? []),
    'map',
    ...scope.names((symbol) => symbol.kind === 'function'),
  ];
  const lower = name.toLowerCase();
  return foreignWord(name, foreignFunctions) ?? didYouMean(name, known) ?? operatorForm(lower);
};

/** For a name before OVER that is neither a window function nor an aggregate. */
export const windowFunctionHint = (
  name: string,
  { functions, aggregates, windows }: CompileEnvironment,
): string | undefined => {
  if (functions.find(name)) return `${name}(...) looks at one row alone: write it without OVER`;
  return (
    foreignWord(name, foreignFunctions) ??
    didYouMean(name, [...(windows.names?.() ?? []), ...(aggregates.names?.() ?? [])])
  );
};

/** For a word that stands where an operator does. */
export const operatorHint = (name: string, scope: Scope, environment: CompileEnvironment): string | undefined => {
  const lower = name.toLowerCase();
  const operator = operatorForm(lower);
  if (operator) return operator;
  const foreign = foreignWord(name, foreignOperators);
  if (foreign) return foreign;
  if (environment.aggregates.find(lower) || environment.functions.find(lower)) return `write ${name}(...)`;
  return didYouMean(name, [...operatorTable.map((o) => o.name), ...scope.names((symbol) => symbol.kind === 'op')]);
};
const operatorForm = (name: string): string | undefined => {
  const operator = operatorTable.find((o) => o.name === name);
  return operator && `write ${operator.syntax}`;
};

/** For a field that a value of this type does not have. */
export const fieldHint = (of: Type, name: string): string | undefined => {
  const fields = alternatives(of).flatMap((m) => (m.kind === 'record' ? m.fields.map((f) => f.name) : []));
  return didYouMean(name, fields) ?? oneOf('fields', [...new Set(fields)]);
};

/** For a name that is no column: columns and tables that are in scope. */
export const columnHint = (
  name: string,
  tables: readonly { readonly name?: string; readonly columns?: readonly string[] }[],
): string | undefined => {
  const columns = [...new Set(tables.flatMap((t) => t.columns ?? []))];
  const names = tables.flatMap((t) => (t.name === undefined ? [] : [t.name]));
  return foreignWord(name, foreignColumns) ?? didYouMean(name, [...columns, ...names]) ?? oneOf('columns', columns);
};

/** For `column:field`, which is an alias before an expression: a field is meant. */
export const pathHint = (column: string, field: string): string =>
  `a field of JSON is ${column} ->> '$.${field}', one of a record ${column}.${field}`;
/** The faults from a place on, with this hint. */
export const hintAll = (faults: CompileFault[], start: number, hint: string): void => {
  faults.push(...faults.splice(start).map((f) => ({ ...f, hint })));
};

/** For what stands before a dot and is neither a column nor a table. */
export const tableHint = (name: string, tables: Parameters<typeof columnHint>[1]): string | undefined => {
  const names = tables.flatMap((t) => (t.name === undefined ? [] : [t.name]));
  const columns = [...new Set(tables.flatMap((t) => t.columns ?? []))];
  const shown = [oneOf('tables', names), oneOf('columns', columns)].filter((text) => text !== undefined);
  return didYouMean(name, [...names, ...columns]) ?? (shown.length > 0 ? shown.join('; ') : undefined);
};

/** For a source that is not there, and is a catalog of other databases or their table of one row. */
export const catalogHint = (name: string): string | undefined =>
  /^(?:sys\.)?dual$/i.test(name)
    ? 'leave FROM out: select 1'
    : isCatalog(name)
      ? 'show tables lists the pools, describe POOL their columns'
      : undefined;
const isCatalog = (name: string): boolean =>
  /^(?:information_schema|pg_catalog|sys|system)\.|^(?:sqlite_(?:master|schema)|pg_tables|duckdb_(?:tables|columns)|databases|schemas)$/i.test(
    name,
  );

/** For the name of a type. */
export const typeHint = (name: string): string | undefined => didYouMean(name, Object.keys(types));

/** For the key of a source's argument, or another word of which there are few. */
export const wordHint = (what: string, name: string, words: Iterable<string>): string | undefined =>
  didYouMean(name, words) ?? oneOf(what, [...words]);
