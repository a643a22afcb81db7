/** A batch on its way, until the service has told of it: what may pass is tried again. */
import { setTimeout as pause } from 'node:timers/promises';
import { errorTable } from '../../errors.ts';
import { type Loaded, loadedOf } from './send.ts';
import { ask, NoAnswer, Refused, type Target } from './service.ts';

/** The command is to end before the service has told of a batch, which stays written down. */
export class Ended extends Error {}

const firstPauseMs = 250;
const pauseMsMax = 10_000;
/** Timeouts, too many requests, and what a restart or more room mends. */
const passing: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 507]);

/** Told when the service cannot be reached, and when it can again. */
type Tell = (text: string) => void;

/**
 * The commit of a batch; undefined: it has no records. `ending`: nothing is tried again; `giveUp`: nor waited for.
 * @throws Ended; Refused for what stays wrong
 */
export const ship = async (
  target: Target,
  { path, headers, body }: { readonly path: string; readonly headers: Target['headers']; readonly body: Uint8Array },
  { ending, giveUp, tell }: { readonly ending: AbortSignal; readonly giveUp: AbortSignal; readonly tell: Tell },
): Promise<Loaded | undefined> => {
  for (let tries = 0; ; tries++) {
    try {
      const answer = await ask(target, path, {
        method: 'POST',
        body: body as Uint8Array<ArrayBuffer>,
        headers: { ...target.headers, ...headers },
        signal: giveUp,
      });
      if (tries > 0) tell('the service has taken it');
      return loadedOf(answer);
    } catch (problem) {
      if (problem instanceof Refused && problem.message === errorTable['load-empty'].text) return undefined;
      const mayPass = problem instanceof NoAnswer || (problem instanceof Refused && passing.has(problem.status));
      if (!mayPass) throw problem;
      if (ending.aborted) throw new Ended();
      if (tries === 0) tell(`${problem.message}; it is tried again`);
      await pause(Math.min(pauseMsMax, firstPauseMs * 2 ** tries), undefined, { signal: ending }).catch(() => {
        throw new Ended();
      });
    }
  }
};
