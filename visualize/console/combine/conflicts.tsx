/** Records in conflict: what each side made of them, and a choice for each. */
import { Sides } from '../records/sides.tsx';
import { keyLabel } from '../records/cells.ts';
import { count, counted, visible } from '../text.ts';
import type { Conflict, Conflicts as Found, Settlement, Take } from './settlement.ts';

/** What the sides are called in this dialog. */
export type SideNames = Readonly<Record<Take, string>>;

/** The conflicts with their choices. Without `onMore` no more of them can be shown. */
export const Conflicts = ({
  found: { count: all, told },
  names,
  settlement,
  onSettle,
  onMore,
}: {
  readonly found: Found;
  readonly names: SideNames;
  readonly settlement: Settlement;
  readonly onSettle: (settlement: Settlement) => void;
  readonly onMore?: () => void;
}) => {
  const take = (id: string, side: Take): void => {
    onSettle({ ...settlement, taken: new Map(settlement.taken).set(id, side) });
  };
  return (
    <section class="conflicts" aria-label="Records in conflict">
      <p>
        <strong>{counted(all, 'record')}</strong> {all === 1 ? 'was' : 'were'} changed on both sides.{' '}
        {settlement.taken.size > 0 && <span class="soft">{count(settlement.taken.size)} chosen.</span>}
      </p>
      <Rest names={names} settlement={settlement} onSettle={onSettle} />
      <ol>
        {told.map((conflict, i) => (
          <OneConflict
            key={conflict.id}
            name={`conflict-${i}`}
            conflict={conflict}
            names={names}
            taken={settlement.taken.get(conflict.id)}
            onTake={(side) => {
              take(conflict.id, side);
            }}
          />
        ))}
      </ol>
      {told.length < all &&
        (onMore ? (
          <button type="button" onClick={onMore}>
            Show more ({count(all - told.length)} left)
          </button>
        ) : (
          <p class="soft">And {count(all - told.length)} more, which the choice for all settles.</p>
        ))}
    </section>
  );
};

/** What becomes of those that are not chosen one by one. */
const Rest = ({
  names,
  settlement,
  onSettle,
}: {
  readonly names: SideNames;
  readonly settlement: Settlement;
  readonly onSettle: (settlement: Settlement) => void;
}) => (
  <fieldset class="choices">
    <legend>All that are not chosen below</legend>
    {(
      [
        ['', 'stay in conflict'],
        ['ours', `as on ${names.ours}`],
        ['theirs', `as on ${names.theirs}`],
      ] as const
    ).map(([value, text]) => (
      <label key={value} class="check">
        <input
          type="radio"
          name="rest"
          checked={settlement.rest === value}
          onChange={() => {
            onSettle({ ...settlement, rest: value });
          }}
        />
        {visible(text, 80)}
      </label>
    ))}
  </fieldset>
);

const OneConflict = ({
  name,
  conflict,
  names,
  taken,
  onTake,
}: {
  readonly name: string;
  readonly conflict: Conflict;
  readonly names: SideNames;
  readonly taken: Take | undefined;
  readonly onTake: (side: Take) => void;
}) => {
  const key = visible(keyLabel(conflict.key), 120);
  return (
    <li class={taken === undefined ? 'conflict' : 'conflict settled'}>
      <h3>
        <bdi>{key}</bdi> {taken !== undefined && <span class="soft">· taken from {visible(names[taken], 60)}</span>}
      </h3>
      <Sides
        label={`Record ${key}`}
        sides={(['base', 'ours', 'theirs'] as const).map((side) => ({
          id: side,
          record: conflict[side],
          head: (
            <label class="check">
              <input
                type="radio"
                name={name}
                checked={taken === side}
                onChange={() => {
                  onTake(side);
                }}
                aria-label={`${key}: take that of ${names[side]}`}
              />
              <bdi>{visible(names[side], 40)}</bdi>
            </label>
          ),
        }))}
      />
    </li>
  );
};
