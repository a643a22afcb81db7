import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { compiledSources } from './test/support/compiled-sources.ts';
import { testEngineFlags } from './test/support/engine-flags.ts';

/** Files that take long begin first, so that the last minute is not one file's. */
const long =
  /test\/(exchanges|crash|scenarios\/\w+|shapes-limit|connections\/event-resumption|campaign\/campaign|store\/\w+|upgrade|random\/fuzz|browser\/\w+|openapi\/api|clients\/python-client)\.test\.ts$/;
const projects = ['pages', 'own', 'apart', 'shared'];
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // Those that share a process come one after another: a process is kept for the next file alone.
    const rank = (file: TestSpecification): number =>
      2 * projects.indexOf(file.project.name) + (long.test(file.moduleId) ? 0 : 1);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

/**
 * Files that have a process of their own each: what they do to it, or see in it, is the whole process's. The others run
 * in as many processes as there are workers, which load the sources once, near two seconds of processor time a file.
 */
const alone = [
  // They set the environment, the clock, warnings or globals, or make modules anew.
  'test/store/{service,variant}.test.ts',
  'test/operations/http2.test.ts',
  'test/unit/lake/clocks.test.ts',
  'test/unit/visualize/query.test.ts',
  // They look at memory, the collector, descriptors or threads.
  'test/unit/workers/{collector,page-returns}.test.ts',
  'test/unit/http/read-queries.test.ts',
  'test/operations/open-files.test.ts',
];
/**
 * They load little or nothing of the service: other processes do the work, and some of them a lot of it. They share
 * processes that stay small: one of its own takes 0.6 s of processor time, before a file says anything.
 */
const apart = [
  'test/{campaign,bench,shippers,openapi}/**/*.test.ts',
  'test/{crash,crowd,exchanges,shapes-limit,upgrade,shutdown,growing}.test.ts',
  'test/connections/event-resumption.test.ts',
  'test/operations/{deploy,bundle,package,ready}.test.ts',
];
/** They share a process and its browser, which take longer to start than most of their tests. */
const pages = ['test/browser/*.test.ts', 'test/client/browser.test.ts'];
const all = 'test/**/*.test.ts';
/**
 * What `LAKE_TEST=core` chooses, to be run on each line of Node besides the one that all is run on: cases of language
 * and endpoints, scenarios, codecs, threads and their collector, the program as it is built.
 */
const core = {
  alone: ['test/unit/workers/collector.test.ts'],
  apart: ['test/operations/{bundle,ready,deploy}.test.ts'],
  shared: [
    'test/conformance.test.ts',
    'test/http-cases.test.ts',
    'test/scenarios/scenarios.test.ts',
    'test/random/flips.test.ts',
    'test/unit/exec/{expressions,operators}/cases.test.ts',
    'test/unit/formats/{coded-bytes,lz4}.test.ts',
    'test/unit/formats/parquet/{parquet,python}.test.ts',
    'test/unit/http/encoding.test.ts',
    'test/unit/machines/**/*.test.ts',
    'test/unit/query/answers.test.ts',
    'test/unit/workers/pool.test.ts',
  ],
};
const isCore = process.env['LAKE_TEST'] === 'core';
const common = {
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 15_000 } },
  execArgv: [...testEngineFlags],
  setupFiles: process.env['LAKE_TEST_CPU'] ? ['test/support/processor-time.ts'] : [],
};

const plugins = [compiledSources()];

export default defineConfig({
  test: {
    globalSetup: ['test/support/worker-bundle.ts'],
    pool: 'forks',
    // Four on two processors: for each second of processor time tests wait 0.6 s, for disks, timers and others. Three
    // leave a sixth of the two unused, four a twentieth, and more of them little but their memory.
    maxWorkers: 4,
    reporters: ['default'],
    sequence: { sequencer: LongFirst },
    projects: [
      { plugins, test: { ...common, name: 'pages', include: isCore ? [] : pages, isolate: false } },
      { plugins, test: { ...common, name: 'own', include: isCore ? core.alone : alone } },
      { plugins, test: { ...common, name: 'apart', include: isCore ? core.apart : apart, isolate: false } },
      {
        plugins,
        test: {
          ...common,
          name: 'shared',
          include: isCore ? core.shared : [all],
          exclude: ['node_modules/**', ...pages, ...alone, ...apart],
          isolate: false,
        },
      },
    ],
  },
});
