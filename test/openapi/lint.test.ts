/** The document before the linters that other people run over it: redocly and spectral, with their recommended rules. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { document, type Json } from './contract.ts';

const run = promisify(execFile);
const lacks = (tool: string): boolean =>
  process.env['NO_SKIPS'] === undefined && spawnSync(tool, ['--version']).status !== 0;

const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
/** What a tool prints, also where it ends with a fault because of what it found. */
const printed = async (tool: string, options: readonly string[], shown: Json): Promise<string> => {
  const file = join(folder, 'openapi.json');
  writeFileSync(file, JSON.stringify(shown));
  writeFileSync(join(folder, '.spectral.yaml'), 'extends: ["spectral:oas"]\n');
  const { stdout } = await run(tool, [...options, file], {
    cwd: folder,
    maxBuffer: 1 << 26,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  }).catch((error: unknown) => error as { readonly stdout: string });
  return stdout;
};

interface Finding {
  readonly rule: string;
  readonly at: string;
}
/**
 * What they cannot know: the feed's answer is a WebSocket (101), Splunk's acknowledgements are always refused, and the
 * data of events stand under `x-events`.
 */
const isOfOurs = (shown: Json, { rule, at }: Finding): boolean =>
  (/2xx-response|success-response/.test(rule) && /inspect~1feed|collector~1ack/.test(at)) ||
  // Elasticsearch's clients put the index first; no pool's path ends like theirs.
  (rule === 'no-ambiguous-paths' && at.includes('{index}~1_bulk')) ||
  (rule === 'no-unused-components' &&
    JSON.stringify((shown['paths']! as Json)['/events']).includes(`#/components/schemas/${at.split('/').at(-1)!}"`));

const documents = { open: document(), guarded: document(true) };
describe.each(Object.entries(documents))('the %s service', (_, shown) => {
  test.skipIf(lacks('redocly'))('redocly (npm install -g @redocly/cli) finds nothing', async () => {
    const text = await printed('redocly', ['lint', '--format=json', '--max-problems=1000'], shown);
    const { problems } = JSON.parse(text) as {
      readonly problems: readonly {
        readonly ruleId: string;
        readonly message: string;
        readonly location: readonly { readonly pointer: string }[];
      }[];
    };
    const found = problems.map(({ ruleId, message, location: [at] }) => ({ rule: ruleId, at: at!.pointer, message }));
    expect(found.filter((each) => !isOfOurs(shown, each))).toEqual([]);
  });
  test.skipIf(lacks('spectral'))('spectral (npm install -g @stoplight/spectral-cli) finds nothing', async () => {
    const text = await printed('spectral', ['lint', '--format=json', '--quiet'], shown);
    const problems = JSON.parse(text) as readonly {
      readonly code: string;
      readonly message: string;
      readonly path: readonly string[];
    }[];
    const found = problems.map(({ code, message, path }) => ({
      rule: code,
      at: path.map((part) => part.replaceAll('/', '~1')).join('/'),
      message,
    }));
    expect(found.filter((each) => !isOfOurs(shown, each))).toEqual([]);
  });
});
