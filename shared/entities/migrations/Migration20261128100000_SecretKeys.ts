import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it reads no such table. */
export class Migration20261128100000_SecretKeys extends Migration {
  override up(): void {
    // An id of SECRETS_KEYS names the key that had it first, for ever: another key with that id gets its fingerprint for an id.
    this.addSql(`
create table secret_key (
  id text primary key,
  fingerprint text not null,
  created_at timestamptz not null default now()
)`);
  }
}
