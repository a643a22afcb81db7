/**
 * The machines, walked with `xstate/graph` through everything that they can get into: nothing in them is dead, nothing
 * that comes is dropped silently, and SPEC.md says of every state and event what the machine does. The scenarios reach
 * every state and transition too.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type MachineName, machineNames, machines } from '../../../machines/machines.ts';
import type { JobOutcome } from '../../../machines/pool.events.ts';
import { playScenario } from '../../../src/recording/scenario.ts';
import { MachinePlayer } from '../../../src/recording/player.ts';
import { partsOf, reached, withReports } from '../../support/machines/parts.ts';
import { walkMachine } from '../../support/machines/walk.ts';
import { machineScenarios } from '../../support/machines/scenario-player.ts';

const specification = readFileSync(new URL('../../../machines/SPEC.md', import.meta.url), 'utf8');

/** The first table under a machine's heading: by state and event, the text of the cell. */
const specTable = (machine: MachineName): ReadonlyMap<string, ReadonlyMap<string, string>> => {
  const section = new RegExp(`^## ${machine}\\b[^\\n]*\\n([\\s\\S]*?)(?=^## |$(?![\\s\\S]))`, 'm').exec(
    specification,
  )![1]!;
  const lines = section.slice(section.indexOf('| state |')).split('\n');
  const rows = lines
    .slice(
      0,
      lines.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const [head, , ...body] = rows;
  return new Map(
    body.map(([state, ...cells]) => [
      state!.replace(/ \(.*/, ''),
      new Map(cells.map((cell, i) => [head![i + 1]!, cell])),
    ]),
  );
};
/** The states that a cell names. */
const statesOf = (cell: string): readonly string[] =>
  cell === '-'
    ? []
    : cell
        .replace(/\s*\(.*/, '')
        .split(', ')
        .sort();

/** Parts that the scenarios of a machine reach. */
const reachedByScenarios = (machine: MachineName): ReadonlySet<string> => {
  const reporting = withReports(machines[machine]);
  const seen = new Set<string>();
  for (const { scenario } of machineScenarios(machine)) {
    const first = new MachinePlayer(reporting, { input: scenario.input });
    const { steps } = playScenario(scenario, { ...machines, [machine]: reporting });
    for (const one of [...first.emittedFirst, ...steps.flatMap((step) => step.emitted)] as readonly {
      readonly type: string;
      readonly id?: string;
    }[])
      if (one.type === reached) seen.add(one.id!);
  }
  return seen;
};

for (const machine of machineNames) {
  const walk = await walkMachine(machine);
  describe(machine, () => {
    const parts = partsOf(machines[machine]);
    const ids = [...parts.states, ...parts.transitions.map((t) => t.id)];

    test('every state and transition is reached, by the walk and by the scenarios', () => {
      const scenarios = reachedByScenarios(machine);
      const part = (list: readonly string[], seen: ReadonlySet<string>): string =>
        `${list.filter((id) => seen.has(id)).length} of ${list.length}`;
      const transitions = parts.transitions.map((t) => t.id);
      console.log(
        `${machine}: ${walk.situations} situations, ${walk.steps.length} steps; states reached: walk ${part(parts.states, walk.reached)}, scenarios ${part(parts.states, scenarios)}; transitions: walk ${part(transitions, walk.reached)}, scenarios ${part(transitions, scenarios)}`,
      );
      expect({
        walk: ids.filter((id) => !walk.reached.has(id)),
        scenarios: ids.filter((id) => !scenarios.has(id)),
      }).toEqual({ walk: [], scenarios: [] });
    });

    test('every event is taken in every state, and a job is put into the queue or refused with a reason', () => {
      expect(walk.steps.filter((step) => !step.taken).map((step) => `${step.from}: ${step.event.type}`)).toEqual([]);
      const refusing = walk.steps
        .filter((step) => step.column === 'job')
        .flatMap((step) => step.emitted.flatMap((event) => event['outcomes'] as readonly JobOutcome[]));
      expect(refusing.every((outcome) => outcome.status === 'refused' && outcome.text !== '')).toBe(true);
      if (machine === 'lake')
        expect(new Set(refusing.map((outcome) => (outcome.status === 'refused' ? outcome.why : '')))).toEqual(
          new Set(['queue full', 'closing', 'store failed']),
        );
    });

    test('SPEC.md says where each event leads from each state', () => {
      const found = new Map<string, Map<string, Set<string>>>();
      for (const { from, column, to } of walk.steps) {
        const row = found.get(from) ?? new Map<string, Set<string>>();
        found.set(from, row.set(column, (row.get(column) ?? new Set()).add(to === from ? 'stays' : to)));
      }
      const table = specTable(machine);
      const finals = walk.steps.filter((step) => step.ended).map((step) => step.to);
      expect([...table.keys()].sort()).toEqual([...new Set([...found.keys(), ...finals])].sort());
      for (const [state, row] of table) {
        const expected = Object.fromEntries([...row].map(([column, cell]) => [column, statesOf(cell)]));
        expect({ state, ...expected }).toEqual({
          state,
          ...Object.fromEntries(
            [...row.keys()].map((column) => [column, [...(found.get(state)?.get(column) ?? [])].sort()]),
          ),
        });
        expect([...(found.get(state)?.keys() ?? [])].filter((column) => !row.has(column))).toEqual([]);
      }
    });
  });
}
