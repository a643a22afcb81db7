/**
 * Files loaded into a branch, or into a pool that is made for them: progress, cancel, and the place of a fault in the
 * file.
 */
import { useEffect, useMemo } from 'preact/hooks';
import { useNote } from '../changes.tsx';
import { CopyLine, Dialog } from '../parts.tsx';
import { go, link, route } from '../route.ts';
import { counted } from '../text.ts';
import { Files } from './files.tsx';
import { Format } from './format.tsx';
import { LookAhead } from './look.tsx';
import { LoadPlan, type PlanStart } from './plan.ts';
import { Target } from './target.tsx';

/** Where the files go, if that is settled, and the files to begin with: those of the first drawing. */
interface LoadProps extends PlanStart {
  readonly onClose: () => void;
}

/** The dialog that loads files, one after the other, a commit each. */
export const Load = ({ onClose, ...start }: LoadProps) => {
  const plan = useMemo(() => new LoadPlan(start), []);
  const note = useNote();
  const { ready, done, unknown } = plan;
  useEffect(() => {
    if (unknown) void plan.look(unknown);
  }, [unknown]);
  useEffect(
    () => () => {
      plan.cancel();
    },
    [],
  );
  const finish = (): void => {
    const { pool } = plan;
    onClose();
    if (pool && (route.peek().path[0] !== 'pool' || !plan.isSettled))
      go(link(['pool', pool.name.length <= 80 ? pool.name : pool.id]));
  };
  return (
    <Dialog
      title="Load data"
      wide
      onClose={() => {
        plan.cancel();
        onClose();
      }}
      onSubmit={() => {
        if (done) finish();
        else if (ready) void plan.submit(note);
      }}
      actions={<Buttons plan={plan} onClose={onClose} />}
    >
      <Files plan={plan} />
      <Target plan={plan} />
      <Format plan={plan} />
      <LookAhead plan={plan} />
      {note.fields}
      {plan.items.value.length > 0 && <CopyLine text={plan.line(note)} />}
    </Dialog>
  );
};

const Buttons = ({ plan, onClose }: { readonly plan: LoadPlan; readonly onClose: () => void }) => {
  const { busy, done } = plan;
  const { length } = plan.items.value;
  return (
    <>
      {!done && (
        <button
          type="button"
          onClick={() => {
            if (busy) plan.cancel();
            else onClose();
          }}
        >
          {busy ? 'Cancel load' : 'Close'}
        </button>
      )}
      {done ? (
        <button type="submit" class="main">
          Show the pool
        </button>
      ) : (
        <button type="submit" class="main" disabled={!plan.ready}>
          {busy ? 'Loading…' : `Load ${length > 1 ? counted(length, 'file') : 'file'}`}
        </button>
      )}
    </>
  );
};
