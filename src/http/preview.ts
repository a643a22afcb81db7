/** Looks into a body that is to be loaded: what it would come to. Nothing is loaded, nor is there a run to ask for. */
import type { BodyForm } from '../formats/format.types.ts';
import type { FormatName } from '../formats/formats.ts';
import type { ContentCoding } from '../formats/codings/encoding.ts';
import { checkProtection, checkTip } from '../lake/commits/tip-check.ts';
import type { Pool } from '../lake/lake.types.ts';
import type { LoadPreview } from '../workers/pool.types.ts';
import { loadBody } from './bodies/body.ts';
import { paceOf } from './connections/pace.ts';
import { standing } from './access/roles.ts';
import { tipTerms } from './idempotency.ts';
import type { PreviewTold } from './bodies/load.types.ts';
import type { Call } from './route.ts';

/** How a body is read, and whether it is the beginning of one alone. */
export interface WantedPreview {
  readonly format: FormatName | 'auto';
  readonly form: BodyForm;
  readonly contentCodings: readonly ContentCoding[];
  readonly isCut: boolean;
}
type PreviewCall = Pick<Call, 'service' | 'request' | 'who' | 'sent' | 'whenLeft'>;

/** Reads the request's body as a load into a new pool would. @throws what is wrong with the body */
export const previewRequest = async (call: PreviewCall, wanted: WantedPreview): Promise<PreviewTold> => {
  const seen = await look(call, wanted);
  return { ...seen, layout: { order: 'asc', keys: [[seen.key]] } };
};

/**
 * The same into a pool that is there. @throws also what the load would be refused for before its body is read
 */
export const previewLoad = async (
  call: PreviewCall,
  { pool, branch }: { readonly pool: Pool; readonly branch: string },
  wanted: WantedPreview,
): Promise<PreviewTold> => {
  const { layout } = pool.config;
  const { ifTip } = tipTerms(call.request.headers);
  const there = pool.branch(branch);
  if (ifTip) checkTip(ifTip, there.commit);
  checkProtection(there, 'load', standing(call.who, pool.config));
  const seen = await look(call, wanted);
  const absent = layout.keys.filter(([first]) => first !== undefined && !seen.fields.includes(first));
  const isKnown = seen.records > 0 && seen.fields.length > 0;
  const texts = isKnown ? absent.map((path) => `no record has ${path.join('.')}, a key of the pool`) : [];
  return { ...seen, warnings: [...seen.warnings, ...texts], layout };
};

const look = async (
  call: PreviewCall,
  { format, form, contentCodings, isCut }: WantedPreview,
): Promise<LoadPreview> => {
  const { service, request, sent } = call;
  const left = new AbortController();
  call.whenLeft(() => {
    left.abort();
  });
  const client = paceOf(request.raw, 'body', service.config);
  const { body, begun, whole } = loadBody(request.raw, {
    idleMsMax: service.config.bodyIdleMsMax,
    pace: client,
    held: service.loadBodies,
    sent,
    told: () => undefined,
    run: { unblock: undefined },
  });
  return service.workers.preview({
    ...(format !== 'auto' && { said: { format, why: 'Content-Type says so' } }),
    form,
    contentCodings,
    isCut,
    client,
    signal: left.signal,
    ...(begun && { begun }),
    body: whole ? once(await whole()) : body,
  });
};
async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
