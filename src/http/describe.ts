/** What a plan says about its answer: the sources that it reads, and its channels. */
import { type Channel, branchesOf, channelsOf } from '../query/plan/channels.ts';
import type { Pipeline, Plan, PlanOp, ResolvedSource } from '../query/plan/plan.ts';

/** What is read: a pool (its data, or what is told of it), a list of the lake, a file or a URL. */
export type DescribedSource =
  | { readonly kind: 'Null' }
  | { readonly kind: 'Pool'; readonly name: string; readonly id: Uint8Array | undefined }
  | { readonly kind: 'DBMeta'; readonly meta: string }
  | { readonly kind: 'Path'; readonly uri: string };
/** What is told of a plan. */
export interface Description {
  readonly sources: readonly DescribedSource[];
  readonly channels: readonly Channel[];
}

/** `idOf` gives the id of a pool by its name, as bytes. */
export const describePlan = (plan: Plan, idOf: (pool: string) => Uint8Array | undefined): Description => ({
  sources: sourcesOf(plan.pipeline).map((source) => describedSource(source, idOf)),
  channels: channelsOf(plan),
});

type Source = ResolvedSource | 'null';

const sourcesOf = (pipeline: Pipeline): Source[] =>
  pipeline.ops.flatMap((op, i): Source[] => {
    switch (op.kind) {
      case 'scan':
        return [...op.sources];
      // Branches that all begin with a source of their own have no use for it.
      case 'null':
        return startsWithSources(pipeline.ops[i + 1]) ? [] : ['null'];
      case 'join':
      case 'setOperation':
        return op.right ? sourcesOf(op.right) : [];
      case 'recursive':
        return [op.first, op.next].flatMap(sourcesOf);
      case 'shared':
        return sourcesOf(op.body);
      case 'lateral':
        return sourcesOf(op.body.pipeline);
      default:
        return branchesOf(op).flatMap(sourcesOf);
    }
  });

const startsWithSources = (op: PlanOp | undefined): boolean =>
  op?.kind === 'scan' ||
  op?.kind === 'shared' ||
  (op !== undefined && branchesOf(op).length > 0 && branchesOf(op).every((b) => startsWithSources(b.ops[0])));

const describedSource = (source: Source, idOf: (pool: string) => Uint8Array | undefined): DescribedSource => {
  if (source === 'null') return { kind: 'Null' };
  switch (source.kind) {
    case 'pool':
    case 'poolMeta':
    case 'poolDiff':
      return { kind: 'Pool', name: source.name, id: idOf(source.name) };
    case 'lakeMeta':
      return { kind: 'DBMeta', meta: source.name.slice(1) };
    case 'file':
    case 'url':
      return { kind: 'Path', uri: source.name };
  }
};
