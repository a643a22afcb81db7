/** What a change of a view comes to for the views that are there: a job of the lake's machine, nothing, or an error. */
import { LakeError } from '../errors.ts';
import type { LakeTask } from '../../machines/lake.events.ts';
import { base62 } from './ksuid.ts';
import type { Id, ViewChange, ViewChanged, ViewDefinition, ViewVersion } from './lake.types.ts';
import { checkNotReserved } from './names.ts';
import { movedView, type Views } from './views.ts';

interface ViewChangeParts {
  readonly views: Views;
  readonly newId: () => Id;
  /** Of a name in UTF-8. */
  readonly nameBytesMax: number;
  /** Gives the lake's machine a job, with the definition that it writes. */
  readonly submit: (task: LakeTask, view?: ViewDefinition) => Promise<void>;
}
interface WantedChange {
  readonly change: ViewChange;
  readonly author: string;
}

/** @throws view-not-found, view-exists, view-moved, name-long, name-reserved */
export const changeView = async (parts: ViewChangeParts, wanted: WantedChange): Promise<ViewChanged> => {
  const { views } = parts;
  const change = composed(wanted.change, views);
  for (;;) {
    const there = views.named(change.name);
    try {
      return await changeFrom(parts, there, { ...wanted, change });
    } catch (fault) {
      // Unless another change came first: then what is to be done may be something else.
      const now = views.named(change.name);
      const isMoved = fault instanceof LakeError && fault.code === 'view-moved' && !change.ifVersion;
      if (now?.id === there?.id && !(isMoved && now?.version !== there?.version)) throw fault;
    }
  }
};

/** Names are composed (NFC), as paths are; a view that got its name before they were keeps it. */
const composed = (change: ViewChange, views: Views): ViewChange => {
  const name = views.has(change.name) ? change.name : change.name.normalize('NFC');
  return change.action === 'rename' ? { ...change, name, to: change.to.normalize('NFC') } : { ...change, name };
};

const changeFrom = async (
  parts: ViewChangeParts,
  there: ViewVersion | undefined,
  { change, author }: WantedChange,
): Promise<ViewChanged> => {
  const { views, submit, newId } = parts;
  const { name, ifVersion } = change;
  if (there && ifVersion && !ifVersion.includes(there.version)) throw movedView(there);
  const terms = there && ifVersion ? { from: there.version } : {};
  if (change.action === 'drop') {
    if (there) await submit({ kind: 'drop view', viewId: there.id, ...terms });
    else if (!change.ifExists) throw new LakeError('view-not-found', { view: name });
    return { change: there ? 'dropped' : 'unchanged', ...(there && { view: there }) };
  }
  if (change.action === 'rename') return rename(parts, there, change, author);
  const { action: _, existing, ifVersion: _terms, ...definition } = change;
  checkName(name, parts);
  if (!there && existing === 'require') throw new LakeError('view-not-found', { view: name });
  if (there && existing === 'keep') return { change: 'unchanged', view: there };
  if (there && existing === 'refuse') throw new LakeError('view-exists', { view: name });
  const version = newId();
  const view = { ...definition, author };
  if (there) await submit({ kind: 'replace view', viewId: there.id, version, ...terms }, view);
  else await submit({ kind: 'create view', name, viewId: version }, view);
  const made = views.find(base62(there?.id ?? version), base62(version));
  return { change: there ? 'replaced' : 'created', ...(made && { view: made }) };
};

/** Its newest version is there once more under the new name: that one has to be the newest still when it is done. */
const rename = async (
  parts: ViewChangeParts,
  there: ViewVersion | undefined,
  { name, to, ifExists }: Extract<ViewChange, { readonly action: 'rename' }>,
  author: string,
): Promise<ViewChanged> => {
  if (!there && !ifExists) throw new LakeError('view-not-found', { view: name });
  if (!there) return { change: 'unchanged' };
  checkName(to, parts);
  const { id, version: from, tsNs: _, ...definition } = there;
  const version = parts.newId();
  await parts.submit({ kind: 'rename view', viewId: id, version, name: to, from }, { ...definition, name: to, author });
  const made = parts.views.find(base62(id), base62(version));
  return { change: 'renamed', ...(made && { view: made }) };
};

const checkName = (name: string, { nameBytesMax: limit }: ViewChangeParts): void => {
  checkNotReserved('view', name);
  const length = Buffer.byteLength(name);
  if (length > limit) throw new LakeError('name-long', { what: 'view', length, limit });
};
