import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added. */
export class Migration20261121190000_QueryPages extends Migration {
  override up(): void {
    // What can be asked for again: not worth the log.
    this.addSql(`
create unlogged table query_page (
  result_id uuid not null,
  page integer not null,
  tenant_id uuid not null,
  data_query_id uuid not null,
  caller_id uuid not null,
  sealed text not null,
  expires_at timestamptz not null,
  primary key (result_id, page)
)`);
    this.addSql('create index on query_page (expires_at)');
    this.addSql('create index on query_page (tenant_id, result_id)');
    // Sealed texts do not get smaller.
    this.addSql('alter table query_page alter column sealed set storage external');
  }
}
