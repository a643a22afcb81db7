/** What a revision of the pool has otherwise than another: record by record, the two sides beside each other. */
import { useState } from 'preact/hooks';
import type { PoolInfo } from '../../../src/client/client.ts';
import { useAnswer } from '../action.ts';
import { Field } from '../fields.tsx';
import { branches, tags } from '../lake.ts';
import { Busy, Fault } from '../parts.tsx';
import type { Place } from '../pool/place.ts';
import { supText } from '../query/print.ts';
import { keyLabel } from '../records/cells.ts';
import { Sides } from '../records/sides.tsx';
import { client } from '../session.ts';
import { count, counted, shortId, visible, visibleName } from '../text.ts';
import { type Change, readChanges } from './rows.ts';

/** What is compared, as the address has it. `base` empty: the fork of a branch, the parent of a commit. */
export interface Compared {
  readonly of: string;
  readonly base: string;
}
const changesStep = 50;
/** Characters of a record that is on one side alone. */
const recordMax = 2000;

const isId = (revision: string): boolean => /^0x[0-9a-f]{40}$/.test(revision);
const nameOf = (revision: string): string =>
  isId(revision) ? `commit ${shortId(revision)}` : visibleName(revision, 60);

/** The part of a pool's page that compares. `place`: what the page shows, which is compared unless another is. */
export const Differences = ({
  pool,
  place,
  compared,
  onCompare,
}: {
  readonly pool: PoolInfo;
  readonly place: Place;
  readonly compared: Compared;
  readonly onCompare: (compared: Compared) => void;
}) => {
  const [max, setMax] = useState(changesStep);
  const of = compared.of || place.revision || 'main';
  const { base } = compared;
  const moves = [...branches(pool), ...tags(pool)].map(({ name, commit }) => `${name} ${commit}`);
  const hasIdentity = (pool.identity?.length ?? 0) > 0;
  const about = JSON.stringify([of, base, moves, pool.identity]);
  const found = useAnswer(
    place.isEmpty ? undefined : JSON.stringify([about, max]),
    () => readChanges({ pool: pool.id, hasIdentity, revision: of, base: base || undefined }, max),
    50,
  );
  const sums = useAnswer(base === '' || place.isEmpty ? undefined : about, () =>
    client.pool(pool.id).diffSummary(base, of),
  );
  const changes = found.value?.changes ?? [];
  return (
    <>
      <Choose pool={pool} of={of} base={base} onCompare={onCompare} />
      <div class="diff-scroll" tabIndex={0} role="region" aria-label="Changed records">
        <Fault text={found.fault} />
        {found.busy && <Busy text="Comparing…" />}
        {found.value && (
          <p class="more" role="status">
            {changes.length === 0 ? (
              'No record is another one.'
            ) : (
              <>
                {found.value.more
                  ? `The first ${counted(changes.length, 'change')}`
                  : counted(changes.length, 'change')}
                {sums.value && (
                  <span class="soft">
                    {' '}
                    · {count(sums.value.added)} added, {count(sums.value.removed)} removed,{' '}
                    {sums.value.changed === undefined
                      ? 'a changed record being both'
                      : `${count(sums.value.changed)} changed`}
                  </span>
                )}
              </>
            )}
          </p>
        )}
        <ol class="diff-list">
          {changes.map((change, i) => (
            <OneChange key={i} change={change} before={base === '' ? 'before' : nameOf(base)} after={nameOf(of)} />
          ))}
        </ol>
        {found.value?.more && (
          <p class="more">
            <button
              type="button"
              onClick={() => {
                setMax(max * 4);
              }}
            >
              Show more
            </button>
          </p>
        )}
      </div>
    </>
  );
};

const Choose = ({
  pool,
  of,
  base,
  onCompare,
}: {
  readonly pool: PoolInfo;
  readonly of: string;
  readonly base: string;
  readonly onCompare: (compared: Compared) => void;
}) => {
  const names = [...branches(pool), ...tags(pool)].slice(0, 500).map(({ name }) => name);
  const [typed, setTyped] = useState<string | undefined>(undefined);
  // Main, tags and commits have none.
  const hasFork = of !== 'main' && branches(pool).some(({ name }) => name === of);
  const isOther = typed !== undefined || (base !== '' && !names.includes(base));
  return (
    <div class="diff-tools">
      <Field label="Changes of">
        {(props) => (
          <select
            {...props}
            value={of}
            onChange={(e) => {
              onCompare({ of: e.currentTarget.value, base });
            }}
          >
            {!names.includes(of) && <option value={of}>{nameOf(of)}</option>}
            {names.map((name) => (
              <option key={name} value={name}>
                {visibleName(name, 80)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="against">
        {(props) => (
          <select
            {...props}
            value={isOther ? 'other' : base === '' ? '' : `=${base}`}
            onChange={(e) => {
              const { value } = e.currentTarget;
              setTyped(value === 'other' ? base : undefined);
              if (value !== 'other') onCompare({ of, base: value.slice(1) });
            }}
          >
            <option value="">{hasFork ? 'where it forked from main' : 'its parent'}</option>
            {names.map((name) => (
              <option key={name} value={`=${name}`}>
                {visibleName(name, 80)}
              </option>
            ))}
            <option value="other">another revision …</option>
          </select>
        )}
      </Field>
      {isOther && (
        <Field label="Revision" hint="A branch, a tag or the id of a commit.">
          {(props) => (
            <input
              {...props}
              class="mono"
              value={typed ?? base}
              spellcheck={false}
              autocomplete="off"
              onInput={(e) => {
                setTyped(e.currentTarget.value);
              }}
              onChange={(e) => {
                onCompare({ of, base: e.currentTarget.value.trim() });
              }}
            />
          )}
        </Field>
      )}
    </div>
  );
};

const OneChange = ({
  change: { kind, key, before: was, after: is, fields },
  before,
  after,
}: {
  readonly change: Change;
  readonly before: string;
  readonly after: string;
}) => {
  const label = visible(keyLabel(key), 120);
  const one = is ?? was;
  return (
    <li class="change">
      <h3>
        <bdi>{label}</bdi> <span class={`kind ${kind}`}>{kind}</span>
      </h3>
      {kind === 'changed' ? (
        <Sides
          label={`Record ${label}`}
          changed={fields}
          sides={[
            { id: 'before', head: before, record: was },
            { id: 'after', head: after, record: is },
          ]}
        />
      ) : (
        <p class={`one-side ${kind}`}>
          <code>
            <bdi>{one && visible(supText(one), recordMax)}</bdi>
          </code>
        </p>
      )}
    </li>
  );
};
