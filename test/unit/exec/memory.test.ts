/** What evaluation makes is charged: to a fake thread where the sums matter, to the real one where queries do. */
import { getHeapStatistics } from 'node:v8';
import { describe, expect, test } from 'vitest';
import { PairTable } from '../../../src/exec/aggregates/grouping/pair-table.ts';
import { Memory } from '../../../src/exec/operators/build.ts';
import { sortedOrder } from '../../../src/exec/operators/sort/radix.ts';
import { rankRuns } from '../../../src/exec/operators/sort/runs.ts';
import { linkTask, working } from '../../../src/vectors/stop.ts';
import { type MemoryAccount, ThreadMemory, loads } from '../../../src/vectors/thread-memory.ts';
import { TurnClaim, claimMemory } from '../../../src/workers/query/turn-claim.ts';
import { runQuery } from '../../support/queries/case.ts';

const mega = 1 << 20;
/** A thread with so many bytes held and others that are garbage. */
const thread = (use: { held: number; garbage: number }, max = 100 * mega) => {
  let collections = 0;
  const memory = new ThreadMemory(max, {
    bytes: () => use.held + use.garbage,
    collect: () => {
      use.garbage = 0;
      collections++;
    },
  });
  return { memory, collections: () => collections };
};
const make = (account: MemoryAccount, megabytes: number): void => {
  for (let i = 0; i < megabytes; i++) account.charge(mega, 'a test');
};
const refusal = 'query: a test needs more than 104857600 bytes of memory (option -memory)';

