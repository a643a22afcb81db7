/** The inspector: the service's state machines, live, from a recording or from a scenario. */
import './page.css';
import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useDrop } from '../shared/drop.ts';
import { nextTheme, theme } from '../shared/theme.ts';
import { ActorTree } from './actor-tree.tsx';
import {
  backToLive,
  changed,
  feedState,
  fileName,
  isLive,
  model,
  notice,
  openFiles,
  type Pane,
  pane,
  pause,
  paused,
  reading,
  resume,
  seek,
  start,
  stepBy,
} from './app.ts';
import { ChartView } from './chart-view.tsx';
import { Details, Plots } from './details.tsx';
import { scenarioResult } from './scenario-text.ts';
import { ScenarioDetails } from './scenario-view.tsx';
import { Sequence } from './sequence.tsx';
import { Timeline, whenOf } from './timeline.tsx';

const icons = {
  pause: 'M4 2h3v12H4zM9 2h3v12H9z',
  play: 'M4 2l10 6-10 6z',
  forward: 'M3 2l7 6-7 6zM11 2h2.5v12H11z',
  back: 'M13 2L6 8l7 6zM2.5 2H5v12H2.5z',
  open: 'M1 3h5l2 2h7v9H1zM2.5 6.5v6h11v-6z',
  theme: 'M8 1a7 7 0 100 14A7 7 0 008 1zm0 1.8v10.4a5.2 5.2 0 010-10.4z',
} as const;
const Icon = ({ name }: { readonly name: keyof typeof icons }) => (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <path d={icons[name]} />
  </svg>
);

const icon = new URL('../shared/icon.svg', import.meta.url).href;
const feedTexts = {
  connecting: ['warn', 'Connecting'],
  live: ['good', 'Live'],
  lost: ['bad', 'Connection lost'],
  refused: ['bad', 'No live feed'],
} as const;

