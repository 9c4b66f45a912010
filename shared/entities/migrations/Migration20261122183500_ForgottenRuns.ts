import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: an index changes no answer. */
export class Migration20261122183500_ForgottenRuns extends Migration {
  override up(): void {
    // Runs that wait for a child or an answer without an end, and those that nothing would continue.
    this.addSql(`
create index workflow_instance_left on workflow_instance (id)
where completed_at is null and ready_at is null and held_by is null and wake_at is null`);
  }
}
