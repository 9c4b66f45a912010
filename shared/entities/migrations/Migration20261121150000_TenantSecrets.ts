import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added. */
export class Migration20261121150000_TenantSecrets extends Migration {
  override up(): void {
    this.addSql('alter table tenant add column tenant_db_url text');
    this.addSql(`
create table tenant_logo (
  tenant_id uuid primary key references tenant(id) deferrable initially deferred,
  id uuid not null unique,
  content_type varchar(32) not null,
  digest text not null,
  bytes bytea not null,
  created_at timestamptz(3) not null default now()
)`);
    // Images are compressed already.
    this.addSql('alter table tenant_logo alter column bytes set storage external');
    this.addSql('create table ask_claim (ask_id uuid primary key, expires_at timestamptz not null)');
    this.addSql('create index on ask_claim (expires_at)');
    // Read at once by a waiting process or never, so not worth the write-ahead log.
    this.addSql(
      'create unlogged table ask_reply (ask_id uuid primary key, sealed text not null, expires_at timestamptz not null)',
    );
    this.addSql('create index on ask_reply (expires_at)');
  }
}