const Top = () => {
  changed.value;
  const files = useRef<HTMLInputElement>(null);
  const [tone, text] = feedTexts[feedState.value];
  const { scenario } = model.value;
  return (
    <header class="top">
      <a class="home" href="./" aria-label="Console" title="Console">
        <img src={icon} alt="" width="24" height="24" />
      </a>
      <h1>Machines</h1>
      {fileName.value === null ? (
        <span class={`pill ${paused.value ? 'warn' : tone}`} role="status">
          {paused.value && feedState.value === 'live' ? 'Paused' : text}
        </span>
      ) : (
        <span class="pill recording" role="status">
          {scenario ? 'Scenario' : 'Recording'} <span class="mono file">{fileName.value}</span>
          {scenario && (
            <>
              {' '}
              <span class={`mark ${scenarioResult(scenario).tone}`}>{scenarioResult(scenario).text}</span>
            </>
          )}
        </span>
      )}
      <span class="soft service">{model.value.service}</span>
      {model.value.dropped > 0 && (
        <span class="pill warn dropped" title="This page could not keep up, or the recording has gaps">
          {model.value.dropped.toLocaleString('en-US')} messages not shown
        </span>
      )}
      {!scenario && <Plots />}
      <div class="group">
        {!isLive.value && (
          <button type="button" onClick={backToLive}>
            Back to live
          </button>
        )}
        <button type="button" onClick={() => files.current?.click()} aria-label="Open recording or scenario">
          <Icon name="open" /> <span class="wide">Open recording or scenario</span>
        </button>
        <input
          ref={files}
          class="hidden-text"
          type="file"
          multiple
          accept=".ndjson,.jsonl,.json,.log,.txt,.1,.2,.yaml,.yml,application/x-ndjson"
          aria-label="Recording or scenario"
          tabIndex={-1}
          onChange={(e) => {
            void openFiles([...(e.currentTarget.files ?? [])]);
            e.currentTarget.value = '';
          }}
        />
        <button type="button" onClick={nextTheme} aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`}>
          <Icon name="theme" />
        </button>
      </div>
    </header>
  );
};

/** Pause, step, resume, and the place among the messages. */
const Player = () => {
  changed.value;
  const source = model.value;
  const { at, firstN, lastN } = source;
  const step = source.step(at);
  const empty = source.steps.length === 0;
  const behind = lastN - at;
  // The start of a scenario is no step of it: it has number 0.
  const before = source.scenario ? 0 : firstN - 1;
  const shown = at - before;
  const last = lastN - before;
  return (
    <div class="player" role="group" aria-label="Place in the messages">
      <button type="button" disabled={empty || at <= firstN} onClick={() => stepBy(-1)}>
        <Icon name="back" /> <span class="wide">Step back</span>
        <span class="hidden-text narrow">Step back</span>
      </button>
      {isLive.value ? (
        paused.value ? (
          <button type="button" class="main" onClick={resume}>
            <Icon name="play" /> Resume
          </button>
        ) : (
          <button type="button" onClick={pause} disabled={empty}>
            <Icon name="pause" /> Pause
          </button>
        )
      ) : null}
      <button type="button" disabled={empty || behind === 0} onClick={() => stepBy(1)}>
        <Icon name="forward" /> <span class="wide">Step</span>
        <span class="hidden-text narrow">Step</span>
      </button>
      <input
        type="range"
        aria-label="Place"
        aria-valuetext={step ? `message ${shown} of ${last}, ${whenOf(step)}` : 'no messages'}
        min={firstN}
        max={Math.max(firstN, lastN)}
        value={at}
        disabled={empty}
        onInput={(e) => {
          seek(Number(e.currentTarget.value));
        }}
      />
      <output class="mono soft place">
        {step ? `${shown} / ${last}` : '–'}
        {step && <span class="wide"> · {whenOf(step)}</span>}
        {isLive.value && behind > 0 ? ` · ${behind} newer` : ''}
      </output>
    </div>
  );
};

const panes: readonly (readonly [Pane, string])[] = [
  ['actors', 'Actors'],
  ['chart', 'Chart'],
  ['timeline', 'Messages'],
  ['sequence', 'Sequence'],
];
const Panes = () => (
  <nav class="panes" aria-label="Parts of the page">
    {panes.map(([id, title]) => (
      <button
        key={id}
        type="button"
        aria-pressed={pane.value === id}
        onClick={() => {
          pane.value = id;
        }}
      >
        {title}
      </button>
    ))}
  </nav>
);

const Notice = () => {
  const { value } = notice;
  useEffect(() => {
    if (!value || value.bad) return undefined;
    const timer = setTimeout(() => {
      notice.value = null;
    }, 5000);
    return () => {
      clearTimeout(timer);
    };
  }, [value]);
  return (
    <div class="notices" aria-live="polite">
      {reading.value !== null && <p class="notice">{reading.value}</p>}
      {value && (
        <p class={`notice${value.bad ? ' bad' : ''}`} role={value.bad ? 'alert' : undefined}>
          {value.text}{' '}
          <button
            type="button"
            onClick={() => {
              notice.value = null;
            }}
            aria-label="Dismiss"
          >
            ×
          </button>
        </p>
      )}
    </div>
  );
};

const Page = () => {
  changed.value;
  const { scenario } = model.value;
  const over = useDrop((files) => {
    void openFiles(files);
  });
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'p' && isLive.value) (paused.value ? resume : pause)();
      else if (event.key === ',') stepBy(-1);
      else if (event.key === '.') stepBy(1);
    };
    addEventListener('keydown', key);
    return () => {
      removeEventListener('keydown', key);
    };
  }, []);
  return (
    <>
      <Top />
      <Player />
      <Panes />
      <main class={`panels show-${pane.value}`}>
        <ActorTree />
        <div class="middle">
          <ChartView />
          {scenario ? <ScenarioDetails scenario={scenario} /> : <Details />}
        </div>
        <Timeline />
        <Sequence />
      </main>
      <Notice />
      {over && (
        <div class="drop" aria-hidden="true">
          <p>Drop a recording or a scenario to open it</p>
        </div>
      )}
    </>
  );
};

render(<Page />, document.getElementById('page')!);
start();
