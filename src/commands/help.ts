/** `lake help functions`: functions and aggregates from their tables. */
import { aggregateTable } from '../exec/aggregates/aggregates.ts';
import { functionTable } from '../exec/functions/functions.ts';

/** What functions and aggregates have in common here. */
export interface HelpRow { readonly name: string; readonly syntax: string; readonly text: string; readonly examples: readonly { readonly query: string; readonly input?: string; readonly output: string }[] }

export const functionRows: readonly HelpRow[] = functionTable.map((r) => ({ name: r.name, syntax: r.signature, text: r.text, examples: r.examples }));
export const aggregateRows: readonly HelpRow[] = aggregateTable.map((r) => ({
  name: r.signature.name, syntax: r.signature.argumentsMin === 0 ? `${r.signature.name}([v])` : `${r.signature.name}(v)`, text: r.text, examples: r.examples,
}));

/** One paragraph a row: how it is written, what it gives, examples. */
export const functionsText = (): string => [...section('Functions', functionRows), ...section('Aggregates', aggregateRows)].join('\n');

const section = (title: string, rows: readonly HelpRow[]): readonly string[] => [
  `${title}:`, '',
  ...[...rows].sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap((row) => [
    row.syntax, `    ${row.text}`, ...row.examples.map((e) => `    ${e.query}${e.input === undefined ? '' : ` <<< ${e.input.replaceAll('\n', ' ')}`} => ${e.output.trimEnd().replaceAll('\n', ' ')}`), '',
  ]),
];
