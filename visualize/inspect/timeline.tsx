/** The messages in their order, as far as the filter lets them through. */
import { type RowProps, VirtualList } from '../shared/virtual-list.tsx';
import { changed, filter, model, onlyChosen, paused, seek, show, shownSteps } from './app.ts';
import { failedStep, labelOf, noFilter, type Step, stepLabel } from './model.ts';
import { checkText, checkTone, numberText } from './scenario-text.ts';

/** When a step was: its time, or its number in a scenario. */
export const whenOf = ({ ms, check }: Step): string => (check ? numberText(check) : timeOf(ms));
/** `14:05:09.123` in the reader's time zone. */
const timeOf = (ms: number): string => {
  const date = new Date(ms);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
};

/** The event with what is worth knowing of it. */
export const eventText = (step: Step): string => {
  const { kind, branch, target, child, name, records } = step.fields;
  const parts = [
    kind,
    child !== undefined && target !== undefined ? `${String(child)} → ${String(target)}` : (branch ?? name),
    records !== undefined ? `${String(records)} record${records === 1 ? '' : 's'}` : undefined,
  ];
  return [stepLabel(step), ...parts.filter((p) => p !== undefined && p !== '').map(String)].join(' · ');
};
/** What the jobs of a step came to, or that it came too late; empty where there is neither to tell. */
export const endText = ({ settled, outcome }: Step): string => {
  if (!settled) return outcome === 'dropped' ? 'came too late' : '';
  const parts = [
    settled.done > 0 && `${settled.done} done`,
    settled.failed > 0 && `${settled.failed} failed`,
    settled.refused > 0 && `${settled.refused} refused`,
  ].filter((p) => p !== false);
  return `${parts.join(', ')}${settled.code === undefined ? '' : `: ${settled.code}`}`;
};

/** The list of messages with its filter. */
export const Timeline = () => {
  changed.value;
  const steps = shownSteps.value;
  const source = model.value;
  const { at } = source;
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle].n <= at) low = middle + 1;
    else high = middle;
  }
  const active = low - 1;
  const set = (part: Partial<typeof noFilter>): void => {
    filter.value = { ...filter.value, ...part };
  };
  const { actor, event, state, failures } = filter.value;
  const text = (name: 'actor' | 'event' | 'state', value: string, label: string) => (
    <input
      type="search"
      placeholder={label}
      aria-label={`Only with this ${label.toLowerCase()}`}
      value={value}
      onInput={(e) => {
        set({ [name]: e.currentTarget.value });
      }}
    />
  );
  const row = (index: number, props: RowProps) => {
    const step = steps[index];
    const info = source.actors.get(step.actor);
    const end = endText(step);
    const bad = failedStep(step);
    const { key, ...rest } = props;
    return (
      <div
        key={key}
        {...rest}
        role="option"
        class={`row step${step.check ? ' checked' : ''}${bad ? ' bad' : ''}${step.n > at ? ' ahead' : ''}`}
        onClick={() => show(step)}
      >
        <span class="mono soft time">{whenOf(step)}</span>
        {!step.check && <span class="who">{info ? labelOf(info) : step.actor}</span>}
        <span class="what">
          {eventText(step)}
          {end !== '' && <span class="end"> · {end}</span>}
        </span>
        {step.check && (
          <span class={`mark ${checkTone(step.check)}`} title={checkText(step.check)}>
            {checkText(step.check)}
          </span>
        )}
        <span class="move soft">
          {step.from.join() === step.to.join()
            ? step.to.join(', ')
            : `${step.from.join(', ') || 'start'} → ${step.to.join(', ')}`}
        </span>
      </div>
    );
  };
  return (
    <section class="panel timeline" aria-label="Timeline">
      <header>
        <h2>
          Messages{' '}
          <span class="soft">
            {steps.length === source.steps.length ? steps.length : `${steps.length} of ${source.steps.length}`}
          </span>
        </h2>
        <label class="check">
          <input
            type="checkbox"
            checked={onlyChosen.value}
            onChange={(e) => {
              onlyChosen.value = e.currentTarget.checked;
            }}
          />{' '}
          Chosen actor
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={failures}
            onChange={(e) => {
              set({ failures: e.currentTarget.checked });
            }}
          />{' '}
          {source.scenario ? 'Differences' : 'Failures'}
        </label>
        <div class="filters">
          {text('actor', actor, 'Actor')}
          {text('event', event, 'Event')}
          {text('state', state, 'State')}
        </div>
      </header>
      <VirtualList
        id="step"
        label="Messages"
        role="listbox"
        count={steps.length}
        rowRem={2}
        active={active}
        stickToEnd={!paused.value && source.bounded}
        row={row}
        empty={
          source.steps.length === 0
            ? 'No messages yet: they come when something is loaded, queried or changed.'
            : 'No message passes the filter.'
        }
        onActive={(index) => {
          seek(steps[index].n);
        }}
      />
    </section>
  );
};
