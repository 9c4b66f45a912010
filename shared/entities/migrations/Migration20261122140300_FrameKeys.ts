import { Migration } from '@mikro-orm/migrations';

/** Code that knows `run_wait.path` (Migration20261122112000_Frames) can run beside it; older code cannot begin waits any more. */
export class Migration20261122140300_FrameKeys extends Migration {
  override up(): void {
    // The innermost index is the same in several frames of a node: the first rounds of two inner loops, for example.
    this.addSql('alter table run_wait drop constraint run_wait_pkey, add primary key using index run_wait_frame');
    this.addSql(`alter table collection_request add column path text not null default '0'`);
    this.addSql(
      'create unique index collection_request_instance_id_node_id_path_key on collection_request (instance_id, node_id, path)',
    );
    this.addSql(`
alter table collection_request drop constraint collection_request_instance_id_node_id_iteration_key,
  add unique using index collection_request_instance_id_node_id_path_key`);
  }
}
