import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: runs that it accepts have no handler, and a trigger notes the failures of the others. */
export class Migration20261122205800_FailureHandlers extends Migration {
  override up(): void {
    this.addSql('alter table workflow_instance add column on_failure uuid');
    // That a run has failed whose workflow has a handler, and what followed.
    this.addSql(`
create table run_failure (
  instance_id uuid primary key,
  tenant_id uuid not null,
  handler_id uuid not null,
  created_at timestamptz not null default now(),
  handled_at timestamptz,
  handler_instance_id uuid,
  error text
)`);
    // Tenants take turns.
    this.addSql('create index run_failure_open on run_failure (tenant_id, created_at) where handled_at is null');

    this.addSql(`
create function note_failure() returns trigger language plpgsql as $$
begin
  insert into run_failure (instance_id, tenant_id, handler_id) values (new.id, new.tenant_id, new.on_failure);
  return null;
end $$`);
    // In the transaction that ends the run, wherever that is.
    this.addSql(`
create trigger failed_run after update of completed_at on workflow_instance for each row
when (new.on_failure is not null and new.status = 'FAILED' and old.completed_at is null and new.completed_at is not null)
execute function note_failure()`);
  }
}
