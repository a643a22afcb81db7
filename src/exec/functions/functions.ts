/** All built-in functions. */
import type { FunctionCatalog } from '../../query/plan/plan.ts';
import { arraySums } from './lists/array-sums.ts';
import { arrays } from './lists/arrays.ts';
import { bits } from './numbers/bits.ts';
import { calendar } from './times/calendar.ts';
import { choices } from './choices.ts';
import { coding } from './texts/coding.ts';
import { containers } from './lists/containers.ts';
import { dateParts } from './times/date-parts.ts';
import { digests } from './texts/digests.ts';
import { distances } from './texts/distances.ts';
import { elementary } from './numbers/elementary.ts';
import { errorFunctions } from './errors.ts';
import { integers } from './numbers/integers.ts';
import { matchFunctions } from './texts/matches.ts';
import { jsonChanges } from './texts/json-changes.ts';
import { jsonShapes } from './texts/json-shapes.ts';
import { jsonTables } from './texts/json-tables.ts';
import { jsonFunctions } from './texts/json.ts';
import { lambdas } from './lists/lambdas.ts';
import { likes } from './texts/likes.ts';
import { listAggregates } from './lists/list-aggregates.ts';
import { states } from './lists/states.ts';
import { lists } from './lists/lists.ts';
import { maps } from './lists/maps.ts';
import { math } from './numbers/math.ts';
import { net } from './texts/net.ts';
import { padding } from './texts/padding.ts';
import { parse } from './texts/parse.ts';
import { patterns } from './texts/patterns.ts';
import { paths } from './texts/paths.ts';
import { realNumbers } from './numbers/real-numbers.ts';
import { bins } from './numbers/bins.ts';
import { records } from './lists/records.ts';
import { rounding } from './numbers/rounding.ts';
import type { FunctionRow } from './row.ts';
import { withSqlMeanings } from './sql-meanings.ts';
import { sqlNames } from './sql-names.ts';
import { spans } from './times/spans.ts';
import { sqlCalendar } from './times/sql-calendar.ts';
import { sqlTimes } from './times/sql-times.ts';
import { strings } from './texts/strings.ts';
import { structs } from './lists/structs.ts';
import { substrings } from './texts/substrings.ts';
import { textCodes } from './texts/text-codes.ts';
import { textFormats } from './texts/text-formats.ts';
import { zoned } from './times/zones.ts';
import { time } from './times/time.ts';
import { trimming } from './texts/trimming.ts';
import { typeFunctions } from './types.ts';
import { uuids } from './texts/uuids.ts';

/** Sorted by name. */
export const functionTable: readonly FunctionRow[] = withSqlMeanings([
  ...strings,
  ...substrings,
  ...padding,
  ...trimming,
  ...patterns,
  ...matchFunctions,
  ...math,
  ...rounding,
  ...elementary,
  ...integers,
  ...choices,
  ...time,
  ...calendar,
  ...net,
  ...containers,
  ...arrays,
  ...arraySums,
  ...records,
  ...typeFunctions,
  ...errorFunctions,
  ...parse,
  ...coding,
  ...digests,
  ...lists,
  ...listAggregates,
  ...states,
  ...lambdas,
  ...maps,
  ...structs,
  ...dateParts,
  ...bits,
  ...likes,
  ...distances,
  ...textFormats,
  ...textCodes,
  ...paths,
  ...realNumbers,
  ...bins,
  ...jsonFunctions,
  ...jsonChanges,
  ...jsonShapes,
  ...jsonTables,
  ...uuids,
  ...spans,
  ...sqlTimes,
  ...sqlCalendar,
  ...zoned,
  ...sqlNames,
]).toSorted((a, b) => (a.name < b.name ? -1 : 1));

const byName: ReadonlyMap<string, FunctionRow> = new Map(functionTable.map((row) => [row.name, row]));
/** The row of a function by its lower-case name. */
export const functionNamed = (name: string): FunctionRow | undefined => byName.get(name);
/** What analysis knows about the functions. */
export const functionCatalog: FunctionCatalog = { find: functionNamed, names: () => byName.keys() };
