/**
 * The page's state: which model is shown, what is chosen in it, and what the buttons do. Views read the signals;
 * `changed` tells that the model itself did.
 */
import { computed, signal } from '@preact/signals';
import { connectFeed, type FeedState } from './feed.ts';
import { type ActorInfo, type Filter, filtered, Model, noFilter, type Step } from './model.ts';
import { isScenarioName } from '../../src/recording/scenario-words.ts';
import { FileError, RecordingReader } from './recording.ts';
import { scenarioSummary } from './scenario-text.ts';

/** The parts of the page. */
export type Pane = 'actors' | 'chart' | 'timeline' | 'sequence';

const live = new Model(true);
/** The live model, or that of the file that is open. */
export const model = signal<Model>(live);
/** Counts up when the shown model has changed. */
export const changed = signal(0);
/** How the connection to the feed is; it is kept up while a file is shown. */
export const feedState = signal<FeedState>('connecting');
/** Name of the recording or scenario that is open. */
export const fileName = signal<string | null>(null);
/** Name of the actor that is looked at. */
export const chosen = signal('lake');
/** Which messages are listed. */
export const filter = signal<Filter>(noFilter);
/** Lists messages of the chosen actor alone. */
export const onlyChosen = signal(false);
/** What a narrow page shows. */
export const pane = signal<Pane>('chart');
/** What went wrong, or was done, last; read out to those who cannot see it. */
export const notice = signal<{ readonly text: string; readonly bad: boolean } | null>(null);
/** What is told while a file is read; null when none is. */
export const reading = signal<string | null>(null);

/** Whether the live feed is shown, and no file. */
export const isLive = computed(() => fileName.value === null);
/** Whether the page stays at a place instead of following the end. */
export const paused = computed(() => {
  changed.value;
  return model.value.cursor !== undefined;
});
/** The steps that filter and choice let through, in their order. */
export const shownSteps = computed<readonly Step[]>(() => {
  changed.value;
  const steps = filtered(model.value, filter.value);
  return onlyChosen.value
    ? steps.filter((s) => s.actor === chosen.value)
    : steps === model.value.steps
      ? [...steps]
      : steps;
});
/** What is known of the chosen actor; undefined if the model has none of that name. */
export const chosenActor = computed<ActorInfo | undefined>(() => {
  changed.value;
  return model.value.actors.get(chosen.value);
});

/** Tells that the shown model has changed. */
const touch = (): void => {
  changed.value++;
  play();
};

/**
 * Step of the chosen actor that the chart shows while it follows the live feed: one after the other, so that states
 * that last a moment are seen.
 */
const played = signal(-1);
const playMs = 160;
const playMax = 6;
let playing: ReturnType<typeof setTimeout> | undefined;
const play = (): void => {
  if (playing !== undefined || model.value !== live || live.cursor !== undefined) return;
  const steps = live.actors.get(chosen.value)?.steps ?? [];
  let at = steps.length;
  while (at > 0 && steps[at - 1].n > played.value) at--;
  if (at === steps.length) return;
  // When more come than can be told apart, the newest is shown.
  played.value = steps[steps.length - at > playMax ? steps.length - 1 : at].n;
  playing = setTimeout(() => {
    playing = undefined;
    play();
  }, playMs);
};
/** The place that the chart shows. */
export const chartAt = computed(() => {
  changed.value;
  return model.value === live && live.cursor === undefined && played.value >= live.firstN
    ? played.value
    : model.value.at;
});

let send: ReturnType<typeof connectFeed> | undefined;
/** Connects to the feed. Called once. */
export const start = (): void => {
  send = connectFeed({
    message: (message) => {
      live.take(message);
      if (model.value === live) touch();
    },
    state: (state) => {
      feedState.value = state;
      if (state === 'live') send?.({ kind: 'watch', actor: chosen.value });
    },
  });
};

/** Chooses an actor and asks the feed for its details. */
export const choose = (actor: string): void => {
  if (chosen.value === actor) return;
  chosen.value = actor;
  played.value = live.actors.get(actor)?.steps.at(-1)?.n ?? -1;
  live.detail = undefined;
  send?.({ kind: 'watch', actor });
};

