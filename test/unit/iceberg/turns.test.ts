/** Files that nobody waits for are made beside those who commit, in a small part of the time. */
import { beforeEach, expect, test } from 'vitest';
import { TurnsOfRenders } from '../../../src/iceberg/turns.ts';

/** A clock that goes on by what is done, and by `pass`. */
let nowMs = 0;
let timers: { readonly at: number; readonly then: () => void }[] = [];
const clock = {
  now: () => nowMs,
  later: (ms: number, then: () => void) => {
    const timer = { at: nowMs + ms, then };
    timers.push(timer);
    return () => {
      timers = timers.filter((each) => each !== timer);
    };
  },
};
const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};
const pass = async (ms: number): Promise<void> => {
  nowMs += ms;
  const due = timers.filter(({ at }) => at <= nowMs);
  timers = timers.filter(({ at }) => at > nowMs);
  for (const { then } of due) then();
  await settled();
};

let stop: AbortController;
let turns: TurnsOfRenders;
let done: string[];
beforeEach(() => {
  nowMs = 0;
  timers = [];
  done = [];
  stop = new AbortController();
  turns = new TurnsOfRenders({
    render: () => Promise.reject(new Error('nothing is rendered here')),
    signal: stop.signal,
    clock,
  });
});
/** Work of 10 ms. */
const take = (name: string, isUrgent = false): Promise<void> =>
  turns.take(() => {
    nowMs += 10;
    done.push(name);
    return Promise.resolve();
  }, isUrgent);

test('while there are commits, what nobody waits for rests nineteen times as long as it took', async () => {
  turns.committed();
  const all = [take('first'), take('second')];
  await settled();
  expect(done).toEqual(['first']);
  await pass(180);
  turns.committed();
  expect(done).toEqual(['first']);
  await pass(10);
  expect(done).toEqual(['first', 'second']);
  await Promise.all(all);
});
test('without commits it goes on at once', async () => {
  await Promise.all([take('first'), take('second'), take('third')]);
  expect([done, nowMs]).toEqual([['first', 'second', 'third'], 30]);
});
test('commits that go on make the pause as long as it must be, those that end cut it short', async () => {
  turns.committed();
  const all = [
    turns.take(() => {
      nowMs += 100;
      return Promise.resolve();
    }, false),
    take('second'),
  ];
  await settled();
  turns.committed();
  await pass(200);
  expect(done).toEqual([]);
  await pass(60);
  expect(done).toEqual(['second']);
  await Promise.all(all);
});
test('what is urgent has no rest, and nobody rests while somebody waits', async () => {
  turns.committed();
  const all = [take('first'), take('second'), take('third'), take('urgent', true)];
  await settled();
  expect(done).toEqual(['first', 'urgent']);
  const release = turns.hurry();
  await settled();
  expect(done).toEqual(['first', 'urgent', 'second', 'third']);
  await Promise.all(all);
  release();
  release();
  turns.committed();
  const last = [take('fourth'), take('fifth')];
  await settled();
  expect(done.at(-1)).toBe('third');
  await pass(250);
  expect(done.slice(-2)).toEqual(['fourth', 'fifth']);
  await Promise.all(last);
});
test('what somebody comes to wait for goes before the rest, and has no rest either', async () => {
  turns.committed();
  const work = (): Promise<void> => {
    nowMs += 10;
    done.push('hastened');
    return Promise.resolve();
  };
  const all = [take('first'), take('second'), turns.take(work, false), take('third')];
  await settled();
  expect(done).toEqual(['first']);
  turns.hasten(work);
  turns.hasten(work);
  await settled();
  expect(done).toEqual(['first', 'hastened']);
  await pass(180);
  expect(done).toEqual(['first', 'hastened', 'second']);
  await pass(250);
  await Promise.all(all);
  expect(done).toHaveLength(4);
});
test('who closes waits for no pause', async () => {
  turns.committed();
  const all = [take('first'), take('second')];
  await settled();
  stop.abort(new Error('closing'));
  expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(done).toEqual(['first']);
});
