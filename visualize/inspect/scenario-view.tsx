/** What a scenario says of the step that is looked at: what is done, what was expected, and what came. */
import { changed, model } from './app.ts';
import type { CheckRow, ScenarioInfo, StepCheck } from './model.ts';
import { checkText, checkTone } from './scenario-text.ts';

/** In place of the chart, where no machine was run. */
export const NotRun = ({ scenario }: { readonly scenario: ScenarioInfo }) => (
  <section class="panel chart" aria-label="Chart">
    <header>
      <h2>Chart</h2>
    </header>
    <p class="empty">
      <strong>Not run here:</strong> the steps of this scenario need a lake, and a page has none. What is expected of
      them is shown; <code class="mono">lake replay {scenario.file} -lake DIR</code> runs them.
    </p>
  </section>
);

/** Of the step at the place that is looked at. */
export const ScenarioDetails = ({ scenario }: { readonly scenario: ScenarioInfo }) => {
  changed.value;
  const step = model.value.step(model.value.at);
  return (
    <section class="panel details scenario" aria-label="Expected and found" tabIndex={0}>
      <p class="soft why">{scenario.why}</p>
      {step?.check && <Check check={step.check} />}
    </section>
  );
};

const Check = ({ check }: { readonly check: StepCheck }) => (
  <>
    <h3>
      {check.number === 0 ? 'Start' : `Step ${check.number}: ${check.name}`}{' '}
      <span class={`mark ${checkTone(check)}`}>{checkText(check)}</span>
    </h3>
    <dl class="words">
      {check.done.map(([word, text]) => (
        <div key={word}>
          <dt>{word}</dt>
          <dd class="mono">{text}</dd>
        </div>
      ))}
    </dl>
    {check.rows.length > 0 && (
      <table class="checks">
        <thead>
          <tr>
            <th scope="col">After it</th>
            <th scope="col">Expected</th>
            <th scope="col">Found</th>
          </tr>
        </thead>
        <tbody>
          {check.rows.map((row) => (
            <Row key={row.what} row={row} />
          ))}
        </tbody>
      </table>
    )}
  </>
);

const Row = ({ row: { what, expected, found, differs } }: { readonly row: CheckRow }) => (
  <tr class={differs ? 'differs' : ''}>
    <th scope="row">{what}</th>
    <td class="mono">{expected ?? <span class="soft">not told</span>}</td>
    <td class="mono">
      {differs && found !== undefined && (
        <strong class="mark bad" aria-label="differs">
          ≠{' '}
        </strong>
      )}
      {found ?? <span class="mark warn">not run</span>}
    </td>
  </tr>
);
