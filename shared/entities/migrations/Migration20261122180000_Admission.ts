import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it hands over runs in the order in which they became ready, and knows no limits. */
export class Migration20261122180000_Admission extends Migration {
  override up(): void {
    this.addSql(`
alter table workflow_instance
  add column creator_id uuid,
  add column head_start integer not null default 0,
  add column limits jsonb,
  add column concurrency_key text,
  add column held_keys text[],
  add column is_blocked boolean not null default false`);
    // The lines of runs that may be admitted: creators of tenants, their tenants, their workflows, the classes of these.
    // As a `case`, the condition fits no other index, which the planner would sort instead.
    // Without a head start the last column is the time since a constant; a time minus seconds cannot be indexed.
    this.addSql(`
create index workflow_instance_queue on workflow_instance (
  coalesce(creator_id, tenant_id), tenant_id, coalesce(workflow_id, tenant_id), class,
  (ready_at - '2000-01-01 00:00:00+00'::timestamptz - make_interval(secs => head_start)))
where case when ready_at is not null and held_by is null and dispatched_at is null and losses = 0 and not is_blocked then true else false end`);
    // Tenants whose runs must stay in the queue, which are asked for at each admission.
    this.addSql('create index tenant_deleting on tenant (id) where deleting_at is not null');
    // Runs that wait for a place of their key, and those that have one until they end.
    this.addSql(`
create index workflow_instance_blocked on workflow_instance (
  tenant_id, concurrency_key, (ready_at - '2000-01-01 00:00:00+00'::timestamptz - make_interval(secs => head_start)))
where is_blocked and completed_at is null`);
    this.addSql(`
create index workflow_instance_key on workflow_instance (tenant_id, concurrency_key, id)
where concurrency_key is not null and completed_at is null and (started_at is not null or dispatched_at is not null)`);
    // Starts within the period of a rate.
    this.addSql(`
create index workflow_instance_started on workflow_instance (tenant_id, coalesce(workflow_id, tenant_id), started_at desc)
where limits is not null and started_at is not null`);

    // A run that had a key has ended: another one that waits for the key may have a place now.
    this.addSql(`
create table freed_key (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  concurrency_key text not null
)`);
    this.addSql(`
create function notice_of_freed_key() returns trigger language plpgsql as $$
begin
  insert into freed_key (tenant_id, concurrency_key) values (old.tenant_id, old.concurrency_key);
  return null;
end $$`);
    this.addSql(`
create trigger freed_key after update of completed_at on workflow_instance for each row
when (old.concurrency_key is not null and old.completed_at is null and new.completed_at is not null)
execute function notice_of_freed_key()`);

    // Where the next admission goes on: after which creator, and for each creator after which of its lines.
    this.addSql(`
create table dispatch_turn (
  ring uuid primary key,
  after_creator uuid,
  after_tenant uuid,
  after_line uuid,
  has_backlog boolean not null default false
)`);
    this.addSql('alter table tenant_dispatch drop column vtime');
    this.addSql('alter table tenant_dispatch add column max_runs integer check (max_runs >= 1)');
  }
}