describe('accounts of a thread', () => {
  test('one allocation beyond the limit is refused before it is made', () => {
    const { memory, collections } = thread({ held: 0, garbage: 0 });
    expect(() => {
      memory.open().charge(101 * mega, 'a test');
    }).toThrow(refusal);
    expect(collections()).toBe(0);
  });
  test('garbage is collected, and what was made is no reason to refuse', () => {
    const { memory, collections } = thread({ held: 10 * mega, garbage: 1000 * mega });
    const account = memory.open();
    make(account, 500);
    expect(collections()).toBe(1);
  });
  test('what is held is', () => {
    const use = { held: 10 * mega, garbage: 0 };
    const account = thread(use).memory.open();
    use.held = 200 * mega;
    expect(() => {
      make(account, 20);
    }).toThrow(refusal);
  });
  test('what the thread held before, without a task, is not', () => {
    const use = { held: 400 * mega, garbage: 100 * mega };
    const { memory } = thread(use);
    memory.rest();
    for (let i = 0; i < 3; i++) {
      const account = memory.open();
      make(account, 64);
      memory.close(account);
    }
    const account = memory.open();
    use.held = 520 * mega;
    expect(() => {
      make(account, 20);
    }).toThrow(refusal);
  });
  test('nor is what the last task left, where the next one comes at once', () => {
    const use = { held: 10 * mega, garbage: 0 };
    const { memory } = thread(use);
    const before = memory.open();
    make(before, 64);
    use.held = 400 * mega;
    memory.close(before);
    const account = memory.open();
    make(account, 64);
    use.held = 520 * mega;
    expect(() => {
      make(account, 20);
    }).toThrow(refusal);
  });
  test('steps count too: what they made is in the heap', () => {
    const use = { held: 0, garbage: 0 };
    const account = thread(use).memory.open();
    use.held = 200 * mega;
    expect(() => {
      for (let i = 0; i < 256; i++) account.step(1);
    }).toThrow('query: evaluation needs more than');
  });
  test('what may have room without the others is told to come again', () => {
    const use = { held: 50 * mega, garbage: 0 };
    const { memory } = thread(use);
    const large = memory.open();
    const other = memory.open();
    make(other, 60);
    make(large, 64);
    use.held = 170 * mega;
    expect(() => {
      make(large, 20);
    }).toThrow(expect.objectContaining({ code: 'query-memory-busy', status: 503 }));
    expect(() => {
      large.charge(101 * mega, 'a test');
    }).toThrow(refusal);
  });
  test('one that made little goes on beside others that made much, also while these wait', async () => {
    const use = { held: 50 * mega, garbage: 0 };
    const { memory, collections } = thread(use);
    const large = [memory.open(), memory.open()];
    const { signal } = new AbortController();
    large[0]!.turn(signal);
    for (const each of large) make(each, 20);
    use.held = 140 * mega;
    const waits = large[1]!.turn(signal);
    expect(waits).toBeInstanceOf(Promise);
    use.held = 400 * mega;
    const little = memory.open();
    const before = collections();
    for (let i = 0; i < 2048; i++) little.step(1);
    little.charge(mega / 4, 'a test');
    expect(collections()).toBe(before);
    expect(() => {
      make(little, 20);
    }).toThrow(expect.objectContaining({ code: 'query-memory-busy' }));
    memory.close(large[0]!);
    await waits;
  });
  test('so is a small one beside tasks that hold what they never charged; alone it is too large', () => {
    const use = { held: 50 * mega, garbage: 0 };
    const { memory } = thread(use);
    // They wait for their clients, with rows that were read and not made.
    const idle = Array.from({ length: 40 }, () => memory.open({ isIdle: () => true }));
    for (const each of idle) make(each, 2);
    use.held = 400 * mega;
    const small = memory.open();
    expect(() => {
      make(small, 20);
    }).toThrow(expect.objectContaining({ code: 'query-memory-busy' }));
    for (const each of idle) memory.close(each);
    expect(() => {
      make(small, 20);
    }).toThrow(refusal);
  });
  test('a load beside other tasks of its thread is told to come again; alone, or with one value, it is too large', () => {
    let held = 50 * mega;
    let hasOthers = true;
    const use = { bytes: () => held, collect: () => undefined, hasOthers: () => hasOthers };
    const memory = new ThreadMemory(100 * mega, use, loads);
    const load = memory.open();
    held = 400 * mega;
    expect(() => {
      make(load, 20);
    }).toThrow(expect.objectContaining({ code: 'load-memory-busy', status: 503 }));
    expect(() => {
      load.charge(101 * mega, 'a test');
    }).toThrow('load: a test needs more than 104857600 bytes of memory (option -memory)');
    hasOthers = false;
    expect(() => {
      make(load, 20);
    }).toThrow(expect.objectContaining({ code: 'load-memory', status: 413 }));
    const other = memory.open();
    make(other, 8);
    expect(() => {
      make(other, 20);
    }).toThrow(expect.objectContaining({ code: 'load-memory-busy' }));
  });
  test('what others of the thread may hold is less where the process uses too much', () => {
    let isTight = false;
    const use = { bytes: () => 0, collect: () => undefined, isTight: () => isTight };
    const memory = new ThreadMemory(100 * mega, use, loads);
    const beside = (otherMax: number): number => memory.reservedBeside(otherMax * mega) / mega;
    expect([beside(0), beside(60), beside(200)]).toEqual([0, 0, 0]);
    const load = memory.open();
    expect([beside(0), beside(60), beside(200)]).toEqual([100, 100, 100]);
    // Then both kinds together have half of what the larger one has.
    isTight = true;
    expect([beside(0), beside(60), beside(200)]).toEqual([50, 20, 0]);
    memory.close(load);
    expect(beside(60)).toBe(0);
  });
  test("near the bound of the process garbage goes, however little of it is this thread's", () => {
    const use = { held: 50 * mega, garbage: 40 * mega };
    const memory = new ThreadMemory(100 * mega, {
      bytes: () => use.held + use.garbage,
      collect: () => {
        use.garbage = 0;
      },
      isNear: () => true,
    });
    memory.relieve();
    expect(use.garbage).toBe(0);
    use.garbage = 30 * mega;
    memory.relieve();
    expect(use.garbage).toBe(30 * mega);
  });
  test('of two tasks the one that made more is refused, far beyond the limit either, which is told to come again', () => {
    const use = { held: 50 * mega, garbage: 0 };
    const { memory } = thread(use);
    const large = memory.open();
    const small = memory.open();
    make(large, 64);
    use.held = 170 * mega;
    make(small, 20);
    expect(() => {
      make(large, 20);
    }).toThrow(refusal);
    use.held = 400 * mega;
    expect(() => {
      make(small, 20);
    }).toThrow(expect.objectContaining({ code: 'query-memory-busy' }));
  });
});

