/** All routes. */
import type { Route } from '../route.ts';
import { branchRoutes } from './branch.ts';
import { combineRoutes } from './combine.ts';
import { diffRoutes } from './diff.ts';
import { documentRoutes } from './document.ts';
import { elasticRoutes } from './elastic.ts';
import { eventRoutes } from './events.ts';
import { graphRoutes } from './graph.ts';
import { inspectRoutes } from './inspect.ts';
import { loadRoutes } from './load.ts';
import { lokiRoutes } from './loki.ts';
import { otlpRoutes } from './otlp.ts';
import { poolRoutes } from './pool.ts';
import { poolFactRoutes } from './pool-facts.ts';
import { progressRoutes } from './progress.ts';
import { queryRoutes } from './query.ts';
import { revisionRoutes } from './revision.ts';
import { serviceRoutes } from './service.ts';
import { protectionRoutes } from './protection.ts';
import { splunkRoutes } from './splunk.ts';
import { tagRoutes } from './tag.ts';
import { transactionRoutes } from './transaction.ts';
import { viewRoutes } from './view.ts';

/** The route table: the server is made from it, and so is the document. */
export const routes: readonly Route[] = [
  ...poolRoutes,
  ...poolFactRoutes,
  ...loadRoutes,
  ...branchRoutes,
  ...combineRoutes,
  ...protectionRoutes,
  ...tagRoutes,
  ...transactionRoutes,
  ...revisionRoutes,
  ...graphRoutes,
  ...diffRoutes,
  ...queryRoutes,
  ...viewRoutes,
  ...otlpRoutes,
  ...progressRoutes,
  ...eventRoutes,
  ...inspectRoutes,
  ...elasticRoutes,
  ...lokiRoutes,
  ...splunkRoutes,
  ...serviceRoutes,
  ...documentRoutes(() => routes),
];
