import { Migration } from '@mikro-orm/migrations';

/**
 * Old code can run beside it: a database that it creates is on the server of DATABASE_URL, as the default says; and the trigger
 * puts what it deletes on the list, also when the server is another.
 */
export class Migration20261122110500_TenantServers extends Migration {
  override up(): void {
    this.addSql(`
alter table tenant_database add column server text not null default 'DATABASE_URL';
create index tenant_database_server_idx on tenant_database (server);

create table tenant_database_removal (
  id uuid primary key,
  deleted_tenant_id uuid not null,
  server text not null,
  database_name text not null,
  role_name text not null,
  requested_at timestamptz(3) not null default now(),
  next_try_at timestamptz(3) not null default now(),
  attempts int not null default 0,
  error text
);
create index tenant_database_removal_next_idx on tenant_database_removal (next_try_at);

create function tenant_database_removed() returns trigger language plpgsql as $$
begin
  insert into tenant_database_removal (id, deleted_tenant_id, server, database_name, role_name)
  values (old.id, old.tenant_id, old.server, old.database_name, old.role_name);
  return null;
end $$;
create trigger tenant_database_removed after delete on tenant_database
  for each row execute function tenant_database_removed()`);
  }
}
