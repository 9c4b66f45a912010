import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added. */
export class Migration20261122143000_RunFilters extends Migration {
  override up(): void {
    this.addSql('alter table workflow_instance add column start_at timestamptz(3)');
    // Ids are in the order of time, so a list by tag needs no other column.
    this.addSql(`
create table run_tag (
  instance_id uuid not null,
  tag varchar(64) not null,
  tenant_id uuid not null,
  primary key (instance_id, tag)
)`);
    this.addSql('create index run_tag_list on run_tag (tenant_id, tag, instance_id desc)');
    // Lists of what is rare among the runs of a tenant; what is frequent is found soon in the list of all. A step
    // changes no column of theirs, so its update stays heap-only; those that change the status never were.
    this.addSql(`
create index workflow_instance_status on workflow_instance (tenant_id, status, created_at desc, id desc)
where status <> 'COMPLETED'`);
    this.addSql(`
create index workflow_instance_error on workflow_instance (tenant_id, (error->>'code'), created_at desc, id desc)
where error is not null`);
    this.addSql(`
create index workflow_instance_origin on workflow_instance (tenant_id, (caller->>'origin'), created_at desc, id desc)
where caller->>'origin' <> 'direct'`);
  }
}
