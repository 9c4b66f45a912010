import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it deletes runs by the age of the deployment alone. */
export class Migration20261123021500_RunRetention extends Migration {
  override up(): void {
    // How long ended runs are kept, and how many of a workflow. Without a workflow: of all workflows of the tenant that say nothing else.
    this.addSql(`
create table run_retention (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  workflow_id uuid references workflow(id) on delete cascade,
  days integer check (days >= 1),
  runs integer check (runs >= 1),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create unique index run_retention_of on run_retention (tenant_id, workflow_id) nulls not distinct');
    this.addSql('create index run_retention_workflow on run_retention (workflow_id) where workflow_id is not null');
    // The newest run that was deleted because of these rows.
    this.addSql('alter table tenant_usage add column runs_deleted_until timestamptz');
    // Of each workflow, the ended runs that no other run has started. As a `case`, the condition fits no other index.
    this.addSql(`
create index workflow_instance_ended on workflow_instance (tenant_id, coalesce(workflow_id, tenant_id), completed_at, id)
where case when completed_at is not null and parent_id is null and not is_test then true else false end`);
  }
}
