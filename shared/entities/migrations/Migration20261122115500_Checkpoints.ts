import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it restores runs from all their events. */
export class Migration20261122115500_Checkpoints extends Migration {
  override up(): void {
    // The state of a run after its event `seq`; outputs are in the events.
    this.addSql(`
create table run_checkpoint (
  instance_id uuid primary key,
  seq bigint not null,
  state jsonb not null
)`);
  }
}
