/** The dialog that says who may change a branch. */
import { useState } from 'preact/hooks';
import type { BranchInfo, Protection } from '../../../src/client/client.ts';
import { curlName, useAction } from '../action.ts';
import { Change, type ChangeProps } from '../changes.tsx';
import { Field } from '../fields.tsx';
import { branches, refresh } from '../lake.ts';
import { Name } from '../parts.tsx';
import { client } from '../session.ts';
import { visible } from '../text.ts';

type Verb = 'load' | 'delete' | 'merge' | 'reset';
type Who = 'writer' | 'admin' | 'nobody';
const verbs = [
  ['load', 'Load into it'],
  ['delete', 'Delete and change its records'],
  ['merge', 'Merge, revert and pick onto it'],
  ['reset', 'Reset or delete it'],
] as const satisfies readonly (readonly [Verb, string])[];
const people = [
  ['writer', 'whoever may write'],
  ['admin', 'administrators'],
  ['nobody', 'nobody'],
] as const satisfies readonly (readonly [Who, string])[];

const whoOf = (branch: BranchInfo | undefined, verb: Verb): Who => branch?.protection?.[verb] ?? 'writer';

/** The dialog. */
export const Protect = ({ pool, branch: name, onClose }: ChangeProps) => {
  const branch = branches(pool).find((each) => each.name === name);
  const [chosen, setChosen] = useState<Readonly<Partial<Record<Verb, Who>>>>({});
  const action = useAction(onClose);
  const wanted = Object.fromEntries(verbs.map(([verb]) => [verb, chosen[verb] ?? whoOf(branch, verb)])) as Record<
    Verb,
    Who
  >;
  const protection: Protection = Object.fromEntries(Object.entries(wanted).filter(([, who]) => who !== 'writer'));
  const submit = (): void => {
    action.run(async () => {
      await client.pool(pool.id).branch(name).protect(protection);
      await refresh();
      return Object.keys(protection).length === 0
        ? `Branch ${visible(name, 60)} is not protected.`
        : `Branch ${visible(name, 60)} is protected.`;
    });
  };
  return (
    <Change
      title="Protect branch"
      onClose={onClose}
      ready={verbs.some(([verb]) => wanted[verb] !== whoOf(branch, verb))}
      busy={action.busy}
      submit={submit}
      verb="Save"
      fault={action.fault}
      request={{ method: 'PUT', path: ['pool', curlName(pool), 'branch', name, 'protection'], json: protection }}
    >
      <p class="soft">
        Who may do what to{' '}
        <strong>
          <Name text={name} max={60} />
        </strong>
        , whatever way it is asked for.
      </p>
      {verbs.map(([verb, text], i) => (
        <Field key={verb} label={text}>
          {(props) => (
            <select
              {...props}
              {...(i === 0 && { 'data-first': true })}
              value={wanted[verb]}
              onChange={(e) => {
                setChosen({ ...chosen, [verb]: e.currentTarget.value as Who });
              }}
            >
              {people.map(([who, whom]) => (
                <option key={who} value={who}>
                  {whom}
                </option>
              ))}
            </select>
          )}
        </Field>
      ))}
    </Change>
  );
};
