/**
 * `npm start`: Gantry on one machine with nothing to set. Postgres, the API and the board live in or under this process, the
 * workers in a second one. A second Postgres, for databases of tenants, is started when a worker first wants it. DATABASE_URL and REDIS_URL name servers to use instead of that Postgres. `--watch`
 * (`npm run dev`) restarts the API and the workers when a file changes. `--production` starts it for other people: users sign in
 * with accounts, and nothing is open that is for a developer alone.
 */
import { openSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { startApi } from '#api/app/listen.ts';
import { requireDevelopmentDatabase } from '#api/auth/database-issuer.ts';
import { startMCP } from '#api/mcp/listen.ts';
import { firstInvitation } from '#api/sign-in/links.ts';
import { createLogger, type Logger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { describeNewerSchema } from '#shared/entities/schema.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { type Config, readConfig, readEmbeddedConfig } from '#shared/process/config.ts';
import type { SecretsCheck } from '#shared/process/open-key-ring.ts';
import { describeHold } from '#shared/process/restore-hold.ts';
import { stopSignal } from '#shared/process/shutdown.ts';
import { describeFailure } from '#shared/process/start-failure.ts';
import { startBoard } from './board.ts';
import { type Address, writeAddress } from './embedded/address.ts';
import { superviseChild } from './embedded/child.ts';
import { consoleFolder, startConsoleBuild } from './embedded/console.ts';
import { requirePublicURL, startEnvironment, workerEnvironment } from './embedded/environment.ts';
import { openHome } from './embedded/home.ts';
import { portProblem } from './embedded/ports.ts';
import { openServers } from './embedded/servers.ts';
import { prepareTenantPostgres, startWhenWanted } from './embedded/tenant-postgres.ts';
import { migrateAll } from './migrate-all.ts';
import { FIRST_SAMPLE, runFirstSample } from './samples/first-run.ts';
import { readSample, sampleNames } from './samples/read.ts';

const DEFAULT_PORT = 8080;

const watch = process.argv.includes('--watch');
const isProduction = process.argv.includes('--production');
try {
  await start();
} catch (error) {
  // One sentence; the stack only with LOG_LEVEL=debug.
  console.error(
    `\n${process.env.LOG_LEVEL === 'debug' && error instanceof Error ? error.stack : `Gantry did not start: ${describeFailure(error)}`}\n`,
  );
  process.exitCode = 1;
}

async function start(): Promise<void> {
  const began = Date.now();
  if (isProduction) requirePublicURL();
  const settings = readEmbeddedConfig();
  const { port, boardPort, mcpPort } = settings;
  await requireFree(port, 'PORT');
  await requireFree(boardPort, 'BOARD_PORT');
  await requireFree(mcpPort, 'MCP_PORT');

  await using resources = new AsyncDisposableStack();
  const home = resources.use(await openHome(resolve(settings.home)));
  const logs = join(home.dir, 'logs');
  await mkdir(logs, { recursive: true, mode: 0o700 });
  // Never closed: the process may log until it ends.
  const apiLog = openSync(join(logs, 'api.log'), 'a');
  const consoleDir = consoleFolder();
  resources.use(startConsoleBuild(consoleDir, join(logs, 'console.log')));
  say(settings.databaseURL ? 'Asking Postgres …' : 'Starting Postgres …');
  const servers = resources.use(await openServers(settings, home.dir));

  const tenants = resources.use(await prepareTenantPostgres(home, settings));

  const env = startEnvironment(home, {
    databaseURL: servers.databaseURL,
    tenantsURL: tenants?.url,
    consoleDir,
    ports: settings,
    isProduction,
  });
  const config = readConfig(env);
  const logger = createLogger(config.log, { process: 'api' }, apiLog);
  if (config.auth.devIssuerKeyFile) await refuseUsersOfOthers(config, logger);
  say('Bringing the schema up to date …');
  const backplane = resources.use(await createBackplane(config.backplane, logger));
  await migrateAll(config, backplane, logger);
  resources.use(await startWhenWanted(tenants, { config, backplane, logger, say }));

  const hold = await sayNewerSchema(config, logger);
  const stop = stopSignal(config.shutdownMs + 10_000, logger);
  say('Starting the API and the workers …');
  // In the process of the API, whose metrics tell of both.
  resources.use(await startBoard({ config: { ...config, metrics: null }, logger }));
  const services = resources.use(await (watch ? watchServices(env) : startServices(config, logger)));
  const workerArgs = [...(watch ? ['--watch'] : []), 'workers/main.ts'];
  resources.use(
    await superviseChild({
      name: 'worker',
      args: workerArgs,
      env: workerEnvironment(env, config),
      log: watch ? 'inherit' : join(logs, 'worker.log'),
    }),
  );

  const baseURL = `http://127.0.0.1:${port}`;
  const withSample = !watch && config.auth.issuer === undefined && hold === undefined;
  const sample = withSample ? await Promise.race([runFirstSample(baseURL, say), stop.then(() => null)]) : null;
  say(`
Gantry is ready at ${baseURL}   (${((Date.now() - began) / 1000).toFixed(1)} s)

  Console          ${baseURL}/console/
  API reference    ${baseURL}/docs
  OpenAPI          ${baseURL}/openapi.json
  MCP              ${mcpAddress(config)}/tenants/{tenantID}/mcp
  Queues board     http://127.0.0.1:${boardPort}/${config.board.openOnLoopback ? '' : '   (operators sign in)'}
  Fleet            http://127.0.0.1:${boardPort}/fleet
  ${settings.databaseURL ? 'Logs         ' : 'Data and logs'}    ${home.dir}

  Postgres         ${servers.postgres}
  Queues           ${servers.queues}
  Identity         ${identityOf(config)}
`);
  resources.use(await writeAddress(home.dir, addressOf(config, baseURL)));
  await sayFirstInvitation(config, logger);
  if (sample)
    say(`Try it: a token for anyone, then a run that answers with its result.\n\n  ${sample.tryNext.join('\n  ')}\n`);
  if (withSample) say(`${await offeredSamples(port)}\n`);
  sayHold(hold);
  await sayUnreadable(services, stop);
  if (config.outbound.allow.length > 0)
    say('Datasources may reach servers on this machine (OUTBOUND_ALLOW); in production they may not.');
  if (process.env.HOST && process.env.HOST !== config.http.host)
    say(`HOST is not used: npm start serves ${config.http.host} alone, unless with -- --production.`);
  say('Ctrl-C stops it; the data stays.');
  await Promise.race([stop, servers.lost.then((error) => Promise.reject(error))]);
  say('\nStopping: work in progress is handed back …');
}

function mcpAddress({ mcp: { publicURL, port } }: Config): string {
  return publicURL ?? `http://127.0.0.1:${port}`;
}

interface Services extends AsyncDisposable {
  /** Absent if the API is another process, whose log in the terminal has the secrets that cannot be opened. */
  secrets?: SecretsCheck;
}

/** API and MCP service in this process. */
async function startServices(config: Config, logger: Logger): Promise<Services> {
  await using resources = new AsyncDisposableStack();
  const { context } = resources.use(await startApi({ config, logger }));
  resources.use(await startMCP({ config, logger, context }));
  const started = resources.move();
  return { secrets: context.secrets, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** Each in a process that starts again when a file changes. */
async function watchServices(env: ReturnType<typeof startEnvironment>): Promise<Services> {
  await using resources = new AsyncDisposableStack();
  resources.use(await superviseChild({ name: 'api', args: ['--watch', 'api/main.ts'], env, log: 'inherit' }));
  // The metrics of both would need two ports.
  const own = { ...env, METRICS_PORT: '' };
  resources.use(await superviseChild({ name: 'mcp', args: ['--watch', 'api/mcp/main.ts'], env: own, log: 'inherit' }));
  return resources.move();
}

/** The other samples, each with the command that installs it. */
async function offeredSamples(port: number): Promise<string> {
  const samples = await Promise.all((await sampleNames()).map((name) => readSample(name)));
  const setting = port === DEFAULT_PORT ? '' : `PORT=${port} `;
  const others = samples.filter(({ name }) => name !== FIRST_SAMPLE);
  const lines = others.map(({ name, title }) => `  ${setting}npm run sample -- ${name.padEnd(20)} # ${title}`);
  return `Install another sample, and see the commands that run it:\n\n${lines.join('\n')}`;
}

async function requireFree(port: number, variable: string): Promise<void> {
  const problem = await portProblem(port);
  if (problem) throw new Error(`port ${port} ${problem}; choose another with ${variable}=…`);
}

/** Checked before the migrations: the API refuses as well, but only after them. */
async function refuseUsersOfOthers({ db }: Config, logger: Logger): Promise<void> {
  const pool = createPool(db, logger, { max: 1, name: 'gantry.start' });
  try {
    await requireDevelopmentDatabase(pool);
  } finally {
    await pool.end();
  }
}

/** Says what workers wait for after a restore. */
function sayHold(hold: string | undefined): void {
  if (hold !== undefined) say(`This Gantry was ${hold}.\n`);
}

/** A newer Gantry may have been started on the folder, or on the database, before. Returns what workers wait for after a restore. */
async function sayNewerSchema({ db }: Config, logger: Logger): Promise<string | undefined> {
  const pool = createPool(db, logger, { max: 1, name: 'gantry.start' });
  try {
    const newer = await describeNewerSchema(pool);
    if (newer !== undefined) say(`${newer}.`);
    return await describeHold(pool);
  } finally {
    await pool.end();
  }
}

function addressOf({ auth, console: { publicURL } }: Config, url: string): Address {
  return auth.isBuiltIn ? { url, signInAt: publicURL } : { url };
}

function identityOf({ auth: { isBuiltIn, issuer } }: Config): string {
  if (isBuiltIn) return 'accounts of this Gantry: npm run accounts';
  return issuer ?? 'development issuer: a token for any e-mail address';
}

/** Prints a link for the first account. Each start makes a new link, and the one before ends. */
async function sayFirstInvitation({ db, auth: { isBuiltIn, issuer } }: Config, logger: Logger): Promise<void> {
  if (!isBuiltIn) return;
  const pool = createPool(db, logger, { max: 1, name: 'gantry.start' });
  const url = await firstInvitation(pool, issuer ?? '').finally(() => pool.end());
  if (url === undefined) return;
  say(`No user has an account yet. The first one opens this link, good for a day and one use:\n\n  ${url}\n`);
}

/** The keys in the folder may be others than those that sealed what is stored. */
async function sayUnreadable({ secrets }: Services, stop: Promise<unknown>): Promise<void> {
  const fault = await Promise.race([secrets?.describeUnreadable(), stop.then(() => undefined)]);
  if (fault !== undefined) say(`Some secrets are lost for now: ${fault}.\n`);
}

function say(line: string): void {
  console.log(line);
}
