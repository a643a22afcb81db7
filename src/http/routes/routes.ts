/** All routes. */
import type { Route } from '../route.ts';
import { branchRoutes } from './branch.ts';
import { eventRoutes } from './events.ts';
import { inspectRoutes } from './inspect.ts';
import { poolRoutes } from './pool.ts';
import { queryRoutes } from './query.ts';
import { revisionRoutes } from './revision.ts';
import { serviceRoutes } from './service.ts';

export const routes: readonly Route[] = [...poolRoutes, ...branchRoutes, ...revisionRoutes, ...queryRoutes, ...eventRoutes, ...inspectRoutes, ...serviceRoutes];
