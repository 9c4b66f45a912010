import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it knows the console alone, whose records have neither. */
export class Migration20261129130000_ConnectedApps extends Migration {
  override up(): void {
    // `resource`: the address of the MCP service for which an app was given the record; null for those of the console.
    this.addSql('alter table sign_in_record add column resource text, add column last_used_at timestamptz');
  }
}
