import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: an index changes no answer. */
export class Migration20261122141300_OpenRuns extends Migration {
  override up(): void {
    // Counts a tenant's runs in flight for its quota.
    this.addSql('create index workflow_instance_open on workflow_instance (tenant_id) where completed_at is null');
  }
}
