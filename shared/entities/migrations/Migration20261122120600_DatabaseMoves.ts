import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it, but does not wait for the end of a move: databases are moved only once every worker is new. */
export class Migration20261122120600_DatabaseMoves extends Migration {
  override up(): void {
    this.addSql('alter table tenant_database add column move_id uuid, add column moving_until timestamptz');
  }
}
