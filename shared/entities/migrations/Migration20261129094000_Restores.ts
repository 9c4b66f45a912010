import { Migration } from '@mikro-orm/migrations';

/**
 * Old code may run beside this: it never writes the table. Restores from backups, of the deployment or of one tenant. While one of the
 * deployment is not resumed, workers take no work. `switched_off` names what a tenant's restore has switched off.
 */
export class Migration20261129094000_Restores extends Migration {
  override up(): void {
    this.addSql(`
create table deployment_restore (
  id uuid primary key,
  backup_id uuid not null,
  restored_tenant_id uuid,
  snapshot_at timestamptz not null,
  began_at timestamptz not null default now(),
  phase text not null default 'loading' check (phase in ('loading', 'loaded')),
  done text[] not null default '{}',
  switched_off jsonb,
  resumed_at timestamptz
)`);
  }
}