describe('operators that can spill', () => {
  test('do so where their thread is short of memory, whoever holds it; garbage is none', () => {
    const use = { held: 20 * mega, garbage: 200 * mega };
    const { signal } = new AbortController();
    const memory = new Memory(100 * mega);
    linkTask(signal, { account: thread(use).memory.open() });
    const isOver = (own: number): boolean => working(signal, () => memory.isOverWith(own));
    expect(isOver(20 * mega)).toBe(false);
    use.held = 130 * mega;
    expect([5, 20].map((megabytes) => isOver(megabytes * mega))).toEqual([false, true]);
  });
  test('do so sooner where the process is near to its bound, for which nobody is refused', () => {
    const use = { bytes: () => 90 * mega, collect: () => undefined };
    const { signal } = new AbortController();
    const memory = new Memory(100 * mega);
    const isOver = (isNear: boolean): boolean => {
      const account = new ThreadMemory(100 * mega, { ...use, isNear: () => isNear }).open();
      linkTask(signal, { account });
      make(account, 30);
      return working(signal, () => memory.isOverWith(20 * mega));
    };
    expect([false, true].map(isOver)).toEqual([false, true]);
  });
});

describe('tasks that need much together', () => {
  const { signal } = new AbortController();
  /** Whether an account may go on at once; if not, `then` resolves when it may. */
  const asked = (account: MemoryAccount, by = signal): { readonly waits: boolean; readonly then: Promise<void> } => {
    const turn = account.turn(by);
    return { waits: turn !== undefined, then: turn ?? Promise.resolve() };
  };
  test('the oldest goes on, one that made much waits until it has ended, one that made little does not', async () => {
    const use = { held: 10 * mega, garbage: 0 };
    const { memory } = thread(use);
    const [first, second, small] = [memory.open(), memory.open(), memory.open()];
    for (const account of [first, second]) make(account, 20);
    expect([first, second, small].map((account) => asked(account).waits)).toEqual([false, false, false]);
    use.held = 90 * mega;
    expect([first, small].map((account) => asked(account).waits)).toEqual([false, false]);
    const { waits, then } = asked(second);
    expect(waits).toBe(true);
    // What those that wait hold is not taken from the one that goes on, nor is it refused for them.
    use.held = 160 * mega;
    make(first, 20);
    memory.close(first);
    use.held = 30 * mega;
    await then;
    expect(asked(second).waits).toBe(false);
  });
  test('nobody waits for a task whose client is slow, and what helps another thread never waits', () => {
    const use = { held: 90 * mega, garbage: 0 };
    const { memory } = thread(use);
    const slow = memory.open({ isIdle: () => true });
    const part = memory.open({ isPart: true });
    const second = memory.open();
    for (const account of [slow, part, second]) make(account, 20);
    expect([part, second].map((account) => asked(account).waits)).toEqual([false, false]);
  });
  test('near the bound of the process a task spills once before it waits, and so does one that waits already', async () => {
    let isNear = true;
    const memory = new ThreadMemory(100 * mega, {
      bytes: () => 90 * mega,
      collect: () => undefined,
      isNear: () => isNear,
    });
    const [first, second, third] = [memory.open(), memory.open(), memory.open()];
    for (const account of [first, second, third]) make(account, 20);
    expect(asked(second).waits).toBe(false);
    expect(second.isShort).toBe(true);
    expect(asked(second).waits).toBe(true);
    isNear = false;
    const { waits, then } = asked(third);
    expect(waits).toBe(true);
    isNear = true;
    await then;
    expect(third.isShort).toBe(true);
    expect(asked(third).waits).toBe(true);
    for (const account of [first, second, third]) memory.close(account);
  });
  test('one that is cancelled waits no longer', async () => {
    const use = { held: 90 * mega, garbage: 0 };
    const { memory } = thread(use);
    const client = new AbortController();
    make(memory.open(), 20);
    const second = memory.open();
    make(second, 20);
    const { then } = asked(second, client.signal);
    client.abort(new Error('the client left'));
    await expect(then).rejects.toThrow('the client left');
  });
  test('where many have begun another begins a little later', async () => {
    const { memory } = thread({ held: 0, garbage: 0 });
    const crowd = Array.from({ length: 18 }, () => memory.open());
    const waiting = crowd.map((account) => asked(account));
    expect(waiting.map(({ waits }) => waits)).toEqual(crowd.map((_, i) => i >= 16));
    memory.close(crowd[0]!);
    memory.close(crowd[1]!);
    await Promise.all(waiting.map(({ then }) => then));
  });
  test('behind many others begin one by one, though none has ended', async () => {
    const { memory } = thread({ held: 0, garbage: 0 });
    const crowd = Array.from({ length: 18 }, () => memory.open());
    const [first, second] = crowd.map((account) => asked(account).then).slice(16);
    let isSecond = false;
    void second!.then(() => (isSecond = true));
    await first;
    expect(isSecond).toBe(false);
    await second;
    for (const account of crowd) memory.close(account);
  });
  test('where many wait others begin one after the other, and are not kept by them', async () => {
    const use = { held: 10 * mega, garbage: 0 };
    const { memory } = thread(use);
    const heavy = Array.from({ length: 6 }, () => memory.open());
    for (const account of heavy) {
      make(account, 20);
      expect(asked(account).waits).toBe(false);
    }
    use.held = 90 * mega;
    expect(heavy.map((account) => asked(account).waits)).toEqual([false, true, true, true, true, true]);
    const [small, next] = [memory.open(), memory.open()];
    const [begins, follows] = [asked(small), asked(next)];
    expect([begins.waits, follows.waits]).toEqual([true, true]);
    let hasFollowed = false;
    void follows.then.then(() => (hasFollowed = true));
    await begins.then;
    expect(hasFollowed).toBe(false);
    // It goes on to its end, whatever others wait for.
    expect(asked(small).waits).toBe(false);
    await follows.then;
    memory.close(small);
    memory.close(next);
    for (const account of heavy) memory.close(account);
  }, 20_000);
  test('where the process has little left, those of one thread go on', async () => {
    const shared = claimMemory();
    const use = { bytes: () => 90 * mega, collect: () => undefined, isTight: () => true };
    const [here, there] = [0, 1].map(
      (index) => new ThreadMemory(100 * mega, { ...use, claim: new TurnClaim(shared, index) }),
    ) as [ThreadMemory, ThreadMemory];
    const own = here.open();
    const other = there.open();
    for (const account of [own, other]) make(account, 20);
    expect(asked(own).waits).toBe(false);
    const { waits, then } = asked(other);
    expect(waits).toBe(true);
    here.close(own);
    await then;
  });
});

