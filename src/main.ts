#!/usr/bin/env node
/** Starts the program: the bundle of it that `npm run build` makes, or its modules as they are. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { freeBuffersAtOnce } from './allocator.ts';

freeBuffersAtOnce();

const bundle = fileURLToPath(new URL('../bundle/load.cjs', import.meta.url));
if (existsSync(bundle)) createRequire(import.meta.url)(bundle);
else await import('./program.ts');
