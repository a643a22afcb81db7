import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long begin first, so that the last minute is not one file's. */
const long = /test\/(exchanges|crash|shapes-limit|event-resumption|reference-mistakes|random\/fuzz|browser\/\w+|openapi\/api)\.test\.ts$/;
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...sorted.filter((f) => long.test(f.moduleId)), ...sorted.filter((f) => !long.test(f.moduleId))];
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/worker-bundle.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    reporters: ['default'],
    sequence: { sequencer: LongFirst },
  },
});
