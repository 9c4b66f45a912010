#!/usr/bin/env node
/** `gantry` of the package: everything that needs no more than the API. */
import { runCommandLine } from './program.ts';
import { processWorld } from './world.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), processWorld());
