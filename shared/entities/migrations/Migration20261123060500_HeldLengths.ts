import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: its workers leave the length as it is, and read none. */
export class Migration20261123060500_HeldLengths extends Migration {
  override up(): void {
    // Characters that the run took in the memory of the worker that released it last.
    this.addSql('alter table workflow_instance add column held_length bigint');
  }
}
