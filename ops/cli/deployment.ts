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
  backupCommands(program);
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

/** Their options are read by the script, which the image has as well. */
function backupCommands(program: Command): void {
  const target = ['<target>', 'a folder, or s3://bucket/prefix'] as const;
  const backup = program.command('backup').description('backs up the deployment, or checks a backup');
  const create = backup
    .command('create', { isDefault: true })
    .description('writes databases and files while everything runs, or goes on with a backup that was interrupted')
    .argument(...target)
    .option('--rate <bytes>', 'at most so many bytes a second, such as 20M')
    .option('--without-tenant-databases', 'leaves out the databases that Gantry has created for tenants');
  const verify = backup
    .command('verify')
    .description('reads a backup, and says whether it is whole')
    .argument(...target);
  const restore = program
    .command('restore')
    .description(
      'restores a backup into an empty deployment, which then waits for "resume"; with --tenant, one tenant beside others',
    )
    .argument(...target)
    .option('--accept-lost-secrets', 'although secrets are sealed with keys that are not here')
    .option('--without-tenant-databases', 'leaves out the databases that Gantry has created for tenants');
  const resume = program
    .command('resume')
    .description('lets a restored deployment work, or with --tenant what the restore of a tenant has switched off')
    .option('--runs <what>', 'continue, waiting or cancel: what becomes of the work that was open');
  const passOn = (command: Command, action: string) =>
    command.action(() => {
      const [where] = command.args;
      // `--tenant` is an option of the program.
      const { tenant } = command.optsWithGlobals<{ tenant?: string }>();
      const words = wordsOf({ ...command.opts(), ...(tenant !== undefined && { tenant }) });
      return runScript('backup.ts', [action, ...(where === undefined ? [] : [where]), ...words]);
    });
  passOn(create, 'create');
  passOn(verify, 'verify');
  passOn(restore, 'restore');
  passOn(resume, 'resume');
}

/** Options as they were written. */
function wordsOf(options: Record<string, string | boolean>): string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return value === true ? [option] : [option, String(value)];
  });
}

/** In the same terminal: a password is read or shown there. */
async function runScript(name: string, given: string[]): Promise<void> {
  const script = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const child = spawn(process.execPath, [script, ...given], { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Failed();
}
