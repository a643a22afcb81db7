/** The condition on which a client wants a change, or to be told of one. */
import { LakeError } from '../../errors.ts';
import { base62 } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';

/** @throws tip-moved unless the tip is among those that are allowed; undefined: any is */
export const checkTip = (ifTip: readonly Id[] | undefined, tip: Id): void => {
  if (ifTip && !ifTip.includes(tip))
    throw new LakeError('tip-moved', { tip: base62(tip) }, { details: { commit: `0x${tip}` } });
};
