/** All built-in functions. */
import type { FunctionCatalog } from '../../query/plan.ts';
import { coding } from './coding.ts';
import { containers } from './containers.ts';
import { errorFunctions } from './errors.ts';
import { math } from './math.ts';
import { net } from './net.ts';
import { parse } from './parse.ts';
import { patterns } from './patterns.ts';
import { records } from './records.ts';
import type { FunctionRow } from './row.ts';
import { strings } from './strings.ts';
import { time } from './time.ts';
import { typeFunctions } from './types.ts';

/** Sorted by name. */
export const functionTable: readonly FunctionRow[] = [
  ...strings, ...patterns, ...math, ...time, ...net, ...containers, ...records, ...typeFunctions, ...errorFunctions, ...parse, ...coding,
].sort((a, b) => (a.name < b.name ? -1 : 1));

const byName: ReadonlyMap<string, FunctionRow> = new Map(functionTable.map((row) => [row.name, row]));
/** The row of a function by its lower-case name. */
export const functionNamed = (name: string): FunctionRow | undefined => byName.get(name);
/** What analysis knows about the functions. */
export const functionCatalog: FunctionCatalog = { find: functionNamed, names: () => byName.keys() };
