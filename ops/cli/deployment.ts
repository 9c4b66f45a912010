import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { Failed } from './exit.ts';
import { tableOf } from './output.ts';
import type { World } from './session.ts';

/** Commands that work on the deployment itself, by its settings, and not through the API. */
export function deploymentCommands(program: Command, world: World): void {
  program
    .command('doctor')
    .description('checks database, Redis, keys, clock, versions and disk of a deployment, and says what to do')
    .addHelpText(
      'after',
      '\nIt reads the settings of the deployment: DATABASE_URL, REDIS_URL, SECRETS_KEYS; without them the Gantry of this folder.',
    )
    .action(async (_options: object, command: Command) => {
      const { examine } = await import('./doctor.ts');
      const findings = await examine(world.env);
      const { json } = command.optsWithGlobals<{ json?: boolean }>();
      world.line(
        json
          ? JSON.stringify(findings, null, 2)
          : tableOf(findings, [
              ['', ({ state }) => state],
              ['check', ({ check }) => check],
              ['found', ({ found }) => found, 'whole'],
            ]),
      );
      for (const { state, check, advice } of findings) if (state !== 'ok' && advice) world.note(`${check}: ${advice}`);
      if (findings.some(({ state }) => state === 'bad')) throw new Failed();
    });
  program
    .command('operators')
    .description('create, reset-password, disable or enable an operator (npm run enrol-operator)')
    .argument('<command>', 'create, reset-password, disable or enable')
    .argument('<email>')
    .option('--title <title>', 'of an operator that is created')
    .action((action: string, email: string, { title }: { title?: string }) =>
      runScript('enrol-operator.ts', [action, email, ...(title ? ['--title', title] : [])]),
    );
}

/** In the same terminal: a password is read or shown there. */
async function runScript(name: string, given: string[]): Promise<void> {
  const script = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const child = spawn(process.execPath, [script, ...given], { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Failed();
}
