import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it. */
export class Migration20261123024500_Differences extends Migration {
  override up(): void {
    // Runs whose rows say both that they have ended and that they have not. There should be none, so the index is empty. For events of
    // listeners the table has a constraint.
    this.addSql(`
create index workflow_instance_contradiction on workflow_instance (id)
where case when (completed_at is null) = (status in ('COMPLETED', 'FAILED', 'CANCELLED')) then true else false end`);
  }
}
