#!/usr/bin/env node
/** `gantry` of a clone, by `npm link` or a path: what `npm run gantry --` does, in the folder where it is called. */
import { fileURLToPath } from 'node:url';

process.argv.splice(2, 0, fileURLToPath(new URL('cli/main.ts', import.meta.url)));
await import('./bootstrap.mjs');
