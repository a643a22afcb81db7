import { engineFlags } from '../../src/engine-flags.ts';

/**
 * Options of the engine in processes of tests. They are those of the service, whose launcher sets them: without, the
 * same files take 1.08 times the processor time. Besides, nearly all that a test runs it runs a few times: looked at for
 * compilation to the fastest code after seven times as much as in a service, cases of operators take 0.85 of the
 * processor time, and loops over many rows no more. Node 20 alone, as there.
 */
export const testEngineFlags: readonly string[] = [
  ...engineFlags,
  ...(process.versions.node.startsWith('20.') ? ['--interrupt-budget=1000000'] : []),
];
