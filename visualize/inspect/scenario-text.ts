/** How a scenario and its steps came out, for people. */
import type { ScenarioInfo, StepCheck } from './model.ts';

/** What came of a step, in few words: `≠ differs: state, emitted`. */
export const checkText = ({ outcome, rows }: StepCheck): string =>
  `${outcomeTexts[outcome]}${
    outcome === 'differs'
      ? `: ${rows
          .filter(({ differs }) => differs)
          .map(({ what }) => what)
          .join(', ')}`
      : ''
  }`;
const outcomeTexts = {
  'as expected': '✓ as expected',
  differs: '≠ differs',
  'not run': 'not run',
  start: '',
} as const satisfies Record<StepCheck['outcome'], string>;
const tones = { 'as expected': 'good', differs: 'bad', 'not run': 'warn', start: '' } as const satisfies Record<
  StepCheck['outcome'],
  string
>;
/** The CSS class of its colour. */
export const checkTone = ({ outcome }: StepCheck): string => tones[outcome];

/** `step 3`, or `start`. */
export const numberText = ({ number }: StepCheck): string => (number === 0 ? 'start' : `step ${number}`);

/** What came of a whole scenario, and the CSS class of its colour. */
export const scenarioResult = ({ kind, differing }: ScenarioInfo): { readonly text: string; readonly tone: string } => {
  if (kind === 'lake') return { text: 'not run', tone: 'warn' };
  return differing.length === 0
    ? { text: 'as expected', tone: 'good' }
    : { text: `${differing.length} differ${differing.length === 1 ? 's' : ''}`, tone: 'bad' };
};
/** The same as a sentence. */
export const scenarioSummary = ({ file, kind, steps, differing, notRun }: ScenarioInfo): string => {
  const count = `${steps} step${steps === 1 ? '' : 's'}`;
  if (kind === 'lake') return `${file}: ${count}, not run here.`;
  if (differing.length === 0) return `${file}: ${count}, all as expected.`;
  return `${file}: ${differing.length} of ${count} ${differing.length === 1 ? 'differs' : 'differ'} from what was expected, the first is step ${differing[0]}${notRun.length === 0 ? '' : `; not run from step ${notRun[0]} on`}.`;
};
