import { Migration } from '@mikro-orm/migrations';

/** Safe while an older process runs: it writes and reads `payload`, which has the output as before. */
export class Migration20261123031500_BriefEvents extends Migration {
  override up(): void {
    this.addSql('alter table run_event add column brief jsonb');
  }
}
