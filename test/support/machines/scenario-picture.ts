/**
 * A scenario as a picture: time goes down, messages are arrows, states are boxes on the machine's line. Of a lake's
 * scenario the steps are arrows from the client and what is expected of each stands behind it. The SVG needs nothing
 * from elsewhere and follows the reader's colour scheme.
 */
import { escapeXml } from '../../../visualize/inspect/chart.ts';
import {
  innerSteps,
  type LakeScenario,
  type LakeStep,
  type MachineScenario,
  type Scenario,
  playScenario,
  stepName,
} from '../../../src/recording/scenario.ts';
import { lakeExpectations as expectations } from '../../../src/recording/scenario-words.ts';

/** One row: an arrow or a box. */
type Row =
  | { readonly kind: 'in'; readonly text: string; readonly detail: string; readonly from: 'outside' | 'work' }
  | { readonly kind: 'out'; readonly text: string; readonly detail: string }
  | { readonly kind: 'state'; readonly text: string; readonly same: boolean }
  | { readonly kind: 'time'; readonly text: string }
  | { readonly kind: 'crash'; readonly text: string }
  | { readonly kind: 'expect'; readonly text: string; readonly bad: boolean };

const size = {
  width: 760,
  left: 70,
  line: 470,
  work: 690,
  row: 34,
  box: 24,
  head: 84,
  char: 6.7,
  expectChars: 104,
} as const;

