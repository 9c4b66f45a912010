import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it removes what it has left itself, and the rows are then of things that are gone. */
export class Migration20261123071500_ListenerResidues extends Migration {
  override up(): void {
    // What a listener that is deleted or inactive may have left at its server. With the options of its datasource, which may be gone.
    this.addSql(`
create table listener_residue (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  listener_id uuid not null,
  listener_type varchar(32) not null,
  listener_config jsonb not null,
  datasource_id uuid not null,
  datasource_options jsonb not null,
  ready_at timestamptz not null default now() + interval '10 seconds',
  claimed_until timestamptz,
  attempts integer not null default 0
)`);
    this.addSql('create index listener_residue_ready on listener_residue (ready_at)');
    this.addSql('create index listener_residue_tenant on listener_residue (tenant_id)');
    this.addSql('create index listener_residue_listener on listener_residue (listener_id)');
    this.addSql(`
create function note_listener_residue() returns trigger language plpgsql as $$
begin
  insert into listener_residue (tenant_id, listener_id, listener_type, listener_config, datasource_id, datasource_options)
  select old.tenant_id, old.id, old.listener_type, old.listener_config, d.id, d.datasource_options
  from datasource d where d.id = old.datasource_id;
  return null;
end $$`);
    this.addSql(`
create trigger listener_residue_deleted after delete on listener for each row
when (old.listener_type <> 'webhook' and old.status <> 'inactive') execute function note_listener_residue()`);
    this.addSql(`
create trigger listener_residue_stopped after update of status on listener for each row
when (old.listener_type <> 'webhook' and old.status <> 'inactive' and new.status = 'inactive')
execute function note_listener_residue()`);
    // If a transaction deletes the datasource before its listeners, it is gone when they are deleted.
    this.addSql(`
create function note_datasource_residues() returns trigger language plpgsql as $$
begin
  insert into listener_residue (tenant_id, listener_id, listener_type, listener_config, datasource_id, datasource_options)
  select l.tenant_id, l.id, l.listener_type, l.listener_config, old.id, old.datasource_options
  from listener l where l.datasource_id = old.id and l.listener_type <> 'webhook' and l.status <> 'inactive';
  return old;
end $$`);
    this.addSql(`
create trigger datasource_residues before delete on datasource
for each row execute function note_datasource_residues()`);
    // Waits for a claim of what the listener has left, whose owners then see it: see CLAIM.
    this.addSql(`
create or replace function keep_listener_lease() returns trigger language plpgsql as $$
begin
  if new.listener_type = 'webhook' then return null; end if;
  if new.status = 'active' then
    perform from listener_residue where listener_id = new.id for update;
    insert into listener_lease (listener_id, tenant_id, listener_type) values (new.id, new.tenant_id, new.listener_type)
    on conflict (listener_id) do nothing;
  else
    delete from listener_lease where listener_id = new.id and (new.status = 'inactive' or state <> 'error');
  end if;
  return null;
end $$`);
  }
}
