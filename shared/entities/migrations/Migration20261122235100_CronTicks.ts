import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: runs that it accepts belong to no tick, and a trigger notes the ends of the others. */
export class Migration20261122235100_CronTicks extends Migration {
  override up(): void {
    // What became of every tick that was due.
    this.addSql(`
create table cron_tick (
  id uuid primary key,
  tenant_id uuid not null,
  cron_job_id uuid not null references cron_job(id) on delete cascade,
  scheduled_at timestamptz(3) not null,
  last_scheduled_at timestamptz(3),
  trigger_type varchar(9) not null check (trigger_type in ('SCHEDULED', 'MANUAL', 'BACKFILL')),
  status varchar(9) not null check (status in ('SCHEDULED', 'SUCCESS', 'FAILURE')),
  outcome varchar(8) not null check (outcome in ('fired', 'queued', 'caughtUp', 'skipped', 'missed', 'refused')),
  reason text,
  attempts integer not null default 0,
  instance_id uuid,
  fired_at timestamptz(3),
  start_at timestamptz(3),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  error jsonb,
  created_at timestamptz(3) not null default now(),
  unique (cron_job_id, scheduled_at)
)`);
    // Work that goes on comes before ticks that wait.
    this.addSql(
      `create index cron_tick_open on cron_tick (cron_job_id, (outcome = 'queued'), scheduled_at) where status = 'SCHEDULED'`,
    );
    this.addSql('create index cron_tick_tenant on cron_tick (tenant_id)');
    this.addSql(`create index cron_tick_age on cron_tick (created_at) where status <> 'SCHEDULED'`);

    // Alarms of jobs that want none any more.
    this.addSql(
      'create index cron_job_alarm_left on cron_job (alarm_set_in) where alarm_set_in is not null and not (cron_job_enabled and stopped_at is null)',
    );
    this.addSql('alter table workflow_instance add column cron_tick_id uuid');
    // That the run of a tick has ended: deleted when the tick says so.
    this.addSql(`
create table cron_end (
  instance_id uuid primary key,
  tenant_id uuid not null,
  cron_job_id uuid not null,
  tick_id uuid not null,
  status varchar(9) not null,
  error jsonb,
  started_at timestamptz(3),
  ended_at timestamptz(3) not null
)`);
    this.addSql('create index cron_end_job on cron_end (cron_job_id)');
    this.addSql('create index cron_end_tenant on cron_end (tenant_id)');
    this.addSql(`
create function note_cron_end() returns trigger language plpgsql as $$
begin
  insert into cron_end (instance_id, tenant_id, cron_job_id, tick_id, status, error, started_at, ended_at)
  values (new.id, new.tenant_id, (new.caller ->> 'originID')::uuid, new.cron_tick_id, new.status, new.error, new.started_at, new.completed_at);
  return null;
end $$`);
    // In the transaction that ends the run, wherever that is. It locks nothing that another run may have locked.
    this.addSql(`
create trigger ended_tick after update of completed_at on workflow_instance for each row
when (new.cron_tick_id is not null and old.completed_at is null and new.completed_at is not null)
execute function note_cron_end()`);
  }
}
