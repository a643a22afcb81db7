/** Merge, revert and pick: each with what it would do, and with its conflicts to settle. */
import { useRef, useState } from 'preact/hooks';
import type { BranchInfo, GraphCommit } from '../../../src/client/client.ts';
import { useAction, useAnswer } from '../action.ts';
import { BranchField, Change, type ChangeProps, Effect, useNote } from '../changes.tsx';
import { titleOf } from '../commits.tsx';
import { branches, refresh } from '../lake.ts';
import { Busy, Id, Name } from '../parts.tsx';
import { dateTime, shortId, visible } from '../text.ts';
import { Conflicts, type SideNames } from './conflicts.tsx';
import {
  type Combination,
  combine,
  combineRequest,
  type Conflicts as Found,
  conflictsOf,
  previewOf,
  type Settlement,
  unsettled,
} from './settlement.ts';

/** Conflicts that are shown at first; the service tells a thousand at most. */
const conflictsStep = 20;
const conflictsMax = 1000;

interface CombineProps {
  readonly title: string;
  readonly button: string;
  readonly done: string;
  readonly what: Combination;
  /** Whether there is something to combine. */
  readonly isChosen: boolean;
  /** What the answer depends on besides: tips of branches. */
  readonly tips: string;
  readonly names: SideNames;
  readonly onClose: () => void;
  readonly children: preact.ComponentChildren;
}
/** What is asked of one combination; `about` says which it is, undefined: none. */
interface Question {
  readonly what: Combination;
  readonly about: string | undefined;
  /** Of the moment; undefined while it must not be asked. */
  readonly tips: string | undefined;
}
/** The conflicts as they were told last, while others are asked for. */
const useConflicts = ({ what, about, tips }: Question, fields: boolean, max: number) => {
  const last = useRef<{ readonly about: string; readonly found: Found } | undefined>(undefined);
  const asked = useAnswer(
    about === undefined || tips === undefined ? undefined : JSON.stringify([about, tips, fields, max]),
    () => conflictsOf(what, fields, max),
    100,
  );
  const now = `${about} ${fields}`;
  if (asked.value) last.current = { about: now, found: asked.value };
  return { found: last.current?.about === now ? last.current.found : undefined, fault: asked.fault };
};
/** The choices of one combination; those of records that are no longer in conflict are none. */
const useSettlement = (about: string | undefined) => {
  const [kept, setKept] = useState({ about, settlement: unsettled });
  const settlement = kept.about === about ? kept.settlement : unsettled;
  const settle = (change: Settlement): void => {
    setKept({ about, settlement: change });
  };
  return { settlement, settle };
};
const stillThere = (settlement: Settlement, found: Found | undefined): Settlement => {
  // Only of a whole list one knows what is not in it.
  if (!found || found.told.length < found.count || settlement.taken.size === 0) return settlement;
  const ids = new Set(found.told.map(({ id }) => id));
  return { ...settlement, taken: new Map([...settlement.taken].filter(([id]) => ids.has(id))) };
};

/** The dialog that they share; `children` say what is combined. */
const Combine = ({ title, button, done, what, isChosen, tips, names, onClose, children }: CombineProps) => {
  const about = isChosen ? JSON.stringify([what.branch, what.what]) : undefined;
  const { settlement: chosen, settle } = useSettlement(about);
  const [max, setMax] = useState(conflictsStep);
  const note = useNote();
  const action = useAction(onClose);
  // The commit itself moves a tip, and then there is nothing left to settle.
  const question: Question = { what, about, tips: action.busy ? undefined : tips };
  const { found, fault } = useConflicts(question, chosen.fields, max);
  const settlement = stillThere(chosen, found);
  const preview = useAnswer(
    about === undefined || question.tips === undefined
      ? undefined
      : JSON.stringify([about, tips, settlement.fields, settlement.rest, [...settlement.taken]]),
    () => previewOf(what, settlement),
    100,
  );
  const submit = (): void => {
    action.run(async () => {
      await combine(what, settlement, note.headers);
      await refresh();
      return done;
    });
  };
  return (
    <Change
      title={title}
      wide
      onClose={onClose}
      ready={preview.value !== undefined && preview.value.error === undefined}
      busy={action.busy}
      submit={submit}
      verb={button}
      fault={action.fault ?? preview.fault ?? fault}
      request={combineRequest(what, settlement, note.headers)}
    >
      {children}
      {preview.busy ? (
        <Busy text="Looking at what it would do…" />
      ) : (
        preview.value && <Effect preview={preview.value} />
      )}
      {((found && found.count > 0) || settlement.fields) && (
        <label class="check">
          <input
            type="checkbox"
            checked={settlement.fields}
            onChange={(e) => {
              settle({ ...unsettled, fields: e.currentTarget.checked });
            }}
          />
          Put records together whose fields were changed apart
        </label>
      )}
      {found && found.count > 0 && (
        <Conflicts
          found={found}
          names={names}
          settlement={settlement}
          onSettle={settle}
          {...(max < conflictsMax && {
            onMore: () => {
              setMax(Math.min(conflictsMax, max * 5));
            },
          })}
        />
      )}
      {note.fields}
    </Change>
  );
};

