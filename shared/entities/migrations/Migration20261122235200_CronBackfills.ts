import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it knows no backfills, and starts their ticks as others that wait. */
export class Migration20261122235200_CronBackfills extends Migration {
  override up(): void {
    this.addSql(`
create table cron_backfill (
  id uuid primary key,
  tenant_id uuid not null,
  cron_job_id uuid not null references cron_job(id) on delete cascade,
  from_at timestamptz(3) not null,
  to_at timestamptz(3) not null,
  found integer not null default 0,
  left_out integer not null default 0,
  is_cut boolean not null default false,
  cursor_at timestamptz(3),
  filled_at timestamptz(3),
  cancelled_at timestamptz(3),
  cancelled_by uuid,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
)`);
    this.addSql('create index cron_backfill_list on cron_backfill (cron_job_id, created_at desc, id desc)');
    this.addSql('create index cron_backfill_tenant on cron_backfill (tenant_id)');
    this.addSql('create index cron_backfill_age on cron_backfill (created_at)');
    this.addSql(
      'create index cron_backfill_open on cron_backfill (updated_at) where filled_at is null and cancelled_at is null',
    );
    this.addSql('alter table cron_tick add column backfill_id uuid');
    this.addSql('create index cron_tick_backfill on cron_tick (backfill_id, status) where backfill_id is not null');
  }
}
