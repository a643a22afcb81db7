/** The parts of README.md and of the manual's pages that the code's own tables print. */
import { readFileSync } from 'node:fs';
import { type HelpRow, aggregateRows, functionRows, windowRows } from '../../../src/commands/help.ts';
import { commands } from '../../../src/config/help.ts';
import { type OptionRow, environmentName } from '../../../src/config/options.ts';
import {
  cloneOptions,
  fsckOptions,
  importOptions,
  loadOptions,
  queryOptions,
  keyOptions,
  replayOptions,
  serveOptions,
  shellOptions,
} from '../../../src/config/tables.ts';
import { errorTable } from '../../../src/errors.ts';
import { formatTable } from '../../../src/formats/formats.ts';
import { operatorTable } from '../../../src/query/reference/operators.ts';
import { sqlTable } from '../../../src/query/reference/sql.ts';
import type { Need } from '../../../src/http/access/access.ts';
import { metricRows } from '../../../src/http/metrics.ts';
import { routes } from '../../../src/http/routes/routes.ts';
import { besideDuckdb } from '../beside-duckdb.ts';
import { readTotals } from '../../campaign/campaign.ts';
import { engineRows, type ReadPlace } from '../../../visualize/console/pool/engines.ts';
import { totalsTable } from '../../campaign/totals-table.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const code = (text: string): string =>
  text === ''
    ? ''
    : text.includes('|') || text.includes('`')
      ? `<code>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('|', '&#124;')}</code>`
      : `\`${text}\``;
/** Rows of DuckDB: a value alone as it is. */
const shownRows = (json: string): string => {
  const rows = JSON.parse(json) as readonly (readonly unknown[])[];
  return JSON.stringify(rows.length === 1 && rows[0].length === 1 ? rows[0][0] : rows);
};
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [`| ${head.join(' | ')} |`, `|${head.map(() => '---|').join('')}`, ...rows.map((r) => `| ${r.join(' | ')} |`)].join(
    '\n',
  );

interface Parameters {
  readonly properties?: Readonly<Record<string, unknown>>;
}
const parametersOf = (schema: unknown): string =>
  Object.keys((schema as Parameters | undefined)?.properties ?? {})
    .map(code)
    .join(', ');
/** What is written, what it gives, and examples: a line each, query and answer. */
const helpTable = (rows: readonly HelpRow[]): string =>
  table(
    ['Syntax', 'Meaning', 'Examples'],
    rows.map((r) => [code(r.syntax), cell(r.text), r.examples.map(exampleOf).join('<br>')]),
  );
const byName = (rows: readonly HelpRow[]): readonly HelpRow[] => [...rows].sort((a, b) => (a.name < b.name ? -1 : 1));
const exampleOf = ({ query, input, output }: HelpRow['examples'][number]): string =>
  [
    code(line(query)),
    ...(input === undefined ? [] : [`of ${code(line(input))}`]),
    ...(output === '' ? [] : [`→ ${code(line(output))}`]),
  ].join(' ');
const line = (text: string): string => text.trim().replaceAll(/\s*\n\s*/g, ' ');

/** Without a column for the environment where none comes from there. */
const optionsTable = (rows: readonly OptionRow[]): string => {
  const hasEnvironment = rows.some((row) => row.environment);
  const few = (cells: readonly string[]): readonly string[] => (hasEnvironment ? cells : cells.toSpliced(1, 1));
  return table(
    few(['Option', 'Environment', 'Default', 'Meaning']),
    rows.map((row) =>
      few([
        code(`-${row.name}${row.value ? ` ${row.value}` : ''}`),
        row.environment ? code(environmentName(row.name)) : '',
        code(row.fallback),
        cell(row.text),
      ]),
    ),
  );
};

/** Who may ask, for people. */
const needs = {
  open: 'anybody',
  known: 'any token; what one may read decides',
  reader: 'reader of the lake',
  writer: 'writer of the lake',
  admin: 'admin of the lake',
  'reader of pool': 'reader of the pool',
  'writer of pool': 'writer of the pool',
  'admin of pool': 'admin of the pool',
} as const satisfies Record<Need, string>;

