import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it neither reads nor writes the table. */
export class Migration20261122204500_RunLogs extends Migration {
  override up(): void {
    // Written with the outcome of an attempt, under the number of its row; nodes that print nothing have no row.
    this.addSql(`
create table run_log (
  instance_id uuid not null,
  seq bigint not null,
  node_id text not null,
  lines jsonb not null,
  cut_lines integer not null,
  cut_bytes integer not null,
  primary key (instance_id, seq)
)`);
  }
}
