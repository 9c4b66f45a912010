import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: a column is added. Workers that do not know it tell no process; the comparison finds the end. */
export class Migration20261122105500_AwaitedRuns extends Migration {
  override up(): void {
    // The channel of the process whose client waits for the end of the run.
    this.addSql(`alter table workflow_instance add column awaited_by text`);
  }
}
