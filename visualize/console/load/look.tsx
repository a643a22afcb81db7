/** What a load of the first file would come to, told by the service before it is asked to load. */
import { useEffect, useState } from 'preact/hooks';
import { type LoadPreview, LakeFailure } from '../../../src/client/client.ts';
import { client } from '../session.ts';
import { counted, visible } from '../text.ts';
import { lookOf } from './item.ts';
import type { LoadPlan } from './plan.ts';

/** So much of a file is sent. */
const partBytes = 1 << 20;
/** Whoever types is not asked for at each character. */
const restMs = 250;

type Look = { readonly seen: LoadPreview } | { readonly refusal: LakeFailure };

/** What it would come to, of the first file that is not loaded yet. */
export const LookAhead = ({ plan }: { readonly plan: LoadPlan }) => {
  const [look, setLook] = useState<Look>();
  const item = plan.items.value.find(({ state }) => state !== 'done');
  const isAsked = item?.facts !== undefined && !plan.busy && (plan.isNew ? plan.mayMake : plan.pool !== undefined);
  const { pool } = plan;
  const branch = plan.branch.value;
  const request = item && lookOf(item, plan.reading);
  const wanted = isAsked ? JSON.stringify([pool?.id, branch, request]) : undefined;
  useEffect(() => {
    setLook(undefined);
    if (wanted === undefined || !item || !request) return;
    const { file } = item;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const part = file.slice(0, partBytes);
      const options = { ...request, cut: file.size > part.size, signal: stop.signal };
      const asked = pool
        ? client.pool(pool.id).branch(branch).previewLoad(part, options)
        : client.preview(part, options);
      asked.then(
        (seen) => {
          setLook({ seen });
          plan.seenFields.value = seen.fields;
        },
        (error: unknown) => {
          // What else went wrong shows when the file is loaded.
          if (!stop.signal.aborted && error instanceof LakeFailure) setLook({ refusal: error });
        },
      );
    }, restMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [wanted, item?.file]);
  if (!look) return null;
  return 'seen' in look ? <Seen seen={look.seen} isPlaced={!plan.isNew} /> : <Refused refusal={look.refusal} />;
};

const Refused = ({ refusal: { message, hint } }: { readonly refusal: LakeFailure }) => (
  <div class="effect refused look" role="status">
    <p>As it is, the load would be refused: {visible(message, 1000)}</p>
    {hint !== undefined && <p class="soft">{visible(hint, 500)}</p>}
  </div>
);

/** `isPlaced`: the pool is there, with its own key. */
const Seen = ({ seen, isPlaced }: { readonly seen: LoadPreview; readonly isPlaced: boolean }) => {
  const { format, why, doubts, type, records, complete, rows, layout, warnings, fault } = seen;
  const { order, keys } = layout;
  return (
    <section class="look" aria-label="What the load would come to">
      <dl class="effect">
        <div>
          <dt>Read as</dt>
          <dd>
            {format}, since {visible(why, 300)}
          </dd>
        </div>
        {doubts.map((doubt) => (
          <Fact key={doubt} name="Unsure" text={doubt} />
        ))}
        {[...warnings, ...(fault === null ? [] : [`it was read up to here: ${fault}`])].map((warning) => (
          <Fact key={warning} name="Note" text={warning} />
        ))}
        <div>
          <dt>{complete ? counted(records, 'record') : `First ${counted(records, 'record')}`}</dt>
          <dd>
            <code>{type === null ? 'none ends in the part that was looked at' : visible(type, 600)}</code>
          </dd>
        </div>
        {isPlaced && (
          <Fact name="Kept in order of" text={`${keys.map((path) => path.join('.') || 'this').join(', ')}, ${order}`} />
        )}
      </dl>
      {rows.length > 0 && (
        <pre class="look-rows" tabIndex={0} aria-label="The first records">
          {rows.map((row) => `${visible(row, 500)}\n`)}
        </pre>
      )}
    </section>
  );
};
const Fact = ({ name, text }: { readonly name: string; readonly text: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{visible(text, 500)}</dd>
  </div>
);
