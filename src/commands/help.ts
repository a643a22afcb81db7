/** `lake help functions`: functions, aggregates and window functions from their tables. */
import { aggregateTable } from '../exec/aggregates/aggregates.ts';
import { functionTable } from '../exec/functions/functions.ts';
import { windowTable } from '../exec/windows/windows.ts';

/** What functions and aggregates have in common here. */
export interface HelpRow {
  readonly name: string;
  readonly syntax: string;
  readonly text: string;
  readonly examples: readonly { readonly query: string; readonly input?: string; readonly output: string }[];
}

/** `map` takes a function, so the compiler makes it an expression of its own: it has no row in the function table. */
export const mapRow: HelpRow = {
  name: 'map',
  syntax: 'map(c, f)',
  text: 'The array or set of what a function (`&name` or a lambda) makes of each element.',
  examples: [
    { query: 'map([1,2,3],lambda x:x+1)', output: '[2,3,4]' },
    { query: 'map(["a"],&upper)', output: '["A"]' },
  ],
};
/** All functions, `map` among them. */
export const functionRows: readonly HelpRow[] = [
  ...functionTable.map((r) => ({ name: r.name, syntax: r.signature, text: r.text, examples: r.examples })),
  mapRow,
];
/** All aggregate functions; one that can do without an argument is shown with it in brackets. */
export const aggregateRows: readonly HelpRow[] = aggregateTable.map((r) => ({
  name: r.signature.name,
  syntax: r.signature.argumentsMin === 0 ? `${r.signature.name}([v])` : `${r.signature.name}(v)`,
  text: r.text,
  examples: r.examples,
}));
/** All window functions. */
export const windowRows: readonly HelpRow[] = windowTable.map((r) => ({
  name: r.signature.name,
  syntax: r.syntax,
  text: r.text,
  examples: r.examples,
}));

/** One paragraph a row: how it is written, what it gives, examples. */
export const functionsText = (): string =>
  [
    ...section('Functions', functionRows),
    ...section('Aggregates', aggregateRows),
    ...section('Window functions, in SQL before OVER (aggregates too)', windowRows),
  ].join('\n');

/** An example in one line. */
export const exampleLine = ({ query, input, output }: HelpRow['examples'][number]): string =>
  `${query}${input === undefined ? '' : ` <<< ${input.replaceAll('\n', ' ')}`} => ${output.trimEnd().replaceAll('\n', ' ')}`;

const section = (title: string, rows: readonly HelpRow[]): readonly string[] => [
  `${title}:`,
  '',
  ...[...rows]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((row) => [row.syntax, `    ${row.text}`, ...row.examples.map((e) => `    ${exampleLine(e)}`), '']),
];
