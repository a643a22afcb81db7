/**
 * The rows as a plot: what they allow, the best first. A histogram's span narrows the query. All figures stand in a
 * table too.
 */
import { useComputed, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { count, counted, visible } from '../../text.ts';
import { type Bins, binTimes, spanOfBins, textTimeLiteral, timeLiteral, widthText } from './bins.ts';
import { type PlotChoice, plotsOf } from './chartable.ts';
import { PlotCanvas } from './canvas.tsx';
import { barRows, linesOf, TimeGatherer } from './gather.ts';
import type { Path } from '../columns/columns.ts';
import { type Run, turn } from '../run.ts';

/** Whose rows are drawn, and how a span of time changes the query. */
interface PlotProps {
  readonly run: Run;
  /** First key of the pool, if known. */
  readonly poolKey: string | undefined;
  /** Narrows the query to a span: literals as the query writes them. */
  readonly onNarrow: (path: Path, from: string, to: string) => void;
  /** Takes a span away; undefined where none stands. */
  readonly widen: (path: Path) => (() => void) | undefined;
}

const binsMax = 120;
const barsMax = 200;
const linesMax = 8;
const tableRowsMax = 500;
const titleOf = ({ kind, over, numbers, by }: PlotChoice): string => {
  const names = numbers.map((column) => column.title).join(', ');
  return visible(
    kind === 'histogram'
      ? `Histogram of ${over.title}`
      : kind === 'bars'
        ? `Bars: ${names} by ${over.title}`
        : `Lines: ${names} over ${over.title}${by ? ` by ${by.title}` : ''}`,
    120,
  );
};

/** The plot that was chosen of those that the rows allow, or why there is none. */
export const Plot = ({ run, poolKey, onNarrow, widen }: PlotProps) => {
  const plots = useComputed(() => (run.version.value, plotsOf(run.store, poolKey)));
  const chosen = useSignal('');
  const { choices, why } = plots.value;
  if (choices.length === 0)
    return (
      <div class="nothing plot-none">
        <h2>Nothing to plot</h2>
        <p class="soft">{run.state.value === 'running' && run.store.count === 0 ? 'Rows are on their way.' : why}</p>
        {run.store.count > 0 && (
          <p class="soft">
            Try <code>| count() by bucket(field, 1h)</code> over a time, or <code>| count() by field</code>.
          </p>
        )}
      </div>
    );
  const choice = choices.find((each) => titleOf(each) === chosen.value) ?? choices[0];
  const title = titleOf(choice);
  return (
    <div class="plot-place">
      <div class="plot-bar">
        <label>
          Plot{' '}
          <select
            value={title}
            onChange={(e) => {
              chosen.value = e.currentTarget.value;
            }}
          >
            {choices.map((each) => (
              <option key={titleOf(each)} value={titleOf(each)}>
                {titleOf(each)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {choice.kind === 'histogram' ? (
        <Histogram
          key={`${run.requestId} ${title}`}
          run={run}
          choice={choice}
          title={title}
          onNarrow={onNarrow}
          widen={widen}
        />
      ) : choice.kind === 'bars' ? (
        <Bars run={run} choice={choice} title={title} />
      ) : (
        <LinesPlot run={run} choice={choice} title={title} />
      )}
    </div>
  );
};

/** Says that rows are not in the plot, if there are any. */
const LeftOut = ({ count: rows, what }: { readonly count: number; readonly what: string }) =>
  rows > 0 ? (
    <span class="warn">
      {' '}
      · {counted(rows, 'row')} left out, where {what} is nothing that can be drawn
    </span>
  ) : null;

const dayText = (ms: number): string =>
  new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/(?::00)?\.000Z$/, '')
    .replace('Z', '');

const Histogram = ({
  run,
  choice,
  title,
  onNarrow,
  widen,
}: { readonly run: Run; readonly choice: PlotChoice; readonly title: string } & Pick<
  PlotProps,
  'onNarrow' | 'widen'
>) => {
  const gatherer = useMemo(() => new TimeGatherer(run.store, choice), []);
  const bins = useSignal<Bins | undefined>(undefined);
  const known = useSignal(0);
  const point = useSignal<number | undefined>(undefined);
  const alive = useRef(true);
  const busy = useRef(false);
  const span = useSignal<{ readonly from: number; readonly to: number } | undefined>(undefined);
  useEffect(
    () => () => {
      alive.current = false;
    },
    [],
  );
  const { value: version } = run.version;
  useEffect(() => {
    if (busy.current) return;
    busy.current = true;
    let paintedAt = 0;
    const paint = (): void => {
      paintedAt = performance.now();
      bins.value = binTimes(gatherer.times, binsMax);
      known.value = gatherer.times.length;
    };
    void gatherer
      .gather(async () => {
        if (performance.now() - paintedAt > 200) paint();
        await turn();
        return alive.current;
      })
      .then(() => {
        busy.current = false;
        if (alive.current) paint();
      });
  }, [version]);
  const { value } = bins;
  if (!value)
    return (
      <p class="soft busy" role="status">
        Counting…
      </p>
    );
  const { start, width, counts } = value;
  const total = counts.reduce((a, b) => a + b, 0);
  const last = counts.length - 1;
  const undo = widen(choice.over.path);
  const more = run.state.value === 'full';
  const literal = (ms: number): string => (choice.asText ? textTimeLiteral(ms, choice.asText) : timeLiteral(ms));
  const narrow = (from: number, to: number): void => {
    onNarrow(choice.over.path, literal(from), literal(to));
  };
  const at = point.value;
  const from = Math.min(span.value?.from ?? 0, last);
  const to = Math.min(span.value?.to ?? last, last);
  const binText = (i: number): string => `${dayText(start + i * width)} – ${dayText(start + (i + 1) * width)}`;
  const inSpan = counts.subarray(from, to + 1).reduce((a, b) => a + b, 0);
  return (
    <>
      <p class="plot-note">
        <span>
          {at === undefined
            ? `${count(total)} rows in bins of ${widthText(width)}, UTC${gatherer.complete ? '' : ` · ${count(known.value)} of ${count(run.store.count)} counted`}`
            : `${binText(at)}: ${count(counts[at] ?? 0)} rows`}
        </span>
        <LeftOut count={gatherer.complete ? run.store.count - total : 0} what={choice.over.title} />
        {more && <span class="warn"> · of the rows that are kept: the query has more</span>}
      </p>
      <PlotCanvas
        kind="histogram"
        label={`${title}: ${count(total)} rows from ${dayText(start)} to ${dayText(start + counts.length * width)}. The figures stand in the table below.`}
        onPoint={(i) => {
          point.value = i;
        }}
        data={[Array.from(counts, (_, i) => (start + i * width) / 1000), Array.from(counts)]}
        range={[start / 1000, (start + counts.length * width) / 1000]}
        onSpan={(a, b) => {
          const chosen = spanOfBins(value, a * 1000, b * 1000);
          narrow(chosen.from, chosen.to);
        }}
      />
      <fieldset class="span">
        <legend>Narrow the query: drag over the plot, or choose a span</legend>
        <label>
          From{' '}
          <input
            type="range"
            min={0}
            max={last}
            value={from}
            aria-valuetext={dayText(start + from * width)}
            onInput={(e) => {
              const i = Number(e.currentTarget.value);
              span.value = { from: i, to: Math.max(i, to) };
            }}
          />
        </label>
        <label>
          To{' '}
          <input
            type="range"
            min={0}
            max={last}
            value={to}
            aria-valuetext={dayText(start + (to + 1) * width)}
            onInput={(e) => {
              const i = Number(e.currentTarget.value);
              span.value = { from: Math.min(i, from), to: i };
            }}
          />
        </label>
        <output class="span-text">
          {dayText(start + from * width)} – {dayText(start + (to + 1) * width)} · {count(inSpan)} rows
        </output>
        <span class="group">
          <button
            type="button"
            disabled={from === 0 && to === last}
            onClick={() => {
              narrow(start + from * width, start + (to + 1) * width);
            }}
          >
            Narrow
          </button>
          <button
            type="button"
            disabled={!undo}
            onClick={() => {
              undo?.();
            }}
          >
            Whole time
          </button>
        </span>
      </fieldset>
      <Figures
        caption={title}
        heads={['From', 'To', 'Rows']}
        rows={Array.from(counts.subarray(0, tableRowsMax), (n, i) => [
          dayText(start + i * width),
          dayText(start + (i + 1) * width),
          count(n),
        ])}
        more={counts.length - tableRowsMax}
      />
    </>
  );
};

const Bars = ({ run, choice, title }: { readonly run: Run; readonly choice: PlotChoice; readonly title: string }) => {
  const rows = barRows(run.store, choice, barsMax);
  const mosts = choice.numbers.map((_, i) =>
    Math.max(...rows.map((row) => Math.abs(row.numbers[i])).filter(Number.isFinite), 0),
  );
  // The figures of a column are as wide as its longest: its bars share one scale.
  const figureWidths = choice.numbers.map(
    (_, i) => `${Math.max(4, ...rows.map((row) => grouped(row.texts[i]).length))}ch`,
  );
  const more = run.store.count - rows.length;
  return (
    <div class="bars-place" tabIndex={0} role="region" aria-label={title}>
      <table class="chart-bars">
        <caption class="hidden-text">{title}</caption>
        <thead>
          <tr>
            <th scope="col">
              <bdi>{visible(choice.over.title, 60)}</bdi>
            </th>
            {choice.numbers.map((column, i) => (
              <th key={column.key} scope="col">
                <span class={`swatch series-${(i % 8) + 1}`} aria-hidden="true" />
                <bdi>{visible(column.title, 60)}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, n) => (
            <tr key={n}>
              <th scope="row" title={row.key}>
                <bdi>{row.key}</bdi>
              </th>
              {row.numbers.map((number, i) => {
                const share = mosts[i] > 0 && Number.isFinite(number) ? (Math.abs(number) / mosts[i]) * 100 : 0;
                return (
                  <td key={i}>
                    <div class="bar-cell" style={{ '--figure': figureWidths[i] }}>
                      <div class="bar-track" aria-hidden="true">
                        <div
                          class={`chart-bar series-${(i % 8) + 1}${number < 0 ? ' negative' : ''}`}
                          style={{ width: `${share}%` }}
                        />
                      </div>
                      <span class="bar-number">{grouped(row.texts[i])}</span>
                    </div>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && (
        <p class="soft">
          The first {count(rows.length)} of {count(run.store.count)} rows.
        </p>
      )}
    </div>
  );
};
/** Digits in groups of three, however many. */
const grouped = (text: string): string =>
  /^-?\d{4,}(?:\.|$)/.test(text)
    ? text.replace(
        /^(-?)(\d+)/,
        (_all, sign: string, digits: string) => `${sign}${digits.replace(/\B(?=(?:\d{3})+$)/g, ',')}`,
      )
    : text;

const LinesPlot = ({
  run,
  choice,
  title,
}: {
  readonly run: Run;
  readonly choice: PlotChoice;
  readonly title: string;
}) => {
  const { value: version } = run.version;
  const point = useSignal<number | undefined>(undefined);
  const { xs, lines, more, skipped } = useMemo(() => linesOf(run.store, choice, linesMax), [version, title]);
  const data = useMemo(() => [xs, ...lines.map((line) => line.values)], [version, title]);
  const at = point.value;
  const valueText = (value: number | null | undefined): string =>
    value === null || value === undefined ? '–' : value.toLocaleString('en', { maximumFractionDigits: 6 });
  if (xs.length === 0) return <p class="soft">No row has a time.</p>;
  return (
    <>
      <p class="plot-note">
        <span>
          {at === undefined || xs[at] === undefined
            ? `${count(xs.length)} points from ${dayText(xs[0] * 1000)} to ${dayText(xs.at(-1)! * 1000)}, UTC`
            : dayText(xs[at] * 1000)}
        </span>
        <LeftOut count={skipped} what={choice.over.title} />
      </p>
      <ul class="legend">
        {lines.map((line, i) => (
          <li key={line.name}>
            <span class={`swatch series-${i + 1}`} aria-hidden="true" />
            <bdi>{visible(line.name, 60)}</bdi>
            {at !== undefined && <strong>{valueText(line.values[at])}</strong>}
          </li>
        ))}
        {more > 0 && <li class="soft">and {more} more</li>}
      </ul>
      <PlotCanvas
        kind="lines"
        key={lines.length}
        data={data}
        range={xs.length > 1 ? [xs[0]!, xs.at(-1)!] : [xs[0] - 1, xs[0] + 1]}
        label={`${title}: ${lines.length} line${lines.length === 1 ? '' : 's'}, ${xs.length} points. The figures stand in the table below.`}
        onPoint={(i) => {
          point.value = i;
        }}
      />
      <Figures
        caption={title}
        heads={['Time', ...lines.map((line) => visible(line.name, 60))]}
        rows={xs
          .slice(0, tableRowsMax)
          .map((x, i) => [dayText(x * 1000), ...lines.map((line) => valueText(line.values[i]))])}
        more={xs.length - tableRowsMax}
      />
    </>
  );
};

const Figures = ({
  caption,
  heads,
  rows,
  more,
}: {
  readonly caption: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly more: number;
}): ComponentChildren => {
  const open = useSignal(false);
  return (
    <details
      class="plot-figures"
      onToggle={(e) => {
        open.value = e.currentTarget.open;
      }}
    >
      <summary>Figures as a table</summary>
      {open.value && (
        <div class="figures-place" tabIndex={0} role="region" aria-label={`Figures: ${caption}`}>
          <table>
            <caption class="hidden-text">{caption}</caption>
            <thead>
              <tr>
                {heads.map((head, i) => (
                  <th key={i} scope="col">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, i) => (
                <tr key={i}>
                  {row.map((text, j) =>
                    j === 0 ? (
                      <th key={j} scope="row">
                        {text}
                      </th>
                    ) : (
                      <td key={j}>{text}</td>
                    ),
                  )}
                </tr>
              ))}
            </tbody>
          </table>
          {more > 0 && <p class="soft">and {count(more)} more rows</p>}
        </div>
      )}
    </details>
  );
};
