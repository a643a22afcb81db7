/** What log and metrics say of each answer. */
import type { FastifyBaseLogger } from 'fastify';
import { logId } from './log-fault.ts';
import type { Metrics } from './metrics.ts';

/** `route`: as it stands in the table of routes; `ms`: from the request to the end of its answer. */
interface Answered {
  readonly id: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly ms: number;
}

export const noteAnswered = (
  { metrics, log }: { readonly metrics: Pick<Metrics, 'answered'>; readonly log: FastifyBaseLogger },
  { id, method, route, status, ms }: Answered,
): void => {
  metrics.answered({ method, route, status }, ms / 1000);
  log.debug({ id: logId({ id }), method, route, status, ms: Math.round(ms) }, 'answered');
};
