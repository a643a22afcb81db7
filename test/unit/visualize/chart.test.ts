/** Charts: what is drawn of a machine, where, and which transitions a message took. */
import { describe, expect, test } from 'vitest';
import { lakeMachine } from '../../../machines/lake.machine.ts';
import { loadMachine } from '../../../machines/load.machine.ts';
import { poolMachine } from '../../../machines/pool.machine.ts';
import { queryMachine } from '../../../machines/query.machine.ts';
import { subscriberMachine } from '../../../machines/subscriber.machine.ts';
import { transactionMachine } from '../../../machines/transaction.machine.ts';
import { createMachine } from 'xstate';
import {
  activeIds,
  type Chart,
  type ChartNode,
  chartSvg,
  layoutChart,
  transitionsTaken,
} from '../../../visualize/inspect/chart.ts';
import { machineParts } from '../../../visualize/inspect/chart-parts.ts';

const nested = createMachine({
  id: 'nested',
  type: 'parallel',
  states: {
    left: {
      initial: 'a',
      states: {
        a: { on: { go: 'b', out: '#nested.right.y.deep' } },
        b: { on: { back: 'a', again: { target: 'b', reenter: true } } },
      },
    },
    right: {
      initial: 'x',
      on: { reset: '.x' },
      states: {
        x: { on: { go: 'y' } },
        y: {
          initial: 'deep',
          states: { deep: { on: { '<b>&"x"</b>': 'deeper' } }, deeper: { on: { go: '#nested.right.x' } } },
        },
      },
    },
  },
});
/** As a pool's, in small: the real one may change. */
const small = createMachine({
  id: 'pool',
  initial: 'opening',
  on: { job: [{ guard: 'queue is full' }, { actions: 'put job into queue' }], close: { actions: 'remember' } },
  states: {
    opening: { invoke: { src: 'open', onDone: 'idle', onError: 'failed' } },
    idle: {
      always: [
        { guard: 'jobs wait', target: 'working' },
        { guard: 'close is asked for', target: 'closing' },
      ],
    },
    working: {
      invoke: {
        src: 'work',
        onDone: [
          { guard: 'store is unsound', target: 'failed' },
          { guard: 'jobs wait', target: 'working', reenter: true },
          { target: 'idle' },
        ],
        onError: 'idle',
      },
    },
    closing: {
      initial: 'choosing',
      on: { job: { actions: 'refuse' } },
      states: {
        choosing: { always: [{ guard: 'jobs wait', target: 'draining' }, '#pool.closed'] },
        draining: { invoke: { src: 'work', onDone: 'choosing', onError: 'choosing' } },
      },
    },
    failed: { always: { guard: 'close is asked for', target: 'closed' } },
    closed: { type: 'final' },
  },
});
const machines = {
  lake: lakeMachine,
  pool: poolMachine,
  load: loadMachine,
  query: queryMachine,
  subscriber: subscriberMachine,
  transaction: transactionMachine,
  nested,
  small,
} as const;

const overlap = (a: ChartNode, b: ChartNode): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
const parentOf = (node: ChartNode): string | null =>
  node.state ? node.state.parent : node.id.slice(0, node.id.indexOf('@'));

describe.each(Object.entries(machines))('the chart of %s', (_, machine) => {
  const chart: Chart = layoutChart(machine);
  const byId = new Map(chart.nodes.map((n) => [n.id, n]));

  test('has every state inside its parent, and none over another', () => {
    const faults: string[] = [];
    for (const node of chart.nodes) {
      const parent =
        parentOf(node) === null ? { x: 0, y: 0, width: chart.width, height: chart.height } : byId.get(parentOf(node)!)!;
      if (
        node.x < parent.x ||
        node.y < parent.y ||
        node.x + node.width > parent.x + parent.width ||
        node.y + node.height > parent.y + parent.height
      )
        faults.push(`${node.id} leaves its parent`);
      for (const other of chart.nodes)
        if (node.id < other.id && parentOf(node) === parentOf(other) && overlap(node, other))
          faults.push(`${node.id} lies over ${other.id}`);
    }
    expect(faults).toEqual([]);
  });

  test('tells of every transition once for each target: on an arrow, or in the box of the state that stays', () => {
    const drawn = [
      ...chart.edges.flatMap((e) => e.transitions),
      ...chart.nodes.flatMap((n) => [...new Set(n.lines.flatMap((l) => l.transition ?? []))]),
    ].sort();
    expect(drawn).toEqual(
      chart.parts.transitions.flatMap((t) => Array.from({ length: Math.max(1, t.targets.length) }, () => t.id)).sort(),
    );
    for (const edge of chart.edges)
      expect([edge.id, edge.path]).toEqual([edge.id, expect.stringMatching(/^M[\d. -]+[QL]/)]);
  });

  test('is the same each time, and its SVG is well-formed text', () => {
    expect(layoutChart(machine)).toEqual(chart);
    const svg = chartSvg(chart, { active: activeIds(chart.parts.states, []), title: '<script>"&' });
    expect(svg).not.toMatch(/<script|NaN|undefined|Infinity|<b>/);
    const depth = [...svg.matchAll(/<(\/?)(\w+)[^>]*?(\/?)>/g)].reduce(
      (n, [, end, , empty]) => n + (end ? -1 : empty ? 0 : 1),
      0,
    );
    expect(depth).toBe(0);
  });
});

test('active are the leaves and all around them', () => {
  const { states } = machineParts(nested);
  expect([...activeIds(states, ['left.b', 'right.y.deep'])].sort()).toEqual([
    'nested',
    'nested.left',
    'nested.left.b',
    'nested.right',
    'nested.right.y',
    'nested.right.y.deep',
  ]);
  expect([...activeIds(states, ['gone'])]).toEqual([]);
});

test.each([
  ['job', 'idle', 'working', ['pool: job', 'pool.idle: at once [jobs wait]']],
  ['job', 'working', 'working', ['pool: job']],
  ['xstate.done.actor.0.pool.working', 'working', 'idle', ['pool.working: “work” is done']],
  ['xstate.done.actor.0.pool.working', 'working', 'working', ['pool.working: “work” is done [jobs wait]']],
  [
    'xstate.error.actor.0.pool.working',
    'working',
    'working',
    ['pool.working: “work” broke', 'pool.idle: at once [jobs wait]'],
  ],
  [
    'close',
    'idle',
    'closed',
    ['pool: close', 'pool.idle: at once [close is asked for]', 'pool.closing.choosing: at once'],
  ],
  [
    'xstate.done.actor.0.pool.opening',
    'opening',
    'working',
    ['pool.opening: “open” is done', 'pool.idle: at once [jobs wait]'],
  ],
  ['job', 'closing.draining', 'closing.draining', ['pool.closing: job']],
  ['unknown', 'idle', 'idle', []],
])('%s from %s to %s took what the chart shows', (type, from, to, expected) => {
  const parts = machineParts(small);
  const names = transitionsTaken(parts, { event: { type }, from: [from], to: [to] }).map((id) => {
    const t = parts.transitions.find((x) => x.id === id)!;
    return `${t.source}: ${t.name}${t.guard === null ? '' : ` [${t.guard}]`}`;
  });
  expect(names).toEqual(expected);
});
