import { Migration } from '@mikro-orm/migrations';

/**
 * Claims outlive their window while there may be dead letters with their keys. Old code can run beside it: to it such a claim has expired.
 */
export class Migration20261128071000_ClaimsOfDeadLetters extends Migration {
  override up(): void {
    this.addSql('alter table listener_dedup add column kept_until timestamptz, add column dead_event_id uuid');
    this.addSql('create index listener_dedup_old on listener_dedup (greatest(expires_at, kept_until))');
    this.addSql('drop index listener_dedup_expires');
  }
}
