/** The chosen actor's chart: active states lit, the arrow that was taken last drawn again. */
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type MachineName, machines } from '../../machines/machines.ts';
import {
  activeIds,
  type Chart,
  type ChartEdge,
  type ChartNode,
  labelY,
  layoutChart,
  type Line,
  lineY,
  look,
  transitionsTaken,
} from './chart.ts';
import type { MachineParts } from './chart-parts.ts';
import { changed, chartAt, chosenActor, model } from './app.ts';
import { labelOf, stepLabel } from './model.ts';
import { NotRun } from './scenario-view.tsx';

const charts = new Map<MachineName, Chart>();
const chartOf = (machine: MachineName): Chart => {
  let chart = charts.get(machine);
  if (!chart) charts.set(machine, (chart = layoutChart(machines[machine])));
  return chart;
};

const zooms = [0.5, 0.67, 0.8, 1, 1.25, 1.5, 2] as const;
const fitMin = 0.72;
const fitMax = 2.2;

/** The chart of the chosen actor at the place that is looked at, or asks to choose one. */
export const ChartView = () => {
  changed.value;
  const info = chosenActor.value;
  const zoom = useSignal<number | 'fit'>('fit');
  const { scenario } = model.value;
  if (scenario?.kind === 'lake') return <NotRun scenario={scenario} />;
  if (!info)
    return (
      <section class="panel chart" aria-label="Chart">
        <header>
          <h2>Chart</h2>
        </header>
        <p class="soft empty">Choose an actor.</p>
      </section>
    );
  const chart = chartOf(info.machine);
  const at = chartAt.value;
  const state = model.value.stateOf(info, at);
  const last = model.value.lastStep(info, at);
  const ended = model.value.endedAt(info, at);
  const active = [...(state ? activeIds(chart.parts.states, state) : [])];
  const taken = last
    ? transitionsTaken(chart.parts, { event: { type: last.event }, from: last.from, to: last.to })
    : [];
  const nextZoom = (by: 1 | -1): void => {
    const now = zoom.value === 'fit' ? 1 : zoom.value;
    const at = zooms.findIndex((z) => z >= now);
    zoom.value = zooms[Math.max(0, Math.min(zooms.length - 1, (at < 0 ? zooms.length - 1 : at) + by))];
  };
  const where = state === undefined ? 'not there at this moment' : `${ended ? 'ended in' : 'in'} ${state.join(', ')}`;
  return (
    <section class="panel chart" aria-label="Chart">
      <header>
        <h2 class="chart-title">
          <span class="soft">{info.machine}</span> {info.machine === 'lake' ? '' : labelOf(info)}{' '}
          <span class={`state-tag ${tone(state, ended)}`}>{where}</span>
        </h2>
        <span class="group" role="group" aria-label="Size of the chart">
          <button type="button" onClick={() => nextZoom(-1)} aria-label="Smaller">
            −
          </button>
          <button
            type="button"
            onClick={() => {
              zoom.value = 'fit';
            }}
            aria-pressed={zoom.value === 'fit'}
          >
            Fit
          </button>
          <button type="button" onClick={() => nextZoom(1)} aria-label="Larger">
            +
          </button>
        </span>
      </header>
      <ChartPicture
        key={info.machine}
        chart={chart}
        active={active}
        taken={taken}
        pulse={last?.n ?? -1}
        zoom={zoom.value}
        label={`State chart of ${info.machine} ${labelOf(info)}: ${where}`}
      />
      <p class="last-step">
        {last ? (
          <>
            <span class="soft">Last message</span> <strong>{stepLabel(last)}</strong>{' '}
            <span class="soft">
              {last.from.join(', ') || 'start'} → {last.to.join(', ')}
            </span>{' '}
            {taken.length > 0 && <Actions parts={chart.parts} taken={taken} />}
          </>
        ) : (
          <span class="soft">No message yet.</span>
        )}
      </p>
    </section>
  );
};

/** What the machine did on the way. */
const Actions = ({ parts, taken }: { readonly parts: MachineParts; readonly taken: readonly string[] }) => {
  const actions = taken.flatMap((id) => parts.transitions.find((t) => t.id === id)?.actions ?? []);
  return actions.length === 0 ? null : <span class="soft">({actions.join(', ')})</span>;
};

/**
 * The CSS class of a state's colour, by its name: `bad`, `warn`, `calm`, `busy`, or `over` for an actor that is not
 * there or ended well.
 */
export const tone = (state: readonly string[] | undefined, ended: boolean): string => {
  if (state === undefined || ended) return state?.some((s) => /failed|rejected/.test(s)) ? 'bad' : 'over';
  if (state.some((s) => /failed|read only|rejected/.test(s))) return 'bad';
  if (state.some((s) => /closing|lagging|catching|draining/.test(s))) return 'warn';
  return state.some((s) => /idle|open|ready\.idle/.test(s)) && !state.some((s) => /opening/.test(s)) ? 'calm' : 'busy';
};

