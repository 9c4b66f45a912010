import type { Command } from 'commander';
import { type Gantry, GantryError } from '../client/index.ts';
import { type Acting, wholeNumber } from './acting.ts';
import { saveProfile } from './profiles.ts';
import type { Session } from './session.ts';

export function tenantCommands(program: Command, acting: Acting): void {
  const tenants = program.command('tenants').description('lists tenants, and chooses one');
  tenants
    .command('list', { isDefault: true })
    .description('lists the tenants that you belong to')
    .option('--limit <n>', 'at most so many', wholeNumber, 100)
    .action(acting(listTenants));
  tenants
    .command('use <tenantID>')
    .description('stores in the profile which tenant is meant')
    .action(acting(useTenant));
  tenants
    .command('create <title>')
    .description('creates a tenant, and stores it in the profile')
    .action(acting(createTenant));
}

async function listTenants(session: Session, { limit }: { limit: number }): Promise<void> {
  session.showRows(await session.list(limit, 'listTenants'), [
    ['tenant', ({ tenantID }) => tenantID],
    ['title', ({ tenantTitle }) => tenantTitle],
    ['paused', ({ pausedAt }) => pausedAt],
    ['created', ({ createdAt }) => createdAt],
  ]);
}

async function useTenant(session: Session, tenantID: string): Promise<void> {
  await checkTenant(session.gantry, tenantID, session.note);
  await store(session, tenantID);
  session.note(`${tenantID} is the tenant of the profile ${session.profileName}`);
}

/** Throws if the credential is not valid. A key need not be allowed to read its tenant, so that is only said. */
export async function checkTenant(gantry: Gantry, tenantID: string, note: (text: string) => void): Promise<void> {
  try {
    await gantry.call('getTenant', { path: { tenantID } });
  } catch (error) {
    if (!(error instanceof GantryError && error.status === 403)) throw error;
    note(`The tenant ${tenantID} cannot be read: ${error.message}`);
  }
}

async function createTenant(session: Session, tenantTitle: string): Promise<void> {
  const { tenant } = await session.gantry.call('createTenant', { body: { tenantTitle } });
  await store(session, tenant.tenantID);
  session.show(tenant, ({ tenantID }) => tenantID);
}

async function store({ env, profileName, profile }: Session, tenantID: string): Promise<void> {
  await saveProfile(env, profileName, { ...profile, tenantID });
}
