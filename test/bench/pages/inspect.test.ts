/** The inspector's benchmark at a small size: what is watched arrives, times are printed, not judged. */
import { expect, test } from 'vitest';
import { measureInspect } from './inspect.ts';

test('a page that watches many pools at work is told of every message', async () => {
  const { commitsASecond, messagesASecond, dropped } = await measureInspect({
    pools: 20,
    clients: 8,
    rounds: 1,
    secondsARound: 0.4,
    page: false,
  });
  expect([
    Object.values(commitsASecond).every((n) => n > 0),
    messagesASecond > 5 * commitsASecond.watched * 0.5,
    dropped,
  ]).toEqual([true, true, 0]);
});
