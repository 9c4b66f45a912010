import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added. It cannot sign in to a full database while the database is full. */
export class Migration20261122120700_DatabaseSizes extends Migration {
  override up(): void {
    this.addSql(
      'alter table tenant_database add column bytes bigint, add column measured_at timestamptz, add column full_since timestamptz',
    );
  }
}
