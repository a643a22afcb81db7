/** Tags: names for commits, which never move. Names are shared with branches. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import { checkName, commitOf, poolParameter, poolParams } from '../bodies/parameters.ts';
import { record, timeValue, idValue, named } from '../bodies/records.ts';
import { etagOf } from '../commit-answer.ts';
import { tipTerms } from '../idempotency.ts';
import { sendValue } from '../reply.ts';
import { type Link, type Route, route } from '../route.ts';
import { changeErrors, tipErrors } from '../route-errors.ts';
import { Time, ShownId, array, idText, newName } from '../schemas.ts';
import type { TagRecord } from '../../lake/lake.types.ts';
import { type Value, stringValue } from '../../vectors/value.ts';
import { arrayType } from '../../vectors/type.ts';

const tagRecord = (tag: TagRecord): Value =>
  record({ ts: timeValue(tag.tsNs), name: stringValue(tag.name), commit: idValue(tag.commit) });
const tagType = tagRecord({ tsNs: 0n, name: '', commit: '00'.repeat(20) }).type;
/** A tag: answer of its creation. */
const tagValue = (tag: TagRecord): Value => named('tags.Config', tagRecord(tag));
/** The tags of a pool. */
const tagsValue = (tags: readonly TagRecord[]): Value =>
  named('api.Tags', record({ tags: { type: arrayType(tagType), data: tags.map((tag) => tagRecord(tag).data) } }));

/** A tag of a pool. */
const Tag = Type.Object(
  { ts: Time, name: Type.String(), commit: ShownId },
  { $id: 'Tag', description: 'A name for a commit, given at `ts`, which never moves.' },
);
/** The answer of `GET /pool/:pool/tag`. */
const TagList = Type.Object({ tags: array(Tag) }, { $id: 'TagList', description: 'The tags of a pool.' });
/** The body of `POST /pool/:pool/tag`. */
const NewTag = Type.Object(
  {
    name: newName,
    commit: idText,
  },
  { $id: 'NewTag', description: 'A name for a commit.' },
);

const tagParams = Type.Object({
  pool: poolParameter,
  tag: Type.String({ description: 'name of the tag', examples: ['v1'] }),
});
const here: Link['parameters'] = { pool: '$request.path.pool', tag: '$response.body#/name' };

export const tagRoutes: readonly Route[] = [
  route({
    id: 'createTag',
    tag: 'Branches',
    method: 'POST',
    path: '/pool/:pool/tag',
    summary: 'Give a commit a name that never moves',
    need: 'writer of pool',
    writes: true,
    params: poolParams,
    description:
      'Wherever a branch or commit is read, a tag is too: `from movies@v1`. What its commit holds is not vacuumed while the tag is there. A tag cannot have the name of a branch, nor a branch that of a tag.',
    body: NewTag,
    examples: { 'An empty pool': { name: 'v1', commit: '0x0000000000000000000000000000000000000000' } },
    answers: {
      200: {
        text: 'The tag.',
        value: Tag,
        links: { tag: { to: 'getTag', parameters: here }, remove: { to: 'deleteTag', parameters: here } },
      },
    },
    errors: [
      ...changeErrors,
      'pool-not-found',
      'commit-invalid',
      'commit-not-found',
      'vacuumed',
      'tag-name-missing',
      'name-reserved',
      'tag-exists',
      'branch-exists',
      'name-long',
    ],
    handler: async (call) => {
      const { name, commit: text = '' } = await call.body();
      const pool = call.service.lake.pool(call.params.pool);
      const commit = commitOf(text);
      if (!name) throw new LakeError('tag-name-missing');
      checkName('tag', name, call.service.config.nameBytesMax);
      return sendValue(call.reply, tagValue(await pool.createTag(name, commit)), call.response);
    },
  }),
  route({
    id: 'listTags',
    tag: 'Branches',
    method: 'GET',
    path: '/pool/:pool/tag',
    summary: 'The tags of a pool',
    need: 'reader of pool',
    params: poolParams,
    description: 'By their names. `from movies:tags` gives the same as rows of a query.',
    answers: { 200: { text: 'The tags.', value: TagList } },
    errors: ['pool-not-found', 'table-corrupt'],
    handler: async ({ service, params, reply, response }) => {
      const tags = [...service.lake.pool(params.pool).tags()].sort((a, b) => (a.name < b.name ? -1 : 1));
      return sendValue(reply, tagsValue(tags), response);
    },
  }),
  route({
    id: 'getTag',
    tag: 'Branches',
    method: 'GET',
    path: '/pool/:pool/tag/:tag',
    summary: 'The commit of a tag',
    need: 'reader of pool',
    params: tagParams,
    answers: { 200: { text: 'The tag.', value: Tag, headers: ['ETag'] } },
    errors: ['pool-not-found', 'tag-not-found', 'table-corrupt'],
    handler: async ({ service, params, reply, response }) => {
      const tag = service.lake.pool(params.pool).tag(params.tag);
      reply.header('etag', etagOf(tag.commit));
      return sendValue(reply, tagValue(tag), response);
    },
  }),
  route({
    id: 'deleteTag',
    tag: 'Branches',
    method: 'DELETE',
    path: '/pool/:pool/tag/:tag',
    summary: 'Delete a tag',
    need: 'writer of pool',
    writes: true,
    silent: true,
    params: tagParams,
    takes: ['If-Match'],
    description: 'Its commit stays readable by its id, until a vacuum removes what no branch or tag holds any more.',
    answers: { 204: { text: 'It is gone, and its name is free.' } },
    errors: [...changeErrors, ...tipErrors, 'pool-not-found', 'tag-not-found'],
    handler: async ({ service, request, reply, params }) => {
      await service.lake.pool(params.pool).deleteTag(params.tag, tipTerms(request.headers));
      return reply.code(204).send();
    },
  }),
];
