/** All built-in functions. */
import type { FunctionCatalog } from '../../query/plan.ts';
import { arraySums } from './array-sums.ts';
import { arrays } from './arrays.ts';
import { bits } from './bits.ts';
import { calendar } from './calendar.ts';
import { choices } from './choices.ts';
import { coding } from './coding.ts';
import { containers } from './containers.ts';
import { dateParts } from './date-parts.ts';
import { digests } from './digests.ts';
import { distances } from './distances.ts';
import { elementary } from './elementary.ts';
import { errorFunctions } from './errors.ts';
import { integers } from './integers.ts';
import { matchFunctions } from './matches.ts';
import { jsonFunctions } from './json.ts';
import { lambdas } from './lambdas.ts';
import { likes } from './likes.ts';
import { listAggregates } from './list-aggregates.ts';
import { lists } from './lists.ts';
import { maps } from './maps.ts';
import { math } from './math.ts';
import { net } from './net.ts';
import { padding } from './padding.ts';
import { parse } from './parse.ts';
import { patterns } from './patterns.ts';
import { paths } from './paths.ts';
import { realNumbers } from './real-numbers.ts';
import { records } from './records.ts';
import { rounding } from './rounding.ts';
import type { FunctionRow } from './row.ts';
import { withSqlMeanings } from './sql-meanings.ts';
import { sqlNames } from './sql-names.ts';
import { sqlTimes } from './sql-times.ts';
import { strings } from './strings.ts';
import { structs } from './structs.ts';
import { substrings } from './substrings.ts';
import { textCodes } from './text-codes.ts';
import { textFormats } from './text-formats.ts';
import { time } from './time.ts';
import { trimming } from './trimming.ts';
import { typeFunctions } from './types.ts';
import { uuids } from './uuids.ts';

/** Sorted by name. */
export const functionTable: readonly FunctionRow[] = withSqlMeanings([
  ...strings, ...substrings, ...padding, ...trimming, ...patterns, ...matchFunctions, ...math, ...rounding, ...elementary, ...integers, ...choices,
  ...time, ...calendar, ...net, ...containers, ...arrays, ...arraySums, ...records, ...typeFunctions, ...errorFunctions, ...parse, ...coding, ...digests, ...lists, ...listAggregates, ...lambdas, ...maps, ...structs, ...dateParts, ...bits, ...likes, ...distances, ...textFormats, ...textCodes, ...paths, ...realNumbers, ...jsonFunctions, ...uuids, ...sqlTimes, ...sqlNames,
]).toSorted((a, b) => (a.name < b.name ? -1 : 1));

const byName: ReadonlyMap<string, FunctionRow> = new Map(functionTable.map((row) => [row.name, row]));
/** The row of a function by its lower-case name. */
export const functionNamed = (name: string): FunctionRow | undefined => byName.get(name);
/** What analysis knows about the functions. */
export const functionCatalog: FunctionCatalog = { find: functionNamed, names: () => byName.keys() };
