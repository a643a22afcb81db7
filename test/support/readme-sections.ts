/** The parts of README.md that the code's own tables print. */
import { readFileSync } from 'node:fs';
import { type HelpRow, aggregateRows, functionRows, windowRows } from '../../src/commands/help.ts';
import { commands } from '../../src/config/help.ts';
import { type OptionRow, environmentName } from '../../src/config/options.ts';
import { fsckOptions, loadOptions, queryOptions, keyOptions, replayOptions, serveOptions, shellOptions } from '../../src/config/tables.ts';
import { errorTable } from '../../src/errors.ts';
import { formatTable } from '../../src/formats/formats.ts';
import { operatorTable } from '../../src/query/operator-table.ts';
import { sqlTable } from '../../src/query/sql-table.ts';
import type { Need } from '../../src/http/access/access.ts';
import { metricRows } from '../../src/http/metrics.ts';
import { routes } from '../../src/http/routes/routes.ts';
import { readTotals } from '../campaign/campaign.ts';
import { totalsTable } from '../campaign/totals-table.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const code = (text: string): string => (text === '' ? '' : text.includes('|') || text.includes('`') ? `<code>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('|', '&#124;')}</code>` : `\`${text}\``);
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [`| ${head.join(' | ')} |`, `|${head.map(() => '---|').join('')}`, ...rows.map((r) => `| ${r.join(' | ')} |`)].join('\n');

interface Parameters { readonly properties?: Readonly<Record<string, unknown>> }
const parametersOf = (schema: unknown): string => Object.keys((schema as Parameters | undefined)?.properties ?? {}).map(code).join(', ');
const helpTable = (rows: readonly HelpRow[]): string =>
  table(['', ''], [...rows].sort((a, b) => (a.name < b.name ? -1 : 1)).map((r) => [code(r.syntax), cell(r.text)]));

/** Without a column for the environment where none comes from there. */
const optionsTable = (rows: readonly OptionRow[]): string => {
  const hasEnvironment = rows.some((row) => row.environment), few = (cells: readonly string[]): readonly string[] => (hasEnvironment ? cells : cells.toSpliced(1, 1));
  return table(few(['Option', 'Environment', 'Default', 'Meaning']), rows.map((row) =>
    few([code(`-${row.name}${row.value ? ` ${row.value}` : ''}`), row.environment ? code(environmentName(row.name)) : '', code(row.fallback), cell(row.text)])));
};

/** Who may ask, for people. */
const needs = {
  'open': 'anybody', 'known': 'any token; what one may read decides', 'reader': 'reader of the lake', 'writer': 'writer of the lake', 'admin': 'admin of the lake',
  'reader of pool': 'reader of the pool', 'writer of pool': 'writer of the pool', 'admin of pool': 'admin of the pool',
} as const satisfies Record<Need, string>;

export const sections: Readonly<Record<string, () => string>> = {
  'commands': () => table(['Command', 'What it does'], [...commands.map((c) => [code(`lake ${c.name}${c.usage}`), c.text]), ['`lake help`', 'lists the commands; `lake help COMMAND` tells of one, `lake help functions`, `lake help operators` and `lake help sql` of the language']]),
  'serve-options': () => optionsTable(serveOptions),
  'query-options': () => optionsTable(queryOptions),
  'load-options': () => optionsTable(loadOptions),
  'shell-options': () => optionsTable(shellOptions),
  'fsck-options': () => optionsTable(fsckOptions),
  'campaign-totals': () => totalsTable(readTotals()),
  'replay-options': () => optionsTable(replayOptions),
  'endpoints': () => table(['Method', 'Path', 'What it does', 'Query parameters', 'With access control'], routes.map((r) => [r.method, code(r.path.replaceAll(/:(\w+)/g, '{$1}')), cell(r.summary), parametersOf(r.query), needs[r.need]])),
  'client-example': () => `\`\`\`js\n${readFileSync(new URL('../demo/client.mjs', import.meta.url), 'utf8').trimEnd()}\n\`\`\``,
  'key-options': () => optionsTable(keyOptions),
  'formats': () => table(['Format', 'Media type', 'Read', 'Written'], Object.values(formatTable).filter((f) => f.mediaTypes.length > 0)
    .map((f) => [f.title, f.mediaTypes.map(code).join(', '), f.reader ? 'yes' : f.responseOnly ? 'as JSON' : 'not yet', 'yes'])),
  'metrics': () => table(['Name', 'Labels', 'What'], metricRows.map(({ name, labels = [], help }) => [code(name), labels.map(code).join(', '), cell(help)])),
  // Some errors differ in their code alone, which nobody outside sees.
  'errors': () => [...new Set(table(['Status', 'Kind', 'Text'], Object.values(errorTable).map((row) => [String(row.status), row.kind, cell(code(row.text))])).split('\n'))].join('\n'),
  'operators': () => `### Operators\n\n${table(['', ''], operatorTable.map((o) => [code(o.syntax), cell(o.text)]))}`,
  'sql': () => `### SQL\n\n${Object.entries(sqlTable).map(([title, forms]) => `${title}:\n\n${table(['', '', ''], forms.map((f) => [code(f.syntax), cell(f.text), code(f.examples[0]!.query)]))}`).join('\n\n')}`,
  'functions': () => `### Functions\n\n${helpTable(functionRows)}\n\n### Aggregates\n\n${helpTable(aggregateRows)}\n\n### Window functions\n\n${helpTable(windowRows)}`,
};
