/**
 * README.md says the truth: its tables are what the code's tables print, and its tour, typed as written, gives what it shows.
 * `UPDATE_README=1` writes what the code says and the service answers into the file.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Service, startBuiltService } from './support/built-service.ts';
import { consoleBlocks, masked, runSteps } from './support/readme.ts';
import { sections } from './support/readme-sections.ts';
import { version } from '../src/version.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const file = `${root}README.md`;
const update = process.env['UPDATE_README'] !== undefined;
const read = (): string => readFileSync(file, 'utf8');

describe('tables', () => {
  for (const [name, text] of Object.entries(sections)) {
    test(`${name} is what the code says`, () => {
      const marked = new RegExp(`(<!-- begin ${name} -->\n)([\\s\\S]*?)(<!-- end ${name} -->)`);
      if (update) writeFileSync(file, read().replace(marked, (_, begin: string, __, end: string) => `${begin}${text()}\n${end}`));
      expect(marked.exec(read())?.[2]).toBe(`${text()}\n`);
    });
  }
  test('the version is that of package.json', () => {
    expect(version).toBe(`v${(JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string }).version}`);
  });
});

describe('tour', () => {
  let service: Service;
  beforeAll(async () => { service = await startBuiltService(); });
  afterAll(() => service.stop());

  test('each command gives what stands below it', { timeout: 120_000 }, () => {
    const blocks = consoleBlocks(read());
    const steps = blocks.flatMap((b) => b.steps);
    const found = runSteps(steps, root, (command) => command.replaceAll('http://127.0.0.1:9867', service.address).replaceAll('localhost:9867', service.address.slice(7)));
    if (update) {
      let at = 0, text = read();
      for (const block of blocks) {
        const renewed = block.steps.map((s) => {
          const output = found[at++]!;
          return `$ ${s.command}\n${masked(output) === masked(s.output) ? s.output : output}`;
        });
        text = text.replace(block.text, () => renewed.join(''));
      }
      writeFileSync(file, text);
      return;
    }
    expect(steps.map((s, i) => ({ command: s.command, output: masked(found[i]!) }))).toEqual(steps.map((s) => ({ command: s.command, output: masked(s.output) })));
  });
});
