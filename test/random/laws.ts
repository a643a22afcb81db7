/**
 * The law of the engine: an answer depends neither on the rules of the optimizer nor on batches nor on the forms of
 * vectors nor on where the rows are kept. Every case of test/cases and, with CONFORMANCE_DIR, every recorded case runs
 * as it is and in each variant (test/support/queries/engine-variants.ts). `npm run laws` runs all of them; `npm run laws --
 * -variants "no rules,batches of one" -cases ce-12` some (parts of names will do).
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { caseFilesOf, casesFolder } from '../support/queries/case-files.ts';
import { type ConformanceCase, runCase, sameOutput } from '../support/queries/conformance.ts';
import { engineVariants, isOverMemory } from '../support/queries/engine-variants.ts';

interface LawCase extends ConformanceCase {
  readonly directory: string;
}
interface Difference {
  readonly variant: string;
  readonly id: string;
  readonly query: string;
  readonly wanted: string;
  readonly found: string;
}

const ownCases = (): LawCase[] =>
  ['expressions', 'functions', 'operators', 'aggregates'].flatMap((kind) =>
    caseFilesOf(kind).flatMap(({ file, cases }) =>
      cases.map(
        (c): LawCase => ({
          ...c,
          id: `${kind}/${file}: ${c.title}`,
          group: kind,
          error: '',
          input_args: [],
          output_args: [],
          directory: casesFolder,
        }),
      ),
    ),
  );
const recordedCases = (directory: string): LawCase[] =>
  readdirSync(join(directory, 'cases'))
    .filter((f) => f.endsWith('.jsonl'))
    .sort()
    .flatMap((file) =>
      readFileSync(join(directory, 'cases', file), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => ({ ...(JSON.parse(line) as ConformanceCase), directory })),
    );

/** All cases there are, but those whose answer is the plan itself. */
export const lawCases = (): readonly LawCase[] => {
  const directory = process.env['CONFORMANCE_DIR'];
  const recorded = directory !== undefined && existsSync(directory) ? recordedCases(directory) : [];
  return [...ownCases(), ...recorded].filter(({ query }) => !/^\s*explain\b/i.test(query));
};

/** What puts rows aside by their hashes gives them in another order than it would otherwise. */
const losesOrder = /\b(?:join|distinct)\b/i;

/** Runs one case in these variants; those whose answer is another one than that of the case as it is. */
export const differences = async (c: LawCase, variants: readonly string[]): Promise<readonly Difference[]> => {
  const usual = await runCase(c, c.directory);
  const out: Difference[] = [];
  for (const variant of variants) {
    const answer = await runCase(c, c.directory, engineVariants[variant]);
    if (isOverMemory(answer.error)) continue;
    // Rows before a failure depend on where batches end, so only the failure is compared.
    const isSame =
      answer.error === usual.error &&
      (usual.error !== '' ||
        sameOutput(
          { output: usual.output, unordered: c.unordered || (variant.endsWith('spilled') && losesOrder.test(c.query)) },
          answer.output,
        ));
    if (!isSame)
      out.push({
        variant,
        id: c.id,
        query: c.query,
        wanted: usual.output + usual.error,
        found: answer.output + answer.error,
      });
  }
  return out;
};

const main = async (argv: readonly string[]): Promise<number> => {
  const option = (name: string): readonly string[] => {
    const at = argv.indexOf(`-${name}`);
    return at < 0 ? [] : (argv[at + 1] ?? '').split(',');
  };
  const named = (text: string, parts: readonly string[]): boolean =>
    parts.length === 0 || parts.some((p) => text.includes(p));
  const variants = Object.keys(engineVariants).filter((v) => named(v, option('variants')));
  const cases = lawCases().filter((c) => named(c.id, option('cases')));
  const began = performance.now();
  let count = 0;
  for (const c of cases) {
    for (const d of await differences(c, variants)) {
      count++;
      console.log(
        `${d.id} (${d.variant})\n  ${d.query.trim()}\n  usual: ${JSON.stringify(d.wanted)}\n  found: ${JSON.stringify(d.found)}`,
      );
    }
  }
  console.log(
    `${cases.length} cases in ${variants.length} variants in ${Math.round((performance.now() - began) / 1000)} s, ${count} differences`,
  );
  return count === 0 ? 0 : 1;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
