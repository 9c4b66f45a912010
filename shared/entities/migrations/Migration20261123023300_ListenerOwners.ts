import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it owns no listeners, and the trigger keeps the rows for it. */
export class Migration20261123023300_ListenerOwners extends Migration {
  override up(): void {
    this.addSql(`
create table listener_owner (
  id uuid primary key,
  started_at timestamptz not null default now(),
  expires_at timestamptz not null
)`);
    // A row for each listener that wants a connection. The listeners of an owner whose row is deleted are free.
    this.addSql(`
create table listener_lease (
  listener_id uuid primary key references listener(id) on delete cascade,
  tenant_id uuid not null,
  listener_type varchar(32) not null,
  held_by uuid references listener_owner(id) on delete set null,
  state varchar(12) not null default 'connecting' check (state in ('connecting', 'running', 'reconnecting', 'error')),
  retry_count integer not null default 0,
  cursor jsonb
)`);
    this.addSql('create index listener_lease_tenant on listener_lease (tenant_id)');
    this.addSql('create index listener_lease_held on listener_lease (held_by) where held_by is not null');
    this.addSql(
      'create index listener_lease_free on listener_lease (listener_type, listener_id) where held_by is null',
    );
    // A listener that its owner has set to 'error' is still tried. One that was stopped for another reason is not.
    this.addSql(`
create function keep_listener_lease() returns trigger language plpgsql as $$
begin
  if new.listener_type = 'webhook' then return null; end if;
  if new.status = 'active' then
    insert into listener_lease (listener_id, tenant_id, listener_type) values (new.id, new.tenant_id, new.listener_type)
    on conflict (listener_id) do nothing;
  else
    delete from listener_lease where listener_id = new.id and (new.status = 'inactive' or state <> 'error');
  end if;
  return null;
end $$`);
    this.addSql(`
create trigger listener_lease_kept after insert or update of status on listener
for each row execute function keep_listener_lease()`);
  }
}
