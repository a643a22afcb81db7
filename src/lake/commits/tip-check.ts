/** What stands between a client and a change of a branch: its own condition, and what the branch is protected from. */
import { LakeError } from '../../errors.ts';
import { base62 } from '../ksuid.ts';
import type { ProtectedVerb } from '../../../machines/pool.events.ts';
import type { BranchRecord, Id, TipTerms } from '../lake.types.ts';

/** @throws tip-moved unless the tip is among those that are allowed; undefined: any is */
export const checkTip = (ifTip: readonly Id[] | undefined, tip: Id): void => {
  if (ifTip && !ifTip.includes(tip))
    throw new LakeError('tip-moved', { tip: base62(tip) }, { details: { commit: `0x${tip}` } });
};

/** What a change does that is called otherwise. */
interface Doing {
  readonly kind?: string;
  readonly cause?: string;
}
const whyOf = ({ kind = '', cause = '' }: Doing, verb: ProtectedVerb): string => {
  if (verb === 'delete' && (cause === 'update' || cause === 'upsert'))
    return `, and an ${cause} takes out the rows that it replaces`;
  if (verb === 'merge' && kind === 'pick') return ', and a pick merges what a commit changed';
  return verb === 'reset' && kind === 'revert' ? ', and a revert takes back what a commit changed' : '';
};
/** @throws branch-protected */
export const checkProtection = (
  { name, protection }: Pick<BranchRecord, 'name' | 'protection'>,
  verb: ProtectedVerb,
  { by, ...doing }: Pick<TipTerms, 'by'> & Doing,
): void => {
  const who = protection?.[verb];
  if (who === 'nobody' || (who === 'admin' && by === 'writer'))
    throw new LakeError('branch-protected', { branch: name, verb, who, why: whyOf(doing, verb) });
};
