import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added. */
export class Migration20261122090000_HandBacks extends Migration {
  override up(): void {
    // Times that a worker has claimed the run, could not begin, and gave it back; since the last commit of the run.
    this.addSql(`alter table workflow_instance add column hand_backs smallint not null default 0`);
    // A run that was given back is not READY before.
    this.addSql(`alter table workflow_instance add column not_before timestamptz`);
    // Kinds of nodes that the worker knows; null for a version that did not say.
    this.addSql(`alter table worker_session add column kinds text[]`);
  }
}
