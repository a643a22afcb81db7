/** `lake completion bash|zsh|fish`: completions of the command line, out of the tables of commands and options. */
import { commands } from '../config/help.ts';
import { ConfigError, type OptionRow } from '../config/options.ts';

interface Command {
  readonly name: string;
  readonly text: string;
  readonly options: readonly OptionRow[];
}
const all: readonly Command[] = commands;

/** The script for a shell. @throws ConfigError */
export const completion = (argv: readonly string[]): string => {
  const [shell = '', ...more] = argv;
  if (more.length > 0 || !Object.hasOwn(scripts, shell))
    throw new ConfigError(`lake completion takes the name of a shell: ${Object.keys(scripts).join(', ')}`);
  return `${scripts[shell]().join('\n')}\n`;
};

/** Options that name files or folders. */
const namesFile = ({ value = '' }: OptionRow): boolean => /^(FILE|DIR)/.test(value);
const takesValue = ({ type }: OptionRow): boolean => type !== 'switch';
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const bash = (): readonly string[] => [
  '# bash completion of lake: source <(lake completion bash)',
  '_lake() {',
  '  local word current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=',
  '  COMPREPLY=()',
  '  if ((COMP_CWORD == 1)); then',
  `    words=${quoted([...all.map(({ name }) => name), 'help', 'version'].join(' '))}`,
  '  else',
  '    case "${COMP_WORDS[1]} $previous" in',
  ...all.flatMap(({ name, options }) =>
    options
      .filter(({ choices }) => choices)
      .map((row) => `      ${quoted(`${name} -${row.name}`)}) words=${quoted(row.choices!.join(' '))} ;;`),
  ),
  '    esac',
  '    if [[ -z $words && $current == -* ]]; then',
  '      case ${COMP_WORDS[1]} in',
  ...all
    .filter(({ options }) => options.length > 0)
    .map(({ name, options }) => `        ${name}) words=${quoted(options.map((row) => `-${row.name}`).join(' '))} ;;`),
  '      esac',
  '    fi',
  '  fi',
  '  while IFS= read -r word; do',
  '    [[ -n $word ]] && COMPREPLY+=("$word")',
  '  done < <(compgen -W "$words" -- "$current")',
  '}',
  'complete -o default -F _lake lake',
];

const zshText = (text: string): string => text.replaceAll(/[\\[\]:]/g, '\\$&');
const zsh = (): readonly string[] => [
  '#compdef lake',
  '# zsh completion of lake: lake completion zsh > a folder of $fpath/_lake',
  '_lake() {',
  '  local -a commands=(',
  ...all.map(({ name, text }) => `    ${quoted(`${name}:${zshText(text)}`)}`),
  '  )',
  '  if ((CURRENT == 2)); then',
  "    _describe 'command' commands",
  '    return',
  '  fi',
  '  local command=$words[2]',
  '  shift words',
  '  ((CURRENT--))',
  '  case $command in',
  ...all.flatMap(({ name, options }) => [
    `    ${name})`,
    `      _arguments ${[...options.map((row) => quoted(zshOption(row))), quoted('*:file:_files')].join(' ')} ;;`,
  ]),
  '  esac',
  '}',
  '_lake "$@"',
];
const zshOption = (row: OptionRow): string => {
  const many = row.type === 'list' ? '*' : '';
  const after = row.choices ? `(${row.choices.join(' ')})` : namesFile(row) ? '_files' : '';
  const value = takesValue(row) ? `:${zshText(row.value ?? row.type)}:${after}` : '';
  return `${many}-${row.name}[${zshText(row.text)}]${value}`;
};

const fish = (): readonly string[] => [
  '# fish completion of lake: lake completion fish > ~/.config/fish/completions/lake.fish',
  ...all.map(({ name, text }) => `complete -c lake -n __fish_use_subcommand -f -a ${quoted(name)} -d ${quoted(text)}`),
  ...all.flatMap(({ name, options }) => options.map((row) => fishOption(name, row))),
];
const fishOption = (command: string, row: OptionRow): string =>
  [
    `complete -c lake -n ${quoted(`__fish_seen_subcommand_from ${command}`)} -o ${quoted(row.name)}`,
    ...(takesValue(row) ? [namesFile(row) ? '-r -F' : '-x'] : []),
    ...(row.choices ? [`-a ${quoted(row.choices.join(' '))}`] : []),
    `-d ${quoted(row.text)}`,
  ].join(' ');

const scripts: Readonly<Record<string, () => readonly string[]>> = { bash, zsh, fish };
