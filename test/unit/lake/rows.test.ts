/** Rows of JSON: their bytes, which every build has to read, and what is none. */
import { expect, test } from 'vitest';
import {
  branchKey,
  decodeBranch,
  decodeCommit,
  decodePool,
  decodeRow,
  decodeView,
  encodeBranch,
  encodeCommit,
  encodeMove,
  encodeName,
  encodePool,
  encodeView,
  moveKey,
  nameKey,
  pairKey,
} from '../../../src/lake/tables/rows.ts';

const [a, b, c] = ['a', 'b', 'c'].map((digit) => digit.repeat(40)) as [string, string, string];

const pool = {
  tsNs: 1_790_000_000_123_456_789n,
  name: 'p "q"',
  id: a,
  layout: { order: 'desc', keys: [['k'], ['r', 's']] },
  seekStride: 65536,
  threshold: 500,
} as const;
const commit = {
  id: b,
  parent: a,
  secondParent: c,
  height: 3,
  author: 'me',
  dateNs: 12n,
  message: 'm',
  meta: 'null',
  adds: [a],
  deletes: [],
  rewrite: false,
  changed: true,
};
const view = { id: a, version: b, name: 'v', tsNs: 5n, author: 'me', query: 'from p', indexBase: 0 } as const;
const branch = { tsNs: 7n, name: 'main', commit: b, protection: { review: true } } as never;

test('rows of JSON are written member by member, in one order, under short names, and read back', () => {
  const ids = `"add":["${a}"],"del":[]`;
  expect(String(encodePool(pool))).toBe(
    `{"ts":"1790000000123456789","name":"p \\"q\\"","id":"${a}","order":"desc","keys":[["k"],["r","s"]],"seekStride":65536,"threshold":500}`,
  );
  expect(String(encodeCommit(commit))).toBe(
    `{"p":"${a}","q":"${c}","h":3,"a":"me","d":"12","m":"m","x":"null",${ids},"w":false,"c":true}`,
  );
  expect(String(encodeView(view))).toBe('{"n":"v","t":"5","a":"me","q":"from p","i":0}');
  expect(String(encodeBranch(branch))).toBe(`{"ts":"7","name":"main","commit":"${b}","guard":{"review":true}}`);
  expect(String(encodeName('p', a))).toBe(`{"name":"p","pool":"${a}"}`);
  expect(String(encodeMove({ name: 'main', from: b, sinceNs: 9n }))).toBe(`{"n":"main","f":"${b}","s":"9"}`);

  expect(decodePool(a, encodePool(pool))).toEqual(pool);
  expect(decodeCommit(b, encodeCommit(commit))).toEqual(commit);
  expect(decodeView(pairKey(a, b), encodeView(view))).toEqual(view);
  expect(decodeBranch(branchKey(a, 'main'), encodeBranch(branch))).toEqual(branch);
  expect(decodeRow('names', nameKey('p'), encodeName('p', a))).toEqual({ name: 'p', pool: a });
  const move = { name: 'main', from: b, sinceNs: 9n };
  expect(decodeRow('moves', moveKey(a, 'main', 10n), encodeMove(move))).toEqual(move);
});

test('what a row does not have is not there; what it must have is missed, with table and key', () => {
  const plain = { ...commit, secondParent: undefined, rewrite: undefined, changed: undefined };
  expect(Object.keys(decodeCommit(b, encodeCommit(plain as never)))).not.toContain('secondParent');
  const none = Buffer.from(`{"ts":"7","name":"main","commit":"${b}","guard":null}`);
  expect(decodeBranch(branchKey(a, 'main'), none)).toEqual({ tsNs: 7n, name: 'main', commit: b });

  const without = (name: string): Buffer => {
    const { [name]: gone, ...row } = JSON.parse(String(encodeCommit(commit))) as Record<string, unknown>;
    expect(gone).toBeDefined();
    return Buffer.from(JSON.stringify(row));
  };
  for (const name of ['p', 'h', 'd', 'add', 'del'])
    expect(() => decodeCommit(b, without(name)), name).toThrow(`table commits, key ${b}: `);
  expect(() => decodeRow('files', Buffer.alloc(19), Buffer.alloc(0))).toThrow('a key of 19 bytes, not 20');
  expect(() => decodeRow('names', nameKey('p'), Buffer.from('{"name":"p"}'))).toThrow('is no id');
});
