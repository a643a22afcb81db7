/** `lake help functions`: functions and aggregates from their tables. */
import { aggregateTable } from '../exec/aggregates/aggregates.ts';
import { functionTable } from '../exec/functions/functions.ts';

interface Row { readonly name: string; readonly syntax: string; readonly text: string; readonly examples: readonly { readonly query: string; readonly input?: string; readonly output: string }[] }

/** One paragraph a row: how it is written, what it gives, examples. */
export const functionsText = (): string => [...section('Functions', functionTable), ...section('Aggregates', aggregateTable)].join('\n');

const section = (title: string, rows: readonly Row[]): readonly string[] => [
  `${title}:`, '',
  ...[...rows].sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap((row) => [
    row.syntax, `    ${row.text}`, ...row.examples.map((e) => `    ${e.query}${e.input === undefined ? '' : ` <<< ${e.input}`} => ${e.output.trimEnd().replaceAll('\n', ' ')}`), '',
  ]),
];
