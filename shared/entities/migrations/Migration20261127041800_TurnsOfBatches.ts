import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it sorts the few rows that are open. */
export class Migration20261127041800_TurnsOfBatches extends Migration {
  override up(): void {
    this.addSql('drop index run_batch_filling');
    this.addSql(`
create index run_batch_filling on run_batch (tenant_id, updated_at)
where asked is not null and filled_at is null and cancelled_at is null`);
    this.addSql('drop index cron_backfill_open');
    this.addSql(`
create index cron_backfill_open on cron_backfill (tenant_id, updated_at) where filled_at is null and cancelled_at is null`);
  }
}
