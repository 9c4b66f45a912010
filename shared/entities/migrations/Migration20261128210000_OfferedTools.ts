import { Migration } from '@mikro-orm/migrations';

/** Workflows and queries that clients of models get as tools of their own. */
export class Migration20261128210000_OfferedTools extends Migration {
  override up(): void {
    for (const table of ['workflow', 'data_query']) {
      this.addSql(`alter table ${table} add column is_offered_as_tool boolean not null default false`);
      this.addSql(`create index ${table}_offered_as_tool on ${table} (tenant_id) where is_offered_as_tool`);
    }
  }
}
