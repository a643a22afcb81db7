import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long begin first, so that the last minute is not one file's. */
const long =
  /test\/(exchanges|crash|shapes-limit|event-resumption|reference-mistakes|random\/fuzz|browser\/\w+|openapi\/api)\.test\.ts$/;
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // Those that share a process come one after another: a process is kept for the next file alone.
    const rank = (file: TestSpecification): number =>
      file.project.name === 'shared' ? 2 : long.test(file.moduleId) ? 0 : 1;
    return [0, 1, 2].flatMap((r) => sorted.filter((f) => rank(f) === r));
  }
}

/**
 * Files that only call functions: compiler, expressions and operators, vectors, charts. They run in two processes that
 * load the sources once, half a second of processor time a file. What starts services, threads, LMDB or the clock of a
 * machine has a process of its own for each file.
 */
const shared = [
  'test/unit/{query,vectors,machines}/**/*.test.ts',
  'test/unit/exec/{expressions,operators}/**/*.test.ts',
];
const all = 'test/**/*.test.ts';
/**
 * What `LAKE_TEST=core` chooses, to be run on each line of Node besides the one that all is run on: cases of language
 * and endpoints, scenarios, codecs, threads and their collector, the program as it is built.
 */
const core = {
  own: [
    'test/conformance.test.ts',
    'test/http-cases.test.ts',
    'test/scenarios/scenarios.test.ts',
    'test/random/flips.test.ts',
    'test/unit/formats/{coded-bytes,lz4,parquet,parquet-python}.test.ts',
    'test/unit/http/encoding.test.ts',
    'test/unit/workers/{collector,pool}.test.ts',
    'test/operations/{bundle,ready,deploy}.test.ts',
  ],
  shared: [
    'test/unit/exec/{expressions,operators}/cases.test.ts',
    'test/unit/query/answers.test.ts',
    'test/unit/machines/**/*.test.ts',
  ],
};
const isCore = process.env['LAKE_TEST'] === 'core';
const common = {
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 15_000 } },
  // Services have it from their launcher.
  execArgv: ['--expose-gc'],
};

export default defineConfig({
  test: {
    globalSetup: ['test/support/worker-bundle.ts'],
    pool: 'forks',
    maxWorkers: 2,
    reporters: ['default'],
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          ...common,
          name: 'own',
          include: isCore ? core.own : [all],
          exclude: ['node_modules/**', ...shared],
        },
      },
      { test: { ...common, name: 'shared', include: isCore ? core.shared : shared, isolate: false } },
    ],
  },
});
