import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: a column is added. A run with results of another is restored like any other. */
export class Migration20261122173000_Reruns extends Migration {
  override up(): void {
    // The run whose inputs, and perhaps results, it has.
    this.addSql('alter table workflow_instance add column rerun_of uuid');
    this.addSql(`
create index workflow_instance_rerun on workflow_instance (rerun_of, created_at desc, id desc) where rerun_of is not null`);
  }
}
