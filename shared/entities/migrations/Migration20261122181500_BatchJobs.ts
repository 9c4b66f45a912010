import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added, and it fills no batch. */
export class Migration20261122181500_BatchJobs extends Migration {
  override up(): void {
    this.addSql(`
alter table run_batch
  add column asked jsonb,
  add column looked_at integer not null default 0,
  add column cursor_at timestamptz(3),
  add column cursor_id uuid,
  add column filled_at timestamptz(3),
  add column last_error text`);
    this.addSql(`
create index run_batch_filling on run_batch (updated_at)
where asked is not null and filled_at is null and cancelled_at is null`);
  }
}
