/**
 * Runs recorded shell scripts (files of JSON lines, fields as in the corpus' README) with a program of one's own choice
 * in the place of `super`: the reference's own command line as a client of this service, or `lake query` where the
 * scripts need no service.
 *
 *   npx tsx test/clients/super-scripts.ts FILE -super "PROGRAM [ARGS]" [-only TEXT] [-show]
 *
 * Each script gets an empty folder, a home of its own and, where it says so, the built service on an empty lake. Prints
 * the scripts that differ and the totals; the exit status is 1 when one differs.
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Readable, Writable } from 'node:stream';
import { startBuiltService } from '../support/service/built.ts';

type Content = string | { readonly base64: string } | { readonly file: string };
type Expected = string | { readonly regexp: string };
interface Step {
  readonly pipe: readonly (readonly string[])[];
  readonly fails?: boolean;
  readonly stdin?: string;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly append?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly set?: string;
}
interface Script {
  readonly id: string;
  readonly service?: boolean;
  /** `stdin` is not a file but what every step may read from. */
  readonly inputs: Readonly<Record<string, Content>>;
  readonly steps: readonly Step[];
  readonly outputs: Readonly<Record<string, Expected>>;
}
interface Surroundings {
  readonly folder: string;
  readonly variables: Map<string, string>;
  readonly program: readonly string[];
  readonly out: { stdout: string; stderr: string };
}

const stepMsMax = 60_000;

/** Words with `{{NAME}}` filled in; `{{NAME*}}` stands for several. */
const filled = (argument: string, variables: ReadonlyMap<string, string>): string[] => {
  const many = /^\{\{(\w+)\*\}\}$/.exec(argument);
  if (many) return (variables.get(many[1]!) ?? '').split(/\s+/).filter((word) => word !== '');
  return [argument.replace(/\{\{(\w+)\}\}/g, (_, name: string) => variables.get(name) ?? '')];
};

/** Runs one pipe; whether all of its parts succeeded. */
const runPipe = async (step: Step, around: Surroundings, input: Buffer): Promise<boolean> => {
  const { folder, variables, program, out } = around;
  const environment = {
    ...process.env,
    HOME: folder,
    SUPER_DB: variables.get('SUPER_DB') ?? '',
    NO_COLOR: '1',
    ...step.env,
  };
  // A file, since programs of the pipe open /dev/stderr by name.
  const errorFile = join(folder, '.stderr');
  const errorHandle = openSync(errorFile, 'w');
  const children = step.pipe.map((words) => {
    const argv = words.flatMap((word) => filled(word, variables));
    const [name, ...rest] = argv[0] === 'super' ? [...program, ...argv.slice(1)] : argv;
    return spawn(name!, rest, { cwd: folder, env: environment, stdio: ['pipe', 'pipe', errorHandle] });
  });
  closeSync(errorHandle);
  const ended = children.map(
    (child) =>
      new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => child.kill('SIGKILL'), stepMsMax);
        child.once('error', () => resolve(false));
        child.once('close', (status) => {
          clearTimeout(timer);
          resolve(status === 0);
        });
      }),
  );
  let text = '';
  for (const [index, child] of children.entries()) {
    child.stdin!.on('error', () => undefined);
    const next = children[index + 1];
    if (next) pipeline(child.stdout as Readable, next.stdin as Writable).catch(() => undefined);
    else
      child.stdout!.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
      });
  }
  children[0]!.stdin!.end(
    step.stdin !== undefined && existsSync(join(folder, step.stdin)) ? readFileSync(join(folder, step.stdin)) : input,
  );
  const fine = (await Promise.all(ended)).every(Boolean);
  const bytes = Buffer.from(text, 'latin1');
  const put = (target: string | undefined, usual: 'stdout' | 'stderr', what: Buffer): void => {
    if (target === '@null') return;
    if (target === undefined || target === '@stdout' || target === '@stderr') {
      out[target === undefined ? usual : target === '@stdout' ? 'stdout' : 'stderr'] += what.toString();
      return;
    }
    writeFileSync(resolve(folder, target), what, {
      flag: step.append || (usual === 'stderr' && target === step.stdout) ? 'a' : 'w',
    });
  };
  if (step.set === undefined) put(step.stdout, 'stdout', bytes);
  else variables.set(step.set, bytes.toString().trim());
  put(
    step.stderr === '@stdout' ? step.stdout : step.stderr,
    step.stderr === '@stdout' ? 'stdout' : 'stderr',
    readFileSync(errorFile),
  );
  return fine;
};

/** What differs from what was recorded; empty when nothing does. */
const runScript = async (script: Script, program: readonly string[], corpus: string): Promise<readonly string[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-script-'));
  const variables = new Map<string, string>();
  const out = { stdout: '', stderr: '' };
  let stdin: Buffer = Buffer.alloc(0);
  const service = script.service ? await startBuiltService() : undefined;
  if (service) variables.set('SUPER_DB', service.address);
  try {
    for (const [name, content] of Object.entries(script.inputs)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      const bytes =
        typeof content === 'string'
          ? content
          : 'base64' in content
            ? Buffer.from(content.base64, 'base64')
            : readFileSync(join(corpus, content.file));
      if (name === 'stdin') stdin = Buffer.from(bytes);
      else writeFileSync(join(folder, name), bytes);
    }
    for (const [index, step] of script.steps.entries()) {
      const fine = await runPipe(step, { folder, variables, program, out }, stdin);
      if (fine === (step.fails ?? false))
        return [
          `step ${index + 1} ${fine ? 'succeeded' : 'failed'}: ${step.pipe.map((words) => words.join(' ')).join(' | ')}\n${out.stderr}`,
        ];
    }
    return Object.entries(script.outputs).flatMap(([name, expected]) => {
      const got =
        name === 'stdout' || name === 'stderr'
          ? out[name]
          : existsSync(join(folder, name))
            ? readFileSync(join(folder, name), 'utf8')
            : undefined;
      const same =
        got !== undefined &&
        (typeof expected === 'string' ? got === expected : new RegExp(expected.regexp, 'm').test(got));
      return same
        ? []
        : [
            `${name}: expected ${JSON.stringify(expected)}\n${' '.repeat(name.length)}  got      ${JSON.stringify(got ?? null)}`,
          ];
    });
  } finally {
    await service?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};

const main = async (): Promise<void> => {
  const file = process.argv[2];
  const program = option('-super')?.split(' ');
  const only = option('-only');
  if (!file || !program) throw new Error('usage: super-scripts.ts FILE -super "PROGRAM [ARGS]" [-only TEXT]');
  const report = option('-report');
  const log = report ? createWriteStream(report) : process.stdout;
  const scripts = readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Script)
    .filter((script) => !only || script.id.includes(only));
  let passed = 0;
  for (const script of scripts) {
    const faults = await runScript(script, program, dirname(file));
    if (faults.length === 0) passed++;
    else log.write(`${script.id}\n${faults.map((fault) => `  ${fault.replaceAll('\n', '\n  ')}`).join('\n')}\n`);
  }
  process.stdout.write(`${passed} of ${scripts.length}\n`);
  if (passed < scripts.length) process.exitCode = 1;
};
await main();
