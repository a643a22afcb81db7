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

/** @throws branch-protected */
export const checkProtection = (
  { name, protection }: Pick<BranchRecord, 'name' | 'protection'>,
  verb: ProtectedVerb,
  { by }: Pick<TipTerms, 'by'>,
): void => {
  const who = protection?.[verb];
  if (who === 'nobody' || (who === 'admin' && by === 'writer'))
    throw new LakeError('branch-protected', { branch: name, verb, who });
};
