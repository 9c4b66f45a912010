/** `npm run gantry -- …`: the command line, with what works on the deployment itself. */
import { deploymentCommands } from './deployment.ts';
import { runCommandLine } from './program.ts';
import { processWorld } from './world.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), processWorld(), deploymentCommands);
