/** The document before the linters that other people run over it: redocly and spectral, with their recommended rules. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { document, type Json } from './contract.ts';

const run = promisify(execFile);
const lacks = (tool: string): boolean =>
  process.env['NO_SKIPS'] === undefined && spawnSync(tool, ['--version']).status !== 0;

const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const documents: Readonly<Record<string, Json>> = { open: document(), guarded: document(true) };
const files = Object.entries(documents).map(([name, shown]) => {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(shown));
  return file;
});
writeFileSync(join(folder, '.spectral.yaml'), 'extends: ["spectral:oas"]\n');
/** What a tool prints of all of them, which it starts for once, also where it ends with a fault because of what it found. */
const printed = async (tool: string, options: readonly string[]): Promise<string> => {
  const { stdout } = await run(tool, [...options, ...files], {
    cwd: folder,
    maxBuffer: 1 << 26,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  }).catch((error: unknown) => error as { readonly stdout: string });
  return stdout;
};

interface Finding {
  readonly file: string;
  readonly rule: string;
  readonly at: string;
  readonly message: string;
}
/**
 * What they cannot know: the feed's answer is a WebSocket (101), Splunk's acknowledgements are always refused, and the
 * data of events stand under `x-events`.
 */
const isOfOurs = ({ file, rule, at }: Finding): boolean =>
  (/2xx-response|success-response/.test(rule) && /inspect~1feed|collector~1ack/.test(at)) ||
  // Elasticsearch's clients put the index first; no pool's path ends like theirs.
  (rule === 'no-ambiguous-paths' && at.includes('{index}~1_bulk')) ||
  (rule === 'no-unused-components' &&
    JSON.stringify((documents[basename(file, '.json')]!['paths']! as Json)['/events']).includes(
      `#/components/schemas/${at.split('/').at(-1)!}"`,
    ));

/** Those that are none of ours; each file has some that are, or it was not looked at. */
const unexplained = (found: readonly Finding[]): readonly Finding[] => {
  expect(new Set(found.map(({ file }) => basename(file, '.json')))).toEqual(new Set(Object.keys(documents)));
  return found.filter((each) => !isOfOurs(each));
};
interface Report {
  readonly problems: readonly {
    readonly ruleId: string;
    readonly message: string;
    readonly location: readonly { readonly source: { readonly ref: string }; readonly pointer: string }[];
  }[];
}

test.skipIf(lacks('redocly'))('redocly (npm install -g @redocly/cli) finds nothing', async () => {
  const text = await printed('redocly', ['lint', '--format=json', '--max-problems=1000']);
  // A report for each file, one after the other.
  const problems = text
    .split(/(?<=^\})/m)
    .filter((report) => report.trim() !== '')
    .flatMap((report) => (JSON.parse(report) as Report).problems);
  const found = problems.map(({ ruleId, message, location: [at] }) => ({
    file: at!.source.ref,
    rule: ruleId,
    at: at!.pointer,
    message,
  }));
  expect(unexplained(found)).toEqual([]);
});
test.skipIf(lacks('spectral'))('spectral (npm install -g @stoplight/spectral-cli) finds nothing', async () => {
  const text = await printed('spectral', ['lint', '--format=json', '--quiet']);
  const problems = JSON.parse(text) as readonly {
    readonly source: string;
    readonly code: string;
    readonly message: string;
    readonly path: readonly string[];
  }[];
  const found = problems.map(({ source, code, message, path }) => ({
    file: source,
    rule: code,
    at: path.map((part) => part.replaceAll('/', '~1')).join('/'),
    message,
  }));
  expect(unexplained(found)).toEqual([]);
});
