import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it reads `max_runs`, which stays what is in force. */
export class Migration20261123023000_GrantedRuns extends Migration {
  override up(): void {
    // What operators grant, and what the tenant has set for itself; `max_runs` is the lower one.
    this.addSql(`
alter table tenant_dispatch
  add column granted_runs integer check (granted_runs >= 1),
  add column own_runs integer check (own_runs >= 1)`);
    this.addSql('update tenant_dispatch set granted_runs = max_runs where max_runs is not null');
  }
}