export const scenarioSvg = (scenario: Scenario, name: string): string => {
  const rows = 'lake' in scenario ? lakeRows(scenario) : machineRows(scenario);
  const lines = 'lake' in scenario ? ['client', 'lake'] : ['outside', scenario.machine];
  const why = wrapped(scenario.why, 96);
  const top = size.head + (why.length - 1) * 16;
  const height = top + rows.length * size.row + 30;
  const end = height - 16;
  const work = rows.some((row) => row.kind === 'in' && row.from === 'work');
  const heads = [
    ...why.map((text, i) => `<text x="16" y="${24 + i * 16}" class="why">${escapeXml(text)}</text>`),
    head(size.left, top, lines[0]!, end),
    head(size.line, top, lines[1]!, end),
    ...(work ? [head(size.work, top, 'its work', end)] : []),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" width="${size.width}" height="${height}" role="img" aria-label="${escapeXml(`${name}: ${scenario.why}`)}">
<style>
svg{color-scheme:light dark;--ink:light-dark(#1d2733,#e4e9ef);--weak:light-dark(#66727f,#98a4b1);--line:light-dark(#b9c2cc,#4d5965);--box:light-dark(#eef3f8,#222c36);--lit:light-dark(#d7e9dc,#244532);--bad:light-dark(#b3261e,#ff8a80);background:light-dark(#fff,#12171c)}
text{font:12px ui-monospace,monospace;fill:var(--ink)}.why{font:600 13px system-ui,sans-serif}.weak{fill:var(--weak)}.bad{fill:var(--bad)}
line,path{stroke:var(--ink);fill:none}.life{stroke:var(--line);stroke-dasharray:3 4}rect{fill:var(--box);stroke:var(--line)}.lit{fill:var(--lit)}.tip{fill:var(--ink)}.crash{stroke:var(--bad);stroke-dasharray:8 4}
</style>
${[...heads, ...rows.map((row, i) => rowSvg(row, top + 20 + i * size.row))].join('\n')}
</svg>
`;
};

const head = (x: number, y: number, text: string, end: number): string => {
  const width = text.length * size.char + 20;
  return `<line class="life" x1="${x}" y1="${y - 12}" x2="${x}" y2="${end}"/><rect x="${x - width / 2}" y="${y - 34}" width="${width}" height="24" rx="4"/><text x="${x}" y="${y - 18}" text-anchor="middle">${escapeXml(text)}</text>`;
};

const rowSvg = (row: Row, y: number): string => {
  const middle = y + size.box / 2;
  switch (row.kind) {
    case 'in': {
      const start = row.from === 'work' ? size.work : size.left;
      const end = size.line + (row.from === 'work' ? 6 : -6);
      const x = row.from === 'work' ? size.line + 12 : size.left + 10;
      return `${arrow(start, end, middle)}<text x="${x}" y="${middle - 5}">${escapeXml(clipped(row.text, row.from === 'work' ? 26 : 50))}</text><text x="${x}" y="${middle + 14}" class="weak">${escapeXml(clipped(row.detail, row.from === 'work' ? 26 : 50))}</text>`;
    }
    case 'out':
      return `${arrow(size.line, size.left + 6, middle)}<text x="${size.left + 14}" y="${middle - 5}">${escapeXml(clipped(row.text, 50))}</text><text x="${size.left + 14}" y="${middle + 14}" class="weak">${escapeXml(clipped(row.detail, 50))}</text>`;
    case 'state': {
      const width = row.text.length * size.char + 24;
      return row.same
        ? `<circle cx="${size.line}" cy="${middle}" r="3" class="tip"/><text x="${size.line + 10}" y="${middle + 4}" class="weak">stays ${escapeXml(row.text)}</text>`
        : `<rect class="lit" x="${size.line - width / 2}" y="${y}" width="${width}" height="${size.box}" rx="12"/><text x="${size.line}" y="${middle + 4}" text-anchor="middle">${escapeXml(row.text)}</text>`;
    }
    case 'time':
      return `<text x="${size.line + 12}" y="${middle + 4}" class="weak">${escapeXml(row.text)}</text>`;
    case 'crash':
      return `<line class="crash" x1="16" y1="${middle}" x2="${size.width - 16}" y2="${middle}"/><text x="16" y="${middle - 6}" class="bad">${escapeXml(row.text)}</text>`;
    case 'expect':
      return `<text x="${size.left + 10}" y="${middle - 4}" class="${row.bad ? 'bad' : 'weak'}">${escapeXml(row.text)}</text>`;
  }
};
const arrow = (start: number, end: number, y: number): string => {
  const back = end > start ? -7 : 7;
  return `<line x1="${start}" y1="${y}" x2="${end}" y2="${y}"/><path class="tip" d="M${end} ${y}l${back} -4v8z"/>`;
};

const machineRows = (scenario: MachineScenario): readonly Row[] => {
  const { start, steps } = playScenario(scenario);
  let state = start?.state.join(' ') ?? '';
  const rows: Row[] = [{ kind: 'state', text: state, same: false }];
  for (const [i, step] of scenario.steps.entries()) {
    const { type: _, ...fields } = step.event ?? { type: '' };
    const name = stepName(step);
    if (step.after !== undefined) rows.push({ kind: 'time', text: name });
    else
      rows.push({
        kind: 'in',
        text: name,
        detail: detailOf(step.event ? fields : (step.output ?? step.message)),
        from: step.event ? 'outside' : 'work',
      });
    for (const emitted of steps[i]?.emitted ?? []) {
      const { type, ...rest } = emitted as { readonly type: string };
      rows.push({ kind: 'out', text: type, detail: detailOf(rest) });
    }
    const next = steps[i]?.state ?? step.state;
    rows.push({ kind: 'state', text: next, same: next === state });
    state = next;
  }
  return rows;
};

const lakeRows = ({ steps }: LakeScenario): readonly Row[] => steps.flatMap((step) => lakeStepRows(step));
const lakeStepRows = (step: LakeStep): readonly Row[] => {
  const inner = innerSteps(step);
  const done = Object.entries(step).filter(
    ([word, value]) =>
      !['crash', 'as', 'together', ...(inner ? ['close'] : [])].includes(word) &&
      !(word !== Object.keys(step)[0] && expectations.some((e) => e === word)) &&
      value !== undefined,
  );
  const text = inner
    ? step['close']
      ? 'close, right behind:'
      : 'at once:'
    : done
        .map(([word, value]) =>
          value === true ? word : `${word} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
        )
        .join(' ');
  return [
    ...(inner ?? []).flatMap((one) => lakeStepRows(one).slice(0, 1)),
    { kind: 'in', text, detail: typeof step['as'] === 'string' ? `commit ${step['as']}` : '', from: 'outside' },
    ...(step['crash'] === undefined
      ? []
      : [{ kind: 'crash', text: `killed ${String(step['crash'])}, started again` } as const]),
    ...expectations.flatMap((word): readonly Row[] =>
      step[word] === undefined || word === Object.keys(step)[0]
        ? []
        : wrapped(`${word}: ${detailOf(step[word])}`, size.expectChars).map((line) => ({
            kind: 'expect',
            text: line,
            bad: word === 'error',
          })),
    ),
  ];
};

const detailOf = (value: unknown): string =>
  value === undefined
    ? ''
    : typeof value === 'string'
      ? value
      : JSON.stringify(value)
          .replaceAll('"', '')
          .replaceAll(',', ', ')
          .replaceAll(':', ': ')
          .replace(/^\{(.*)\}$/, '$1');
const clipped = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}\u2026` : text;
const wrapped = (text: string, length: number): readonly string[] => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line.length + word.length + 1 > length && line !== '') {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
};
