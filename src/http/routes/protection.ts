/** What branches are protected from. */
import { Type } from 'typebox';
import type { ProtectedVerb, Protection as Protected } from '../../../machines/pool.events.ts';
import { LakeError } from '../../errors.ts';
import { named, record } from '../bodies/records.ts';
import { sendValue } from '../reply.ts';
import { type Route, route } from '../route.ts';
import { changeErrors } from '../route-errors.ts';
import { branchParams } from './branch.ts';
import type { BranchRecord } from '../../lake/lake.types.ts';
import { type Value, stringValue } from '../../vectors/value.ts';

/** Who may change a branch, verb by verb. */
const protectionValue = ({ protection = {} }: Pick<BranchRecord, 'protection'>): Value => {
  const who = (verb: ProtectedVerb): Value => stringValue(protection[verb] ?? 'writer');
  return named(
    'branches.Protection',
    record({ load: who('load'), delete: who('delete'), merge: who('merge'), reset: who('reset') }),
  );
};

const whoMay = (what: string) =>
  Type.Union([Type.Literal('writer'), Type.Literal('admin'), Type.Literal('nobody')], {
    description: `Who may ${what}. Default \`writer\`.`,
  });
const protection = {
  load: whoMay('load into it'),
  delete: whoMay('delete its records'),
  merge: whoMay('merge another branch into it'),
  reset: whoMay('reset it, revert its commits or delete it'),
};
/** The answer of `GET /pool/:pool/branch/:branch/protection`. */
const Protection = Type.Object(protection, {
  $id: 'Protection',
  description: 'Who may change a branch: whoever may write to the pool, its administrators alone, or nobody.',
});
/** The body of `PUT /pool/:pool/branch/:branch/protection`. */
const NewProtection = Type.Partial(Type.Object(protection), {
  $id: 'NewProtection',
  description: 'What is not named is for whoever may write to the pool.',
});

const verbs: readonly ProtectedVerb[] = ['load', 'delete', 'merge', 'reset'];
const example = { load: 'admin', delete: 'nobody', merge: 'writer', reset: 'nobody' };
const nobodyElse = new Map<string, 'admin' | 'nobody' | undefined>([
  ['writer', undefined],
  ['admin', 'admin'],
  ['nobody', 'nobody'],
]);

/** @throws protection-invalid */
const protectionOf = (body: { readonly [V in ProtectedVerb]?: string }): Protected => {
  const protection: { -readonly [V in ProtectedVerb]?: 'admin' | 'nobody' } = {};
  for (const verb of verbs) {
    const who = body[verb] ?? 'writer';
    if (!nobodyElse.has(who)) throw new LakeError('protection-invalid', { verb, who });
    const other = nobodyElse.get(who);
    if (other) protection[verb] = other;
  }
  return protection;
};

export const protectionRoutes: readonly Route[] = [
  route({
    id: 'getProtection',
    tag: 'Branches',
    method: 'GET',
    path: '/pool/:pool/branch/:branch/protection',
    summary: 'Who may change a branch',
    need: 'reader of pool',
    params: Type.Object(branchParams.properties),
    answers: { 200: { text: 'Who may, verb by verb.', value: Protection, example } },
    errors: ['pool-not-found', 'branch-not-found', 'tag-fixed'],
    handler: async ({ service, params, reply, response }) =>
      sendValue(reply, protectionValue(service.lake.pool(params.pool).branch(params.branch)), response),
  }),
  route({
    id: 'protectBranch',
    tag: 'Branches',
    method: 'PUT',
    path: '/pool/:pool/branch/:branch/protection',
    summary: 'Protect a branch from changes',
    need: 'admin of pool',
    writes: true,
    params: Type.Object(branchParams.properties),
    body: NewProtection,
    description:
      'Changes of others are a 403, whatever way they come: endpoints, `load` in a query, shippers of logs. Verbs that the body does not name are for whoever may write to the pool again. Without access control everybody is an administrator, and `nobody` holds.',
    examples: { 'Changed by merges alone': { load: 'nobody', delete: 'nobody', reset: 'nobody' }, Nothing: {} },
    answers: { 200: { text: 'Who may from now on.', value: Protection, example } },
    errors: [...changeErrors, 'pool-not-found', 'branch-not-found', 'tag-fixed', 'protection-invalid'],
    handler: async (call) => {
      const { service, params, reply, response } = call;
      const pool = service.lake.pool(params.pool);
      await pool.protect(params.branch, protectionOf(await call.body()));
      return sendValue(reply, protectionValue(pool.branch(params.branch)), response);
    },
  }),
];
