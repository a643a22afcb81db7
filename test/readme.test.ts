/**
 * README.md and the pages of the manual say the truth: their tables are what the code's tables print, and their
 * commands, typed as written, give what they show. `UPDATE_README=1` writes what the code says and the service answers
 * into the files.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Service, startBuiltService } from './support/service/built.ts';
import { consoleBlocks, masked, runSteps } from './support/documents/readme.ts';
import { sections } from './support/documents/sections.ts';
import { documents, headingsOf, linksOf, manualPages, root } from './support/documents/manual.ts';
import { version } from '../src/version.ts';

const update = process.env['UPDATE_README'] !== undefined;
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const write = (path: string, text: string): void => {
  writeFileSync(join(root, path), text);
};

describe('tables', () => {
  for (const [name, text] of Object.entries(sections)) {
    test(`${name} is what the code says`, () => {
      const marked = new RegExp(`(<!-- begin ${name} -->\n)([\\s\\S]*?)(<!-- end ${name} -->)`);
      const places = documents.filter((path) => marked.test(read(path)));
      expect(places.length, 'pages with this table').toBeGreaterThan(0);
      for (const path of places) {
        if (update)
          write(
            path,
            read(path).replace(marked, (_, begin: string, __, end: string) => `${begin}${text()}\n${end}`),
          );
        expect(marked.exec(read(path))?.[2], path).toBe(`${text()}\n`);
      }
    });
  }
  test('no page has the marks of a table that is not known', () => {
    const marks = documents.flatMap((path) =>
      [...read(path).matchAll(/<!-- begin ([\w-]+) -->/g)].map(([, name]) => name!),
    );
    // Two are printed by the benches.
    expect(marks.filter((name) => !(name in sections) && name !== 'bench' && name !== 'suites')).toEqual([]);
  });
  test('the version is that of package.json', () => {
    expect(version).toBe(`v${(JSON.parse(read('package.json')) as { version: string }).version}`);
  });
});

describe('texts', () => {
  test('README is short, and the manual has no page that its contents lack', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(300);
    expect(manualPages.onDisk).toEqual(manualPages.listed);
  });
  test('no text has words of our own where the field has one', () => {
    const own = /\b(?:put(?:s|ting)? aside|anew|foreseen|foresight|whoever|made out for|so many|tells? of|told of)\b/i;
    expect(
      documents.flatMap((path) =>
        read(path)
          .split('\n')
          .flatMap((line, i) => (own.test(line) ? [`${path}:${i + 1}: ${own.exec(line)![0]}`] : [])),
      ),
    ).toEqual([]);
  });
  test('links lead to files and headings that are there', () => {
    const broken = documents.flatMap((path) =>
      linksOf(read(path))
        .filter((link) => {
          const [file, anchor] = link.split('#');
          const target = file === '' ? path : join(dirname(path), file!);
          return (
            !existsSync(join(root, target)) || (anchor !== undefined && !headingsOf(read(target)).includes(anchor))
          );
        })
        .map((link) => `${path}: ${link}`),
    );
    expect(broken).toEqual([]);
  });
});

describe('commands', () => {
  let service: Service;
  beforeAll(async () => {
    // A comment of the stream may come between any two events.
    service = await startBuiltService({ flags: ['-events.heartbeat', '0'] });
  });
  afterAll(() => service.stop());

  test('each gives what stands below it', { timeout: 400_000 }, () => {
    const blocks = documents.flatMap((path) => consoleBlocks(read(path)).map((block) => ({ path, ...block })));
    const steps = blocks.flatMap((b) => b.steps);
    const found = runSteps(steps, root, (command) =>
      command
        .replaceAll('http://127.0.0.1:9867', service.address)
        .replaceAll('localhost:9867', service.address.slice(7))
        // Those that ask a service ask the one at 9867 without a word.
        .replace(
          /\blake (load|log|diff|branch|tag|merge|revert|reset|transaction)(?= )/g,
          `lake $1 -lake ${service.address}`,
        ),
    );
    if (update) {
      let at = 0;
      for (const { path, text, steps: own } of blocks) {
        const renewed = own.map((s) => {
          const output = found[at++]!;
          return `$ ${s.command}\n${masked(output) === masked(s.output) ? s.output : output}`;
        });
        write(
          path,
          read(path).replace(text, () => renewed.join('')),
        );
      }
      return;
    }
    expect(steps.map((s, i) => ({ command: s.command, output: masked(found[i]!) }))).toEqual(
      steps.map((s) => ({ command: s.command, output: masked(s.output) })),
    );
  });
});
