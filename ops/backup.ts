/**
 * `npm run gantry -- backup|restore|resume`, and in the image `node ops/backup.ts create|verify|restore|resume`
 * (`ops/guides/backup.md`). Without DATABASE_URL they work on the embedded Gantry of this folder: a backup while it runs, a restore
 * while it does not.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { requireSchema } from '#shared/entities/schema.ts';
import { readConfig } from '#shared/process/config.ts';
import { describeFailure } from '#shared/process/start-failure.ts';
import { createBackup } from './backup/create.ts';
import { openDeployment } from './backup/open-deployment.ts';
import { describeLostSecrets, restoreDeployment } from './backup/restore.ts';
import { restoreTenant, resumeTenant } from './backup/restore-tenant.ts';
import { onlyPolicy, type ResumePolicy, resumeDeployment, resumePolicies } from './backup/resume.ts';
import { openBackupStore } from './backup/store.ts';
import { verifyBackup } from './backup/verify.ts';
import { commandEnvironment } from './embedded/command-environment.ts';
import { withStartedServers } from './embedded/started-servers.ts';

const USAGE = `Usage:
  create <folder or s3://bucket/prefix> [--rate 20M] [--without-tenant-databases]
  verify <folder or s3://bucket/prefix>
  restore <folder or s3://bucket/prefix> [--tenant <tenantID>] [--accept-lost-secrets] [--without-tenant-databases]
  resume [--runs continue|waiting|cancel] or --tenant <tenantID>`;

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

async function main(args: string[]): Promise<void> {
  const { values, positionals } = readArguments(args);
  const [command, target, ...more] = positionals;
  const isTargeted = command !== 'resume';
  if (more.length > 0 || (target === undefined) === isTargeted) throw new Error(USAGE);
  const work = commands[command ?? ''];
  if (!work) throw new Error(USAGE);
  await work(target ?? '', values);
}

function readArguments(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        rate: { type: 'string' },
        tenant: { type: 'string' },
        runs: { type: 'string' },
        'accept-lost-secrets': { type: 'boolean' },
        'without-tenant-databases': { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${USAGE}`);
  }
}

type Values = ReturnType<typeof readArguments>['values'];

const commands: Record<string, (target: string, values: Values) => Promise<void>> = {
  async create(target, values) {
    const bytesPerSecond = values.rate === undefined ? undefined : readRate(values.rate);
    await using deployment = await openDeployment(await commandEnvironment());
    await requireSchema(deployment.pool);
    const began = Date.now();
    const isWithoutDatabases = values['without-tenant-databases'] === true;
    const store = openBackupStore(target, deployment.config.backups);
    const backup = await createBackup(deployment, { store, version, bytesPerSecond, isWithoutDatabases, say });
    say(
      `${store.address} is complete (${Math.round((Date.now() - began) / 1000)} s). Keep SECRETS_KEYS elsewhere: they are not in it`,
    );
    for (const { tenantID, error } of backup.failedDatabases)
      say(`The database of the tenant ${tenantID} is not in it: ${error}`);
    if (backup.failedDatabases.length > 0) process.exitCode = 1;
  },

  async verify(target) {
    const { backups } = readConfig({ DATABASE_URL: 'postgres://unused', ...process.env });
    const { backup, parts, bytes } = await verifyBackup(openBackupStore(target, backups));
    const rows = backup.tables.reduce((sum, table) => sum + table.rows, 0);
    const files = backup.files.reduce((sum, unit) => sum + unit.files, 0);
    say(
      `Complete and unchanged: ${rows} rows, ${files} files and ${backup.databases.length} databases of tenants as of ${backup.snapshotAt}, in ${parts} parts (${Math.ceil(bytes / 1e6)} MB), by Gantry ${backup.version}`,
    );
    say(`Keys that its secrets need: ${backup.keys.map(({ id }) => id).join(', ') || 'none'}`);
    for (const { tenantID, error } of backup.failedDatabases)
      say(`Without the database of the tenant ${tenantID}: ${error}`);
    if (backup.isWithoutDatabases) say('Without the databases of tenants');
  },

  async restore(target, values) {
    // One tenant is restored beside others, who work.
    const withServers = values.tenant === undefined ? withStartedServers : withRunningServers;
    await withServers(async ({ env, startTenantServer }) => {
      await using deployment = await openDeployment(env);
      const store = openBackupStore(target, deployment.config.backups);
      const { tenant } = values;
      const options = {
        store,
        acceptsLostSecrets: values['accept-lost-secrets'] === true,
        isWithoutDatabases: values['without-tenant-databases'] === true,
        startTenantServer,
        say,
      };
      await (tenant === undefined
        ? restoreDeployment(deployment, options)
        : restoreTenant(deployment, { ...options, tenantID: tenant }));
      const lost = await describeLostSecrets(deployment);
      if (lost !== undefined) say(`Some secrets are lost for now: ${lost}`);
      say(
        tenant === undefined
          ? 'Restored. Start Gantry and look at it: workers wait, and nothing acts outside, until "gantry resume"'
          : `Restored. Its cron jobs are paused and its listeners are off until "gantry resume --tenant ${tenant}"`,
      );
    });
  },

  async resume(_target, { runs, tenant }) {
    if (runs !== undefined && !(resumePolicies as readonly string[]).includes(runs))
      throw new Error(`--runs must be one of ${resumePolicies.join(', ')}, received ${runs}`);
    await using deployment = await openDeployment(await commandEnvironment());
    await requireSchema(deployment.pool);
    if (tenant !== undefined) {
      const { cronJobs, listeners } = await resumeTenant(deployment.pool, tenant);
      return say(`Resumed: ${cronJobs.length} cron jobs and ${listeners.length} listeners are on again.`);
    }
    const policy = (runs as ResumePolicy | undefined) ?? (await onlyPolicy(deployment.pool));
    const { cancelled } = await resumeDeployment(deployment, policy);
    say(
      `Resumed: workers begin within seconds.${cancelled > 0 ? ` ${cancelled} runs were cancelled (RESTORED).` : ''}`,
    );
  },
};

const withRunningServers: typeof withStartedServers = async (work) =>
  await work({ env: await commandEnvironment(), startTenantServer: async () => undefined });

function readRate(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([kMG]?)$/.exec(text) ?? [];
  const bytes = Number(number) * ({ '': 1, k: 1e3, M: 1e6, G: 1e9 }[unit] ?? Number.NaN);
  if (bytes > 0) return bytes;
  throw new Error(`--rate: expected bytes a second such as 500k or 20M, received ${text}`);
}

function say(line: string): void {
  console.log(line);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(describeFailure(error));
  process.exitCode = 1;
}