/** The lines of an engine, for `main` and where they differ for a branch; what comes before is not said twice. */
const engineLines = (): string => {
  const main: ReadPlace = { base: 'http://localhost:9867', table: 'events', key: 'KEY' };
  const dev: ReadPlace = { ...main, at: { kind: 'branch', name: 'dev' } };
  return engineRows
    .map(({ name, note, steps }) => {
      const onBranch = steps(dev);
      const blocks = steps(main).map(({ title, language, text }, i) => {
        const known = new Set(text.split('\n'));
        const others = onBranch[i]?.text.split('\n').filter((own) => !known.has(own)) ?? [];
        const marks = { python: '# ', sql: '-- ', sh: '# ', properties: '# ' };
        const branch = others.length === 0 ? '' : `\n${marks[language]}branch dev\n${others.join('\n')}`;
        return `${title}:\n\n\`\`\`${language}\n${text}${branch}\n\`\`\``;
      });
      return [`### ${name}`, ...blocks, ...(note === undefined ? [] : [note])].join('\n\n');
    })
    .join('\n\n');
};

export const sections: Readonly<Record<string, () => string>> = {
  commands: () =>
    table(
      ['Command', 'What it does'],
      [
        ...commands.flatMap((c) => ('group' in c ? [] : [[code(`lake ${c.name}${c.usage}`), c.text]])),
        [
          code(`lake ${commands.flatMap((c) => ('group' in c ? [c.name] : [])).join(', ')}`),
          'versions of a pool of a running service, as one types them for files',
        ],
        [
          '`lake help`',
          'lists the commands; `lake help COMMAND` describes one, `lake help functions`, `lake help operators` and `lake help sql` of the language',
        ],
      ],
    ),
  'engine-lines': engineLines,
  'serve-options': () => optionsTable(serveOptions),
  'query-options': () => optionsTable(queryOptions),
  'load-options': () => optionsTable(loadOptions),
  'shell-options': () => optionsTable(shellOptions),
  'import-options': () => optionsTable(importOptions),
  'clone-options': () => optionsTable(cloneOptions),
  'fsck-options': () => optionsTable(fsckOptions),
  'campaign-totals': () => totalsTable(readTotals()),
  'replay-options': () => optionsTable(replayOptions),
  endpoints: () =>
    table(
      ['Method', 'Path', 'What it does', 'Query parameters', 'With access control'],
      routes.map((r) => [
        r.method,
        code(r.path.replaceAll(/:(\w+)/g, '{$1}')),
        cell(r.summary),
        parametersOf(r.query),
        needs[r.need],
      ]),
    ),
  'endpoints-in-brief': () =>
    table(
      ['About', 'Endpoints'],
      // Those of shippers have pages of their own.
      [...new Set(routes.map(({ tag }) => tag))]
        .filter((tag) => tag !== 'Shippers')
        .map((tag) => [
          tag,
          routes
            .filter((r) => r.tag === tag)
            .map((r) => `${code(`${r.method} ${r.path.replaceAll(/:(\w+)/g, '{$1}')}`)} ${cell(r.summary)}`)
            .join('<br>'),
        ]),
    ),
  'client-example': () =>
    `\`\`\`js\n${readFileSync(new URL('../../demo/client.mjs', import.meta.url), 'utf8').trimEnd()}\n\`\`\``,
  'key-options': () => optionsTable(keyOptions),
  formats: () =>
    table(
      ['Format', 'Media type', 'Read', 'Written'],
      Object.values(formatTable)
        .filter((f) => f.mediaTypes.length > 0)
        .map((f) => [
          f.title,
          f.mediaTypes.map(code).join(', '),
          f.reader ? 'yes' : f.readAs ? 'as JSON' : 'not yet',
          'yes',
        ]),
    ),
  metrics: () =>
    table(
      ['Name', 'Labels', 'What'],
      metricRows.map(({ name, labels = [], help }) => [code(name), labels.map(code).join(', '), cell(help)]),
    ),
  errors: () =>
    table(
      ['Code', 'Status', 'Kind', 'Text'],
      Object.entries(errorTable).map(([name, row]) => [code(name), String(row.status), row.kind, cell(code(row.text))]),
    ),
  'beside-duckdb': () =>
    table(
      ['Here', 'Why', 'Example', 'Our answer', "DuckDB's"],
      besideDuckdb.map(({ what, why, query, ours, duckdb }) => [
        cell(what),
        cell(why),
        cell(code(query)),
        cell(code(ours.trim())),
        cell(code(shownRows(duckdb))),
      ]),
    ),
  operators: () => helpTable(operatorTable),
  sql: () =>
    Object.entries(sqlTable)
      .map(([title, forms]) => `## ${title}\n\n${helpTable(forms)}`)
      .join('\n\n'),
  functions: () => helpTable(byName(functionRows)),
  aggregates: () => helpTable(byName(aggregateRows)),
  windows: () => helpTable(byName(windowRows)),
};