interface PictureProps {
  readonly chart: Chart;
  readonly active: readonly string[];
  readonly taken: readonly string[];
  readonly pulse: number;
  readonly zoom: number | 'fit';
  readonly label: string;
}
const ChartPicture = ({ chart, active, taken, pulse, zoom, label }: PictureProps) => {
  const box = useRef<HTMLDivElement>(null);
  const lit = useMemo(() => new Set(active), [active.join('\n')]);
  const hit = useMemo(() => new Set(taken), [taken.join('\n'), pulse]);
  const [room, setRoom] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      setRoom({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    observer.observe(box.current!);
    return () => {
      observer.disconnect();
    };
  }, []);
  // As large as there is room for, but never too small to read.
  const scale =
    zoom === 'fit' ? Math.max(fitMin, Math.min(fitMax, room.width / chart.width, room.height / chart.height)) : zoom;
  useLayoutEffect(() => {
    const one = box.current;
    const leaf = chart.nodes.findLast((n) => lit.has(n.id));
    if (!one || !leaf) return;
    const inside = (low: number, high: number, start: number, size: number): boolean =>
      low >= start && high <= start + size;
    const x = leaf.x * scale;
    const y = leaf.y * scale;
    const width = leaf.width * scale;
    const height = leaf.height * scale;
    if (!inside(x, x + width, one.scrollLeft, one.clientWidth)) one.scrollLeft = x + width / 2 - one.clientWidth / 2;
    if (!inside(y, y + height, one.scrollTop, one.clientHeight)) one.scrollTop = y + height / 2 - one.clientHeight / 2;
  }, [chart, lit, scale, room]);
  return (
    <div class="picture" ref={box} tabIndex={0} role="group" aria-label="Chart, scrollable">
      <svg
        class="machine"
        viewBox={`0 0 ${chart.width} ${chart.height}`}
        width={chart.width * scale}
        height={chart.height * scale}
        role="img"
        aria-label={label}
        preserveAspectRatio="xMidYMin meet"
      >
        <defs>
          <marker
            id="tip"
            viewBox="0 0 10 10"
            refX="9"
            refY="5"
            markerWidth="8"
            markerHeight="8"
            orient="auto-start-reverse"
          >
            <path class="tip" d="M0 1L10 5L0 9z" />
          </marker>
          <marker
            id="tip-hit"
            viewBox="0 0 10 10"
            refX="9"
            refY="5"
            markerUnits="userSpaceOnUse"
            markerWidth="12"
            markerHeight="12"
            orient="auto-start-reverse"
          >
            <path class="tip hit" d="M0 1L10 5L0 9z" />
          </marker>
        </defs>
        {chart.nodes.map((node) => (
          <Node key={node.id} node={node} active={lit.has(node.id)} hit={hit} />
        ))}
        {chart.edges.map((edge) => (
          <path key={edge.id} class="edge" d={edge.path} marker-end="url(#tip)" />
        ))}
        {chart.edges
          .filter((e) => e.transitions.some((t) => hit.has(t)))
          .map((edge) => (
            <path
              key={`${edge.id} ${pulse}`}
              class="edge hit"
              d={edge.path}
              pathLength={1}
              marker-end="url(#tip-hit)"
            />
          ))}
        {chart.edges.map((edge) => (
          <Label key={edge.id} edge={edge} hit={hit} />
        ))}
      </svg>
    </div>
  );
};

const isHit = (line: Line, hit: ReadonlySet<string>): string =>
  line.transition !== null && hit.has(line.transition) ? ' hit' : '';

const Node = ({
  node,
  active,
  hit,
}: {
  readonly node: ChartNode;
  readonly active: boolean;
  readonly hit: ReadonlySet<string>;
}) => {
  if (node.kind === 'initial') return <circle class="dot" cx={node.x + 6} cy={node.y + 6} r="6" />;
  const type = node.kind === 'anywhere' ? 'anywhere' : node.state!.type;
  return (
    <g class={`node ${type}${active ? ' active' : ''}`} data-state={node.state?.path ?? ''}>
      <rect
        class="box"
        x={node.x}
        y={node.y}
        width={node.width}
        height={node.height}
        rx={node.kind === 'anywhere' ? 11 : 8}
      />
      {type === 'final' && (
        <rect class="inner" x={node.x + 3} y={node.y + 3} width={node.width - 6} height={node.height - 6} rx="6" />
      )}
      <text
        class={node.kind === 'anywhere' ? 'line' : 'name'}
        x={node.x + look.padX}
        y={node.y + (node.kind === 'anywhere' ? 15 : 18)}
      >
        {node.title}
      </text>
      {node.lines.map((line, at) => (
        <text
          key={at}
          class={`line${line.weak ? ' weak' : ''}${isHit(line, hit)}`}
          x={node.x + look.padX}
          y={lineY(node, at)}
        >
          {line.text}
        </text>
      ))}
    </g>
  );
};

const Label = ({ edge, hit }: { readonly edge: ChartEdge; readonly hit: ReadonlySet<string> }) => (
  <g>
    {edge.lines.map((line, at) => (
      <text key={at} class={`label${isHit(line, hit)}`} x={edge.label.x} y={labelY(edge, at)}>
        {line.text}
      </text>
    ))}
  </g>
);
