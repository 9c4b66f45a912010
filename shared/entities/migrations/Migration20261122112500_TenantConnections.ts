import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added, and connections are ended only while every worker reports its own. */
export class Migration20261122112500_TenantConnections extends Migration {
  override up(): void {
    this.addSql(`
create unlogged table tenant_connection (
  process uuid primary key,
  backends jsonb not null,
  written_at timestamptz(3) not null default now()
);

create table tenant_server (
  name text primary key,
  missing text[] not null,
  checked_at timestamptz(3) not null default now()
)`);
  }
}
