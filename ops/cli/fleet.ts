import type { Command } from 'commander';
import type { Answer } from '../client/index.ts';
import { type Acting, wholeNumber } from './acting.ts';
import { type Column, tableOf } from './output.ts';
import type { Session } from './session.ts';

type Fleet = Answer<'getFleet'>;
type Tenant = Answer<'getTenantBacklog'>;
type Backlog = Tenant['backlog'][number];

/** For operators, who see the deployment and no tenant's data. */
export function fleetCommands(program: Command, acting: Acting): void {
  const fleet = program
    .command('fleet')
    .description('shows operators what waits, works and fails')
    .addHelpText(
      'after',
      '\nExample:\n  gantry sign-in --profile on-call --operator ops@example.com && gantry fleet --profile on-call',
    );
  fleet
    .command('show', { isDefault: true })
    .description('shows the backlog, the workers and the failures of all tenants')
    .action(acting(showFleet));
  fleet
    .command('tenants')
    .description('lists all tenants, the newest first')
    .option('--search <text>', 'whose title has this text')
    .option('--limit <n>', 'at most so many', wholeNumber, 100)
    .action(acting(listTenants));
  fleet.command('tenant <tenantID>').description('shows what of a tenant waits, and why').action(acting(showTenant));
}

async function showFleet(session: Session): Promise<void> {
  session.show(await session.gantry.call('getFleet'), textOfFleet);
}

function textOfFleet({ backlog, workers, failures }: Fleet): string {
  return [
    backlogTable(backlog.rows),
    tableOf(workers.rows, [
      ['worker', ({ workerID }) => workerID],
      ['state', ({ state }) => state],
      ['runs', ({ runs, slots }) => `${runs} of ${slots}`],
      ['version', ({ version }) => version],
      ['since', ({ startedAt }) => startedAt],
    ]),
    tableOf(failures.rows, [
      ['failure', ({ code }) => code],
      ['runs', ({ runs }) => runs],
      ['tenants', ({ tenants }) => tenants],
      ['last run', ({ lastInstanceID }) => lastInstanceID],
      ['at', ({ lastAt }) => lastAt],
    ]),
  ].join('\n\n');
}

async function listTenants(session: Session, { search, limit }: { search?: string; limit: number }): Promise<void> {
  session.showRows(await session.list(limit, 'listAllTenants', { query: search ? { search } : {} }), [
    ['tenant', ({ tenantID }) => tenantID],
    ['title', ({ tenantTitle }) => tenantTitle],
    ['created', ({ createdAt }) => createdAt],
  ]);
}

async function showTenant(session: Session, tenantID: string): Promise<void> {
  session.show(await session.gantry.call('getTenantBacklog', { path: { tenantID } }), textOfTenant);
}

function textOfTenant({ backlog, runs, running, maxRuns }: Tenant): string {
  return [
    `${running} runs of at most ${maxRuns ?? 'any number'}`,
    backlogTable(backlog),
    tableOf(runs, [
      ['run', ({ instanceID }) => instanceID],
      ['workflow', ({ workflowTitle }) => workflowTitle],
      ['status', ({ status }) => status],
      ['since', ({ since }) => since],
      ['reason', ({ reason }) => reason?.message],
    ]),
  ].join('\n\n');
}

function backlogTable(rows: readonly Backlog[]): string {
  const columns: Column<Backlog>[] = [
    ['queue', ({ queue }) => queue],
    ['class', (row) => row.class],
    ['state', ({ state }) => state],
    ['waiting', ({ count, isCut }) => `${count}${isCut ? ' or more' : ''}`],
    ['oldest', ({ oldest }) => oldest],
  ];
  return tableOf(rows, columns);
}
