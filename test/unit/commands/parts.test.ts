/** The parts of a service end in reverse, whatever fails among them. */
import { expect, test } from 'vitest';
import { Parts } from '../../../src/commands/serve/parts.ts';

const noted = (): { readonly parts: Parts; readonly ended: string[]; readonly add: (name: string) => () => void } => {
  const parts = new Parts();
  const ended: string[] = [];
  return { parts, ended, add: (name) => parts.add(() => void ended.push(name)) };
};

test('in reverse, one after the other', async () => {
  const { parts, ended, add } = noted();
  add('first');
  parts.add(async () => {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    ended.push('slow');
  });
  add('last');
  await parts.close();
  expect(ended).toEqual(['last', 'slow', 'first']);
  await parts.close();
  expect(ended).toHaveLength(3);
});

test('one that is handed on is not ended, though another ends by the same function', async () => {
  const ended: string[] = [];
  const parts = new Parts();
  const end = (): void => void ended.push('end');
  const handOn = parts.add(end);
  parts.add(end);
  handOn();
  handOn();
  await parts.close();
  expect(ended).toEqual(['end']);
});

test('those behind one that fails are ended too, and the first fault is told', async () => {
  const { parts, ended, add } = noted();
  add('first');
  for (const fault of ['later', 'sooner'])
    parts.add(() => {
      throw new Error(fault);
    });
  await expect(parts.close()).rejects.toThrow('sooner');
  expect(ended).toEqual(['first']);
});
