import { Migration } from '@mikro-orm/migrations';

/** An older process that claims the job of a rollback ends it as failed, without an effect: it takes it for an import without a bundle. */
export class Migration20261123191000_RollbackJobs extends Migration {
  override up(): void {
    // The import that the job rolls back; null for a job that imports.
    this.addSql('alter table import_job add column import_id uuid');
  }
}