/** A query of this thread that may hold so much beside what the thread has now. */
const within = (megabytes: number, query: string, input?: string): Promise<string> => {
  const { signal } = new AbortController();
  const bytes = (): number => getHeapStatistics().used_heap_size + getHeapStatistics().external_memory;
  const before = bytes();
  linkTask(signal, {
    account: new ThreadMemory(megabytes * mega, {
      bytes,
      collect: () => undefined,
      kept: () => before + 1000 * mega,
    }).open(),
  });
  return runQuery(query, input, { signal });
};
const steps = (first: string, step: string, count: number): string =>
  [first, ...Array.from({ length: count }, () => `values ${step}`)].join(' | ');

test('what tells pairs, texts and rows apart charges the room that it takes', () => {
  let charged = 0;
  const account = { charge: (bytes: number) => (charged += bytes), hold: () => undefined, step: () => undefined };
  const signal = new AbortController().signal;
  linkTask(signal, { account: account as unknown as MemoryAccount });
  const during = (work: () => void): number => {
    charged = 0;
    working(signal, work);
    return charged;
  };
  const count = 100_000;
  const grown = during(() => {
    const table = new PairTable();
    for (let i = 0; i < count; i++) table.code(i, i, true);
    expect(table.bytes).toBe(12 * 2 ** 18);
  });
  // Each doubling beside what it takes over.
  expect(grown).toBeGreaterThanOrEqual(12 * 2 ** 18 * 1.9);
  const words = Uint32Array.from({ length: count }, (_, i) => Math.imul(i, 0x9e3779b1));
  expect(during(() => sortedOrder([words], count))).toBe(count * 8);
  const texts = Buffer.from(Array.from(words, (word) => word.toString(16).padStart(8, '0')).join(''));
  const offsets = Uint32Array.from({ length: count + 1 }, (_, i) => i * 8);
  expect(during(() => rankRuns(texts, offsets, count, false))).toBeGreaterThanOrEqual(count * (9 + 12 + 8));
});

