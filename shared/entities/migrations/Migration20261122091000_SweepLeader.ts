import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it, but sweeps by its own rule: everything is added. */
export class Migration20261122091000_SweepLeader extends Migration {
  override up(): void {
    this.addSql(`
create table sweep (
  is_only boolean primary key default true check (is_only),
  leader uuid,
  last_tick timestamptz not null default '-infinity',
  streak_started_at timestamptz not null default now()
)`);
    this.addSql('insert into sweep default values');
  }
}
