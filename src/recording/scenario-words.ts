/**
 * What scenario files are called, and the words of a lake's steps. Imports nothing, so that a page can read it before
 * it needs the rest.
 */

/** Whether a file of this name is a scenario; others are recordings. */
export const isScenarioName = (name: string): boolean => /\.ya?ml$/i.test(name);

/** What a step of a lake's scenario can do: its first word. */
export const lakeStepWords = [
  'create pool',
  'rename pool',
  'set pool',
  'delete pool',
  'load',
  'loads',
  'delete',
  'delete where',
  'update',
  'upsert',
  'compact',
  'mark',
  'unmark',
  'create branch',
  'delete branch',
  'reset',
  'protect',
  'create tag',
  'delete tag',
  'merge',
  'revert',
  'pick',
  'transaction',
  'job',
  'vacuum',
  'query',
  'open',
  'read',
  'release',
  'together',
  'close',
  'restart',
  'start again',
] as const;
export type LakeStepWord = (typeof lakeStepWords)[number];

/** What a step of a lake's scenario can expect: none of these words is the first of a step. */
export const lakeExpectations = [
  'error',
  'rows',
  'objects',
  'tips',
  'events',
  'settled',
  'stream',
  'states',
  'events since',
] as const;
