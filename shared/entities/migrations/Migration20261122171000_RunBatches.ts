import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added. */
export class Migration20261122171000_RunBatches extends Migration {
  override up(): void {
    this.addSql(`
create table run_batch (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  workflow_id uuid,
  kind varchar(8) not null check (kind in ('execute', 'rerun', 'cancel')),
  label varchar(255),
  creator_id uuid not null,
  created_by_api_key_id uuid,
  caller jsonb not null,
  total integer not null default 0,
  refused integer not null default 0,
  cancelled_at timestamptz(3),
  cancelled_by uuid,
  stopped_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
)`);
    this.addSql('create index run_batch_list on run_batch (tenant_id, created_at desc, id desc)');
    this.addSql('create index run_batch_age on run_batch (created_at)');
    // Cancelled, and its runs have not all been ended.
    this.addSql(
      'create index run_batch_stopping on run_batch (cancelled_at) where cancelled_at is not null and stopped_at is null',
    );
    // Partial: runs outside of batches pay for none of it. A step changes no column of these indexes.
    this.addSql('alter table workflow_instance add column batch_id uuid');
    this.addSql(`
create index workflow_instance_batch on workflow_instance (batch_id, created_at desc, id desc) where batch_id is not null`);
    this.addSql(`
create index workflow_instance_batch_status on workflow_instance (batch_id, status) where batch_id is not null`);
  }
}
