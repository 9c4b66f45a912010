import { Migration } from '@mikro-orm/migrations';

/** Code that does not know the column can run beside it: it has a default. */
export class Migration20261122203700_Reminders extends Migration {
  override up(): void {
    // Of a question: how many reminders the timeline has.
    this.addSql('alter table run_wait add column reminded integer not null default 0');
  }
}
