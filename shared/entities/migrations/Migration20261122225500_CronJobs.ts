import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it has no cron jobs. */
export class Migration20261122225500_CronJobs extends Migration {
  override up(): void {
    this.addSql(`
create table cron_job (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  cron_job_title varchar(255) not null,
  cron_job_description text,
  cron_job_schedule varchar(255) not null,
  timezone varchar(64) not null,
  cron_job_enabled boolean not null default true,
  cron_job_type varchar(16) not null check (cron_job_type in ('workflow', 'dataQuery')),
  cron_job_config jsonb not null,
  version_id uuid,
  overlap_policy varchar(16) not null check (overlap_policy in ('allow', 'skip', 'queue-one', 'cancel-old')),
  missed_run_policy varchar(16) not null check (missed_run_policy in ('skip', 'last', 'all')),
  missed_run_window_seconds integer not null,
  jitter_seconds integer not null,
  timeout_seconds integer not null,
  retry_attempts integer not null,
  retry_delay_seconds integer not null,
  paused_at timestamptz(3),
  stopped_at timestamptz(3),
  stop_reason text,
  next_at timestamptz(3),
  due_at timestamptz(3),
  alarm_set_in text,
  folder_id uuid,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
)`);
    this.addSql('create index cron_job_list on cron_job (tenant_id, created_at desc, id desc)');
    this.addSql('create index cron_job_due on cron_job (due_at) where due_at is not null');
    // An alarm that is missing, or is in queues that have lost their data, is found by its mark.
    this.addSql(
      `create index cron_job_alarm on cron_job (coalesce(alarm_set_in, '')) where cron_job_enabled and stopped_at is null`,
    );
  }
}
