import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: an index is added. */
export class Migration20261122104100_Suspects extends Migration {
  override up(): void {
    this.addSql(
      'create index workflow_instance_suspect on workflow_instance (ready_at) where losses > 0 and ready_at is not null and held_by is null',
    );
  }
}
