import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added. */
export class Migration20261121190000_ResultPages extends Migration {
  override up(): void {
    // Results can be queried again, so they are not worth the write-ahead log.
    this.addSql(`
create unlogged table result_page (
  result_id uuid not null,
  page integer not null,
  tenant_id uuid not null,
  source text not null,
  caller_id uuid not null,
  sealed text not null,
  expires_at timestamptz not null,
  primary key (result_id, page)
)`);
    this.addSql('create index on result_page (expires_at)');
    this.addSql('create index on result_page (tenant_id, result_id)');
    // Sealed texts cannot be compressed.
    this.addSql('alter table result_page alter column sealed set storage external');
  }
}
