import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { actingIn } from './acting.ts';
import { auditCommands } from './audit.ts';
import { bundleCommands } from './bundles.ts';
import { completionCommands } from './completion.ts';
import { cronCommands } from './cron.ts';
import { deadLetterCommands } from './dead-letters.ts';
import { type ExitCode, exitCodeOf, exitCodes, Failed, sentenceOf } from './exit.ts';
import { fleetCommands } from './fleet.ts';
import { runCommands } from './runs.ts';
import type { World } from './session.ts';
import { signInCommands } from './sign-in.ts';
import { tenantCommands } from './tenants.ts';
import { workflowCommands } from './workflows.ts';

/** Commands that only a clone of the repository has, beside those that need nothing but the API. */
export type More = (program: Command, world: World) => void;

const about = `
Environment: GANTRY_URL, GANTRY_API_KEY or GANTRY_TOKEN, GANTRY_TENANT, GANTRY_PROFILE.

Exit codes:
  0  done
  1  the run has failed or was cancelled, or a check has found a problem
  2  the command was called wrongly
  3  not signed in, or not allowed
  4  the service does not answer
  5  the service has refused: not found, in conflict, invalid, over a limit

Examples:
  gantry sign-in --email ada@example.com
  gantry workflows push workflows && gantry workflows run "Nightly import" --watch
  gantry runs why $RUN`;

/** The version of the package, or of the clone: both are two folders up. */
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

export function createProgram(world: World, more?: More): Command {
  const program = new Command('gantry');
  program
    .description('Gantry from the command line')
    .version(version)
    .option('--url <url>', 'of the API')
    .option('--tenant <tenantID>', 'the tenant that is meant')
    .option('--profile <name>', 'who signed in under this name')
    .option('--json', 'JSON instead of tables')
    .showHelpAfterError('(add --help for what there is)')
    .exitOverride()
    .configureOutput({ writeOut: (text) => world.line(text.trimEnd()), writeErr: (text) => world.note(text.trimEnd()) })
    .addHelpText('after', about);
  const acting = actingIn(world);
  signInCommands(program, acting);
  tenantCommands(program, acting);
  workflowCommands(program, acting);
  runCommands(program, acting);
  deadLetterCommands(program, acting);
  cronCommands(program, acting);
  bundleCommands(program, acting);
  auditCommands(program, acting);
  fleetCommands(program, acting);
  completionCommands(program, world);
  more?.(program, world);
  return program;
}

/** Runs a command line, says what went wrong, and answers with the exit code. */
export async function runCommandLine(words: readonly string[], world: World, more?: More): Promise<ExitCode> {
  try {
    await createProgram(world, more).parseAsync([...words], { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    // Commander has said what is wrong, or shown the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    if (!(error instanceof Failed && error.message === '')) world.note(sentenceOf(error));
    return exitCodeOf(error);
  }
}
