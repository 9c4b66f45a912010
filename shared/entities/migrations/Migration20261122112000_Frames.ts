import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added, and what it writes lies outside of loops, where the defaults are right. */
export class Migration20261122112000_Frames extends Migration {
  override up(): void {
    // The iterations around the node, outermost first; null outside of loops.
    this.addSql('alter table run_event add column frame jsonb');
    this.addSql('alter table collection_request add column frame jsonb');
    // Their indices joined by dots. The older key over (instance_id, node_id, iteration) goes when no old code needs it.
    this.addSql(`alter table run_wait add column path text not null default '0'`);
    this.addSql('create unique index run_wait_frame on run_wait (instance_id, node_id, path)');
  }
}
