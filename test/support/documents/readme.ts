/** Reads the tour of README.md and runs it. */
import { spawnSync } from 'node:child_process';

interface Step {
  readonly command: string;
  readonly output: string;
}
interface Block {
  readonly text: string;
  readonly steps: readonly Step[];
}

/**
 * The ```console blocks: lines that begin with `$ ` are commands (a trailing backslash continues them), what follows is
 * their output.
 */
export const consoleBlocks = (markdown: string): readonly Block[] =>
  [...markdown.matchAll(/```console\n([\s\S]*?)```/g)].map(([, text]) => {
    const steps: { command: string; output: string }[] = [];
    let continued = false;
    for (const line of text!.split('\n').slice(0, -1)) {
      if (continued) steps.at(-1)!.command += `\n${line}`;
      else if (line.startsWith('$ ')) steps.push({ command: line.slice(2), output: '' });
      else steps.at(-1)!.output += `${line}\n`;
      continued = (continued || line.startsWith('$ ')) && line.endsWith('\\');
    }
    return { text: text!, steps };
  });

/** What differs from run to run: ids, times of today, addresses. */
export const masked = (text: string): string =>
  text
    .replace(/0x[0-9a-f]{40}/g, '<id>')
    .replace(/\b[0-9A-Za-z]{27}\b/g, '<id>')
    .replace(/\b20[2-9]\d-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/\b\d+ data bytes/g, '<n> data bytes')
    .replace(/^id: \d+$/gm, 'id: <n>');

/**
 * Runs all commands in one shell in `cwd`, with `replace` applied to each; the output of each, standard error included.
 */
export const runSteps = (
  steps: readonly Step[],
  cwd: string,
  replace: (command: string) => string,
): readonly string[] => {
  const script = [
    'shopt -s expand_aliases',
    ...steps.map((s, i) => `printf '@@@%d\\n' ${i}\n${replace(s.command)}`),
  ].join('\n');
  const { stdout } = spawnSync('bash', ['-c', `exec 2>&1\n${script}\n`], { cwd, encoding: 'utf8', maxBuffer: 1 << 26 });
  const outputs = new Map(
    stdout
      .split(/^@@@/m)
      .slice(1)
      .map((part) => {
        const end = part.indexOf('\n');
        return [Number(part.slice(0, end)), part.slice(end + 1)] as const;
      }),
  );
  return steps.map((_, i) => outputs.get(i) ?? '');
};
