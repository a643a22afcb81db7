/** `lake help TOPIC`: a command's options, or the tables of the language. */
import { commands, optionsText } from '../config/help.ts';
import { ConfigError } from '../config/options.ts';
import { operatorTable } from '../query/reference/operators.ts';
import { sqlTable } from '../query/reference/sql.ts';
import { functionsText } from './help.ts';
import { shellHelp } from './shell/shell.ts';

/** The text on a topic. @throws ConfigError */
export const helpOn = (topic: string): string => {
  if (topic === 'functions') return functionsText();
  if (topic === 'operators') return operatorsText();
  if (topic === 'sql') return sqlText();
  if (topic === 'shell') return shellHelp();
  const command = commands.find((c) => c.name === topic);
  if (!command)
    throw new ConfigError(
      `no help on ${topic}: there is help on functions, operators, sql, ${commands.map((c) => c.name).join(', ')}`,
    );
  return optionsText(command.name, command.options);
};

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
