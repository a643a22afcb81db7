/** One recorded query case and what our engine makes of it; the fields are those of the corpus' README. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type EngineSettings, queryCommand } from '../../../src/commands/query.ts';

type Content = string | { readonly base64: string } | { readonly file: string };
export interface ConformanceCase {
  readonly id: string;
  readonly group: string;
  readonly query: string;
  readonly input: string | null;
  readonly input_base64?: string;
  readonly input_args: readonly string[];
  readonly output_args: readonly string[];
  readonly output: string;
  readonly error: string;
  readonly files?: Readonly<Record<string, Content>>;
  readonly typed?: boolean;
  readonly unordered?: boolean;
}
export interface Verdict {
  readonly passed: boolean;
  readonly output: string;
  readonly error: string;
}

const bytesOf = (content: Content, directory: string): Uint8Array =>
  typeof content === 'string'
    ? Buffer.from(content)
    : 'base64' in content
      ? Buffer.from(content.base64, 'base64')
      : readFileSync(join(directory, content.file));

const caseMsMax = 20_000;

/** Runs the case in a folder of its own. A case that does not end in 20 s has failed. */
export const runCase = async (c: ConformanceCase, directory: string, engine: EngineSettings = {}): Promise<Verdict> => {
  const cwd = mkdtempSync(join(tmpdir(), 'lake-case-'));
  try {
    for (const [name, content] of Object.entries(c.files ?? {})) {
      mkdirSync(dirname(join(cwd, name)), { recursive: true });
      writeFileSync(join(cwd, name), bytesOf(content, directory));
    }
    const input =
      c.input_base64 !== undefined
        ? Buffer.from(c.input_base64, 'base64')
        : c.input === null
          ? undefined
          : Buffer.from(c.input);
    const argv = [
      ...c.input_args,
      '-f',
      'sup',
      '-pretty',
      '0',
      ...c.output_args,
      ...(c.typed ? [] : ['-dynamic']),
      '-c',
      c.query,
      ...(input ? ['-'] : []),
    ];
    const answer = await runCommand(argv, input, cwd, engine);
    return { ...answer, passed: sameOutput(c, answer.output) && sameError(c.error, answer.error) };
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
};

const runCommand = async (
  argv: readonly string[],
  input: Uint8Array | undefined,
  cwd: string,
  engine: EngineSettings,
): Promise<{ output: string; error: string }> => {
  const output: Uint8Array[] = [];
  const error: string[] = [];
  async function* stdin(): AsyncGenerator<Uint8Array> {
    if (input) yield input;
  }
  const run = queryCommand(
    argv,
    {
      cwd,
      stdin: stdin(),
      stdoutIsTerminal: false,
      write: (chunk) => {
        output.push(chunk.slice());
        return Promise.resolve();
      },
      complain: (text) => {
        error.push(text);
      },
    },
    engine,
  ).catch((problem: unknown) => {
    error.push(`CRASH ${problem instanceof Error ? problem.stack : String(problem)}`);
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      error.push('HANG');
      resolve();
    }, caseMsMax);
  });
  await Promise.race([run, late]);
  clearTimeout(timer);
  return { output: Buffer.concat(output).toString(), error: error.join('') };
};

export const sameOutput = (c: Pick<ConformanceCase, 'output' | 'unordered'>, output: string): boolean =>
  output === c.output || (c.unordered === true && sortedLines(output) === sortedLines(c.output));
const sortedLines = (text: string): string => text.split('\n').sort().join('\n');
const sameError = (wanted: string, found: string): boolean => wanted.replace(/\n$/, '') === found.replace(/\n$/, '');
