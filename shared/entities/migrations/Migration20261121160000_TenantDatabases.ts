import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added. */
export class Migration20261121160000_TenantDatabases extends Migration {
  override up(): void {
    this.addSql(`
create table tenant_database (
  id uuid primary key,
  tenant_id uuid not null unique references tenant(id) deferrable initially deferred,
  database_name text not null unique,
  role_name text not null unique,
  password text not null,
  created_at timestamptz(3) not null default now(),
  ready_at timestamptz(3)
)`);
  }
}
