import { Migration } from '@mikro-orm/migrations';

/** Code that does not know the tables can run beside it: a wait for an event that it cancels is closed by a trigger. */
export class Migration20261122194500_WorkflowEvents extends Migration {
  override up(): void {
    this.addSql(`
create table workflow_event (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  name varchar(255) not null,
  key varchar(255) not null,
  data jsonb not null,
  bytes integer not null,
  caller jsonb not null,
  is_told boolean not null default false,
  created_at timestamptz not null default now(),
  remembered_until timestamptz not null
)`);
    this.addSql('create index workflow_event_key on workflow_event (tenant_id, name, key, created_at, id)');
    this.addSql('create index workflow_event_bytes on workflow_event (tenant_id) include (bytes)');
    this.addSql('create index workflow_event_remembered on workflow_event (remembered_until)');
    this.addSql('create index workflow_event_untold on workflow_event (created_at) where not is_told');

    // Stays with its run, which takes an event once.
    this.addSql(`
create table event_wait (
  id uuid primary key,
  tenant_id uuid not null,
  instance_id uuid not null,
  workflow_id uuid not null,
  name varchar(255) not null,
  key varchar(255) not null,
  since timestamptz not null,
  expires_at timestamptz,
  is_open boolean not null default true,
  event_id uuid,
  created_at timestamptz not null default now()
)`);
    this.addSql('create index event_wait_open on event_wait (tenant_id, name, key, workflow_id, id) where is_open');
    this.addSql('create index event_wait_run on event_wait (instance_id)');
    this.addSql('create index event_wait_event on event_wait (event_id) where event_id is not null');

    // Not checked for the rows that are there: they met the narrower rule.
    this.addSql(`
alter table run_wait drop constraint run_wait_kind_check,
  add constraint run_wait_kind_check check (kind in ('time', 'child', 'input', 'event', 'job')) not valid`);
    this.addSql(`
create function close_event_wait() returns trigger language plpgsql as $$
begin
  update event_wait set is_open = false where id = old.ref and is_open;
  return null;
end $$`);
    this.addSql(`
create trigger event_wait after delete on run_wait for each row when (old.kind = 'event')
execute function close_event_wait()`);
  }
}
