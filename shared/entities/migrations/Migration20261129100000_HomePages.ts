import { Migration } from '@mikro-orm/migrations';

/** The page in which members with a role begin, and open questions of one workflow. */
export class Migration20261129100000_HomePages extends Migration {
  override up(): void {
    this.addSql('alter table role add column home_page_id uuid references app_page on delete set null');
    this.addSql('create index role_home_page on role (home_page_id) where home_page_id is not null');
    this.addSql(`
create index collection_request_open on collection_request (tenant_id, workflow_id, created_at desc)
where status = 'PENDING'`);
  }
}