describe('values that grow inside of expressions', () => {
  test.each([
    [
      'arrays',
      steps('values [1]', '[...this,...this,...this,...this,...this,...this,...this,...this]', 9),
      /copy of rows|array expression/,
    ],
    ['texts', steps('values "ab"', 'replace(this,"a","aaaaaaaaaaaaaaaa")', 10), /replace/],
    [
      'texts within one expression',
      `values ${'replace('.repeat(10)}"ab"${',"a","aaaaaaaaaaaaaaaa")'.repeat(10)}`,
      /replace/,
    ],
    ['records of records', steps('values {a:1}', '{a:this,b:this}', 60), /record/],
    ['concatenation', steps('values "abababab"', 'this||this||this||this', 20), /concatenation/],
    [
      'matches',
      'values regexp_replace(this,"(a+)",f"{this}")',
      /regexp_replace/,
      JSON.stringify('$0'.repeat(30_000) + 'a'.repeat(3000)),
    ],
    ['repetitions', 'values repeat("ab",100000000)', /repeat/],
    ['padding', 'values rpad("ab",100000000,"日")', /rpad/],
    ['ranges', 'values range(this)', /^query: values \(a list of numbers\)/, '100000000'],
    [
      'joined elements',
      'values array_to_string([this,this,this,this],this)',
      /array_to_string/,
      JSON.stringify('ab'.repeat(1_500_000)),
    ],
    ['joined values', steps('values "ab"', 'concat_ws("--",this,this,this,this,this,this,this,this)', 10), /concat_ws/],
    ['a function', 'fn f(x,n): (n==0 ? x : f([...x,...x],n-1)) values f([1],40)', /array expression|copy of rows/],
  ] as const)('%s', async (_what, query, by, input?: string) => {
    const told = await within(16, query, input).then(
      () => '',
      (error: Error) => error.message,
    );
    expect(told).toMatch(by);
    expect(told).toMatch(/^query: .* needs more than 16777216 bytes of memory \(option -memory\)$/);
  });
  test('a string longer than any can be is refused before it is made', async () => {
    const grow = 'values replace(this.s, "a", this.by)';
    const input = `{s:"${'a'.repeat(1_000_000)}",by:"${'b'.repeat(1000)}"}`;
    await expect(runQuery(grow, input)).rejects.toMatchObject({
      code: 'query-string',
      message: 'query: replace makes a string of 1000000000 characters, at most 536870888',
    });
    await expect(runQuery('values repeat("x",1000000000000)', undefined)).rejects.toMatchObject({
      code: 'query-string',
      message: 'query: repeat makes a string of 1000000000000 characters, at most 536870888',
    });
    await expect(runQuery('values lpad("x",9223372036854775807)', undefined)).rejects.toMatchObject({
      code: 'query-string',
    });
  });
  test('rows that are large together are worked on a few at a time', async () => {
    const rows = Array.from({ length: 400 }, (_, i) => `{n:${i},s:"${'a'.repeat(500)}"}`).join('\n');
    expect(
      await within(
        16,
        'values len(replace(s,"a","0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789")) | sum(this)',
        rows,
      ),
    ).toBe('20000000\n');
    expect(
      await within(
        16,
        'put t:=replace(s,"a","0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789") | values len(t) | sum(this)',
        rows,
      ),
    ).toBe('20000000\n');
  });
  test('a constant that nobody asks for is no error', async () => {
    expect(
      await within(
        16,
        `values n > 5 ? len(${'replace('.repeat(10)}"ab"${',"a","aaaaaaaaaaaaaaaa")'.repeat(10)}) : n`,
        '{n:1}',
      ),
    ).toBe('1\n');
  });
});

test('rows of a long range are made some at a time', async () => {
  const { signal } = new AbortController();
  let largest = 0;
  linkTask(signal, {
    account: {
      charge: (bytes: number) => {
        largest = Math.max(largest, bytes);
      },
      hold: () => undefined,
      step: () => undefined,
      pause: () => undefined,
      turn: () => undefined,
      isShort: false,
      isShared: false,
    } as unknown as MemoryAccount,
  });
  expect(await runQuery('select count(*) from range(3000000) r(a) where a % 7 = 3', '', { signal })).toBe(
    '{count:428571}\n',
  );
  expect(largest).toBeLessThan(4 * mega);
});
