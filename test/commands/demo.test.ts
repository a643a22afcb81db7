/**
 * `npm run demo` tells the story with the right figures: the data sets' own counts, and what branch, delete and revert
 * make of them.
 */
import { expect, test } from 'vitest';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the demo runs to its end on real data', { timeout: 120_000 }, () => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', 'demo'], { cwd: root, encoding: 'utf8' });
  expect({ status, stderr: stderr.replaceAll(/^npm warn.*\n/gm, '') }).toEqual({ status: 0, stderr: '' });
  const answers = new Map(
    stdout
      .split('\n## ')
      .slice(1)
      .map((part) => {
        const lines = part.trim().split('\n');
        return [lines[0]!, lines.slice(3).join('\n')] as const;
      }),
  );
  expect(
    Object.fromEntries(
      [
        'main does not know it',
        'After the delete',
        'Before it: time travel to the first commit',
        'All are back',
        'main is as it was',
      ].map((title) => [title, answers.get(title)]),
    ),
  ).toEqual({
    'main does not know it': '0',
    'After the delete': '2927',
    'Before it: time travel to the first commit': '3201',
    'All are back': '3202',
    'main is as it was': '3202',
  });
  expect(answers.get('Titles are not all strings')).toBe(
    '{type:<int64>,count:9}\n{type:<string>,count:3191}\n{type:<null>,count:1}',
  );
  const events = [...stdout.slice(stdout.indexOf('## The events')).matchAll(/^event: (\S+)/gm)].map((m) => m[1]);
  expect(events).toEqual([
    'pool-new',
    'pool-new',
    'pool-new',
    'pool-commit',
    'pool-commit',
    'pool-commit',
    'branch-update',
    'pool-commit',
    'pool-commit',
    'pool-commit',
    'pool-commit',
  ]);
});
