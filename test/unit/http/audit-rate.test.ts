/** How many lines the audit log has of strangers who are refused. */
import { expect, test } from 'vitest';
import type { AuditEntry } from '../../../src/http/access/audit.ts';
import { type AuditLine, limitRefusals } from '../../../src/http/access/audit-rate.ts';

const start = Date.parse('2026-11-29T00:00:00Z');
const audit = () => {
  const lines: AuditLine[] = [];
  const clock = { ms: 0, wallMs: () => start + clock.ms, elapsedMs: () => clock.ms };
  const rate = limitRefusals((line) => lines.push(line), clock);
  const tell = (more: Partial<AuditEntry>): void => {
    const time = new Date(clock.wallMs()).toISOString();
    rate.write({ time, request: 'r', from: '127.0.0.1', method: 'GET', path: '/', status: 403, ...more });
  };
  return { lines, clock, tell, close: rate.close };
};

test('refused strangers have a line each up to a rate, and are counted beyond it', () => {
  const { lines, clock, tell, close } = audit();
  for (let i = 0; i < 1500; i++) tell({ refused: 'token' });
  tell({ refused: 'host' });
  expect(lines.length).toBe(1000);
  clock.ms = 500;
  for (let i = 0; i < 60; i++) tell({ refused: 'token' });
  expect(lines.length).toBe(1050);
  close();
  const time = '2026-11-29T00:00:00.500Z';
  const since = '2026-11-29T00:00:00.000Z';
  expect(lines.slice(1050)).toEqual([
    { time, since, refused: 'token', count: 510 },
    { time, since, refused: 'host', count: 1 },
  ]);
  close();
  expect(lines.length).toBe(1052);
});

test('changes, and refusals of those who are known, have a line always', () => {
  const { lines, tell, close } = audit();
  for (let i = 0; i < 1100; i++) tell({ refused: 'token' });
  for (let i = 0; i < 50; i++) tell({ refused: 'writer', who: 'a' });
  for (let i = 0; i < 50; i++) tell({ commit: '0x1', status: 200 });
  expect(lines.length).toBe(1100);
  close();
  expect(lines.at(-1)).toMatchObject({ refused: 'token', count: 100 });
});