/** The dialog that merges one branch into another. */
export const Merge = ({ pool, branch, onClose }: ChangeProps) => {
  const all = branches(pool);
  const others = all.filter((b) => b.name !== branch).sort((a, b) => (a.ts < b.ts ? 1 : -1));
  // From a branch one merges into main; on main, one merges another branch into it.
  const [target, setTarget] = useState(branch === 'main' || !all.some((b) => b.name === 'main') ? branch : 'main');
  const [child, setChild] = useState(branch === 'main' ? (others[0]?.name ?? '') : branch);
  return (
    <Combine
      title="Merge branches"
      button="Merge"
      done={`Merged ${visible(child, 60)} into ${visible(target, 60)}.`}
      what={{ verb: 'merge', pool, branch: target, what: child }}
      isChosen={target !== child && child !== ''}
      tips={`${tipOf(all, target)} ${tipOf(all, child)}`}
      names={{ base: 'before both', ours: target, theirs: child }}
      onClose={onClose}
    >
      <div class="field-row">
        <BranchField label="Merge" first all={all} value={child} onChange={setChild} />
        <span class="into soft" aria-hidden="true">
          →
        </span>
        <BranchField label="into" all={all} value={target} onChange={setTarget} />
      </div>
      {(target === child || child === '') && <p class="soft">Choose two branches.</p>}
    </Combine>
  );
};
const tipOf = (all: readonly BranchInfo[], name: string): string => all.find((b) => b.name === name)?.commit ?? '';

interface CommitProps extends ChangeProps {
  readonly commit: Pick<GraphCommit, 'id' | 'message' | 'date'>;
}
/** What the dialogs for a commit say, by what they do with it. */
const ofCommit = {
  revert: {
    button: 'Revert',
    done: (id: string, target: string) => `Reverted ${id} on ${target}.`,
    says: 'undoes',
    label: 'On branch',
    names: { base: 'after the commit', theirs: 'before the commit' },
  },
  pick: {
    button: 'Pick',
    done: (id: string, target: string) => `Picked ${id} onto ${target}.`,
    says: 'does',
    label: 'Onto branch',
    names: { base: 'before the commit', theirs: 'the commit' },
  },
} as const;
const OfCommit = ({ verb, pool, branch, commit, onClose }: CommitProps & { readonly verb: keyof typeof ofCommit }) => {
  const { button, done, says, label, names } = ofCommit[verb];
  const all = branches(pool);
  const [target, setTarget] = useState(branch);
  return (
    <Combine
      title={`${button} commit`}
      button={button}
      done={done(shortId(commit.id), visible(target, 60))}
      what={{ verb, pool, branch: target, what: commit.id }}
      isChosen
      tips={tipOf(all, target)}
      names={{ ...names, ours: target }}
      onClose={onClose}
    >
      <p>
        A new commit {says} what <Id id={commit.id} /> of {dateTime(commit.date)} did:{' '}
        <Name text={titleOf(commit)} max={120} />.
      </p>
      <BranchField label={label} first all={all} value={target} onChange={setTarget} />
    </Combine>
  );
};
/** The dialog that undoes a commit on a branch. */
export const Revert = (props: CommitProps) => <OfCommit {...props} verb="revert" />;
/** The dialog that does to a branch what a commit did. */
export const PickCommit = (props: CommitProps) => <OfCommit {...props} verb="pick" />;
