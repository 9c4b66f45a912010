import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it. What it retires has no last seal, and seals of new code are not intact for it. */
export class Migration20261126160000_RetiredSeals extends Migration {
  override up(): void {
    // The last seal that retention has retired stays, without rows: the next one continues it.
    this.addSql('alter table audit_seal add column retired_at timestamptz, add column previous_hash bytea');
    // Seals are retired in the order of their times, which is to be that of their numbers.
    this.addSql(`
update audit_seal s set newest_at = o.newest_at
from (select tenant_id, number, max(newest_at) over (partition by tenant_id order by number) as newest_at from audit_seal) o
where o.tenant_id = s.tenant_id and o.number = s.number and o.newest_at > s.newest_at`);
  }
}