/** Goes to a step by its number; Infinity: to the end, which is followed from then on. */
export const seek = (n: number): void => {
  model.value.seek(n);
  touch();
};
/** To a step and its actor. */
export const show = (step: Step): void => {
  choose(step.actor);
  seek(step.n);
};
/** One step forward or back; among those that the filter shows. */
export const stepBy = (by: 1 | -1): void => {
  const steps = shownSteps.value;
  const { at } = model.value;
  const next = by > 0 ? steps.find((s) => s.n > at) : steps.findLast((s) => s.n < at);
  if (!next) {
    if (by > 0) seek(model.value.lastN);
    return;
  }
  seek(next.n);
};
/** Stays at the place that is shown. */
export const pause = (): void => {
  seek(model.value.at);
};
/** Goes to the end, which is followed from then on. */
export const resume = (): void => {
  seek(Infinity);
};

const use = (next: Model, name: string | null): void => {
  model.value = next;
  fileName.value = name;
  const first = next.actors.has(chosen.value) ? chosen.value : next.actors.keys().next().value;
  if (first !== undefined) choose(first);
  touch();
};
/** Closes the file that is open. */
export const backToLive = (): void => {
  use(live, null);
  resume();
  notice.value = { text: 'Back to the live view.', bad: false };
};

/** Opens a scenario, or the files of one recording (a big one has several parts). */
export const openFiles = async (files: readonly File[]): Promise<void> => {
  if (files.length === 0) return;
  const name = files.map((f) => f.name).sort()[0];
  try {
    const next = files.some((f) => isScenarioName(f.name)) ? await scenarioOf(files) : await recordingOf(files);
    next.seek(next.firstN);
    filter.value = noFilter;
    use(next, name);
    notice.value = next.scenario
      ? { text: scenarioSummary(next.scenario), bad: next.scenario.differing.length > 0 }
      : { text: `${name}: ${next.steps.length} messages of ${next.actors.size} actors.`, bad: false };
  } catch (error) {
    notice.value = {
      text: error instanceof FileError ? `${name}: ${error.message}` : `${name} cannot be read.`,
      bad: true,
    };
  } finally {
    reading.value = null;
  }
};

const recordingOf = async (files: readonly File[]): Promise<Model> => {
  const reader = new RecordingReader();
  for (const file of await inOrder(files)) {
    reading.value = `Reading ${file.name}…`;
    await readLines(file, (line) => {
      reader.line(line);
    });
  }
  const model = reader.finish();
  if (model.steps.length === 0) throw new FileError('There are no messages in this recording.');
  return model;
};

/** Bytes of a scenario that the page takes: people write them. */
const scenarioBytesMax = 4 << 20;
const scenarioOf = async ([file, ...more]: readonly File[]): Promise<Model> => {
  if (more.length > 0) throw new FileError('Open one scenario at a time.');
  if (file.size > scenarioBytesMax)
    throw new FileError(
      `This scenario has ${file.size.toLocaleString('en-US')} bytes; this page takes ${scenarioBytesMax.toLocaleString('en-US')}.`,
    );
  reading.value = `Reading ${file.name}…`;
  // It brings the reader of YAML along, which the live view does not need.
  const { readScenario } = await import('./scenario.ts');
  return readScenario(await file.text(), file.name);
};

/** By the part that their first lines tell. */
const inOrder = async (files: readonly File[]): Promise<readonly File[]> => {
  if (files.length === 1) return files;
  const parts = await Promise.all(
    files.map(async (file) => ({
      file,
      part: Number(/"part":\s*(\d+)/.exec(await file.slice(0, 4096).text())?.[1] ?? 0),
    })),
  );
  return parts.sort((a, b) => a.part - b.part).map((p) => p.file);
};

const readLines = async (file: File, take: (line: string) => void): Promise<void> => {
  const chunks = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ; ) {
    const { value, done } = await chunks.read();
    const lines = (rest + (value ?? '')).split('\n');
    rest = done ? '' : lines.pop()!;
    for (const line of lines) take(line);
    if (done) return;
  }
};
