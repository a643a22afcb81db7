/** The manual page lake(1), made from the option tables when the program is built. */
import { commands } from './help.ts';
import { environmentName, type OptionRow } from './options.ts';

/** Its source, for man(7) macros of groff and mandoc. `version` is that of the program. */
export const manPage = (version: string): string =>
  [
    `.TH LAKE 1 "" "lake-data-service ${plain(version)}" "User Commands"`,
    '.SH NAME',
    `lake \\- ${plain('a lake of records of any shape, versioned like git, queried with SuperSQL')}`,
    '.SH SYNOPSIS',
    '.B lake',
    '.I COMMAND',
    '.RI [ OPTION " ...]"',
    '.SH DESCRIPTION',
    text('lake serve runs the service; the other commands ask a service, check a lake, or work without one.'),
    text('An option may begin with one dash or two; its value may follow = or be the next argument.'),
    '.SH COMMANDS',
    ...commands.flatMap(({ name, text: what, options, usage }) => [
      `.SS "lake ${plain(name)}${options.length > 0 ? ' [OPTION ...]' : ''}${plain(usage)}"`,
      text(sentence(what)),
      ...options.flatMap(optionLines),
    ]),
    '.SH ENVIRONMENT',
    text(
      'Options marked so are read from variables too; an option on the command line wins, and both win over a file that -config names.',
    ),
    '.SH EXIT STATUS',
    ...entry('0', 'It was done.'),
    ...entry('1', 'It could not be done; standard error says why.'),
    ...entry('2', 'The command line or the environment is wrong.'),
    '.SH SEE ALSO',
    text(
      'lake help NAME describes a function, an operator, a format or an error. A running service has the manual at /docs.',
    ),
    '',
  ].join('\n');

const optionLines = (row: OptionRow): readonly string[] => {
  const isOff = row.fallback === '' || (row.type === 'switch' && row.fallback === 'false');
  const more = [
    ...(isOff ? [] : [`Default ${row.fallback}.`]),
    ...(row.choices ? [`One of ${row.choices.join(', ')}.`] : []),
    ...(row.environment ? [`Variable ${environmentName(row.name)}.`] : []),
  ];
  return [
    '.TP',
    `.B \\-${plain(row.name)}${row.value === undefined ? '' : ` \\fI${plain(row.value)}\\fR`}`,
    text([sentence(row.text), ...more].join(' ')),
  ];
};
const entry = (name: string, what: string): readonly string[] => ['.TP', `.B ${name}`, text(what)];
const sentence = (words: string): string => `${words[0].toUpperCase()}${words.slice(1)}.`;

/** Text that is shown as it is: what groff would read as its own is written so that it does not (groff_char(7)). */
const plain = (words: string): string => words.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('"', '\\(dq');
/** A line of its own. */
const text = (words: string): string => plain(words).replace(/^[.']/, '\\&$&');
