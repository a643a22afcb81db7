/** `lake help TOPIC`: a command's options, or the tables of the language. */
import { commands, optionsText } from '../config/help.ts';
import { ConfigError } from '../config/options.ts';
import { operatorTable } from '../query/reference/operators.ts';
import { sqlTable } from '../query/reference/sql.ts';
import { errorTable } from '../errors.ts';
import { type Format, formatTable } from '../formats/formats.ts';
import { didYouMean } from '../query/analyze/suggest.ts';
import { aggregateRows, exampleLine, functionRows, functionsText, type HelpRow, windowRows } from './help.ts';
import { shellHelp } from './shell/shell.ts';

/** The text on a topic. @throws ConfigError */
export const helpOn = (topic: string): string => {
  if (topic === 'functions') return functionsText();
  if (topic === 'operators') return operatorsText();
  if (topic === 'sql') return sqlText();
  if (topic === 'shell') return shellHelp();
  const command = commands.find((c) => c.name === topic);
  if (command) return optionsText(command.name, command.options);
  const found = named(topic);
  if (found.length > 0) return found.join('\n');
  const close = didYouMean(topic.toLowerCase(), nameList());
  throw new ConfigError(
    `no help on ${topic}${close === undefined ? '' : ` (${close})`}: there is help on functions, operators, sql, ${commands.map((c) => c.name).join(', ')}, and on each function, operator, format and error by its name`,
  );
};

const languageRows: readonly HelpRow[] = [...functionRows, ...aggregateRows, ...windowRows];
const formatRows = Object.values(formatTable);
const nameList = (): readonly string[] => [
  ...languageRows.map(({ name }) => name),
  ...operatorTable.map(({ name }) => name),
  ...formatRows.map(({ name }) => name),
  ...Object.keys(errorTable),
];

/** What there is of that name: a function and an aggregate, say. */
const named = (topic: string): readonly string[] => {
  const name = topic.toLowerCase();
  const error = Object.entries(errorTable).find(([code]) => code === name)?.[1];
  return [
    ...languageRows.filter((row) => row.name === name).map(exampleParagraph),
    ...operatorTable.filter((row) => row.name === name).map(paragraph),
    ...formatRows.filter((row) => row.name === name).map(formatText),
    ...(error ? [`${name}: ${error.text}\n    status ${error.status}, kind ${error.kind}\n`] : []),
  ];
};
const formatText = ({ name, title, mediaTypes, endings, reader }: Format): string =>
  [
    `${name}: ${title}, ${reader ? 'read and written' : 'written'}`,
    ...(mediaTypes.length > 0 ? [`    media types ${mediaTypes.join(', ')}`] : []),
    ...(endings.length > 0 ? [`    files ${endings.join(', ')}`] : []),
    '',
  ].join('\n');
const exampleParagraph = ({ syntax, text, examples }: HelpRow): string =>
  `${syntax}\n    ${text}\n${examples.map((e) => `    ${exampleLine(e)}\n`).join('')}`;

/** One paragraph a form of SQL, with its example. */
const sqlText = (): string =>
  Object.entries(sqlTable)
    .map(([title, forms]) => `${title}:\n\n${forms.map(paragraph).join('\n')}`)
    .join('\n');
/** One paragraph an operator. */
const operatorsText = (): string => operatorTable.map(paragraph).join('\n');

interface Described {
  readonly syntax: string;
  readonly text: string;
  readonly examples: readonly { readonly query: string }[];
}
const paragraph = ({ syntax, text, examples }: Described): string =>
  `${syntax}\n    ${text}\n${examples.map(({ query }) => `    ${query}\n`).join('')}`;
