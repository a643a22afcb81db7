/** Where a question is written: the editor, what is wrong with its text, and what can be done with it. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { LakeFailure } from '../../../src/client/client.ts';
import { visible } from '../text.ts';
import { copyText } from './clipboard.ts';
import type { Names } from './completion.ts';
import { Editor, type TextFault } from './editor.tsx';
import { questionLink } from './link.ts';
import { tidy } from './narrow.ts';
import type { Question } from './question.ts';

/** The dialogs that it opens. */
export type Panel = 'history' | 'saved' | 'help';
const checkAfterMs = 350;

/** The panel of the question. `names` are those of the first drawing. */
export const Ask = ({
  question,
  names,
  onPanel,
}: {
  readonly question: Question;
  readonly names: Names;
  readonly onPanel: (panel: Panel) => void;
}) => {
  const { text } = question;
  const run = question.table.value?.run;
  const isEmpty = text.value.trim() === '';
  useCheck(question);
  return (
    <section class="panel ask" aria-label="Query">
      <Editor
        text={question.first}
        names={names}
        onText={(value) => {
          text.value = value;
        }}
        onRun={() => {
          question.run();
        }}
        onReady={(handle) => {
          question.editor = handle;
        }}
      />
      <FaultLine question={question} />
      <div class="ask-bar">
        <button
          type="button"
          class="main run"
          onClick={() => {
            question.run();
          }}
          disabled={isEmpty}
        >
          Run <kbd aria-hidden="true">Ctrl ⏎</kbd>
        </button>
        {run?.state.value === 'running' && (
          <button
            type="button"
            onClick={() => {
              run.cancel();
            }}
          >
            Cancel
          </button>
        )}
        <span class="group">
          <button
            type="button"
            class="quiet"
            onClick={() => {
              onPanel('history');
            }}
          >
            History
          </button>
          <button
            type="button"
            class="quiet"
            onClick={() => {
              onPanel('saved');
            }}
          >
            Saved
          </button>
          <button
            type="button"
            class="quiet"
            onClick={() => {
              question.editor?.replace(tidy(text.peek()));
            }}
            disabled={isEmpty}
          >
            Tidy
          </button>
          <CopyLink question={question} />
          <button
            type="button"
            class="quiet"
            onClick={() => {
              onPanel('help');
            }}
          >
            Help
          </button>
        </span>
      </div>
    </section>
  );
};

/** Errors of the text: what and where, for those too who do not hover. */
const FaultLine = ({ question }: { readonly question: Question }) => {
  const faults = question.faults.value;
  const text = question.text.value;
  const [fault] = faults;
  const at = fault && text.slice(0, fault.start).split('\n');
  return (
    <div class="text-fault" role="status">
      {fault && at && (
        <button
          type="button"
          class="quiet bad"
          onClick={() => {
            question.place(fault.start, fault.end);
          }}
        >
          <span class="mono">
            {at.length}:{at.at(-1)!.length + 1}
          </span>{' '}
          <span>{visible(fault.message, 300)}</span>
          {faults.length > 1 && <span class="soft">and {faults.length - 1} more</span>}
        </button>
      )}
    </div>
  );
};

const CopyLink = ({ question }: { readonly question: Question }) => {
  const done = useSignal(false);
  return (
    <button
      type="button"
      class="quiet"
      aria-label={done.value ? 'Copied' : 'Copy link'}
      onClick={() => {
        copyText(new URL(questionLink(question.text.peek()), location.href).href);
        done.value = true;
        setTimeout(() => {
          done.value = false;
        }, 2000);
      }}
    >
      <span role="status">{done.value ? 'Copied' : 'Copy link'}</span>
    </button>
  );
};

/** Asks the service what is wrong with the text, when the reader pauses. */
const useCheck = (question: Question): void => {
  const { value } = question.text;
  useEffect(() => {
    const stop = new AbortController();
    const show = (found: readonly TextFault[]): void => {
      if (!stop.signal.aborted) question.show(found);
    };
    if (value.trim() === '') {
      show([]);
      return undefined;
    }
    const timer = setTimeout(() => {
      question.client.compile(value, { signal: stop.signal }).then(
        () => {
          show([]);
        },
        (error: unknown) => {
          if (!(error instanceof LakeFailure)) return;
          // Of several faults the hint does not say which one it means.
          const hint = error.hint === undefined || error.places.length > 1 ? '' : ` (${error.hint})`;
          show(
            error.places.map(({ message, start, end }) => ({
              start,
              end: end < 0 ? start : end + 1,
              message: `${message}${hint}`,
            })),
          );
        },
      );
    }, checkAfterMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [value]);
};
